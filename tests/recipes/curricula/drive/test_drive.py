"""DRIVE: what the second stage attempts, and how loudly a rare success is said."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from redqueen.contracts.recipes import metrics, trained
from redqueen.credit.advantages.keys import by_group
from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.group_rewards import correct
from redqueen.credit.rewards import score
from redqueen.curricula.history import TaskHistory, after
from redqueen.recipes.curricula.drive import recipe as drive
from redqueen.recipes.curricula.drive.steps import ByFailure, Hardest, Stages
from redqueen.settings.learner import Learner
from redqueen.types import Ask, Episode, Group, Message, Outcome, RedQueenError, Reply, Seat, Task, Turn

SOLVER = Seat("solver")
TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=4)


def group(name, *right):
    task = Task(name, prompt=f"What is {name}?")
    turn = Turn(Ask(SOLVER, (Message("game", task.prompt),)), Reply("1", "learner"))
    tries = tuple(
        Episode("g", task, at, (turn,), Outcome({SOLVER: 0.0}, {"right": each}), (SOLVER,))
        for at, each in enumerate(right)
    )
    return Group(0, task, tries)


def solved(rate, tries=10):
    right = [1.0] * round(rate * tries) + [0.0] * (tries - round(rate * tries))
    return after(TaskHistory(Task(f"{rate}")), right, 0, None, 0.5, tries)


def nothing(count, rng):
    return [Task("new", prompt=f"new {number}") for number in range(count)]


@pytest.mark.parametrize(("attempts", "right", "wrong"), [(8, 2.474867, -0.353552), (64, 7.874937, -0.124999)])
def test_a_single_success_is_said_louder_among_many_attempts(attempts, right, wrong):
    """The card (3.2): (G - 1) / sqrt(G) for the success and -1 / sqrt(G) for the others."""
    one = score([group("a", True, *[False] * (attempts - 1))], correct)
    found = np.concatenate(GroupRelative(by_group)(one))
    assert found[0] == pytest.approx(right, abs=1e-5)
    assert found[1:] == pytest.approx(wrong, abs=1e-5)


def test_the_hardest_of_the_solve_rates_are_drawn():
    """The card (3.2): of .9, .5, .1 and 0 two places go to the last two."""
    held = [solved(rate) for rate in (0.9, 0.5, 0.1, 0.0)]
    assert ByFailure()(held, 0).tolist() == pytest.approx([0.1, 0.5, 0.9, 1.0])
    assert Hardest()(held, 2, 0, Random(0)) == [3, 2]
    assert ByFailure()([TaskHistory(Task("new"))], 0).tolist() == [1.0]
    equals = [solved(0.0) for _ in range(4)]
    assert len({Hardest()(equals, 1, 0, Random(seed))[0] for seed in range(40)}) == 4


def stages(**changes):
    return Stages(replace(drive.Config(hard_tasks=2, hard_attempts=4, give_up=8), **changes))


def test_the_order_follows_the_latest_results_and_the_unsolvable_go():
    found = stages()
    found.observe([group("a", True, True, True, False), group("b", *[False] * 4), group("c", True, *[False] * 3)])
    assert [task.id for task in found.hard(nothing, Random(0))] == ["b", "c"]
    found.observe([group("c", *[True] * 4), group("a", *[False] * 4)])
    assert {task.id for task in found.hard(nothing, Random(0))} == {"a", "b"}
    found.observe([group("b", *[False] * 4)])  # the eighth failure
    assert [task.id for task in found.hard(nothing, Random(0))] == ["a", "c"]
    again = stages()
    again.restore(found.state())
    assert [task.id for task in again.hard(nothing, Random(0))] == ["a", "c"]


def test_of_too_many_problems_the_easiest_leave_and_missing_ones_are_drawn_anew():
    found = stages(pool=2)
    found.observe([group("a", *[True] * 4), group("b", *[False] * 4)])
    found.observe([group("c", *[False] * 4)])
    assert {task.id for task in found.hard(nothing, Random(0))} == {"b", "c"}
    found = stages(pool=4)
    found.observe([group(f"hard{n}", *[False] * 4) for n in range(4)])
    found.observe([group(f"easy{n}", *[True] * 4) for n in range(4)])
    assert {each.task.id for each in found._pool.histories()} == {f"hard{n}" for n in range(4)}
    alone = stages()
    alone.observe([group("a", False, False), group("unknown", None, None)])
    assert {task.id for task in alone.hard(nothing, Random(0))} == {"a", "unknown"}
    assert [task.id for task in stages().hard(nothing, Random(0))] == ["new", "new"]
    any_ = stages(focus="any")
    any_.observe([group("a", False, False)])
    assert [task.id for task in any_.hard(nothing, Random(0))] == ["new", "new"]


def test_the_second_stage_has_few_problems_with_many_attempts(tmp_path):
    config = drive.Config(TINY, steps=3, first_stage=2, tasks=3, attempts=2, hard_tasks=1, hard_attempts=8, problems=2)
    lines = metrics(trained(drive, config, tmp_path))
    assert [line["episodes"] for line in lines] == [6, 6, 8]
    assert [line["pool/held"] for line in lines] == [3, 6, 6]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"first_stage": 300}, "--first-stage 300 is longer than the run of --steps 200: at most as long"),
        ({"pool": 1}, "--pool 1 holds fewer problems than --hard-tasks 2 takes a step"),
    ],
)
def test_what_does_not_go_together_is_refused(changes, complaint):
    with pytest.raises(RedQueenError, match=complaint):
        stages(**changes)
