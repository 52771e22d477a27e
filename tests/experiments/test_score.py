"""What the model of the comparison is shown before: conversations with as many mistakes as said."""

from random import Random

import pytest

from experiments.score import SECOND_TRY, School, conversations
from redqueen.questions.small.sums import without_carry
from redqueen.recipes.self_training.score.recipe import Config
from redqueen.settings.learner import Learner

START = School(Learner(model="tiny"), shown=4000, slips=0.5, mended=0.3, spoiled=0.2)


def carries(task):
    first, second = (int(number) for number in task.id.split("+"))
    return without_carry(first, second) != str(first + second)


def test_half_of_the_first_answers_forget_to_carry_and_some_of_the_second_mend_or_spoil():
    shown = [
        (first == task.answer, second == task.answer)
        for task, (first, second) in conversations(START, Random(0))
        if carries(task)
    ]
    assert sum(first for first, _ in shown) / len(shown) == pytest.approx(0.5, abs=0.04)
    after_wrong = [second for first, second in shown if not first]
    after_right = [second for first, second in shown if first]
    assert sum(after_wrong) / len(after_wrong) == pytest.approx(0.3, abs=0.04)
    assert sum(after_right) / len(after_right) == pytest.approx(0.8, abs=0.04)


def test_a_sum_without_a_carry_is_answered_rightly_twice():
    for task, answers in conversations(START, Random(1)):
        if not carries(task):
            assert answers == (task.answer, task.answer)


def test_the_recipe_comes_with_the_pull_that_the_experiment_needs():
    """With the paper's 0.01 the first answers soon need no mending."""
    assert Config().kl == SECOND_TRY.config.score.kl > 0.01
