"""Win rates as scores: within a group, and against rivals."""

from random import Random

import numpy as np
import pytest

from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.players.scripted import Uniform
from redqueen.questions.asking import SOLVE
from redqueen.questions.comparisons import against_rivals, contested, verdicts
from redqueen.questions.small.matchups import Matchups
from redqueen.types import Match, RedQueenError, Reply

GAME = Matchups("biased")


class Says:
    """Always the same text."""

    def __init__(self, text):
        self.name, self.text = "learner", text

    def reply(self, asks):
        return [Reply(self.text, self.name) for _ in asks]


def saying(*texts):
    return play([Match(SOLVE, GAME.task(), {"solver": Says(text)}) for text in texts], Random(0))


def scores(episodes):
    return [next(iter(episode.outcome.scores.values())) for episode in episodes]


def blind(tasks, first, second, rng):
    return np.full(len(tasks), np.nan)


def test_each_reply_scores_what_it_wins_against_the_others():
    # a beats b .9 and c .2; b beats a .1 and c .7; c beats a .8 and b .3
    found = contested(GAME.oracle, saying("a", "b", "c"), 3, Random(0))
    assert scores(found) == pytest.approx([0.55, 0.4, 0.55])
    beside = contested(GAME.oracle, saying("a", "b", "c"), 3, Random(0), beside_itself=True)
    assert scores(beside) == pytest.approx([(0.5 + 1.1) / 3, (0.5 + 0.8) / 3, (0.5 + 1.1) / 3])


@pytest.mark.parametrize("beside_itself", [True, False])
def test_replies_without_a_verdict_are_left_out(beside_itself):
    assert contested(blind, saying("a", "b"), 2, Random(0), beside_itself) == []
    known = contested(GAME.oracle, saying("a", "b", "?"), 3, Random(0), beside_itself)
    assert [episode.outcome.facts["reply"] for episode in known] == ["a", "b"]


def test_each_attempt_scores_what_it_wins_against_its_own_rivals():
    attempts, rivals = saying("a", "b"), saying("b", "a", "c", "d")
    found = against_rivals(GAME.oracle, attempts, rivals, Random(0))
    assert scores(found) == pytest.approx([(0.9 + 0.5) / 2, (0.7 + 0.9) / 2])
    assert against_rivals(GAME.oracle, [], [], Random(0)) == []
    assert against_rivals(blind, attempts, rivals[:2], Random(0)) == []


def test_a_rival_without_a_verdict_counts_nothing():
    found = against_rivals(GAME.oracle, saying("a"), saying("b", "?"), Random(0))
    assert scores(found) == pytest.approx([0.9])


def test_nobody_is_asked_about_equal_answers():
    asked = []

    def counting(tasks, first, second, rng):
        asked.append(len(tasks))
        return GAME.oracle(tasks, first, second, rng)

    tasks = [GAME.task()] * 2
    assert verdicts(counting, tasks, ["a", "b"], ["a", "c"], Random(0)).tolist() == [0.5, 0.7]
    assert asked == [1]
    assert verdicts(counting, tasks, ["a", "b"], ["a", "b"], Random(0)).tolist() == [0.5, 0.5]
    assert asked == [1]


def test_an_oracle_may_give_a_list_and_nothing_but_probabilities():
    assert scores(against_rivals(lambda *_: [0.25], saying("a"), saying("b"), Random(0))) == [0.25]
    assert scores(contested(lambda *_: [0.25], saying("a", "b"), 2, Random(0))) == [0.25, 0.75]
    for given in ([7.0], [0.5, 0.5]):
        with pytest.raises(RedQueenError, match="must give 1 probabilities"):
            against_rivals(lambda *_, given=given: given, saying("a"), saying("b"), Random(0))


def test_win_rates_of_a_group_have_a_mean_of_one_half():
    attempts = play(alone(SOLVE, GAME.problems("matchup", 5, Random(0)), Uniform(), 4), Random(0))
    found = np.array(scores(contested(GAME.oracle, attempts, 4, Random(0)))).reshape(5, 4)
    assert found.mean(axis=1) == pytest.approx([0.5] * 5)
