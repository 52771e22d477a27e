"""Advantage alignment: the worked sums, rounds of several turns, matches of unequal length."""

from random import Random

import numpy as np
import pytest

from redqueen.credit.advantages.keys import by_task_role_and_turn
from redqueen.credit.advantages.statistics import LeaveOneOut, RewardToGo
from redqueen.credit.rewards import gains, payoff, score
from redqueen.games.iterated_dilemma import IteratedDilemma
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.games.trust_and_split import TrustAndSplit
from redqueen.play.lockstep import play
from redqueen.players.scripted import Constant, Scripted, Uniform
from redqueen.recipes.games.advantage_alignment.steps import Aligned, rounds_of
from redqueen.types import Match, RedQueenError

ESTIMATE = LeaveOneOut(by_task_role_and_turn, RewardToGo(0.9))


def dilemmas(count, rounds=3, **changes):
    """Trajectories of both seats of matches between uniform players."""
    game = IteratedDilemma(rounds, **changes)
    matches = [Match(game, game.tasks()[0], dict.fromkeys(game.roles, Uniform())) for _ in range(count)]
    return score(play(matches, Random(0)), gains)


def given(*advantages):
    """An estimator that gives these, whatever it is shown."""
    return lambda trajectories: [np.array(each) for each in advantages]


def test_the_worked_example():
    """w = 0, .9, .9 (.9 - 2) = -.99;  A* = 1, -2 + .5 x .9 x 1, 3 + .5 x -.99 x -1. And for the other seat
    w = 0, .45, .9 (.45 + 1) = 1.305;  A* = .5, 1 + .5 x .45 x -2, -1 + .5 x 1.305 x 3."""
    first, second = Aligned(given([1.0, -2.0, 3.0], [0.5, 1.0, -1.0]), beta=0.5, discount=0.9)(dilemmas(1))
    assert first == pytest.approx([1.0, -1.55, 3.495])
    assert second == pytest.approx([0.5, 0.55, 0.9575])


def test_the_recursion_is_the_double_sum():
    rng = np.random.default_rng(0)
    own, other = rng.normal(size=12), rng.normal(size=12)
    (found, _) = Aligned(given(own, other), beta=2.0, discount=0.96)(dilemmas(1, rounds=12))
    for t in range(12):
        weight = sum(0.96 ** (t - k) * own[k] for k in range(t))
        assert found[t] == pytest.approx(own[t] + 2.0 * weight * other[t])


@pytest.mark.slow
def test_a_long_match_does_not_overflow():
    ones = np.ones(2000)
    (found, _) = Aligned(given(ones, ones), beta=1.0, discount=0.5)(dilemmas(1, rounds=2000))
    assert found[-1] == pytest.approx(2.0)  # w tends to .5 / (1 - .5)


def test_without_alignment_a_game_of_one_turn_a_round_gets_the_inner_advantages_bit_for_bit():
    trajectories = dilemmas(6)
    for aligned, plain in zip(Aligned(ESTIMATE, beta=0.0)(trajectories), ESTIMATE(trajectories), strict=True):
        assert aligned.tolist() == plain.tolist()


def test_each_match_is_aligned_with_its_own_other_seat():
    trajectories = dilemmas(2, rounds=2)
    advantages = ([1.0, 0.0], [0.0, 5.0], [1.0, 0.0], [0.0, 7.0])
    first, _, third, _ = Aligned(given(*advantages), beta=1.0, discount=1.0)(trajectories)
    assert (first.tolist(), third.tolist()) == ([1.0, 5.0], [1.0, 7.0])


def shared(rounds, replies, retries=0):
    game = TrustAndSplit(rounds=rounds, listed=True, retries=retries)
    return score(
        play([Match(game, game.tasks()[0], {"first": Scripted(replies), "second": Uniform()})], Random(0)), gains
    )


def test_a_message_and_the_claim_after_it_are_one_action_of_one_round():
    first, second = shared(2, ("rock", "3", "paper", "4"))
    assert rounds_of(first) == rounds_of(second) == [0, 0, 1, 1]
    seen = []

    def inner(trajectories):
        seen.extend(each.rewards.tolist() for each in trajectories)
        return [np.array([1.0, 2.0]), np.array([10.0, 20.0])]

    mine, theirs = Aligned(inner, beta=1.0, discount=0.5)([first, second])
    assert mine.tolist() == [1.0, 1.0, 2.0 + 0.5 * 20.0, 2.0 + 0.5 * 20.0]
    assert theirs.tolist() == [10.0, 10.0, 20.0 + 5.0 * 2.0, 20.0 + 5.0 * 2.0]
    assert [sum(each) for each in seen] == [first.rewards.sum(), second.rewards.sum()]
    assert all(len(each) == 2 for each in seen)


def test_a_second_chance_belongs_to_the_round_in_which_it_is_given():
    first, _ = shared(2, ("rock", "many", "3", "paper", "4"), retries=1)
    assert rounds_of(first) == [0, 0, 0, 1, 1]


def test_a_match_that_ends_early_is_no_zero_in_the_baseline_of_later_rounds():
    """Three matches of one round and more: the return of round 2 is compared among the two that reached it."""
    game = IteratedDilemma(rounds=2)
    casts = [("cooperate", "cooperate"), ("cooperate", "defect"), ("oops", "defect")]
    matches = [Match(game, game.tasks()[0], {"first": Constant(a), "second": Constant(b)}) for a, b in casts]
    trajectories = score(play(matches, Random(0)), gains)
    firsts = [
        a
        for a, t in zip(Aligned(ESTIMATE, beta=0.0)(trajectories), trajectories, strict=True)
        if t.seat.role == "first"
    ]
    # returns of the first seat: 3 + .9 x 3, 0, 0 in round 1; 3 and 0 in round 2
    assert firsts[0].tolist() == pytest.approx([5.7, 3.0])
    assert firsts[1].tolist() == pytest.approx([-2.85, -3.0])
    assert firsts[2].tolist() == pytest.approx([-2.85])


def test_a_game_without_gains_is_refused():
    game = KuhnPoker()
    (*trajectories,) = score(
        play([Match(game, game.tasks()[0], dict.fromkeys(game.roles, Uniform()))], Random(0)), payoff
    )
    with pytest.raises(RedQueenError, match="reports no gains"):
        Aligned(ESTIMATE)(trajectories)


def test_nothing_in_gives_nothing_out():
    assert Aligned(ESTIMATE)([]) == []
