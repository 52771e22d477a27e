"""Levels as curricula: their own problems, marked with where they come from."""

from random import Random

import pytest

from redqueen.curricula.held_out import apart_from, problems_apart
from redqueen.curricula.levels import Level, level_of, levels_of
from redqueen.questions.small.sums import Sums
from redqueen.types import RedQueenError, Task


def test_there_is_a_curriculum_for_every_level_in_order():
    assert list(levels_of(Sums(digits=3))) == ["1_digits", "2_digits", "3_digits"]


def test_a_level_deals_problems_of_its_own_and_says_so():
    tasks = Level(Sums(), "3_digits").draw(20, Random(0))
    assert {task.facts["digits"] for task in tasks} == {3}
    assert {level_of(task) for task in tasks} == {"3_digits"}


def test_what_is_marked_is_otherwise_the_domains_own_problem():
    (marked,), (plain,) = Level(Sums(), "2_digits").draw(1, Random(4)), Sums().problems("2_digits", 1, Random(4))
    assert (marked.id, marked.prompt, marked.answer) == (plain.id, plain.prompt, plain.answer)
    assert marked.facts == {**plain.facts, "level": "2_digits"}


def test_a_task_from_elsewhere_has_no_level():
    with pytest.raises(RedQueenError, match="dealt from no level"):
        level_of(Task("1+1"))


def test_what_is_held_out_is_not_dealt():
    sums, held = Sums(), {"1_digits": [Sums().task(a, b) for a in range(10) for b in range(10) if a + b != 7]}
    drawn = levels_of(sums, held)["1_digits"].draw(20, Random(0))
    assert len(drawn) == 20
    assert {sum(map(int, task.id.split("+"))) for task in drawn} == {7}
    with pytest.raises(RedQueenError, match="nearly all problems of the level '1_digits' of sums are held out"):
        problems_apart({"all": [sums.task(a, b) for a in range(10) for b in range(10)]}, sums, "1_digits", 1, Random(0))


def test_what_is_held_out_is_known_by_its_id_or_by_its_prompt():
    tests = {"one": [Task("a", prompt="A?", answer="1"), Task("b", prompt="B?")]}
    same = [Task("a", prompt="other"), Task("c", prompt="A?", answer="2"), Task("d", prompt="C?")]
    assert [task.id for task in apart_from(tests, same)] == ["d"]
    game = {"all": [Task("1", prompt="Play."), Task("2", prompt="Play.")]}  # what a task is stands in its facts
    assert [task.id for task in apart_from(game, [Task("2", prompt="Play."), Task("3", prompt="Play.")])] == ["3"]
