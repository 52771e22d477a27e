"""What a question set knows reaches no reward of the methods that learn without it: one that lies trains the same."""

from dataclasses import replace

import pytest

from redqueen.contracts.recipes import metrics, small, trained
from redqueen.questions.small.sums import Sums
from redqueen.settings.finding import find_recipe
from redqueen.settings.learner import Learner
from redqueen.settings.roles import Role

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=3, answer=None)


class Lying(Sums):
    """Says the opposite of what is so, and holds another answer for the right one."""

    def right(self, tasks, answers):
        return [not each for each in super().right(tasks, answers)]

    def task(self, first, second):
        found = super().task(first, second)
        return replace(found, answer=f"{found.answer}9")


def truth():
    return Sums(digits=1)


def lie():
    return Lying(digits=1)


FEW = {"learner": TINY, "steps": 2, "tasks": 3, "problems": 2}
CASES = {
    "comas": {"members": 2, "rounds": 2, "tasks": 1, "problems": 1, "steps": 1, "truncated_score": "graded"},
    "self_rewarding": {"attempts": 3, "repeats": 1, "updates": 1, "invented": 0.0, "judge": Role("frozen")},
    "self_j": {"attempts": 4, "majority": True, "truncated_score": "graded"},
    "grpo": {"attempts": 4, "answers": "majority", "truncated_score": "graded"},
    "rlccf": {"attempts": 3, "members": 2, "truncated_score": "graded"},
}


@pytest.mark.parametrize("name", [pytest.param(each, marks=[pytest.mark.slow] * (each == "comas")) for each in CASES])
def test_no_figure_of_the_question_set_reaches_a_reward(name, tmp_path):
    recipe, runs = find_recipe(name), []
    for questions in ("truth", "lie"):
        config = small(recipe, **{**FEW, **CASES[name], "questions": f"{__name__}:{questions}"})
        run = trained(recipe, config, tmp_path / questions)
        runs.append((metrics(run), run))
    for one, other in zip(runs[0][0], runs[1][0], strict=True):
        of_learning = [key for key in one if key in ("loss", "label", "entropy") or "reward/" in key]
        assert "loss" in of_learning
        assert {key: one[key] for key in of_learning} == {key: other[key] for key in of_learning}
