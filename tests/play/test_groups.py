"""Groups: one task drawn once, its attempts in order, and who proposed it."""

from random import Random

import numpy as np
import pytest

from redqueen.credit.advantages.keys import by_group, by_task_and_role
from redqueen.credit.advantages.statistics import GroupRelative, LeaveOneOut
from redqueen.credit.group_rewards import Stated
from redqueen.credit.rewards import score
from redqueen.games.single_reply import SingleReply
from redqueen.play.groups import attempts, authors, episodes_of, grouped, noted, with_facts
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.players.scripted import Uniform
from redqueen.types import RedQueenError, Refusal, Task

GAME = SingleReply()
TASKS = [Task(name, prompt=f"{name}?", choices=("yes", "no", "perhaps")) for name in "ab"]


def words(episodes):
    return [episode.outcome.facts["reply"] for episode in episodes]


def test_attempts_are_what_play_alone_says_in_groups():
    groups = attempts(GAME, TASKS, Uniform(), 4, Random(3))
    plain = play(alone(GAME, TASKS, Uniform(), 4), Random(3))
    assert words(episodes_of(groups)) == words(plain)
    assert [each.seed for each in episodes_of(groups)] == [each.seed for each in plain]
    assert [(group.task, len(group.attempts), group.parent) for group in groups] == [(task, 4, None) for task in TASKS]


def test_no_two_groups_of_a_run_have_one_number():
    rng = Random(0)
    groups = [group for _ in range(20) for group in attempts(GAME, TASKS * 3, Uniform(), 2, rng)]
    assert len({group.number for group in groups}) == len(groups) == 120


def test_two_draws_of_one_task_are_two_groups():
    """By hand: marks 1 0 and 1 1 give +-1/2 and 0 0 in groups of two; as one group of four, means of 3/4."""
    groups = with_facts(
        attempts(GAME, [TASKS[0]] * 2, Uniform(), 2, Random(0)), [{"mark": mark} for mark in (1.0, 0.0, 1.0, 1.0)]
    )
    trajectories = score(groups, Stated("mark"))
    found = GroupRelative(by_group, divide_by_deviation=False)(trajectories)
    assert np.concatenate(found).tolist() == [0.5, -0.5, 0.0, 0.0]
    together = GroupRelative(by_task_and_role, divide_by_deviation=False)(trajectories)
    assert np.concatenate(together).tolist() == [0.25, -0.75, 0.25, 0.25]
    assert np.concatenate(LeaveOneOut(by_group)(trajectories)).tolist() == [1.0, -1.0, 0.0, 0.0]


def test_a_group_knows_who_proposed_its_task():
    proposals = attempts(SingleReply("proposer"), TASKS, Uniform(), 2, Random(0))
    written = [TASKS[0], Refusal("malformed"), Refusal("malformed"), TASKS[1]]
    parents = authors(proposals, written)
    assert [parent.seed for parent in parents] == [proposals[0].attempts[0].seed, proposals[1].attempts[1].seed]
    groups = attempts(GAME, TASKS, Uniform(), 3, Random(1), parents)
    assert all(group.parent is parent for group, parent in zip(groups, parents, strict=True))
    assert attempts(GAME, TASKS, Uniform(), 3, Random(1), [None, parents[0]])[0].parent is None
    with pytest.raises(RedQueenError, match="a parent is named for each of 2 tasks, not for 1"):
        attempts(GAME, TASKS, Uniform(), 3, Random(1), parents[:1])


def test_facts_are_added_and_nothing_else_changes():
    groups = attempts(GAME, TASKS, Uniform(), 2, Random(0))
    told = with_facts(groups, [{"right": place % 2 == 0} for place in range(4)])
    assert [each.outcome.facts["right"] for each in episodes_of(told)] == [True, False] * 2
    assert words(episodes_of(told)) == words(episodes_of(groups))
    assert [group.number for group in told] == [group.number for group in groups]
    assert "right" not in groups[0].attempts[0].outcome.facts
    assert noted(groups[0].attempts, [{"right": True}] * 2)[0].outcome == told[0].attempts[0].outcome


def test_episodes_that_make_no_whole_groups_are_refused():
    with pytest.raises(RedQueenError, match="3 episodes do not make groups of 2"):
        grouped(play(alone(GAME, TASKS[:1], Uniform(), 3), Random(0)), 2)
    assert grouped([], 8) == []
