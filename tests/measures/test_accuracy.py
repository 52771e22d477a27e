"""Accuracy on held-out tasks: the unbiased estimate, and the same tasks and chance at every measurement."""

import math

import numpy as np
import pytest

from redqueen.chance import uniform
from redqueen.curricula.held_out import held_out
from redqueen.measures.accuracy import HeldOut, on_problems, pass_at, shares_right, within_limit
from redqueen.players.scripted import Constant
from redqueen.questions.small.sums import Sums
from redqueen.types import Basis, Refusal, Reply, Task

SUMS = Sums(digits=2)


class HalfRight:
    """Answers the sum 1+1 by a coin, and everything else wrongly."""

    name = "half_right"

    def reply(self, asks):
        return [Reply("2" if uniform(ask.seed) < 0.5 else "3", self.name) for ask in asks]


@pytest.mark.parametrize(
    ("k", "right", "attempts", "chance"),
    [(1, 1, 4, 0.25), (2, 1, 4, 0.5), (2, 2, 4, 5 / 6), (4, 0, 4, 0.0), (3, 2, 4, 1)],
)
def test_pass_at_k_is_the_chance_that_one_of_k_drawn_attempts_is_right(k, right, attempts, chance):
    assert pass_at(k, right, attempts) == pytest.approx(chance)


def test_an_accuracy_states_its_problems_and_what_can_be_guessed():
    tasks = {"ones": [SUMS.task(1, 1)], "tens": [SUMS.task(10, 1), SUMS.task(20, 2), SUMS.task(11, 11)]}
    found = HeldOut(SUMS, Constant("2"), tasks, attempts=2).basis()
    assert found["accuracy"] == Basis(False, 4, "held-out problems", 2, {"always the same answer": 0.5})  # twice 22
    assert found["accuracy/ones"] == Basis(False, 1, "held-out problems", 2)
    assert found["pass@2"].references == {}  # no share of one guess
    listed = [Task(str(n), answer="a", choices=("a", "b", "c", "d")[: 2 + 2 * (n % 2)]) for n in range(2)]
    assert on_problems(listed).references == {"uniform guesses": 3 / 8, "always the same answer": 1.0}


def test_the_accuracy_of_each_level_is_that_of_its_tasks():
    tasks = {"ones": [SUMS.task(1, 1)], "tens": [SUMS.task(10, 1), SUMS.task(20, 2)]}
    figures = HeldOut(SUMS, Constant("2"), tasks, attempts=2)()
    assert figures == {
        "accuracy": pytest.approx(1 / 3),
        "pass@2": pytest.approx(1 / 3),
        "accuracy/ones": 1.0,
        "pass@2/ones": 1.0,
        "accuracy/tens": 0.0,
        "pass@2/tens": 0.0,
    }


class CutOff:
    """Says nothing that ends."""

    name = "cut_off"

    def reply(self, asks):
        return [Reply("2", self.name, truncated=True) for _ in asks]


class Unknown(Sums):
    """Sums of which nobody knows the result."""

    def right(self, tasks, answers):
        return [None] * len(tasks)


def test_without_answers_there_is_no_accuracy_also_of_replies_that_are_cut_off():
    asked = {"ones": [Task("a", prompt="1+1?")] * 2}
    found = HeldOut(Unknown(), CutOff(), asked, attempts=2, votes=True)()
    assert found == {"accuracy_unknown": 1.0, "accuracy_unknown/ones": 1.0, "majority_unknown": 1.0}
    known = HeldOut(SUMS, CutOff(), {"ones": [SUMS.task(1, 1)]}, attempts=2, votes=True)()
    assert (known["accuracy"], known["majority"]) == (0.0, 0.0)


def test_problems_of_which_nobody_knows_whether_an_attempt_was_right_are_counted():
    unknown = math.nan
    solved, lost, open_, cut = [1.0, unknown], [0.0, 0.0], [0.0, unknown], [unknown, unknown]
    found = shares_right(np.array([solved, lost, open_, cut]), "/ones")
    assert found == {
        "accuracy/ones": pytest.approx(1 / 4),
        "accuracy_unknown/ones": 0.5,
        "pass@2/ones": 0.5,  # of the first two
        "pass@2_unknown/ones": 0.5,
    }
    assert shares_right(np.array([])) == {}
    assert shares_right(np.array([solved, lost])).keys() == {"accuracy", "accuracy_unknown", "pass@2"}


def test_a_coin_passes_more_often_in_eight_attempts_than_in_one():
    measure = HeldOut(SUMS, HalfRight(), {"ones": [SUMS.task(1, 1)] * 64}, attempts=8)
    figures = measure()
    assert figures["accuracy"] == pytest.approx(0.5, abs=0.07)
    assert figures["pass@8"] > 0.95
    assert measure() == figures


def test_held_out_tasks_are_always_the_same_and_not_those_of_another_seed():
    assert held_out(SUMS, 8) == held_out(SUMS, 8)
    assert held_out(SUMS, 8) != held_out(SUMS, 8, seed=1)
    assert {level: len(tasks) for level, tasks in held_out(SUMS, 8).items()} == {"1_digits": 8, "2_digits": 8}


def test_training_problems_are_different_ones_that_are_not_held_out():
    measure = HeldOut(SUMS, Constant("2"), 16, seed=1)
    problems = measure.training(64, seed=2)
    assert len({task.id for task in problems}) == len(problems)
    assert measure.apart(problems) == problems
    assert measure.apart([*measure.tests["1_digits"], Refusal("malformed"), problems[0]]) == problems[:1]
    assert {task.facts["digits"] for task in measure.training(8, seed=2, levels=["1_digits"])} == {1}


def test_the_run_says_how_often_a_problem_is_attempted_unless_the_recipe_does():
    tasks = {"ones": [SUMS.task(1, 1)]}
    free, fixed = HeldOut(SUMS, HalfRight(), tasks), HeldOut(SUMS, HalfRight(), tasks, attempts=2)
    for each in (free, fixed):
        each.sample(4)
    assert set(free()) == {"accuracy", "accuracy/ones", "pass@4", "pass@4/ones"}
    assert "pass@2" in fixed() and free.basis()["accuracy"].attempts == 4
    assert "pass@8" in HeldOut(SUMS, HalfRight(), tasks)()


def test_a_measurement_within_a_limit_has_fewer_attempts_and_then_fewer_problems_of_each_level():
    tests = {"ones": [Task(f"one {number}") for number in range(6)], "twos": [Task("two a"), Task("two b")]}
    assert within_limit(tests, 8, 0) == (tests, 8)
    assert within_limit(tests, 8, 64) == (tests, 8)
    assert within_limit(tests, 8, 63) == (tests, 7)
    assert within_limit(tests, 8, 8) == (tests, 1)
    assert within_limit(tests, 8, 7) == ({"ones": tests["ones"][:3], "twos": tests["twos"]}, 1)
    assert within_limit(tests, 8, 1) == ({"ones": tests["ones"][:1], "twos": tests["twos"][:1]}, 1)


class Says:
    """A player that answers 1+1 and 1+2 in turn, with replies that it is given."""

    name = "says"

    def __init__(self):
        self.texts = []

    def reply(self, asks):
        return [Reply(self.texts[n], self.name) for n, _ in enumerate(asks)]


def test_a_vote_that_loses_what_the_attempts_knew_rings_and_one_that_is_right_does_not():
    tasks = {"ones": [SUMS.task(1, 1), SUMS.task(1, 2)]}
    player = Says()
    measure = HeldOut(SUMS, player, tasks, attempts=4, votes=True)
    player.texts = ["2", "2", "5", "5", "3", "5", "5", "5"]
    assert "alarm/narrowed" not in measure()  # both are solved by some attempt
    player.texts = ["2"] * 4 + ["3"] * 4
    assert "alarm/narrowed" not in measure()  # of one voice, and right
    player.texts = ["2", "2", "5", "6", "6", "5", "4", "5"]
    assert measure()["pass@4"] == 0.5 and not measure.alarms()  # lost, but they do not agree
    player.texts = ["2"] * 4 + ["5"] * 4
    found = measure()
    assert (found["pass@4"], found["alarm/narrowed"]) == (0.5, 1.0)
    assert measure.alarms() == [
        "narrowed: pass@4 of the held-out problems has fallen by 0.50 from its best, and 100% of the attempts give the "
        "majority's answer: the vote sharpens what it has and loses the rest"
    ]
    later = HeldOut(SUMS, player, tasks, attempts=4, votes=True)
    later.restore(measure.state())
    assert later.alarms() == measure.alarms() and later.state() == measure.state()
    player.texts = ["2"] * 4 + ["3"] * 4
    assert later()["alarm/narrowed"] == 0.0
    HeldOut(SUMS, player, tasks).restore({})
