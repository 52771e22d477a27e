"""Sums: read strictly, answered backwards, demonstrated with the mistakes that are meant."""

from random import Random

import pytest

from redqueen.questions.small.sums import Sums, without_carry
from redqueen.types import Refusal, Task

SUMS = Sums()


def test_the_answer_stands_with_its_last_digit_first():
    task = SUMS.task(57, 68)
    assert (task.prompt, task.answer) == ("What is 57+68?", "521")
    assert Sums(backwards=False).task(57, 68).answer == "125"


def test_only_two_whole_numbers_that_are_not_too_long_are_a_sum():
    texts = ["12+7", " 0+0 ", "12 + 7", "012+7", "12+7=19", "1+2+3", "", "12345+1", "-1+2", "١+١"]
    read = SUMS.read([SUMS.invite("sum", (), n) for n in range(len(texts))], texts)
    found = [each.reason if isinstance(each, Refusal) else each.id for each in read]
    assert found == ["12+7", "0+0", *["malformed"] * 5, "too long", *["malformed"] * 2]


def test_an_answer_is_right_as_a_whole_or_not_at_all():
    task = SUMS.task(12, 7)
    assert SUMS.right([task] * 4, ["91", " 91\n", "19", "911"]) == [True, True, False, False]


@pytest.mark.parametrize("level", SUMS.levels)
def test_the_longer_number_of_a_problem_has_as_many_digits_as_its_level_says(level):
    digits = SUMS.levels.index(level) + 1
    problems = SUMS.problems(level, 50, Random(1))
    assert {task.facts["digits"] for task in problems} == {digits}
    assert all(int(task.answer[::-1]) == task.facts["total"] for task in problems)


def test_problems_are_the_same_for_the_same_chance():
    assert SUMS.problems("2_digits", 5, Random(3)) == SUMS.problems("2_digits", 5, Random(3))


def test_nothing_is_carried_where_somebody_slips():
    assert without_carry(57, 68) == "15"
    assert without_carry(9, 1) == "0"
    assert without_carry(120, 7) == "127"


def test_as_many_demonstrations_slip_as_are_meant_to():
    shown = SUMS.demonstrations(6000, Random(0))
    solved = [one for one in shown if one.role == "solver" and one.task.facts["digits"] == 2]
    slipped = sum(one.text != one.task.answer for one in solved) / len(solved)
    # .55 of the answers forget to carry, which is a mistake where something is to be carried: in 55 % of such sums
    carried = sum(without_carry(*map(int, one.task.id.split("+"))) != str(one.task.facts["total"]) for one in solved)
    assert slipped == pytest.approx(0.55 * carried / len(solved), abs=0.03)
    assert sum(one.role == "proposer" for one in shown) == 2000
    proposals = [one for one in shown if one.role == "proposer"]
    read = SUMS.read([one.task for one in proposals], [one.text for one in proposals])
    assert all(isinstance(each, Task) for each in read)


def test_what_is_proposed_may_be_shorter_than_what_is_solved():
    shown = Sums(digits=3, lengths=(0.0, 0.0, 1.0), asked=(1.0, 0.0, 0.0)).demonstrations(90, Random(0))
    proposed = [max(map(len, one.text.split("+"))) for one in shown if one.role == "proposer"]
    solved = [one.task.facts["digits"] for one in shown if one.role == "solver"]
    assert (proposed, solved) == ([1] * 30, [3] * 60)
