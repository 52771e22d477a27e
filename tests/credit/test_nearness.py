"""What failures are paid for coming near the successes of their group, by hand and by the card's vectors (2.8)."""

import numpy as np
import pytest

from redqueen.credit.advantages.keys import by_group
from redqueen.credit.filters import own_score
from redqueen.credit.nearness import progress, with_progress
from redqueen.types import Ask, Episode, Outcome, Reply, Seat, Task, Trajectory, Turn

SOLVER = Seat("solver")


def said(text, right, group=0):
    turn = Turn(Ask(SOLVER, ()), Reply(text))
    facts = {"right": right}
    episode = Episode("reply", Task(f"t{group}"), 0, (turn,), Outcome({SOLVER: 0.0}, facts), (SOLVER,))
    return Trajectory(episode, SOLVER, (turn,), np.array([np.nan if right is None else float(right)]), {}, group)


def test_failures_are_paid_by_their_distance():
    assert progress([2, 3, 5, 8]) == pytest.approx([0.595984, 0.579333, 0.3, 0.004016], abs=1e-6)
    assert progress([4, 4]) == [0.3, 0.3]
    assert progress([1]) == [0.3]
    assert progress([]) == []


def test_a_failure_in_the_words_of_a_success_earns_nearly_all():
    """Shares of words: the success is (a 1/2, b 1/2); the failures (1/2, 1/2), (1, 0) and (0, 0, c 1) lie 0,
    sqrt(1/2) and sqrt(3/2) from it."""
    found = with_progress(
        [said("a b", True), said("b A", False), said("a", False), said("c c", False)], by_group, own_score, 0.6
    )
    middle = np.sqrt(0.5) / np.sqrt(1.5)
    expected = [1.0, *(0.6 / (1.0 + np.exp(-10.0 * (0.5 - d))) for d in (0.0, middle, 1.0))]
    assert [float(each.rewards[0]) for each in found] == pytest.approx(expected)
    assert {name: float(part[0]) for name, part in found[1].parts.items()} == pytest.approx(
        {"task": 0.0, "progress": expected[1]}
    )


def test_without_a_success_or_a_verdict_nothing_is_paid():
    found = with_progress([said("a", False), said("b", False), said("c", None)], by_group, own_score, 0.6)
    assert [float(each.rewards[0]) for each in found][:2] == [0.0, 0.0]
    assert np.isnan(found[2].rewards[0])


def test_successes_of_another_group_do_not_count():
    found = with_progress([said("a", False), said("a", True, group=1)], by_group, own_score, 0.6)
    assert [float(each.rewards[0]) for each in found] == [0.0, 1.0]
