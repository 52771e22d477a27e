"""SAGE: which hints are shown, and to whom."""

import json
from dataclasses import replace
from random import Random

import pytest

from redqueen.contracts.recipes import metrics, trained
from redqueen.measures.accuracy import HeldOut
from redqueen.players.scripted import Constant
from redqueen.questions.catalogue import find_questions
from redqueen.recipes.credit.sage import recipe as sage
from redqueen.recipes.credit.sage.steps import HintLevels, Openings, Written, read_hints, request
from redqueen.settings.learner import Learner
from redqueen.settings.speech import Speech
from redqueen.types import Episode, Group, Outcome, RedQueenError, Seat, Task

ENDING = Speech(stop=tuple("0123456789aeiou "))
TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=12, solver=ENDING)
SOLVER = Seat("solver")
TASK = Task("t", prompt="What is 12 + 34? Say the sum.", answer="46")
HINTS = {"level_1": "Add them.", "level_2": "Units first.", "level_3": "It is 46."}


class Counted:
    """Always says the same, and notes how many asks came at a time."""

    name = "counted"

    def __init__(self, text):
        self.inner, self.asked = Constant(text), []

    def reply(self, asks):
        self.asked.append(len(asks))
        return self.inner.reply(asks)


def group(task, *right):
    tries = tuple(
        Episode("g", task, at, (), Outcome({SOLVER: 0.0}, {"right": each}), (SOLVER,)) for at, each in enumerate(right)
    )
    return Group(0, task, tries)


def test_a_level_rises_at_no_success_and_falls_above_a_third():
    """The card (2.6): accuracies 0, 0, 1/4, 1/2, .6, .3 with (0, .35) give the levels 1, 2, 2, 1, 0, 0."""
    levels, found = HintLevels(True, 3), []
    for rights in (0, 0, 5, 10, 12, 6):
        levels.observe([group(TASK, *([True] * rights + [False] * (20 - rights)))])
        found.append(levels.level(TASK))
    assert found == [1, 2, 2, 1, 0, 0]
    again = HintLevels(True, 3)
    again.restore(levels.state())
    assert again.level(TASK) == 0


def test_a_level_stays_between_none_and_the_most_and_the_full_form_remembers_none():
    levels = HintLevels(True, 1)
    for _ in range(3):
        levels.observe([group(TASK, False, False)])
    assert levels.level(TASK) == 1
    assert levels.asked([TASK], Openings())[0].prompt.endswith("Hint: Hint: 4...") is False  # 46 // 4 is ""
    assert levels.rerolls == 0
    full = HintLevels(False, 3)
    full.observe([group(TASK, False, False)])
    assert (full.level(TASK), full.rerolls) == (0, 3)


def test_a_group_without_a_verdict_moves_nothing():
    levels = HintLevels(True, 3)
    levels.observe([group(TASK, None, None)])
    assert levels.level(TASK) == 0


def test_hints_are_read_from_json_and_from_nothing_else():
    assert read_hints("Here: " + json.dumps(HINTS) + " good luck") == tuple(HINTS.values())
    assert read_hints('{"level_1": "a"}') == ()
    assert read_hints("[1, 2]") == ()
    assert read_hints("no hints") == ()
    assert read_hints('{"level_1": 1, "level_2": "b", "level_3": "c"}') == ()


def test_written_hints_come_from_the_solution_and_never_hold_the_answer():
    writer = Counted(json.dumps(HINTS))
    hints = Written(writer, Random(0))
    (first,), (third,) = hints([TASK], 1), hints([TASK], 3)
    assert first.prompt == f"{TASK.prompt}\n\nHint: Add them."
    assert first.id == TASK.id
    assert first.facts["hinted"] == 1
    assert third is None
    assert writer.asked == [1]
    assert hints.metrics() == {"hints_unread": 0.0, "hint_leaks": 1.0}
    assert "46" in request(TASK).prompt


def test_what_cannot_be_read_is_asked_for_once_more():
    writer = Counted("?")
    hints = Written(writer, Random(0))
    assert hints([TASK], 1) == [None]
    assert writer.asked == [1, 1]
    assert hints.metrics()["hints_unread"] == 1.0


def test_no_held_out_problem_has_a_hint(tmp_path):
    config = sage.Config(
        learner=TINY, hints="opening", steps=2, tasks=4, attempts=4, problems=2, truncated_score="graded"
    )
    lines = metrics(trained(sage, config, tmp_path))
    assert all(0.0 <= line["hinted"] <= 1.0 for line in lines)
    assert lines[0]["hinted"] > 0.0
    questions = find_questions("sums")
    tests = HeldOut(questions, Constant("1"), 4).tests
    assert not any("hinted" in task.facts or "Hint" in task.prompt for level in tests.values() for task in level)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"form": "light", "levels": 0}, "--form light has no effect without hints: --levels 1 or more"),
        ({"rise": 0.5}, "--rise 0.5 is above --fall 0.35"),
    ],
)
def test_what_does_not_go_together_is_refused(changes, complaint, tmp_path):
    with pytest.raises(RedQueenError, match=complaint):
        trained(sage, replace(sage.Config(learner=TINY), **changes), tmp_path)
