from random import Random

from redqueen.questions.small.tool_sums import ToolSums
from redqueen.types import Refusal

SUMS = ToolSums()


def test_a_sum_is_read_as_it_is_written():
    read = SUMS.read(SUMS.seeds() * 4, ["12+7", " 0+0 ", "012+7", "12345+1"])
    assert [(task.prompt, task.answer) for task in read[:2]] == [("12+7=?", "19"), ("0+0=?", "0")]
    assert read[2:] == [Refusal("malformed"), Refusal("too long")]


def test_right_answers_are_sums():
    tasks = SUMS.read(SUMS.seeds() * 3, ["12+7"] * 3)
    assert SUMS.right(tasks, ["19", " 19\n", "91"]) == [True, True, False]


def test_problems_have_the_digits_of_their_level():
    for number, level in enumerate(SUMS.levels, start=1):
        for task in SUMS.problems(level, 20, Random(0)):
            assert max(len(part) for part in task.id.split("+")) == number


def test_demonstrations_call_the_tool_as_often_as_they_should():
    shown = SUMS.demonstrations(3000, Random(0))
    assert sum(each.role == "proposer" for each in shown) == 1000
    long = [each for each in shown if each.role == "solver" and each.task.facts["digits"] == 3]
    called = [each for each in long if each.text.startswith("<calculate>")]
    assert 0.29 < len(called) / len(long) < 0.41
    for each in called:
        assert each.text == f"<calculate>{each.task.id}</calculate>{each.task.answer}"
    known = [each.text == each.task.answer for each in long if each not in called]
    assert sum(known) / len(known) < 0.2
