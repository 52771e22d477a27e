"""Ten replies before the first step: what was found in them, what was expected, and what would help."""

import json
from dataclasses import replace
from random import Random

import pytest

from redqueen.measures.accuracy import HeldOut
from redqueen.measures.first_replies import Answered, answered_questions, as_text
from redqueen.play.groups import attempts
from redqueen.players.scripted import Constant
from redqueen.questions.asking import SOLVE, graded
from redqueen.questions.dataset import Dataset
from redqueen.questions.small.sums import Sums
from redqueen.runs.run import Run, Schedule
from redqueen.types import Task


def reply(verdict=True, extracted="4", cut_off=False, question="2+2?"):
    return Answered(question, "It is 4.", extracted, "4", verdict, cut_off)


def test_a_reply_is_shown_with_what_was_found_and_expected():
    assert as_text([reply()]).splitlines()[:3] == [
        "asked     2+2?",
        "replied   It is 4.",
        '          answer "4", expected "4": right',
    ]
    assert "(cut off)" in as_text([reply(cut_off=True)])
    assert 'answer none, expected "4": unknown' in as_text([reply(None, "")])


def test_what_nobody_knows_is_not_called_wrong():
    told = {"tests": ("assert f(1) == 2",) * 2}
    tasks = [Task("a", prompt="1+1?"), Task("b", prompt="2+2?", answer="4"), Task("c", prompt="f?", facts=told)]

    class Set(Sums):
        def right(self, tasks, answers):
            return [False if task.answer or task.facts else None for task in tasks]

    class CutOff(Constant):
        def reply(self, asks):
            return [replace(each, truncated=True) for each in super().reply(asks)]

    groups = graded(Set(), attempts(SOLVE, tasks, CutOff("4"), 2, Random(0)))
    shown = as_text(answered_questions(Set(), groups))
    assert 'answer "4", expected unknown: unknown' in shown
    assert 'answer "4", expected "4": wrong' in shown
    assert 'answer "4", expected 2 tests: wrong' in shown
    assert "of 6 replies 0 are right, 6 cut off, 2 without a verdict: allow longer replies" in shown


def test_ten_are_shown_of_different_questions_spread_over_all():
    found = [reply(question=f"question {n // 8}") for n in range(200)]
    asked = [line.split()[-1] for line in as_text(found).splitlines() if line.startswith("asked")]
    assert asked == [str(n) for n in range(0, 20, 2)]
    few = as_text(found[:16])  # eight replies to each of two questions
    assert few.count("asked") == 10 and few.count("question 1") == 5


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([reply()] * 3 + [reply(False)], "of 4 replies 3 are right"),
        ([reply()] * 4, "of 4 replies 4 are right: nothing to learn that is not known already"),
        ([reply(False)] * 4, "of 4 replies 0 are right: nothing to learn from until some are right"),
        ([reply(False, "")] * 4, "0 are right, 4 without a readable answer: ask for a form that is read"),
        ([reply(False, "", True)] * 4, "4 without a readable answer, 4 cut off: allow longer replies"),
        ([reply(None)] * 4, "4 replies, 4 without a verdict: without answers learn from majorities"),
    ],
)
def test_a_line_says_what_would_help(found, said):
    assert said in as_text(found).splitlines()[-1]


def test_the_answer_is_what_the_set_finds_and_else_the_reply(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"problem": f"{n} + 4?", "answer": n + 4}) + "\n" for n in range(8)))
    player = Constant("3 + 4 = 7.")
    for questions, answer in ((Dataset(str(path)), "7"), (Sums(), "3 + 4 = 7.")):
        tasks = questions.problems(questions.levels[0], 2, Random(0))
        (first, _) = answered_questions(questions, graded(questions, attempts(SOLVE, tasks, player, 1, Random(0))))
        assert (first.reply, first.extracted, first.expected) == ("3 + 4 = 7.", answer, tasks[0].answer)


def test_a_run_shows_them_once_before_its_first_step(tmp_path):
    class Watching:
        def __init__(self):
            self.said = []

        def begin(self, run, start, count):
            self.said.append("begin")

        def show(self, title, text):
            self.said.append((title, text))

        def step(self, line):
            self.said.append("step")

        def end(self, run):
            self.said.append("end")

    watching = Watching()
    run = Run(tmp_path, 0, Schedule(evaluate_every=1), [watching])
    tests = {"one": [Task("t", "sum", "1+1?", "2")]}
    measure = HeldOut(Sums(), Constant("2"), tests, attempts=2)
    assert measure.first_replies() == ""
    for _ in run.steps(2, [], [], [measure]):
        pass
    text = (tmp_path / "first_replies.txt").read_text()
    assert watching.said == ["begin", ("first replies", text[:-1]), "step", "step", "end"]
    assert 'answer "2", expected "2": right' in text
    assert "of 2 replies 2 are right" in text


def test_a_run_keeps_some_replies_of_its_first_and_last_measurement_to_the_same_questions(tmp_path):
    tests = {"one": [Task(f"t{n}", "sum", f"1+{n}?", str(n + 1)) for n in range(5)]}

    class Learning:
        name, says = "learner", "2"

        def reply(self, asks):
            return Constant(self.says).reply(asks)

    player = Learning()
    measure = HeldOut(Sums(), player, tests, attempts=2)
    for step in Run(tmp_path, 0, Schedule(evaluate_every=1)).steps(2, [], [], [measure]):
        if step == 1:
            player.says = "3"
    first, last = (json.loads((tmp_path / f"{which}_replies.json").read_text()) for which in ("first", "last"))
    assert (first["step"], last["step"]) == (0, 2)
    assert [(each["question"], each["reply"], each["verdict"]) for each in first["replies"]] == [
        ("1+0?", "2", False),
        ("1+1?", "2", True),
        ("1+2?", "2", False),
    ]
    assert [(each["question"], each["reply"], each["verdict"]) for each in last["replies"]][2] == ("1+2?", "3", True)
