from dataclasses import replace

import numpy as np

from redqueen.curricula.eviction import (
    LowestPriority,
    MostSolved,
    Stagnant,
    newest,
    oldest,
    oldest_of_most,
    solved_at_least,
)
from redqueen.curricula.history import TaskHistory
from redqueen.types import Task

HELD = [
    replace(TaskHistory(Task(str(place))), results=(1.0,) * 10, solved_of_results=solved, unmoved=unmoved)
    for place, (solved, unmoved) in enumerate([(5, 0), (9, 3), (10, 1), (9, 4), (0, 5)])
]


def test_the_oldest_or_the_newest_leave():
    assert oldest(HELD, 2, 0) == [0, 1]
    assert newest(HELD, 2, 0) == [3, 4]


def test_the_least_wanted_leave_and_of_equals_the_oldest():
    wanted = LowestPriority(lambda held, now: np.array([3.0, 1.0, 2.0, 1.0, 9.0]))
    assert wanted(HELD, 3, 0) == [1, 3, 2]
    alike = LowestPriority(lambda held, now: np.arange(100) % 2.0)
    assert alike(HELD * 20, 50, 0) == list(range(0, 100, 2))


def test_the_most_solved_leave_and_then_the_oldest():
    assert MostSolved(0.9)(HELD, 3, 0) == [2, 1, 3]
    assert MostSolved(0.9)(HELD, 5, 0) == [2, 1, 3, 0, 4]


def test_the_stagnant_leave_and_then_the_oldest():
    assert Stagnant(3)(HELD, 3, 0) == [4, 3, 1]
    assert Stagnant(3)(HELD, 5, 0) == [4, 3, 1, 0, 2]


def test_a_task_is_solved_at_the_rate_itself_and_an_untried_one_is_not():
    assert [solved_at_least(0.9)(history) for history in HELD] == [False, True, True, True, False]
    assert not solved_at_least(0.0)(TaskHistory(Task("new")))


def test_no_kind_is_pushed_out_by_the_others():
    held = [TaskHistory(Task(str(place), kind)) for place, kind in enumerate("abbabbbc")]
    assert oldest_of_most(held, 1, 0) == [1]
    assert oldest_of_most(held, 5, 0) == [1, 2, 4, 0, 5]  # of equals the kind that was there first
    assert {held[place].task.kind for place in range(8) if place not in oldest_of_most(held, 5, 0)} == set("abc")
