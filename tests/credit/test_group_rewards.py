"""Rewards of a group, what a proposer earns by the groups below it, and what has no verdict."""

from math import inf, nan

import numpy as np
import pytest

from redqueen.credit.advantages.keys import by_group, everything
from redqueen.credit.advantages.statistics import (
    GeneralizedAdvantage,
    GroupRelative,
    LeaveOneOut,
    MovingBaseline,
    Unbaselined,
    Whitened,
)
from redqueen.credit.filters import drop_even_groups
from redqueen.credit.group_rewards import Correctness, FromBelow, Stated, WinRate, WithForm, correct, for_its_seat
from redqueen.credit.outcomes import rate, result, verdicts, vote
from redqueen.credit.pairs import best_and_worst
from redqueen.credit.rewards import FormatBonus, has_verdict, payoff, score, with_verdict
from redqueen.objectives.batch import pack, row_mean
from redqueen.runs.run import summary
from redqueen.types import Ask, Episode, Group, Message, Outcome, RedQueenError, Reply, Seat, Task, Turn

SOLVER, PROPOSER = Seat("solver"), Seat("proposer")


def attempt(text="7", seat=SOLVER, seed=0, task=Task("t"), truncated=False, malformed=False, **facts):
    reply = Reply(
        text,
        "learner",
        prompt_tokens=np.array([1]),
        tokens=np.array([2, 3]),
        logprobs=np.array([-0.5, -0.5]),
        truncated=truncated,
        malformed=malformed,
    )
    turns = (Turn(Ask(seat, (Message("game", "?"),)), reply),)
    return Episode("single_reply", task, seed, turns, Outcome({seat: 0.0}, {"reply": text, **facts}), (seat,))


def group(*attempts, number=1, parent=None):
    return Group(number, attempts[0].task, tuple(attempts), parent)


def rights(*verdicts, number=1, parent=None):
    said = (attempt(f"{place}", right=verdict) for place, verdict in enumerate(verdicts))
    return group(*said, number=number, parent=parent)


def rewards(trajectories):
    return [float(each.rewards[0]) for each in trajectories]


def test_what_attempts_came_to():
    mixed = group(
        attempt("4", right=True), attempt("5", right=False), attempt("4", right=None), attempt("4", right=True)
    )
    np.testing.assert_equal(verdicts(mixed), [1.0, 0.0, nan, 1.0])
    assert (rate(mixed).mean, rate(mixed).scored, rate(mixed).unscored) == (2 / 3, 3, 1)
    cut = group(attempt("4", right=True, truncated=True), attempt("4", right=False))
    assert (vote(mixed).answer, vote(mixed).share) == ("4", 0.75)
    assert (vote(cut).share, vote(cut).counted) == (0.5, 1)
    assert result(attempt(right=(True, False)), SOLVER) == 0.0  # of two answers the last
    assert result(attempt(), SOLVER) == 0.0


def test_every_attempt_of_a_group_is_scored_and_knows_its_group():
    trajectories = score([rights(True, None, False, number=7), rights(True, number=8)], correct)
    np.testing.assert_equal(rewards(trajectories), [1.0, nan, 0.0, 1.0])
    assert [each.group for each in trajectories] == [7, 7, 7, 8]
    assert [has_verdict(each) for each in trajectories] == [True, False, True, True]
    assert len(with_verdict(trajectories)) == 3


def test_rewards_of_an_episode_and_of_a_group_add_up_with_named_parts():
    both = group(attempt(right=True), attempt(right=False, malformed=True))
    first, second = score([both], correct, FormatBonus(0.05))
    assert (first.rewards.tolist(), second.rewards.tolist()) == ([1.05], [0.0])
    assert {name: values.tolist() for name, values in first.parts.items()} == {"right": [1.0], "FormatBonus": [0.05]}
    figures = summary([first, second])
    assert (figures["reward/solver"], figures["reward/right"], figures["reward/FormatBonus"]) == (0.525, 0.5, 0.025)
    assert score([both], correct)[0].parts == {}  # one part alone is the reward


def test_a_verdict_and_the_form_share_a_reward():
    both = group(attempt(right=True), attempt(right=False), attempt(right=True, truncated=True))
    assert rewards(score([both], WithForm(0.1))) == pytest.approx([1.0, 0.1, 0.9])
    unread = group(attempt(opinion=None), attempt(opinion=0.5))
    np.testing.assert_equal(rewards(score([unread], WithForm(0.5, "opinion"))), [nan, 0.75])


def test_correctness_pays_for_form_where_the_answer_is_wrong():
    told = group(
        attempt(right=True),
        attempt(right=False),
        attempt(right=False, malformed=True),
        attempt(right=None, malformed=True),
    )
    np.testing.assert_equal(rewards(score([told], Correctness())), [1.0, -0.5, -1.0, nan])


def test_a_critic_stays_where_nobody_knows():
    class Critic:
        def values(self, trajectories):
            return [np.array([0.25]) for _ in trajectories]

    trajectories = score([rights(True, None)], correct)
    advantages, targets = GeneralizedAdvantage(Critic()).with_targets(trajectories)
    np.testing.assert_equal([float(each[0]) for each in advantages], [0.75, nan])
    assert [float(each[0]) for each in targets] == [1.0, 0.25]


def test_a_reward_of_an_episode_may_say_nothing_where_nobody_knows():
    def by_verdict(episode):
        right = episode.outcome.facts["right"]
        return {SOLVER: np.array([nan if right is None else float(right)])}

    np.testing.assert_equal(rewards(score([rights(True, None)], by_verdict)), [1.0, nan])
    with pytest.raises(RedQueenError, match="1 finite numbers"):
        score([rights(True)], lambda episode: {SOLVER: np.array([nan])})


def test_win_rates_are_taken_over_who_was_compared():
    wins = group(attempt(wins=(0.5, 0.9, None)), attempt(wins=(0.1, 0.5, None)), attempt(wins=(None, None, 0.5)))
    np.testing.assert_equal(rewards(score([wins], WinRate())), [0.9, 0.1, nan])
    np.testing.assert_allclose(rewards(score([wins], WinRate(beside_itself=True))), [0.7, 0.3, nan])


def test_a_proposal_earns_what_is_found_of_the_group_below_it():
    one, refused, other = (attempt("q", PROPOSER, seed=seed) for seed in range(3))
    below = [rights(True, False, parent=one), rights(None, None, parent=other, number=2)]
    reward = FromBelow(below, {"difficulty": [0.5, nan], "novelty": [0.25, 0.25]}, refused=-1.0)
    trajectories = score([group(one, refused, other)], reward)
    np.testing.assert_equal(rewards(trajectories), [0.75, -1.0, nan])
    assert {name: float(values[0]) for name, values in trajectories[1].parts.items()} == {
        "difficulty": 0.0,
        "novelty": 0.0,
        "refused": -1.0,
    }


def test_a_parent_is_known_by_what_it_said_also_when_facts_were_added():
    one = attempt("q", PROPOSER, seed=5)
    told = attempt("q", PROPOSER, seed=5, refused="")
    assert rewards(score([group(told)], FromBelow([rights(True, parent=one)], {"difficulty": [0.5]}))) == [0.5]


def test_groups_without_a_parent_pay_nobody_and_are_refused():
    with pytest.raises(RedQueenError, match="needs a parent of its own"):
        score([group(attempt("q", PROPOSER))], FromBelow([rights(True)], {"difficulty": [0.5]}))


def test_only_seats_that_a_group_reward_names_learn():
    class OfOne:
        def of_group(self, group):
            return {"won": {SOLVER: np.ones(len(group.attempts))}}

    turns = tuple(Turn(Ask(seat, ()), Reply("x", "learner")) for seat in (PROPOSER, SOLVER))
    episode = Episode("duel", Task("t"), 0, turns, Outcome({PROPOSER: 0.0, SOLVER: 0.0}), (PROPOSER, SOLVER))
    assert [each.seat for each in score([group(episode)], OfOne())] == [SOLVER]
    assert [each.seat for each in score([group(episode)], payoff)] == [PROPOSER, SOLVER]
    keys = [by_group(each, 0) for each in score([group(episode)], payoff)]
    assert keys == [(1, "proposer"), (1, "solver")]


def test_a_reward_goes_on_the_last_own_turn():
    turns = tuple(Turn(Ask(SOLVER, ()), Reply("x", "learner")) for _ in range(3))
    episode = Episode("talk", Task("t"), 0, turns, Outcome({SOLVER: 0.0}, {"right": True}), (SOLVER,))
    assert score([group(episode)], correct)[0].rewards.tolist() == [0.0, 0.0, 1.0]


def test_what_a_group_reward_must_give():
    class Gives:
        def __init__(self, values):
            self.values = values

        def of_group(self, group):
            return for_its_seat(group, {"given": self.values})

    for values in (["good", "bad"], [{}, {}]):
        with pytest.raises(RedQueenError, match="the part 'given' of a reward is numbers, one an attempt, not"):
            score([rights(True, False)], Gives(values))
    for values in ([1.0], [1.0, inf]):
        with pytest.raises(RedQueenError, match="Gives must give the seat solver one number for each of 2"):
            score([rights(True, False)], Gives(values))
    with pytest.raises(RedQueenError, match=r"reward Nothing\.of_group\(group\) must give .*not None"):
        score([rights(True)], type("Nothing", (), {"of_group": lambda self, group: None})())
    with pytest.raises(RedQueenError, match="each part of a reward has a name of its own"):
        score([rights(True)], Gives([1.0]), Gives([1.0]))
    with pytest.raises(RedQueenError, match="is of a group: play with attempts"):
        score([attempt(right=True)], correct)
    with pytest.raises(RedQueenError, match="no fact 'right'"):
        score([group(attempt())], correct)
    with pytest.raises(RedQueenError, match="is of no group: play with attempts"):
        by_group(score([attempt()], payoff)[0], 0)


ESTIMATORS = [
    GroupRelative(by_group),
    GroupRelative(by_group, deviation_key=everything),
    GroupRelative(by_group, divide_by_deviation=False),
    LeaveOneOut(by_group),
    Unbaselined(),
    Whitened(Unbaselined()),
    MovingBaseline(),
]


@pytest.mark.parametrize("estimate", ESTIMATORS, ids=lambda each: type(each).__name__)
def test_what_has_no_verdict_is_in_no_mean_and_no_deviation(estimate):
    trajectories = score([rights(True, None, False, True), rights(None, True, False, number=2)], correct)
    found = estimate(trajectories)
    again = MovingBaseline() if isinstance(estimate, MovingBaseline) else estimate
    expected = iter(again(with_verdict(trajectories)))
    for each, advantage in zip(trajectories, found, strict=True):
        np.testing.assert_array_equal(advantage, next(expected) if has_verdict(each) else [nan])


def test_an_attempt_without_a_verdict_has_no_loss_and_is_counted():
    trajectories = score([rights(True, None, False, True)], correct)
    advantages = GroupRelative(by_group)(trajectories)
    known = with_verdict(trajectories)
    for weigh in (row_mean, lambda own: own / own.sum()):
        batch, expected = pack(trajectories, advantages, weigh), pack(known, GroupRelative(by_group)(known), weigh)
        assert batch.tokens.tolist() == expected.tokens.tolist()
        assert batch.loss_weights.tolist() == expected.loss_weights.tolist()
        assert batch.advantages.tolist() == expected.advantages.tolist()
    figures = summary(trajectories)
    assert (figures["attempts/without_verdict"], figures["episodes"]) == (1.0, 4.0)
    assert figures["reward/solver"] == pytest.approx(2 / 3)
    assert "attempts/without_verdict" not in summary(known)


def test_pairs_and_even_groups_look_at_verdicts_alone():
    answers = group(attempt("x", right=None), attempt("7", right=True), attempt("8", right=False))
    trajectories = score([answers, rights(None, True, True, number=2), rights(None, number=3)], correct)
    chosen, rejected = best_and_worst(trajectories, by_group)
    assert (rewards(chosen), rewards(rejected)) == ([1.0], [0.0])
    assert {each.group for each in drop_even_groups(trajectories, by_group)} == {1}


def test_a_fact_is_a_reward_of_any_scale():
    assert rewards(score([group(attempt(reward=-3.5), attempt(reward=2))], Stated("reward"))) == [-3.5, 2.0]
