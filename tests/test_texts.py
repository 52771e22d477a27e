import json

import pytest

from redqueen.texts import MOST_NESTED, Wording, grams, is_deep, parted, said_aloud, thinks_on, tokens, until_stop


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


@pytest.mark.parametrize(
    ("text", "opened", "thought", "said"),
    [
        ("42", False, "", "42"),
        ("<think>6 * 7</think>42", False, "6 * 7", "42"),
        ("<think>\n6 * 7 is 42.\n</think>\n\nThe answer is 42.", False, "6 * 7 is 42.", "The answer is 42."),
        ("<think>\n\n</think>\n\n42", False, "", "42"),  # what Qwen3 writes where thinking is off
        ("6 * 7</think>\n42", True, "6 * 7", "42"),  # the template opened the thought
        ("<think>6 * 7</think>42", True, "6 * 7", "42"),  # and the model opened it again
        ("<think>a</think>One. <think>b</think>Two.", False, "a\nb", "One. Two."),
        ("<think>6 * 7 is", False, "<think>6 * 7 is", None),
        ("6 * 7 is", True, "6 * 7 is", None),
        ("Yes. <think>but", False, "Yes. <think>but", None),
        ("</think>42", False, "", "</think>42"),  # nobody opened one
    ],
)
def test_a_reply_is_parted_into_thought_and_speech(text, opened, thought, said):
    assert parted(text, opened) == (thought, said)


def test_a_thought_thinks_on_until_it_is_closed():
    assert thinks_on("<|assistant|><think>\n")
    assert not thinks_on("<|assistant|><think>\n\n</think>\n\n")
    assert not thinks_on("<|assistant|>")


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("<think>Maybe 3? No, 4.</think>It is 5.", "It is 5."),
        ("Is it 3? No, 4.</think>\n\nIt is 5.", "It is 5."),  # the prompt opened the thought
        ("<think>a</think>It is 5.<think>Or is it", ""),  # the second thought is not closed
        ("It is 5. <think>Sure.</think>", "It is 5."),
        ("<think>Maybe 3?", ""),
        (" 5 ", "5"),
    ],
)
def test_a_reply_without_its_thoughts(reply, said):
    assert said_aloud(reply) == said


def test_a_text_is_cut_at_the_first_stop_outside_a_thought():
    text = "<think>Call </go> first.</think>I call </go> now </stop>"
    assert until_stop(text, ("</stop>", "</go>")) == "<think>Call </go> first.</think>I call </go>"
    assert until_stop("<think>Call </go> first", ("</go>",)) is None
    assert until_stop("Call </go> first", ("</go>",), opened=True) is None
    assert until_stop("I call", ("</go>",)) is None
    assert until_stop("I call </go>", ()) is None


@pytest.mark.parametrize(("opens", "closes"), [("[", "]"), ('{"a": 1, "b":', "}"), ('[0, {"a":', "}]")])
def test_what_is_nested_too_deep(opens, closes):
    each = len(closes)
    deepest, inner = MOST_NESTED // each, '"' + "[" * 999 + '"'
    assert not is_deep(json.loads(opens * deepest + inner + closes * deepest))
    assert is_deep(json.loads(opens * (deepest + 1) + inner + closes * (deepest + 1)))
