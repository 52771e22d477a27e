"""Values by their content."""

import ast
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from decimal import Decimal
from fractions import Fraction

import pytest

from redqueen.checks.sandbox.contents import content
from redqueen.checks.sandbox.literals import NotPlain

Point = namedtuple("Point", "x y")


class Liar(list):
    def __eq__(self, other):
        return True

    def __iter__(self):
        return iter([9])

    __hash__ = None


VALUES = [
    *(None, True, 3, -2.5, "ä'", b"a", [], (1,), (), {1, 2}, set(), frozenset([1]), {"a": [1]}, 1 + 2j, 10**4000),
    *(Counter("aab"), defaultdict(list, a=[1]), OrderedDict(a=1), Point(1, 2), bytearray(b"a"), Fraction(1, 4)),
    *(Decimal("0.5"), Fraction(3), float("inf"), -float("inf"), {"a": 1}.keys(), {"a": 1}.items()),
]


WITHOUT = [
    *(object(), deque([1]), float("nan"), Decimal("0.1"), Fraction(1, 3), 10**4400, range(3), {1: 2}.values()),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_is_equal_to_its_literal(value):
    assert ast.literal_eval(content(value)) == value


def test_a_class_cannot_lie_about_its_content():
    assert content(Liar([1, 2])) == "[1, 2]"


@pytest.mark.parametrize("value", WITHOUT, ids=lambda value: type(value).__name__)
def test_what_no_literal_is_equal_to_is_refused(value):
    with pytest.raises(NotPlain):
        content(value)
