"""Two players on the same tasks and seeds: known answers where each says always the same."""

from dataclasses import dataclass

import numpy as np
import pytest

from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.games.single_reply import SingleReply
from redqueen.measures.side_by_side import fork_of, side_by_side
from redqueen.play.groups import episodes_of, with_facts
from redqueen.players.scripted import Uniform
from redqueen.types import RedQueenError, Reply, Task

GAME = KuhnPoker()


@dataclass(frozen=True)
class Always:
    """Says one word wherever it is legal, and else the first legal one."""

    word: str

    @property
    def name(self):
        return self.word

    def reply(self, asks):
        return [Reply(self.word if self.word in ask.choices else ask.choices[0], self.name) for ask in asks]

    def probabilities(self, asks):
        return [np.array([float(choice == self.word) for choice in ask.choices]) for ask in asks]


@dataclass(frozen=True)
class Says(Always):
    """Says one word whatever it is asked."""

    def reply(self, asks):
        return [Reply(self.word, self.name) for _ in asks]


BET, PASS = Always("bet"), Always("pass")
BET_ALONE, PASS_ALONE = Says("bet"), Says("pass")


def compared(first, second, count=12, **others):
    tasks = (GAME.tasks() * count)[:count]
    return side_by_side(GAME, tasks, (first, second), (first, second), 0, **others)


def test_they_part_where_they_first_say_different_things():
    found = compared(BET, PASS)
    assert found.parted == len(found.pairs) == 12
    assert found.names == ("bet", "pass") and found.against == ""
    for pair in found.pairs:
        assert (pair.fork.turn, pair.fork.ask.seat.role) == (0, "first")
        assert [reply.text for reply in pair.fork.replies] == ["bet", "pass"]
        assert pair.episodes[0].seed == pair.episodes[1].seed
        assert pair.episodes[0].task == pair.episodes[1].task


def test_places_where_they_part_are_counted_by_what_was_asked():
    found = compared(BET, PASS)
    assert [crossing.count for crossing in found.crossings] == [4, 4, 4]  # one for each card of the first seat
    for crossing in found.crossings:
        first, second = crossing.probabilities
        choices = crossing.fork.ask.choices
        assert first[choices.index("bet")] == 1.0 and second[choices.index("pass")] == 1.0


def test_scores_are_those_of_the_rules():
    found = compared(BET, PASS)
    # a bet that is called is worth 2 to the higher card, two passes 1; over all six deals both are fair
    for pair in found.pairs:
        assert {abs(score) for score in pair.episodes[0].outcome.scores.values()} == {2.0}
        assert {abs(score) for score in pair.episodes[1].outcome.scores.values()} == {1.0}
    assert [(each.role, each.first, each.second) for each in found.scores] == [
        ("first", 0.0, 0.0),
        ("second", 0.0, 0.0),
    ]


@pytest.mark.parametrize(("verdicts", "expected"), [([None, None, None], np.nan), ([None, 1, 0], 0.5)])
def test_a_match_without_a_verdict_counts_for_nobody(verdicts, expected):
    def grade(groups):
        return with_facts(groups, [{"right": each} for each in verdicts])

    tasks = [Task(f"q{n}", prompt=f"{n}?") for n in range(3)]
    found = side_by_side(SingleReply("solver"), tasks, (BET_ALONE, PASS_ALONE), (None, None), 0, grade=grade)
    (scores,) = found.scores
    assert (scores.first, scores.second) == pytest.approx((expected, expected), nan_ok=True)
    assert scores.difference.mean == pytest.approx(expected - expected, nan_ok=True)


def test_against_an_opponent_they_take_each_role_and_part_on_their_own_turns():
    found = compared(BET, PASS, against=PASS)
    assert found.against == "pass" and len(found.pairs) == 24
    assert [pair.role for pair in found.pairs[:3]] == ["first", "second", "first"]
    assert {pair.fork.ask.seat.role == pair.role for pair in found.pairs if pair.fork} == {True}
    # who bets against one that folds wins its chip; who passes shows the cards
    assert [(each.role, each.first, each.second) for each in found.scores] == [
        ("first", 1.0, 0.0),
        ("second", 1.0, 0.0),
    ]
    assert [each.difference.mean for each in found.scores] == [-1.0, -1.0]


def test_chance_is_the_same_for_both():
    found = compared(Uniform(), Always("nothing"), against=BET, count=6)
    again = compared(Uniform(), Always("nothing"), against=BET, count=6)
    assert [pair.episodes[0].outcome for pair in found.pairs] == [pair.episodes[0].outcome for pair in again.pairs]


def test_those_who_say_the_same_do_not_part():
    @dataclass(frozen=True)
    class Twin(Always):
        @property
        def name(self):
            return "twin"

    found = compared(BET, Twin("bet"))
    assert found.parted == 0 and found.crossings == ()
    assert all(each.difference == (0.0, 0.0, 0.0) for each in found.scores)


def test_answers_to_questions_are_scored_by_whoever_can():
    @dataclass(frozen=True)
    class Says:
        name: str

        def reply(self, asks):
            return [Reply(self.name) for _ in asks]

    tasks = [Task(str(number), prompt="2 + 2?", answer="4") for number in range(3)]

    def grade(groups):
        return with_facts(groups, [{"right": each.turns[0].reply.text == "4"} for each in episodes_of(groups)])

    found = side_by_side(SingleReply(), tasks, (Says("4"), Says("5")), (None, None), 0, grade=grade)
    (scores,) = found.scores
    assert (scores.role, scores.first, scores.second, scores.difference.mean) == ("solver", 1.0, 0.0, -1.0)
    (crossing,) = found.crossings
    assert crossing.count == 3 and crossing.probabilities == (None, None)
    most = 1.0 - 0.025 ** (1 / 3)  # of all problems the second may get right, after none of three
    assert (scores.difference.low, scores.difference.high) == pytest.approx((-1.0, -1.0 + 2 * most))


def test_problems_that_both_get_wrong_do_not_show_that_they_are_equally_good():
    def grade(groups):
        return with_facts(groups, [{"right": False} for _ in episodes_of(groups)])

    tasks = [Task(str(number), prompt="2 + 2?", answer="4") for number in range(8)]
    found = side_by_side(SingleReply("solver"), tasks, (BET_ALONE, PASS_ALONE), (None, None), 0, grade=grade)
    (scores,) = found.scores
    most = 1.0 - 0.025 ** (1 / 8)
    assert scores.difference == pytest.approx((0.0, -most, most))


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(RedQueenError, match="two different players"):
        compared(BET, BET)
    with pytest.raises(RedQueenError, match="there is no seat for an opponent"):
        side_by_side(SingleReply(), [Task("t")], (BET, PASS), (None, None), 0, against=Uniform())


def test_rules_that_ask_differently_after_the_same_words_are_named():
    found = compared(BET, PASS)
    one = found.pairs[0].episodes[0]
    other = next(pair.episodes[0] for pair in found.pairs if pair.fork.ask != one.turns[0].ask)
    assert one.turns[0].ask != other.turns[0].ask
    with pytest.raises(RedQueenError, match="the rules asked differently"):
        fork_of(one, other)
