"""Thoughts are taken out before anybody reads an answer, in the ways in which models and templates write them."""

import pytest

from redqueen.players.language.thinking import is_open, parted


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


def test_a_thought_is_open_until_it_is_closed():
    assert is_open("<|assistant|><think>\n")
    assert not is_open("<|assistant|><think>\n\n</think>\n\n")
    assert not is_open("<|assistant|>")
