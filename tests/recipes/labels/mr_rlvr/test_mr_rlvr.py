"""MR-RLVR: the vectors of its card, what is hidden and what is not, and files without steps."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from redqueen.contracts.recipes import metrics, trained
from redqueen.play.groups import attempts
from redqueen.players.scripted import Scripted
from redqueen.questions.asking import SOLVE
from redqueen.questions.catalogue import find_questions
from redqueen.questions.small.step_traces import Trace
from redqueen.questions.small.worked import Worked
from redqueen.recipes.labels.mr_rlvr import recipe as mr_rlvr
from redqueen.recipes.labels.mr_rlvr.steps import (
    NUMBER,
    WANTED,
    Masked,
    chained,
    filling,
    fraction,
    ordering,
    steps_of,
)
from redqueen.settings.learner import Learner
from redqueen.settings.limits import check_settings
from redqueen.types import RedQueenError, Task

TRACE = Trace(17, ("+8", "-9", "half"))
TASK = Task("t", "worked", TRACE.problem, "8")
SMALL = mr_rlvr.Config(
    learner=Learner(model="tiny:hidden=16,heads=2", max_completion_length=6),
    steps=3,
    first_steps=2,
    tasks=3,
    attempts=3,
    problems=2,
    truncated_score="graded",
)


def order_of(said, by="positions"):
    task = ordering(TASK, ["a", "b", "c", "d"], [0, 1, 2, 3])
    return fraction(task, " ".join("ABCD"[int(each) - 1] for each in said), by)


def test_a_number_with_separators_is_one():
    steps = ["500+750=1,250", "1,250/5=250"]
    task = filling(Task("t", prompt="500 and 750, shared by 5"), steps, [0, 1])
    assert task.prompt.endswith("500+750=[A]\n[A]/5=[B]\nWhat stands at [A], [B]? Say the numbers in this order.")
    assert [fraction(task, reply) for reply in ("1,250 250", "1250, 250", "1 250")] == [1.0, 1.0, 0.5]
    one = filling(Task("t", prompt="500 and 750"), steps, [0])
    assert [fraction(one, reply) for reply in ("1,250", "1250", "250")] == [1.0, 1.0, 0.0]


def test_the_fill_of_the_card():
    task = Task("t", "fill", facts={WANTED: ("25", "16", "8")})
    assert fraction(task, "25 17 8") == pytest.approx(2 / 3)
    assert fraction(task, "25, 16, 8") == 1.0 and fraction(task, "25.0 16 8") == 1.0
    assert fraction(task, "25") == pytest.approx(1 / 3) and fraction(task, "no") == 0.0
    assert fraction(task, "1 2 3\n25 16 8") == 1.0
    assert fraction(task, "25 16 8 9 10") == 0.0  # a list of guesses


def test_the_order_of_the_card():
    assert order_of("1324") == 0.5 and order_of("1324", "pairs") == pytest.approx(0.8333, abs=1e-4)
    assert order_of("2341") == 0.0 and order_of("2341", "pairs") == 0.5
    assert order_of("1234") == order_of("1234", "pairs") == 1.0
    assert order_of("1123") == order_of("1123", "pairs") == 0.0  # no permutation
    assert order_of("123") == 0.0


def test_numbers_are_hidden_wherever_they_stand_and_never_where_the_question_shows_them():
    task = filling(TASK, TRACE.steps(), [0, 1])
    assert task is not None and task.facts[WANTED] == ("25", "16")
    assert "17+8=[A]\n[A]-9=[B]\n[B]/2=8" in task.prompt
    assert not set(NUMBER.findall(task.prompt)) & {"25", "16"}
    assert filling(TASK, TRACE.steps(), [2]) is None  # 8 stands in the question


def test_a_number_is_hidden_with_its_unit_and_in_every_spelling():
    task = filling(Task("t", prompt="Share 16 kg."), ["16/2=8", "8.0 is 8kg", "8% of it, $08, x8"], [0, 1])
    assert task.facts[WANTED] == ("8",)
    assert "16/2=[A]\n[A] is [A]kg\n[A]% of it, $[A], x8\n" in task.prompt
    for shown, steps in (
        ("He has 8kg.", ["16/2=8"]),
        ("1250 men", ["500+750=1,250"]),
        ("1,250 men", ["500+750=1250"]),
        ("3.50 each", ["7/2=3.5"]),
        ("the 3rd", ["1+2=3"]),
    ):
        assert filling(Task("t", prompt=shown), steps, [0]) is None, shown


def test_what_is_wanted_is_right_and_the_permutation_is_undone():
    task = ordering(TASK, TRACE.steps(), [2, 0, 1])
    assert task.facts[WANTED] == ("B", "C", "A") and "A) 16/2=8\nB) 17+8=25\nC) 25-9=16" in task.prompt
    assert fraction(task, task.answer) == 1.0 == fraction(task, "Answer:\nB C A", "pairs")


def test_only_steps_that_build_on_each_other_are_shuffled():
    assert chained(TRACE.steps()) == list(TRACE.steps())
    assert chained(["1+1=2", "3+3=6", "6+1=7", "7+1=8"]) == ["3+3=6", "6+1=7", "7+1=8"]
    assert chained(["no numbers", "none"]) == ["no numbers"]
    assert chained(["500+750=1,250", "1250kg/5=250kg", "250/2=125"])[1:] == ["1250kg/5=250kg", "250/2=125"]


def test_steps_are_lines_or_sentences():
    assert steps_of("a=1\n\n b=2 ") == ["a=1", "b=2"]
    assert steps_of("It is 3. So 4; then 5.5.") == ["It is 3.", "So 4;", "then 5.5."]


@pytest.mark.parametrize("first", ["fill", "order"])
def test_no_masked_task_is_of_a_held_out_problem_and_no_hidden_number_is_shown(first):
    questions = Worked()
    tests = {"": questions.problems("4_steps", 40, Random(1))}
    masked = Masked(questions, first, 0.5, "positions", "wrong")
    tasks = masked.drawn(60, Random(2), tests)
    assert len(tasks) == 60 and {task.kind for task in tasks} == {first}
    assert not {task.prompt.splitlines()[0] for task in tasks} & {task.prompt for task in tests[""]}
    for task in tasks:
        assert fraction(task, task.answer) == 1.0
        if first == "fill":
            assert not set(task.facts[WANTED]) & set(NUMBER.findall(task.prompt))


def test_worked_problems_are_right_as_they_are_worked_out():
    questions = Worked()
    shown = questions.demonstrations(50, Random(0))
    assert all(questions.right([one.task for one in shown], [one.text for one in shown]))
    assert not questions.right([shown[0].task], ["no"])[0]


def test_the_first_stage_is_of_solutions_and_the_second_of_answers(tmp_path):
    lines = metrics(trained(mr_rlvr, SMALL, tmp_path))
    assert ["masked/fill" in line for line in lines] == [True, True, False]
    assert all(np.isfinite(line["loss"]) for line in lines)


def test_solutions_without_steps_are_refused_in_one_line(tmp_path):
    file = tmp_path / "plain.jsonl"
    file.write_text("".join(f'{{"question": "Say {n}.", "answer": "word"}}\n' for n in range(40)))
    for first, said in (("fill", "have no numbers to hide"), ("order", "have no steps of which each")):
        with pytest.raises(RedQueenError, match=said):
            trained(mr_rlvr, replace(SMALL, questions=str(file), first=first), tmp_path / first)


def test_a_file_with_solutions_and_no_answers_is_trained_on_its_masked_steps(tmp_path):
    file = tmp_path / "worked.jsonl"
    rows = [
        f'{{"question": "What is {n} plus 7 minus 2?", "completion": "{n}+7={n + 7}\\n{n + 7}-2={n + 5}"}}\n'
        for n in range(20, 60)
    ]
    file.write_text("".join(rows))
    config = replace(SMALL, questions=str(file), first_steps=3)
    assert "masked/fill" in metrics(trained(mr_rlvr, config, tmp_path / "run"))[-1]


@pytest.mark.parametrize("first", ["fill", "none"])
def test_a_second_stage_without_answers_is_refused_in_one_line(first, tmp_path):
    file = tmp_path / "proofs.jsonl"
    rows = [
        f'{{"question": "Show it for {n}.", "completion": "{n}+7={n + 7}\\nso it holds."}}\n' for n in range(20, 60)
    ]
    file.write_text("".join(rows))
    config = replace(SMALL, questions=str(file), first=first)
    with pytest.raises(RedQueenError, match="does not know what is right: --first-steps 3 trains on solutions alone"):
        trained(mr_rlvr, config, tmp_path / "run")


def test_settings_without_effect_are_refused():
    for changes, said in (
        ({"first": "none"}, "--first-steps has no effect with --first none"),
        ({"order_by": "pairs"}, "--order-by has no effect with --first fill"),
    ):
        with pytest.raises(RedQueenError, match=said):
            check_settings(replace(SMALL, **changes))


def test_attempts_without_as_many_values_as_gaps_ring_and_others_do_not():
    task = Task("m", "fill", "17+8=?", facts={WANTED: ("25",)})
    rung = []
    for text in ("I do not know", "25", "24"):
        masked = Masked(find_questions("sums"), "none", 0.5, "positions", "wrong")
        for _ in range(12):
            masked.marked(attempts(SOLVE, [task], Scripted((text,)), 2, Random(0)))
            masked.metrics()
        rung.append([line.partition(":")[0] for line in masked.alarms()])
    assert rung == [["unread answers"], [], []]
