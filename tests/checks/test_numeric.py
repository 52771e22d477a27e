"""Answers as text, as numbers, as expressions; what is not in the form asked for; what gets no verdict."""

from __future__ import annotations

import sys
from fractions import Fraction

import pytest

from redqueen.checks.numeric import (
    Covers,
    Exact,
    Number,
    Symbolic,
    normalised,
    number,
    prepare_symbolic,
    verdict_counts,
    words,
)
from redqueen.checks.worker import Undecided
from redqueen.types import RedQueenError, Task


def task(answer: str) -> Task:
    return Task("t", answer=answer)


@pytest.fixture(scope="module")
def symbolic():
    pytest.importorskip("math_verify")
    verifier = Symbolic(seconds=1.0)
    yield verifier
    verifier.close()


def test_exact_looks_past_case_spaces_and_end_punctuation_only():
    assert normalised("  “New\n York.” ") == "new york"
    assert Exact()(task("New York"), ' "new  york". ')
    assert not Exact()(task("New York"), "New York City")
    assert not Exact()(task("correct"), "incorrect")
    assert not Exact()(task("the Nile"), "Nile")
    assert Exact(words_only=True)(task("the Nile"), "Nile!")
    assert not Exact()(task("x"), "")


def test_exponents_bases_and_fractions_stay_apart_from_the_digits_before_them():
    for one, other in (("5²", "52"), ("10⁶", "106"), ("101₂", "1012"), ("1½", "11/2")):
        assert not Exact()(task(one), other) and not Exact()(task(other), one)
    assert Exact()(task("½"), "1/2") and Exact()(task("1½"), "1 1/2") and Exact()(task("H₂O"), "H2O")
    assert {text: number(text) for text in ("5²", "10⁶", "101₂", "1¹⁄₂")} == dict.fromkeys(
        ("5²", "10⁶", "101₂", "1¹⁄₂")
    )
    assert [number(text) for text in ("½", "1½", "-2¾")] == [Fraction(1, 2), Fraction(3, 2), Fraction(-11, 4)]
    assert number("5 m²", units=True) == 5 and number("5²", units=True) is None
    assert number("½½") is None and not Exact()(task("½½"), "1/42")


def test_a_minus_is_one_sign_however_it_is_typed():
    assert Exact()(task("5-3"), "5−3") and Exact()(task("−3 to 4"), "-3 to 4")


def test_a_factorial_is_no_exclamation():
    assert not Exact()(task("5!"), "5") and not Exact()(task("5"), "5!") and Exact()(task("5!"), "“5!”.")
    assert Exact()(task("yes"), "Yes!!") and Exact()(task("k7"), "k7.")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("-5", ["-5"]),
        ("−3.5", ["-3.5"]),
        ("3-5 and covid-19", ["3", "5", "and", "covid", "19"]),
        ("f(3)-5", ["f", "3", "5"]),
        ("It is 1,234.5 km.", ["it", "is", "1234.5", "km"]),
        ("1,2,3", ["1", "2", "3"]),
        ("5! of 5!", ["5!", "of", "5!"]),
        ("the 3rd, 3.5kg", ["3rd", "3.5kg"]),
        ("A", ["a"]),
        ("the Nile", ["nile"]),
        (" . ", []),
    ],
)
def test_a_number_is_one_word_with_its_sign_and_point(text, found):
    assert words(text) == found


def test_words_do_not_lose_signs_points_and_the_answer_a():
    exact = Exact(words_only=True)
    for one, other in (("-5", "5"), ("3.5", "3 5"), ("5!", "5")):
        assert not exact(task(one), other) and not exact(task(other), one) and exact(task(one), one)
    assert exact(task("A"), "a.") and not exact(task("A"), "B") and Covers()(task("A"), "A")
    assert not Covers()(task("5"), "It is -5.") and not Covers()(task("12"), "It is 3.12.")
    assert Covers()(task("-5"), "It is -5.") and Covers()(task("5"), "It is 5.")


@pytest.mark.parametrize("verifier", [Exact(), Exact(words_only=True), Covers(), Number()])
def test_a_task_without_an_answer_is_an_error_not_a_match(verifier):
    with pytest.raises(RedQueenError, match="task 't'"):
        verifier(task(" . "), "")


def test_covers_asks_for_the_words_together_and_not_many_others():
    assert Covers()(task("Mount Everest"), "It is Mount Everest, in Nepal.")
    assert not Covers()(task("Mount Everest"), "Everest is a mount")
    assert not Covers()(task("art"), "start")
    assert Covers(spare=2)(task("Paris"), "in fair Paris") and not Covers(spare=2)(task("Paris"), "in very fair Paris")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,234", 1234),
        ("1,234,567.5", Fraction(2469135, 2)),
        ("3/4", Fraction(3, 4)),
        ("- 3 / 4", Fraction(-3, 4)),
        ("1 1/2", Fraction(3, 2)),
        ("-1 1/2", Fraction(-3, 2)),
        ("50%", Fraction(1, 2)),
        ("1e3", 1000),
        ("2.5E-1", Fraction(1, 4)),
        ("−7", -7),
        (".5", Fraction(1, 2)),
        ("5.", 5),
        ("+0", 0),
    ],
)
def test_a_number_is_read_exactly(text, value):
    assert number(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "12,34",
        "1,5",
        "3/0",
        "1 2",
        "5 or 6",
        "nan",
        "inf",
        "0x10",
        "1_000",
        "1/2/3",
        "1e999",
        "٣",
        "9" * 101,
        "5 km",
        "e3",
    ],
)
def test_what_is_not_one_number_is_none(text):
    assert number(text) is None


def test_units_are_dropped_only_when_asked_and_only_units():
    read = {"5 km": 5, "$1,234.50": Fraction(2469, 2), "-$5": -5, "30 km/h": 30, "20°C": 20, "5 m^2": 5, "1e3 m": 1000}
    assert {text: number(text, units=True) for text in read} == read
    for text in ("5 or 6", "5 or six", "5 million", "5 percent", "3 dozen", "5k", "5 and a half", "about 5", "5 cm 6"):
        assert number(text, units=True) is None
    assert Number(units=True)(task("12 cm"), "12") and not Number()(task("12"), "12 cm")


def test_factors_and_variables_are_no_units():
    factors = "2π;2 pi;2 π r;3i;3 i;2e;2 e^2;2a;2x^2;2a/b;2 sqrt;2 sqrt 3;5 squared;5 factorial;5 crore;5 lakhs;5B;5 M"
    assert {text: number(text, units=True) for text in factors.split(";")} == dict.fromkeys(factors.split(";"))
    for unit in ("m", "g", "s", "l", "h", " m", "m²", " A", "V"):
        assert number(f"5{unit}", units=True) == 5


def test_a_number_may_be_off_by_the_tolerance_and_no_more():
    assert Number()(task("0.5"), "1/2") and not Number()(task("1/3"), "0.333")
    assert Number(tolerance=0.5)(task("10"), "10.5") and not Number(tolerance=0.5)(task("10"), "10.51")
    assert Number(relative=0.125)(task("-8"), "-9") and not Number(relative=0.125)(task("-8"), "-9.1")
    assert Number(tolerance=0.3)(task("1.0"), "1.3") and not Number(tolerance=0.3)(task("1.0"), "1.3000001")
    assert Number(relative=0.1)(task("3"), "3.3") and Number(tolerance=1e-5)(task("1"), "1.00001")
    assert not Number(tolerance=9.0)(task("1"), "one")
    with pytest.raises(RedQueenError, match="0 or above"):
        Number(tolerance=-1.0)


@pytest.mark.parametrize(
    ("right", "answer"),
    [
        ("2x+2", "2(x+1)"),
        ("\\frac{1}{2}", "0.5"),
        ("50%", "\\frac12"),
        ("\\{1,2\\}", "\\{2,1\\}"),
        ("\\sqrt{8}", "$2\\sqrt{2}$"),
        ("x**2", "\\boxed{x^2}"),
        ("1e3", "10^3"),
        ("3/2", "1 1/2"),
        ("5", "x=5"),
        ("(1,2)", "(1, 2)"),
        ("\\log_3 81", "4"),
        ("\\log_2 3", "\\log_{2} 3"),
        ("\\log_10 100", "2"),
        ("\\frac 3 4", "0.75"),
        ("2\\sqrt 3", "\\sqrt 3 \\cdot 2"),
        ("\\$36", "36"),
        ("$\\$18.90$", "18.9"),
        ("1\\,000", "1000"),
        ("1,\\!000,\\!000", "10^6"),
        ("50\\%", "50%"),
        ("\\frac12", "50\\%"),
        ("1/2", "x=50%"),
        ("x²", "x^2"),
        ("5²", "25"),
    ],
)
def test_equal_expressions_are_equal(symbolic, right, answer):
    assert symbolic(task(right), answer)


@pytest.mark.parametrize(
    ("right", "answer"),
    [
        ("4", "3 or 4"),
        ("4", "\\boxed{3} \\boxed{4}"),
        ("4", "$3$ $4$"),
        ("4", "3, so \\boxed{4}"),
        ("12", "12 12"),
        ("24", "12 12"),
        ("1", "1 1/2"),
        ("x", "hello"),
        ("x", ""),
        ("x", "}{"),
        ("x+1", "x" + "+0" * 600 + "+1"),
        ("\\pi", "3.14"),
        ("50", "50%"),
        ("50", "50\\%"),
        ("50", "x=50\\%"),
        ("52", "5²"),
        ("30", "5\\,6"),
        ("3/2", "\\frac 1 2 3"),
    ],
)
def test_others_and_what_is_not_one_expression_are_wrong(symbolic, right, answer):
    assert symbolic(task(right), answer) is False


@pytest.mark.slow
def test_an_answer_that_hangs_gets_no_verdict_and_the_next_is_judged(symbolic):
    right, tower = task("x"), "10^{10^{10}}"
    hard = task("10^{10}")
    with pytest.raises(Undecided):
        symbolic(hard, tower)
    verdicts = symbolic.verdicts([right, hard, right, hard], ["x", tower, "y", tower])
    assert verdicts == [True, None, False, None]
    assert verdict_counts(verdicts) == {"verified": 2.0, "undecided": 0.5, "verified_right": 0.5}


def test_counts_without_a_verdict_claim_nothing():
    assert verdict_counts([None]) == {"verified": 0.0, "undecided": 1.0}
    assert verdict_counts([]) == {"verified": 0.0, "undecided": 0.0}


def test_a_task_whose_answer_is_no_expression_is_an_error(symbolic):
    for answer in ("", "}{"):
        with pytest.raises(RedQueenError, match="task 't'"):
            symbolic(task(answer), "1")


def test_symbolic_is_an_equality_for_votes(symbolic):
    assert (
        symbolic.same("2(x+1)", "2x+2") and not symbolic.same("x", "y") and not symbolic.same("10^{10}", "10^{10^{10}}")
    )


def test_plain_numbers_and_equal_texts_need_no_process():
    verifier = Symbolic()
    assert verifier(task("1,000"), "1e3") and not verifier(task("7"), "8") and verifier(task("x^2"), " x^2 ")
    assert verifier._worker._process is None


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "math_verify", None)
    with pytest.raises(RedQueenError, match=r"redqueen\[math\]"):
        prepare_symbolic()
