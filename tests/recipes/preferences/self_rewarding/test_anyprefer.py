"""Anyprefer (2504.19276): a judge with a tool, and a gate on pairs."""

from random import Random

import pytest

from redqueen.credit.pairs import best_and_worst
from redqueen.credit.rewards import score
from redqueen.play.groups import attempts
from redqueen.players.scripted import Scripted
from redqueen.questions.asking import SOLVE
from redqueen.questions.small.sums import Sums
from redqueen.recipes.preferences.self_rewarding.steps import Judging, about_usefulness
from redqueen.types import RedQueenError, Reply

SUMS = Sums(digits=1)
TASK = SUMS.task(3, 4)


class Says:
    """Says the next of `texts` to each ask."""

    name = "judge"

    def __init__(self, *texts):
        self.texts, self.shown = list(texts), []

    def reply(self, asks):
        self.shown += [ask.messages[-1].text for ask in asks]
        return [Reply(self.texts.pop(0), self.name) for _ in asks]


def scored(judging, judge, *texts, repeats=1):
    (group,) = attempts(SOLVE, [TASK], Says(*texts), len(texts), Random(0))
    judgements = attempts(judging.game, judging.asked([group]), judging.seated(judge), repeats, Random(0))
    return best_and_worst(score(judging.heard([group], judgements), judging.reward))


def texts_of(pairs):
    return [tuple(each.turns[0].reply.text for each in pair) for pair in zip(*pairs, strict=True)]


def test_the_pair_of_the_card_is_the_wrong_way_round_without_a_tool_and_right_with_one():
    """A terse right reply, a verbose wrong one and a verbose right one: the bare judge gives 6, 9, 9, with a calculator
    8, 2, 9."""
    replies = ("7", "It is 5, as all know", "It is 7, as all know")
    bare = Says(*(f"<score>{value}</score>" for value in (6, 9, 9)))
    assert texts_of(scored(Judging(SUMS), bare, *replies)) == [(replies[1], replies[0])]
    calls = ["<calculate>3+4</calculate>"] * 3 + [f"<score>{value}</score>" for value in (8, 2, 9)]
    aided = Says(*calls)
    assert texts_of(scored(Judging(SUMS, "calculator"), aided, *replies)) == [(replies[2], replies[1])]
    assert sum("<information>7</information>" in shown for shown in aided.shown) == 3


def test_a_reply_without_a_score_is_in_no_pair():
    judge = Says("<score>9</score>", "It depends.", "<score>6</score>")
    assert texts_of(scored(Judging(SUMS), judge, "7", "5", "6")) == [("7", "6")]


@pytest.mark.parametrize(
    "said, kept", [(["<score>9</score>"], 1), (["<score>8</score>"], 1), (["<score>5</score>"], 0), (["Useful."], 0)]
)
def test_a_pair_passes_the_gate_at_its_score_or_above(said, kept):
    judging = Judging(SUMS, gate=8)
    pairs = scored(judging, Says("<score>9</score>", "<score>2</score>"), "7", "5")
    judge = Says(*said)
    assert len(judging.useful(pairs, judge, 1, Random(0)).chosen) == kept
    assert "First: 7\nSecond: 5" in judge.shown[0]
    assert judging.metrics()["pairs_kept"] == float(kept)
    assert "pairs_kept" not in judging.metrics(), "said once"


def test_the_mean_of_what_can_be_read_counts_at_the_gate():
    judging = Judging(SUMS, gate=8)
    pairs = scored(judging, Says("<score>9</score>", "<score>2</score>"), "7", "5")
    for said, kept in ((("10", "7", ""), 1), (("9", "6", ""), 0)):
        judge = Says(*(f"<score>{each}</score>" if each else "Hm." for each in said))
        assert len(judging.useful(pairs, judge, 3, Random(0)).chosen) == kept


def test_without_a_gate_nobody_is_asked():
    judging = Judging(SUMS)
    pairs = scored(judging, Says("<score>9</score>", "<score>2</score>"), "7", "5")
    assert judging.useful(pairs, Scripted(()), 1, Random(0)) is pairs


def test_the_question_and_both_replies_are_shown():
    (pair,) = zip(*scored(Judging(SUMS), Says("<score>9</score>", "<score>2</score>"), "7", "5"), strict=True)
    assert TASK.prompt in about_usefulness(*pair).prompt


def test_an_unknown_tool_is_refused():
    with pytest.raises(RedQueenError, match="there is no tool 'abacus': the tools are"):
        Judging(SUMS, "abacus")
