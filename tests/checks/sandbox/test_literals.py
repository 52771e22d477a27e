"""One text for each value, and texts that are only read."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

from redqueen.checks.sandbox.literals import NotPlain, literal, parse, quiet
from redqueen.checks.sandbox.syntax import parsed

PLAIN = [
    (None, "None"),
    (True, "True"),
    (1, "1"),
    (1.0, "1.0"),
    ("a'b", '"a\'b"'),
    (b"\x00", "b'\\x00'"),
    ([1, [2]], "[1, [2]]"),
    ((), "()"),
    ((1,), "(1,)"),
    (set(), "set()"),
    ({"b", "a"}, "{'a', 'b'}"),
    ({"b": 1, "a": 2}, "{'a': 2, 'b': 1}"),
    (-0.0, "0.0"),
    (10**30, "1" + "0" * 30),
]


@pytest.mark.parametrize(("value", "text"), PLAIN, ids=[text for _, text in PLAIN])
def test_a_plain_value_has_one_literal(value, text):
    assert literal(value) == text
    assert literal(parse(text)) == text


def test_values_that_python_calls_equal_have_literals_of_their_own():
    assert len({literal(value) for value in (True, 1, 1.0, "1", [1], (1,), {1})}) == 7


def test_equal_sets_and_dicts_are_written_alike_whatever_their_order():
    assert literal(set("abcdef")) == literal(set("fedcba"))
    assert literal({1: 2, 3: 4}) == literal({3: 4, 1: 2})
    assert literal([{2, 1}, {"x": {3, 0}}]) == "[{1, 2}, {'x': {0, 3}}]"


def test_arguments_keep_what_a_program_can_tell():
    """The order of a dict and the sign of a zero; a set has no order to keep."""
    given = ({"b": [-0.0], "a": {"d": 1, "c": 2}}, {2, 1})
    text = literal(given, ordered=True)
    assert text == "({'b': [-0.0], 'a': {'d': 1, 'c': 2}}, {1, 2})"
    assert literal(parse(text), ordered=True) == text
    assert literal(given) == "({'a': {'c': 2, 'd': 1}, 'b': [0.0]}, {1, 2})"


def test_warnings_are_as_they_were_after_many_threads_kept_them_quiet():
    """Python keeps one list of filters: threads that leave it in another order than they came would empty it."""
    before = list(warnings.filters)

    def work(number):
        for each in range(200):
            assert parse(f"'\\d{each}'") == f"\\d{each}"
            parsed(f"x = {number}, {each}, '\\d'")

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(8)))
    assert list(warnings.filters) == before
    with quiet(), quiet():  # one in another
        pass


class Sly(int):
    def __repr__(self):
        return "5"


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), 1j, frozenset(), object(), len, Sly(3), range(3), [float("nan")], {1: Sly(3)}]
)
def test_other_values_have_none(value):
    with pytest.raises(NotPlain):
        literal(value)


def test_values_that_are_too_large_or_too_deep_have_none():
    deep: list = []
    for _ in range(30):
        deep = [deep]
    for value in (deep, "a" * 5000, 10**1100):
        with pytest.raises(NotPlain):
            literal(value)
    assert literal("a" * 5000, longest=6000) == repr("a" * 5000)


NO_LITERALS = """
x
1 + 1
f(1)
__import__('os')
1) or (True
[x for x in y]
f'{1}'
(y := 1)
lambda: 1
nan
...
1j
1,2 3
"""


@pytest.mark.parametrize("text", ["", " ", "1\n2", "\x00", "\ud800", *NO_LITERALS.strip().splitlines()], ids=ascii)
def test_text_that_is_not_one_literal_is_refused(text):
    with pytest.raises(NotPlain):
        parse(text)


def test_text_that_is_too_long_or_too_deep_is_refused():
    for text in ("[" * 300, "-" * 3000 + "1", "'" + "a" * 5000 + "'"):
        with pytest.raises(NotPlain):
            parse(text)
