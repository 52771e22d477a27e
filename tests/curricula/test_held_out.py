"""What is held out is recognised, however it is written."""

import json

import pytest

from redqueen.curricula.held_out import apart_from, held_out
from redqueen.questions.dataset import Dataset
from redqueen.questions.small.sums import Sums
from redqueen.types import Task

HELD = {"": [Task("a", prompt="What is the rank of k7?"), Task("b", prompt="What is the rank of b2?")]}


def test_a_prompt_is_known_whatever_its_case_and_spacing():
    again = [Task("1", prompt="what is  the rank of K7?"), Task("2", prompt="What is the rank of k8?"), Task("b")]
    assert [task.id for task in apart_from(HELD, again)] == ["2"]


@pytest.mark.parametrize(
    ("held", "again", "others"),
    [
        ("What is 12+7?", ["What is 12 + 7?", "what is 12+ 7 ?"], ["What is 1 2+7?", "What is 12+77?", "What is 127?"]),
        ("Sort [3,1,2]", ["Sort [3, 1, 2]", "Sort [ 3,1,2 ]"], ["Sort [31, 2]", "Sort [3, 12]", "Sort 3.1,2"]),
        ("2x = 1.5", ["2 x=1.5"], ["2x = 15", "2x = 1. 5", "2 = x 1.5", "2xx = 1.5"]),
        ("2", [" 2"], ["22", "2 2", "2.", "What is 2?"]),
    ],
)
def test_a_prompt_is_known_whatever_the_space_in_its_expressions(held, again, others):
    apart = {"": [Task("a", prompt=held), Task("b", prompt="another")]}
    tasks = [Task(prompt, prompt=prompt) for prompt in [*again, *others]]
    assert [task.prompt for task in apart_from(apart, tasks)] == others


def test_one_prompt_that_all_share_tells_no_tasks_apart():
    several = {"": [Task("a", prompt="Choose."), Task("b", prompt="Choose.")]}
    assert [task.id for task in apart_from(several, [Task("c", prompt="Choose."), Task("a", prompt="x")])] == ["c"]


def test_what_is_learned_from_besides_is_not_among_what_is_held_out():
    for digits in (1, 2):
        domain = Sums(digits=digits)
        tests = held_out(domain, 64, domain.seeds())
        assert all(len(group) >= 63 for group in tests.values())
        assert "1+1" in {task.id for task in held_out(domain, 64)["1_digits"]}
        assert "1+1" not in {task.id for group in tests.values() for task in group}


def test_a_short_list_of_problems_is_held_out_once():
    class Short(Sums):
        def problems(self, level, count, rng):
            return [self.task(1, number) for number in range(5)][:count]

    domain = Short(digits=1)
    assert [task.id for task in held_out(domain, 64)["1_digits"]] == [f"1+{number}" for number in range(5)]
    assert [task.id for task in held_out(domain, 64, domain.seeds())["1_digits"]] == ["1+0", "1+2", "1+3", "1+4"]


def test_where_seeds_are_all_there_is_they_are_held_out():
    class Few(Sums):
        def problems(self, level, count, rng):
            return [self.task(1, 1)] * count

    assert held_out(Few(digits=1), 2, Few().seeds())["1_digits"] == [Sums().task(1, 1)] * 2


def test_of_a_small_test_part_each_problem_is_asked_once(tmp_path):
    path = tmp_path / "few.jsonl"
    path.write_text("".join(json.dumps({"problem": f"{n} + 4?", "answer": n + 4}) + "\n" for n in range(40)))
    (tasks,) = held_out(Dataset(str(path)), 64).values()
    assert len(tasks) == 4 == len({task.id for task in tasks})
