"""Earlier attempts: what is kept, for how long, and how they repair a group that is all alike."""

import json
from dataclasses import replace

import numpy as np
import pytest

from redqueen.credit.advantages.keys import by_group
from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.filters import own_score
from redqueen.curricula.experience import MOST_KEPT, Experience, informative, replays
from redqueen.types import Ask, Episode, Outcome, RedQueenError, Reply, Seat, Task, Trajectory, Turn

SOLVER = Seat("solver")


def attempt(task, right, group=0, seed=0, known=True):
    reply = Reply("x", "learner", 3, np.zeros(1, dtype=np.int64), np.array([4, 5]), np.array([-0.1, -1 / 3]))
    turn = Turn(Ask(SOLVER, ()), reply)
    facts = {"right": right if known else None}
    episode = Episode("g", Task(task), seed, (turn,), Outcome({SOLVER: 0.0}, facts), (SOLVER,))
    return Trajectory(episode, SOLVER, (turn,), np.array([float(right) if known else np.nan]), {}, group)


def kept(*trajectories, **how):
    experience = Experience(**how)
    experience.add(trajectories, 0)
    return experience


def joined(trajectories, experience):
    return replays(trajectories, experience, by_group, own_score)


def test_an_all_wrong_group_is_joined_by_the_latest_success_at_its_task():
    experience = kept(attempt("a", True, seed=1), attempt("a", True, seed=2), attempt("b", True, seed=3))
    experience.add([attempt("a", True, seed=4)], 1)
    (again,) = joined([attempt("a", False, group=7) for _ in range(4)], experience)
    assert (again.episode.seed, again.group) == (4, 7)


def test_an_all_right_group_is_joined_by_a_failure_and_a_mixed_one_by_nothing():
    experience = kept(attempt("a", False, seed=1), attempt("a", True, seed=2))
    (again,) = joined([attempt("a", True, group=7) for _ in range(2)], experience)
    assert again.episode.seed == 1
    assert joined([attempt("a", True), attempt("a", False)], experience) == []
    assert joined([attempt("a", False)], experience) == [], "an attempt that is alone is no even group"
    assert joined([attempt("a", True), attempt("c", True)], experience) == [], "a group of several tasks"
    assert joined([attempt("c", False), attempt("c", False)], experience) == []


def test_a_rare_success_among_four_failures_has_the_advantages_of_the_card():
    """R3 (2.4): 0 0 0 0 and a stored 1 come to -.447213 four times and 1.788850."""
    group = [attempt("a", False) for _ in range(4)]
    mixed = [*group, *joined(group, kept(attempt("a", True)))]
    found = np.concatenate(GroupRelative()(mixed))
    assert found == pytest.approx([-0.447213] * 4 + [1.788850], abs=2e-6)


def test_the_factor_of_rapo_is_groups_over_groups_with_a_spread():
    """RAPO (2.11): four groups, one of them alive, [0, 0, 0, 1]: -1.999996 three times and 5.999988."""
    dead = [attempt(f"t{number}", False, group=number) for number in (1, 2, 3) for _ in range(4)]
    alive = [attempt("t0", right, group=0) for right in (False, False, False, True)]
    factor = informative([*alive, *dead], by_group, own_score)
    assert factor == 4.0
    found = factor * np.concatenate(GroupRelative()([*alive, *dead]))[:4]
    assert found == pytest.approx([-1.999996] * 3 + [5.999988], abs=1e-6)
    assert informative(dead, by_group, own_score) == 1.0


def test_old_attempts_are_forgotten_and_few_of_a_task_are_kept():
    experience = kept(*(attempt("a", True, seed=seed) for seed in range(9)), most=4, age=2)
    assert len(experience) == 4
    experience.add([], 1)
    assert joined([attempt("a", False)] * 2, experience)
    experience.add([], 2)
    assert joined([attempt("a", False)] * 2, experience) == []


def test_many_failures_do_not_push_out_a_rare_success():
    experience = kept(attempt("a", True, seed=1))
    for step in range(1, 20):
        experience.add([attempt("a", False, seed=9) for _ in range(8)], step)
    assert joined([attempt("a", False)] * 2, experience)[0].episode.seed == 1
    assert len(experience) == 1 + 4


def test_wrong_attempts_that_are_paid_for_their_form_do_not_push_out_a_right_one():
    experience = kept(attempt("a", True, seed=1))
    for step in range(1, 4):
        shaped = [attempt("a", False, seed=9) for _ in range(8)]
        experience.add([replace(each, rewards=each.rewards + 0.05) for each in shaped], step)
    assert joined([attempt("a", False)] * 2, experience)[0].episode.seed == 1


def test_an_attempt_without_a_verdict_is_not_kept():
    assert len(kept(attempt("a", True, known=False))) == 0


def test_it_reads_back_from_a_checkpoint_bit_for_bit():
    experience = kept(attempt("a", True, seed=5), attempt("b", False))
    other = Experience()
    other.restore(json.loads(json.dumps(experience.state())))
    assert other.state() == experience.state()
    (again,) = joined([attempt("a", False)] * 2, other)
    assert again.turns[0].reply.logprobs.tolist() == [-0.1, -1 / 3]
    assert again.turns[0].reply.version == 3


@pytest.mark.parametrize("how", [{"most": 0}, {"most": MOST_KEPT + 1}, {"age": 0}])
def test_a_store_of_none_or_of_more_than_it_may_hold_is_refused(how):
    with pytest.raises(RedQueenError, match="an experience holds 1 to 4096 trajectories of a task"):
        Experience(**how)


def test_steps_are_counted_on_after_a_run_was_resumed():
    """Ages count from the step at which an attempt was kept, not from where a run went on."""
    experience = kept(attempt("a", True))
    assert experience.next_step == 1
    again = Experience()
    assert again.next_step == 0
    again.restore(experience.state())
    assert again.next_step == 1
