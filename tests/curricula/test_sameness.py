import pytest

from redqueen.curricula.sameness import by_behaviour, by_text, canonical
from redqueen.texts import Wording
from redqueen.types import RedQueenError, Task

PROBES = (-2, 0, 3)
DOUBLE, ADD, SQUARE = "lambda x: 2 * x", "lambda x: x + x", "lambda x: x * x"


def outputs(task: Task) -> tuple[object, ...]:
    program = eval(task.prompt)
    seen = []
    for probe in PROBES:
        try:
            seen.append(program(probe))
        except TypeError:
            seen.append(None)
    return tuple(seen)


def test_a_text_key_overlooks_case_and_space_but_not_kind_or_numbers():
    key = by_text()
    assert key(Task("a", "k", "What is  3?")) == key(Task("b", "k", "what is 3?", answer="other"))
    assert key(Task("a", "k", "What is 3?")) != key(Task("a", "k", "What is 4?"))
    assert key(Task("a", "k", "What is 3?")) != key(Task("a", "j", "What is 3?"))
    exact = by_text(Wording(case=True))
    assert exact(Task("a", prompt="A")) != exact(Task("a", prompt="a"))


def test_facts_stand_for_a_prompt_that_is_empty():
    key = by_text()
    assert key(Task("a", facts={"x": (1, 2)})) == key(Task("b", facts={"x": [1, 2]}))
    assert key(Task("a", facts={"x": (1, 2)})) != key(Task("b", facts={"x": (1, 3)}))


def test_programs_that_agree_on_the_probes_have_one_key():
    key = by_behaviour(outputs)
    assert key(Task("a", "p", DOUBLE)) == key(Task("b", "p", ADD))
    assert key(Task("a", "p", DOUBLE)) != key(Task("b", "p", SQUARE))
    assert key(Task("a", "p", DOUBLE)) != key(Task("b", "q", ADD))
    partial = "lambda x: len(x) if x < 0 else x"  # one probe does not fit
    assert outputs(Task("a", "p", partial)) == (None, 0, 3)
    assert key(Task("a", "p", partial)) == key(Task("b", "p", "lambda y: None if y < 0 else y"))


def test_programs_that_no_probe_fits_are_told_apart_by_their_text():
    key = by_behaviour(outputs)
    upper, lower = Task("a", "p", "lambda s: s.upper() + len(s)"), Task("b", "p", "lambda s: len(s)")
    with pytest.raises(AttributeError):  # what the run raises is not caught
        key(upper)
    assert key(lower) == key(Task("c", "p", "lambda s: len(s)"))
    assert key(lower) != key(Task("c", "p", "lambda t: len(t)"))


@pytest.mark.parametrize(
    ("one", "other"),
    [(True, 1), (1, 1.0), ([1], (1,)), (0.0, -0.0), ("1", 1), ({1: 2}, {1: 3}), (None, "None"), ({1}, [1])],
)
def test_literals_of_different_types_differ(one, other):
    assert canonical(one) != canonical(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [(float("nan"), float("nan")), ({1, 2}, {2, 1}), ({"a": 1, "b": 2}, {"b": 2, "a": 1}), ([1, [2.5]], [1, [2.5]])],
)
def test_literals_that_are_the_same_are_equal(one, other):
    assert canonical(one) == canonical(other)
    assert hash(canonical(one)) == hash(canonical(other))


def test_what_is_no_literal_is_refused():
    with pytest.raises(RedQueenError, match="object is not a literal"):
        canonical([object()])
