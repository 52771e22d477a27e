import pytest

from redqueen.texts import Wording, grams, tokens


@pytest.mark.parametrize(
    ("wording", "text", "same"),
    [
        (Wording(), "What  is\n3 + 5?", "what is 3 + 5?"),
        (Wording(case=True), "What  Is", "What Is"),
        (Wording(space=True), "A\n  b", "a\n  b"),
        (Wording(punctuation=False), "Well, what is f(a,b): .5 or 1,000.5?", "well what is f(a b) .5 or 1,000.5"),
        (Wording(punctuation=False), "n! / f'(x) - 3:5", "n! / f'(x) - 3:5"),
        (Wording(numbers=False), "12 apples at 3.50 each", "0 apples at 0 each"),
    ],
)
def test_wording_overlooks_what_it_says_and_nothing_else(wording, text, same):
    assert wording(text) == same


def test_exponents_bases_and_fractions_stay_apart_from_the_digits_before_them():
    assert Wording()("What is 5²?") == "what is 5^(2)?" != Wording()("What is 52?")
    assert Wording()("10⁻³ + 101₂") == "10^(−3) + 101_(2)"
    assert Wording()("½ of 1½") == "1/2 of 1 1/2" and Wording()("H₂O") == "h2o"


def test_tokens_are_words_numbers_and_marks():
    assert tokens("x2 = 3.5*(1,000-a_b)") == ["x", "2", "=", "3.5", "*", "(", "1,000", "-", "a", "_", "b", ")"]


def test_grams_are_runs_and_a_short_text_is_one_run():
    assert grams(["a", "b", "a", "b"], 2) == {("a", "b"), ("b", "a")}
    assert grams(["a"], 3) == {("a",)}
    assert grams([], 3) == set()
