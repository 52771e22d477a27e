"""Win rates: within a group, and against rivals."""

from random import Random

import numpy as np
import pytest

from redqueen.credit.group_rewards import Stated, WinRate
from redqueen.credit.rewards import score
from redqueen.play.groups import attempts, grouped
from redqueen.play.lockstep import play
from redqueen.players.scripted import Uniform
from redqueen.questions.asking import SOLVE
from redqueen.questions.comparisons import against_rivals, compared, verdicts
from redqueen.questions.small.matchups import Matchups
from redqueen.types import Match, RedQueenError, Reply

GAME = Matchups("biased")


class Says:
    """Always the same text."""

    def __init__(self, text):
        self.name, self.text = "learner", text

    def reply(self, asks):
        return [Reply(self.text, self.name) for _ in asks]


def saying(*texts, each=None):
    """Groups of `each` replies to one prompt; all in one group if it is not given."""
    matches = [Match(SOLVE, GAME.task(), {"solver": Says(text)}) for text in texts]
    return grouped(play(matches, Random(0)), each or len(texts))


def rates(groups, reward=WinRate()):
    return [float(each.rewards[0]) for each in score(groups, reward)]


BEATEN = Stated("win_rate")


def blind(tasks, first, second, rng):
    return np.full(len(tasks), np.nan)


def test_each_reply_earns_what_it_wins_against_the_others():
    # a beats b .9 and c .2; b beats a .1 and c .7; c beats a .8 and b .3
    found = compared(GAME.oracle, saying("a", "b", "c"), Random(0))
    assert found[0].attempts[0].outcome.facts["wins"] == pytest.approx((0.5, 0.9, 0.2))
    assert rates(found) == pytest.approx([0.55, 0.4, 0.55])
    assert rates(found, WinRate(beside_itself=True)) == pytest.approx(
        [(0.5 + 1.1) / 3, (0.5 + 0.8) / 3, (0.5 + 1.1) / 3]
    )


@pytest.mark.parametrize("beside_itself", [True, False])
def test_replies_without_a_verdict_stay_and_have_none(beside_itself):
    reward = WinRate(beside_itself)
    assert np.isnan(rates(compared(blind, saying("a", "b"), Random(0)), reward)).all()
    known = rates(compared(GAME.oracle, saying("a", "b", "?"), Random(0)), reward)
    assert np.isnan(known).tolist() == [False, False, True]


def test_groups_are_compared_apart():
    found = compared(GAME.oracle, saying("a", "b", "a", "c", each=2), Random(0))
    assert rates(found) == pytest.approx([0.9, 0.1, 0.2, 0.8])


def test_each_attempt_earns_what_it_wins_against_its_own_rivals():
    tries, rivals = saying("a", "b", each=1), saying("b", "a", "c", "d", each=2)
    found = against_rivals(GAME.oracle, tries, rivals, Random(0))
    assert rates(found, BEATEN) == pytest.approx([(0.9 + 0.5) / 2, (0.7 + 0.9) / 2])
    assert against_rivals(GAME.oracle, [], [], Random(0)) == []
    assert np.isnan(rates(against_rivals(blind, tries, saying("b", "a", each=1), Random(0)), BEATEN)).all()


def test_all_attempts_of_a_group_meet_all_its_rivals():
    found = against_rivals(GAME.oracle, saying("a", "b"), saying("b", "c"), Random(0))
    assert rates(found, BEATEN) == pytest.approx([(0.9 + 0.2) / 2, (0.5 + 0.7) / 2])


def test_a_rival_without_a_verdict_counts_nothing():
    found = against_rivals(GAME.oracle, saying("a"), saying("b", "?"), Random(0))
    assert rates(found, BEATEN) == pytest.approx([0.9])


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
    assert rates(against_rivals(lambda *_: [0.25], saying("a"), saying("b"), Random(0)), BEATEN) == [0.25]
    assert rates(compared(lambda *_: [0.25], saying("a", "b"), Random(0))) == [0.25, 0.75]
    for given in ([7.0], [0.5, 0.5]):
        with pytest.raises(RedQueenError, match="must give 1 probabilities"):
            against_rivals(lambda *_, given=given: given, saying("a"), saying("b"), Random(0))


def test_win_rates_of_a_group_have_a_mean_of_one_half():
    tries = attempts(SOLVE, GAME.problems("matchup", 5, Random(0)), Uniform(), 4, Random(0))
    found = np.array(rates(compared(GAME.oracle, tries, Random(0)))).reshape(5, 4)
    assert found.mean(axis=1) == pytest.approx([0.5] * 5)
