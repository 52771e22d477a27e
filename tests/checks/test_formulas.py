"""Formulas as votes count them: equal ones are one answer, others and words are not."""

import pytest

from redqueen.checks.formulas import by_formula
from redqueen.checks.votes import Majority, by_value


@pytest.mark.parametrize(
    "texts",
    [
        ("34", "34.0", r"\frac{68}{2}", "68/2", r"$34$", r"\dfrac{68}2", "x = 34", "34."),
        ("1/2", "0.5", r"\frac12", r"\frac{1}{2}", "50%", "2^{-1}", r"\left(\frac{1}{2}\right)"),
        ("2(x+1)", "2x+2", "2*x + 2", r"2\cdot x+2", "(x+1)*2", "y=2x+2"),
        ("(x-1)(x+1)", "x^2-1", "x**2 - 1", "-(1-x^2)"),
        (r"\sqrt{8}", r"2\sqrt{2}", r"2\sqrt2", "sqrt(8)", "8^{1/2}"),
        (r"\frac{3\pi}{4}", r"3\pi/4", "0.75π"),
        (r"\left(1, \frac{1}{2}\right)", "(1,0.5)", "(1, 1/2)"),
        ("1024", "2^{10}", "2^10"),
        ("-5", "−5", "-(5)"),
        (r"\sqrt[3]{27}", "3"),
        ("1/10", "10%", r"10\%", "**10%**", r"$10\%$", "**0.1**.", r"\(0.1\)"),
        ("1250", "1,250", r"1{,}250", r"1\,250", r"\$1{,}250", "$1250", "**1,250**"),
        ("x^2+1", "x²+1", r"\(x^2+1\)", r"\[ 1+x^2 \]"),
        ("0", "0.0", "-0", r"0\%"),
    ],
)
def test_equal_formulas_are_one_answer(texts):
    assert len({by_value(text) for text in texts}) == 1, {text: by_value(text) for text in texts}
    assert Majority(True, by_value).label([*texts, "another"]).share == pytest.approx(len(texts) / (len(texts) + 1))


@pytest.mark.parametrize(
    "texts",
    [
        ("2x+1", "2x-1", "x+2", "2X+1"),
        ("x^2", "2x", "x+x+1"),
        ("(1,2)", "(2,1)", "[1,2]", "1,2"),
        (r"\sqrt{2}", "1.414", "1.4142135"),
        ("19", "12+7"),
        ("12", "12 13", "3*4"),
        ("xy", "x+y", "x/y", "y/x"),
    ],
)
def test_others_are_several(texts):
    assert len({by_value(text) for text in texts}) == len(texts), {text: by_value(text) for text in texts}


@pytest.mark.parametrize(
    "text",
    [
        *(
            "Paris",
            "cat",
            "no",
            "3 or 4",
            "5 to 2",
            "12 km away",
            "12+7",
            "3*4",
            "",
            " ",
            "(",
            ")",
            "1/0",
            "0^0",
            "2^999",
        ),
        *(
            r"\frac{1}{0}",
            r"\sqrt{-1}",
            r"\evil{1}",
            "((((1",
            "9^" * 40 + "9",
            "(" * 90 + "1" + ")" * 90,
            "x" * 300,
            "5!",
        ),
        *("x = y = 2", "A or B", "1 2", "=", "\\", "{", "\x00", "9^64^64", "x=", ",", "(,)", "≈3"),
    ],
)
def test_what_is_no_formula_stays_text(text):
    assert by_formula(text) is None


def test_letters_have_different_values_and_words_no_anagrams():
    assert by_value("act") != by_value("cat") and by_value("a-b") != by_value("b-a")
    assert len({by_formula(f"{letter}+1") for letter in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"}) == 52
