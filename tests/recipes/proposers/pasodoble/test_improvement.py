"""When a question leaves PasoDoble's buffer: at a pass rate of 1, or after three rounds without improvement."""

from dataclasses import replace
from random import Random

import pytest

from redqueen.credit.outcomes import rate
from redqueen.curricula.history import TaskHistory
from redqueen.curricula.store import TaskStore
from redqueen.recipes.proposers.pasodoble.steps import Buffer, exhausted
from redqueen.types import Ask, Episode, Group, Outcome, Reply, Seat, Task, Turn

SOLVER = Seat("solver")


def tried(name, rate):
    """A group of 100 attempts at a task, this share of them right; None where nobody knows."""
    task, marks = Task(name, "sum", name), [None] * 100 if rate is None else [n < 100 * rate for n in range(100)]
    turns = (Turn(Ask(SOLVER, ()), Reply("7", "solver")),)
    scores = [Outcome({SOLVER: 0.0}, {"reply": "7", "right": mark}) for mark in marks]
    return Group(
        0, task, tuple(Episode("single_reply", task, n, turns, each, (SOLVER,)) for n, each in enumerate(scores))
    )


@pytest.mark.parametrize(
    ("results", "leaves"),
    [
        ((), False),
        ((0.5,), False),  # the rate at entry
        ((0.5, 1.0), True),
        ((1.0, 0.5), False),
        ((0.5, 0.5, 0.5), False),  # two rounds without improvement
        ((0.5, 0.5, 0.5, 0.5), True),  # the third
        ((0.5, 0.4, 0.6, 0.6), False),
        ((0.5, 0.6, 0.6, 0.6), False),
        ((0.5, 0.6, 0.6, 0.6, 0.4), True),
        ((0.0, 0.0, 0.0, 0.0), True),
    ],
)
def test_a_question_leaves_when_it_is_solved_or_stands_still(results, leaves):
    history = replace(TaskHistory(Task("q")), results=results)
    assert exhausted(history) == leaves


def pass_rate(group):
    return rate(group).mean


def test_a_round_is_one_result_for_each_task():
    buffer = TaskStore()
    buffer.add([Task(name, "sum", name) for name in "abc"])
    buffer.observe_groups([tried("a", 0.34), tried("b", None), tried("c", 1.0)], pass_rate)
    assert [buffer[name].results for name in "abc"] == [(0.34,), (), (1.0,)]


def held(buffer):
    return sorted(task.id for task in buffer.draw(9, Random(0)))


def test_a_problem_leaves_in_the_third_round_that_is_no_better_than_its_entry():
    buffer, left = Buffer(), []
    buffer.add([tried("a", 0.5), tried("b", 0.45)], "proposer", 0)
    for share in (0.5, 0.4, 0.5):
        buffer.observe([tried("a", share), tried("b", 0.2 + share / 2)])  # b: 0.45, 0.4, 0.45
        left.append(held(buffer))
    assert left == [["a", "b"], ["a", "b"], []]


def test_a_problem_that_gets_better_stays_and_one_that_is_solved_leaves():
    buffer = Buffer()
    buffer.add([tried("a", 0.3), tried("b", 0.9)], "proposer", 0)
    for share in (0.3, 0.4, 0.3, 0.4):
        buffer.observe([tried("a", share), tried("b", 0.9 if share == 0.3 else 1.0)])
    assert held(buffer) == ["a"]
    buffer.observe([tried("a", 0.4)])
    assert held(buffer) == []


def test_one_question_with_two_answers_is_two_problems():
    buffer = Buffer()
    other = tried("a", 0.5)
    other = replace(other, task=replace(other.task, id="a too", answer="8"))
    buffer.add([tried("a", 0.5), other, tried("a", 0.9)], "proposer", 0)
    assert held(buffer) == ["a", "a too"]
