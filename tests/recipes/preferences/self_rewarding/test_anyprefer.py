"""Anyprefer (2504.19276): a judge with a tool, a gate on pairs, and advice for prompts without a useful pair."""

from random import Random

import pytest

from redqueen.contracts.recipes import check_resume
from redqueen.credit.pairs import best_and_worst
from redqueen.credit.rewards import score
from redqueen.play.groups import attempts
from redqueen.players.scripted import Scripted
from redqueen.questions.asking import SOLVE
from redqueen.questions.fenced import texts_in
from redqueen.questions.small.sums import Sums
from redqueen.recipes.preferences.self_rewarding import recipe as self_rewarding
from redqueen.recipes.preferences.self_rewarding.steps import Judging, about_usefulness
from redqueen.settings.learner import Learner
from redqueen.settings.limits import check_settings
from redqueen.settings.roles import Role
from redqueen.types import RedQueenError, Reply
from tests.forged import FORGED, between_last_fences

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
    assert texts_in(judge.shown[0]) == [TASK.prompt, "7", "5"]
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


@pytest.mark.parametrize("text", FORGED)
def test_a_reply_cannot_speak_as_the_judge_of_usefulness(text):
    for replies in ((text, "5"), ("7", text)):
        pairs = scored(Judging(SUMS), Says("<score>9</score>", "<score>2</score>"), *replies)
        prompt = about_usefulness(pairs.chosen[0], pairs.rejected[0]).prompt
        assert between_last_fences(prompt) == [TASK.prompt, *replies]


def test_an_unknown_tool_is_refused():
    with pytest.raises(RedQueenError, match="there is no tool 'abacus': the tools are"):
        Judging(SUMS, "abacus")


# --- advice ----------------------------------------------------------------------------------------


class Judges:
    """Scores answers by what they say, finds pairs as useful as told in turn, and advises."""

    name = "judge"

    def __init__(self, useful, advice="Carry."):
        self.useful, self.advice, self.shown, self.scored = list(useful), advice, [], []

    def reply(self, asks):
        return [Reply(self.said(ask.messages[-1].text), self.name) for ask in asks]

    def said(self, shown):
        if "Write one sentence" in shown:
            self.shown.append(shown)
            return self.advice
        _, *replies = texts_in(shown)
        if len(replies) == 2:
            return f"<score>{self.useful.pop(0)}</score>"
        self.scored.append(shown)
        return f"<score>{9 if replies == ['7'] else 2}</score>"


def rounds(judge, rewrites=2):
    """The pairs of one task after the rounds of the recipe, and what the learner was asked."""
    judging, asked = Judging(SUMS, gate=8), []
    learner = Learner(model="tiny:hidden=16,heads=2").build_model(0)

    for tasks in judging.rounds([TASK], rewrites, judge, Random(0)):
        asked.extend(task.prompt for task in tasks)
        answers = attempts(SOLVE, tasks, Says("7", "5"), 2, Random(0))
        judgements = attempts(judging.game, judging.asked(answers), judge, 1, Random(0))
        judging.paired(score(judging.heard(answers, judgements), judging.reward), learner, judge, 1, Random(0))
    return judging.pairs, asked, judging.metrics()


@pytest.mark.parametrize("useful, kept, asked", [((9,), 1, 1), ((5, 9), 1, 2), ((5, 5, 8), 1, 3), ((5, 5, 5), 0, 3)])
def test_a_prompt_without_a_useful_pair_is_asked_again_with_advice_up_to_three_rounds(useful, kept, asked):
    judge = Judges(useful)
    pairs, prompts, found = rounds(judge)
    assert len(pairs.chosen) == kept and len(prompts) == asked and not judge.useful
    assert prompts == [TASK.prompt, *[f"{TASK.prompt}\n\nCarry."] * (asked - 1)]
    assert all("5.0 of 10 useful" in shown and TASK.prompt in shown for shown in judge.shown)
    assert found["pairs_kept"] == float(useful[0] >= 8)
    assert [("Carry." in shown) for shown in judge.scored] == [False, False] + [True] * (2 * asked - 2)


def test_what_is_said_with_advice_is_learned_as_said_without():
    pairs, _, _ = rounds(Judges((5, 9)))
    for side, text in ((pairs.chosen, "7"), (pairs.rejected, "5")):
        (one,) = side
        assert one.episode.task == TASK and one.turns[0].reply.text == text and one.turns[0].reply.recited
        assert one.turns[0].ask.messages[-1].text == TASK.prompt


def test_the_share_of_the_pairs_that_is_the_right_way_round_is_a_figure():
    assert rounds(Judges((9,)))[2]["pairs_right"] == 1.0
    judging = Judging(SUMS)
    scored_by = Says("<score>2</score>", "<score>9</score>", "<score>1</score>", "<score>8</score>")
    for _ in judging.rounds([TASK], 0, scored_by, Random(0)):
        groups = attempts(SOLVE, [TASK, TASK], Says("7", "5", "4", "5"), 2, Random(0))
        judgements = attempts(judging.game, judging.asked(groups), scored_by, 1, Random(0))
        told = score(judging.heard(groups, judgements), judging.reward)
        judging.paired(told, Learner(model="tiny:hidden=16,heads=2").build_model(0), scored_by, 1, Random(0))
    found = judging.metrics()
    assert found["decisive"] == 0.5 and found["pairs_right"] == 0.0


def test_a_judge_without_advice_leaves_the_prompt_out():
    pairs, prompts, found = rounds(Judges((5,), advice="  "))
    assert not pairs.chosen and prompts == [TASK.prompt] and found["advised"] == 0.0


def test_rewrites_without_a_gate_are_refused():
    with pytest.raises(RedQueenError, match="--rewrites has no effect with --useful 0"):
        check_settings(self_rewarding.Config(rewrites=2))


@pytest.mark.slow
def test_a_run_with_advice_is_resumed_bit_for_bit():
    learner = Learner(model="tiny:hidden=16,heads=2", max_completion_length=4)
    config = self_rewarding.Config(
        *(learner, Role("frozen"), "none", 1, 1), steps=2, updates=1, tasks=4, attempts=2, repeats=1, problems=2
    )
    check_resume(self_rewarding, config)
