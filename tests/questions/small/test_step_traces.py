"""Steps and errors in them: exact arithmetic decides what is one, and shows come out as stated."""

from random import Random

import pytest

from redqueen.questions.catalogue import having
from redqueen.questions.small.step_traces import ERRORS, Criticised, StepTraces, Trace, flips, spoilt
from redqueen.questions.small.sums import Sums
from redqueen.types import RedQueenError, Refusal, Task

DOMAIN = StepTraces()
TRACE = Trace(17, ("+8", "-9", "half"))


def test_a_trace_is_worked_out_exactly():
    assert TRACE.values == (17, 25, 16, 8)
    assert TRACE.steps() == ("17+8=25", "25-9=16", "16/2=8")
    assert Trace(7, ("half",)).steps() == ("7/2=3",)


def test_an_error_counts_only_if_it_flips_the_final_answer():
    assert flips(TRACE, 0, "17+8=27")  # 27, 18, 9
    assert not flips(TRACE, 1, "25-9=17")  # 17 halves to 8 as well
    assert flips(TRACE, 1, "25-9=15")
    assert not flips(TRACE, 1, "99-9=16")  # bad arithmetic, the right value
    assert flips(TRACE, 2, "16/2=9")
    with pytest.raises(ValueError, match="is no step"):
        flips(TRACE, 0, "17+8 is 27")


def invitation(place):
    return Task("i", "step", facts=TRACE.facts(place))


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("25-9=17", "no error"),
        ("25-9=16", "no error"),
        ("wrong", "malformed"),
        ("", "malformed"),
        ("25-9=17 ", "no error"),
    ],
)
def test_what_is_no_error_is_refused(reply, reason):
    assert DOMAIN.read([invitation(1)], [reply]) == [Refusal(reason)]


def test_a_planted_step_becomes_a_task_without_a_trace_of_who_wrote_it():
    (task,) = DOMAIN.read([invitation(1)], ["25-8=17 "[:7].replace("17", "18")])
    assert task.prompt == "17 +8 -9 half\n17+8=25\nCheck 25-8=18"
    assert task.answer == "Incorrect"
    assert task.kind == "step" and task.facts == {}


def test_a_verdict_is_read_from_the_last_line_as_a_whole_word():
    task = DOMAIN.judged(TRACE, 1, "25-9=15")
    answers = [
        "25-9=16\nIncorrect",
        "incorrect",
        "Correct",
        "not Incorrect",
        "Correct\nIncorrect",
        "Incorrect it is",
        "",
    ]
    assert DOMAIN.right([task] * len(answers), answers) == [True, True, False, False, False, False, False]


@pytest.mark.parametrize("error", ERRORS)
def test_each_kind_of_error_is_a_step_and_mostly_one_that_flips(error):
    rng, count = Random(0), 0
    for _ in range(200):
        trace = DOMAIN.trace(rng)
        count += flips(trace, 1, spoilt(trace, 1, error, rng))
    assert count > 60


def test_context_errors_are_good_arithmetic():
    for level in ("operand", "copied", "operation"):
        for task in DOMAIN.problems(level, 40, Random(1)):
            assert DOMAIN.critique(task).splitlines()[0] == task.prompt.rpartition("Check ")[2]


def test_natural_steps_are_half_right_and_the_chance_is_the_one_given():
    tasks = DOMAIN.natural(200, Random(0))
    assert sum(task.answer == "Correct" for task in tasks) == 100
    assert tasks == DOMAIN.natural(200, Random(0))


def test_a_doubting_critic_calls_some_right_steps_wrong_and_no_wrong_one_right():
    shown = [one for one in StepTraces(doubt=0.3).demonstrations(600, Random(0)) if one.role == "critic"]
    right, wrong = ([one for one in shown if one.task.answer == answer] for answer in ("Correct", "Incorrect"))
    called = [one.text.endswith("\nIncorrect") for one in right]
    assert len(right) == len(wrong) == 200 and 0.2 < sum(called) / 200 < 0.4
    assert all(one.text.endswith("\nIncorrect") for one in wrong)


def test_a_critic_that_looks_finds_every_error_and_one_that_does_not_only_those_in_the_step_itself():
    for level in DOMAIN.levels:
        for task in DOMAIN.problems(level, 40, Random(2)):
            assert DOMAIN.critique(task, looks=True).splitlines()[1] == task.answer
            if level in ("operand", "copied", "operation"):
                assert DOMAIN.critique(task).splitlines()[1] == "Correct"
    assert DOMAIN.critique(DOMAIN.judged(TRACE, 1, "25-8=17"), looks=True) == "25-9=16\nIncorrect"


def test_errors_of_context_are_shown_to_critics_who_look_at_the_problem_as_often_as_said():
    shown = [one for one in StepTraces(looks=0.4).demonstrations(1800, Random(0)) if one.role == "critic"]
    wrong = [one for one in shown if one.task.answer == "Incorrect"]
    context = [one for one in wrong if DOMAIN.critique(one.task).endswith("\nCorrect")]
    assert 0.4 < len(context) / len(wrong) < 0.6
    assert 0.3 < sum(one.text.endswith("\nIncorrect") for one in context) / len(context) < 0.5
    plain = [one for one in wrong if one not in context]
    assert all(one.text.endswith("\nIncorrect") for one in plain)


def test_demonstrations_are_right_and_their_errors_are_errors():
    shown = DOMAIN.demonstrations(300, Random(0))
    judged = [one for one in shown if one.role == "critic"]
    assert all(DOMAIN.right([one.task for one in judged], [one.text for one in judged]))
    planted = [one for one in shown if one.role == "generator"]
    written = DOMAIN.read([one.task for one in planted], [one.text for one in planted])
    assert all(isinstance(each, Task) for each in written)
    assert len(planted) == 100


def test_solvers_err_alike_where_there_is_a_trap():
    solved = StepTraces(slip=0.0, trapped=1.0).solutions(60, 8, Random(0))
    wrong = [{a.answer for a in one.attempts if a.answer != one.answer} for one in solved]
    assert all(len(answers) <= 1 for answers in wrong)
    assert sum(bool(answers) for answers in wrong) > 30
    clean = StepTraces(slip=0.0, trapped=0.0).solutions(20, 4, Random(0))
    assert all(attempt.answer == one.answer for one in clean for attempt in one.attempts)
    assert all(step.answer == "Correct" for one in clean for attempt in one.attempts for step in attempt.steps)


def test_a_domain_without_steps_is_refused():
    with pytest.raises(
        RedQueenError, match=r"sums is not .*: it has no invitations and no natural and no solutions; .* step_traces$"
    ):
        having(Sums(), Criticised)
