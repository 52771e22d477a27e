"""What a verifier is shown, what counts as a verdict, and demonstrations of both sides."""

from random import Random

import pytest

from redqueen.questions.small.sums import Sums
from redqueen.questions.taught import taught
from redqueen.questions.verifying import RIGHT, WRONG, Verifying, about_solution, verdict, verified

DOMAIN = Sums(digits=2)
TASK = DOMAIN.task(57, 68)


def test_a_verifier_is_shown_the_question_and_the_answer_and_not_what_is_right():
    right, wrong = (about_solution(TASK, "15", side) for side in (True, False))
    assert right.prompt == wrong.prompt == "What is 57+68? 15\nIs it right or wrong?"
    assert (right.answer, wrong.answer) == (RIGHT, WRONG)
    assert not right.facts


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("right", RIGHT),
        (" Wrong. ", WRONG),
        ("7+8 is 15, carry 1.\n**right**", RIGHT),
        ("It is not right", None),
        ("right or wrong", None),
        ("incorrect", None),
        ("right\nI am not sure", None),
        ("", None),
        ("I have checked it.\n\nVerdict: wrong", WRONG),
        ("The answer is **right**.", RIGHT),
        ("7+8 is 15, not 16. So the final answer is wrong.", WRONG),
        ("[[right]]", RIGHT),
        ('{"verdict": "wrong"}', WRONG),
        ("The answer is right. On reflection, the answer is wrong.", None),
        ("The answer is not right.", None),
        ("The right answer is 15.", None),
        ("What is wrong: it is 15.", None),
        ("End with right or wrong, alone on the last line.", None),
    ],
)
def test_a_verdict_is_the_last_line_and_one_word_of_two_or_is_said_in_prose(text, given):
    assert verdict(text) == given


def test_verdicts_are_shown_on_as_many_right_as_wrong_solutions_and_are_right_as_often_as_said():
    shown = taught(DOMAIN, Verifying(0.8), "verified").demonstrations(3000, Random(0))
    verdicts = [one for one in shown if one.role == "verifier"]
    assert len(shown) == 3000
    assert len(verdicts) == 1000
    assert sum(one.task.answer == RIGHT for one in verdicts) == 500
    assert sum(one.task.answer == one.text for one in verdicts) / 1000 == pytest.approx(0.8, abs=0.04)


def test_the_verdict_that_is_due_is_what_the_domain_says_of_the_answer():
    shown = taught(DOMAIN, Verifying(1.0), "verified").demonstrations(300, Random(1))
    for one in (one for one in shown if one.role == "verifier"):
        question, answer = one.task.prompt.splitlines()[0].rsplit(" ", 1)
        first, second = map(int, question.removeprefix("What is ").rstrip("?").split("+"))
        assert (answer == str(first + second)[::-1]) == (one.text == RIGHT)


def test_it_is_the_inner_domain_in_all_else():
    domain = verified("sums:digits=2")
    assert (domain.kinds, domain.levels, domain.seeds()) == (DOMAIN.kinds, DOMAIN.levels, DOMAIN.seeds())
    assert domain.problems("2_digits", 3, Random(5)) == DOMAIN.problems("2_digits", 3, Random(5))
    assert domain.right([TASK, TASK], ["521", "125"]) == [True, False]
    assert domain.read([TASK], ["1+2"]) == DOMAIN.read([TASK], ["1+2"])
    assert domain.invite("sum", (), 3) == DOMAIN.invite("sum", (), 3)
    assert domain.sources("sum") == DOMAIN.sources("sum")
