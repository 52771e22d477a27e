"""What SwS aims at, what it deals, and by what an attempt is right."""

from random import Random

import pytest

from redqueen.credit.outcomes import rate
from redqueen.curricula.weaknesses import LearningCurve
from redqueen.play.groups import attempts
from redqueen.players.scripted import Constant
from redqueen.questions.asking import SOLVE
from redqueen.questions.small.concepts import Concepts
from redqueen.recipes.proposers.sws.recipe import Config
from redqueen.recipes.proposers.sws.steps import Aim, Lessons

DOMAIN = Concepts()
DATA = [DOMAIN.task("rest", 7, 5), DOMAIN.task("gcd", 4, 6)]  # 2 and 2
NEW = DOMAIN.task("sum", 1, 2)
FALLING = LearningCurve("a", "rest", (0, 1), (0.4, 0.2))
FLAT = LearningCurve("b", "gcd", (0, 1), (0.0, 0.0))
LEARNED = LearningCurve("c", "sum", (0, 1), (0.9, 0.5))


def test_new_problems_are_shared_out_by_how_many_are_weak():
    assert Aim(0.0).shares([FALLING, FLAT, LEARNED]) == {"rest": 1, "gcd": 0, "sum": 0}
    assert Aim(0.05).shares([FALLING, FLAT, LEARNED]) == {"rest": 1, "gcd": 1, "sum": 0}


def test_the_control_aims_at_every_problem_and_at_its_categories_alike():
    even = Aim(0.0, even=("rest", "sum"))
    assert all(even.at(curve) for curve in (FALLING, FLAT, LEARNED))
    assert even.shares([FALLING, FLAT]) == {"rest": 1, "sum": 1}


@pytest.mark.parametrize(("slope", "counts"), [(0.0, []), (1.0, ["gcd", "rest"])])
def test_invitations_show_problems_that_are_aimed_at(slope, counts):
    lessons = Lessons(DOMAIN, DATA, Aim(slope), seed=0)
    for _ in range(2):  # epochs in which all attempts are wrong
        tasks = lessons.draw(2, 0.5, Random(0))
        lessons.observe(lessons.graded(attempts(SOLVE, tasks, Constant("99"), 2, Random(0))))
    invitations = lessons.invited(1, 0, 2, Random(0)) + lessons.invited(1, 1, 2, Random(0))
    assert sorted(task.kind for task in invitations) == counts


def test_a_share_of_the_lessons_is_new_once_there_is_something_new():
    lessons = Lessons(DOMAIN, DATA, Aim(0.0), seed=0)
    assert NEW not in lessons.draw(4, 0.5, Random(0))
    lessons.add([NEW], "proposer", 0)
    drawn = lessons.draw(4, 0.5, Random(0))
    assert [task.id == NEW.id for task in drawn] == [True, True, False, False]
    assert NEW not in lessons.draw(4, 0.0, Random(0))


def test_new_problems_are_graded_by_their_label_and_others_by_the_question_set():
    lessons = Lessons(DOMAIN, DATA, Aim(0.0), seed=0)
    tries = attempts(SOLVE, [NEW, *DATA], Constant("2"), 2, Random(0))  # 1 + 2 is labelled 3
    assert [rate(group).mean for group in lessons.graded(tries)] == [0.0, 1.0, 1.0]


def test_what_is_kept_is_of_middling_accuracy_and_not_in_the_data_set():
    lessons = Lessons(DOMAIN, DATA, Aim(0.0), seed=0)
    right = lessons.graded(attempts(SOLVE, [NEW, *DATA], Constant("2"), 2, Random(0)))
    assert lessons.kept(right, (0.0, 1.0)) == [NEW]
    assert lessons.kept(right, (0.5, 1.0)) == []


def after(epochs, slope=0.0):
    lessons = Lessons(DOMAIN, DATA, Aim(slope), seed=0)
    for _ in range(epochs):
        tasks = lessons.draw(2, 0.5, Random(0))
        lessons.observe(lessons.graded(attempts(SOLVE, tasks, Constant("99"), 2, Random(0))))
    return lessons


def test_where_nothing_is_weak_it_is_said_why():
    short = after(1)
    assert short.metrics()["alarm/nothing_weak"] == 1.0
    (message,) = short.alarms()
    assert "1 epochs of the 2 problems" in message and "--preliminary" in message and "\n" not in message
    flat = after(2)
    assert flat.metrics()["alarm/nothing_weak"] == 1.0
    assert "--slope 0" in flat.alarms()[0]
    found = after(2, slope=1.0)
    assert not any(name.startswith("alarm/") for name in found.metrics())
    assert found.alarms() == []
    again = Lessons(DOMAIN, DATA, Aim(0.0), seed=0)
    again.restore(flat.state())
    assert again.alarms() == flat.alarms()


@pytest.mark.parametrize(
    ("preliminary", "steps", "told"),
    [(1, 9, "0.5 epochs; a learning curve needs two"), (8, 9, "4 epochs\n"), (8, 8, "more --steps than 8")],
)
def test_a_run_says_what_its_stages_do(preliminary, steps, told):
    config = Config(preliminary=preliminary, tasks=1, steps=steps)
    assert told in Lessons(DOMAIN, DATA, Aim(0.0), seed=0).plan(config)


def test_each_problem_counts_in_its_epoch_where_a_step_holds_several():
    lessons = Lessons(DOMAIN, DATA, Aim(0.0), seed=0)
    for count in (5, 2, 1):  # epochs of two: two and a half, then to the middle of the fourth, and to its end
        lessons.observe(
            lessons.graded(attempts(SOLVE, lessons.draw(count, 0.5, Random(0)), Constant("2"), 2, Random(0)))
        )
    assert [curve.epochs for curve in lessons._curves.curves()] == [(0, 1, 2, 3), (0, 1, 2, 3)]
    assert lessons._curves.epoch == 4
