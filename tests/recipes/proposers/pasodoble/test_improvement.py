"""When a question leaves PasoDoble's buffer: at a pass rate of 1, or after three rounds without improvement."""

from dataclasses import replace

import numpy as np
import pytest

from redqueen.curricula.history import TaskHistory
from redqueen.curricula.store import TaskStore
from redqueen.questions.labels import rounds
from redqueen.recipes.proposers.pasodoble.steps import exhausted
from redqueen.types import Episode, Outcome, Seat, Task

SOLVER = Seat("solver")


def attempt(name, score=0.0):
    return Episode("single_reply(solver)", Task(name, "sum", name), 0, (), Outcome({SOLVER: score}), (SOLVER,))


@pytest.mark.parametrize(
    ("results", "leaves"),
    [
        ((), False),
        ((0.5,), False),
        ((1.0,), True),
        ((0.5, 1.0), True),
        ((1.0, 0.5), False),
        ((0.5, 0.5, 0.5), False),  # three rounds, of which the first has nothing to be better than
        ((0.5, 0.5, 0.5, 0.5), True),
        ((0.5, 0.4, 0.6, 0.6), False),
        ((0.5, 0.6, 0.6, 0.6), False),
        ((0.5, 0.6, 0.6, 0.6, 0.4), True),
        ((0.0, 0.0, 0.0, 0.0), True),
    ],
)
def test_a_question_leaves_when_it_is_solved_or_stands_still(results, leaves):
    history = replace(TaskHistory(Task("q")), results=results)
    assert exhausted(history) == leaves


def test_a_round_is_one_result_for_each_task():
    attempts = [attempt(name) for name in "aaabbbccc"]
    told = rounds(attempts, np.array([1 / 3, np.nan, 1.0]))
    assert [(each.task.id, each.outcome.scores[SOLVER]) for each in told] == [("a", 1 / 3), ("c", 1.0)]
    assert rounds([], np.zeros(0)) == []


def test_a_buffer_is_emptied_of_what_is_exhausted():
    buffer = TaskStore()
    buffer.add([Task("a", "sum", "a"), Task("b", "sum", "b")])
    attempts, left = [attempt(name) for name in "aabb"], []
    for rate in (0.5, 0.5, 0.4, 0.5):
        buffer.observe(rounds(attempts, np.array([rate, 0.2 + rate / 2])))
        left.append([task.id for task in buffer.prune(exhausted)])
    assert left == [[], [], [], ["a", "b"]]
