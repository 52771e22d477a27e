"""Levels as curricula: their own problems, marked with where they come from."""

from random import Random

import pytest

from redqueen.curricula.levels import Level, level_of, levels_of
from redqueen.domains.sums import Sums
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
