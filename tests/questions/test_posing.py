"""Proposals in natural language, as models write them."""

import pytest

from redqueen.questions.posing import Written, asked_about_text, asked_for_another, read_proposal
from redqueen.types import Refusal, Task

Q = "<question>What is 3 + 4?</question>"


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        (Q, Written("What is 3 + 4?")),
        (f"Sure! Here is one:\n\n{Q}\n\nI hope it helps.", Written("What is 3 + 4?")),
        (f"<think>Maybe <question>1?</question></think>{Q}", Written("What is 3 + 4?")),
        (f"<question>Not this one?</question> Better: {Q}", Written("What is 3 + 4?")),
        ("<QUESTION>\nTwo\nlines?\n</QUESTION>", Written("Two\nlines?")),
        (f"The format is <question>...</question>. {Q}", Written("What is 3 + 4?")),
        (f"I write <question> and then {Q}", Written("What is 3 + 4?")),
        (f"{Q}<answer>7</answer>", Written("What is 3 + 4?")),
        ("", Refusal("empty")),
        ("What is 3 + 4?", Refusal("no question")),
        ("<question></question>", Refusal("no question")),
        ("<question>...</question>", Refusal("no question")),
        ("<question>What is", Refusal("cut off")),
        (f"<think>{Q}", Refusal("cut off")),
        (f"<question>{'a' * 5000}</question>", Refusal("too long")),
    ],
)
def test_a_question_is_read_from_its_tags(reply, found):
    assert read_proposal(reply) == found


def test_an_answer_and_a_rationale_are_needed_where_they_are_asked_for():
    assert read_proposal(f"{Q}\n<answer>\n7</answer>", answered=True) == Written("What is 3 + 4?", "7")
    assert read_proposal(Q, answered=True) == Refusal("no answer")
    for nothing in ("...", "?", "**", " "):  # nobody's answer could be the same
        assert read_proposal(f"{Q}<answer>{nothing}</answer>", answered=True) == Refusal("no answer"), nothing
    assert read_proposal(f"<rationale>Add.</rationale>{Q}", explained=True) == Written("What is 3 + 4?", "", "Add.")
    assert read_proposal(Q, explained=True) == Refusal("no rationale")


def test_an_invitation_shows_its_references_and_its_form():
    shown = asked_for_another([Task("a", prompt="What is 1 + 1?"), Task("b", prompt="What is 2 + 2?")])
    assert "<question>What is 1 + 1?</question>\n\n<question>What is 2 + 2?</question>" in shown
    assert "between <question> and </question>" in shown
    assert "plus and times" in asked_for_another((), "plus and times")
    assert "- Who?" in asked_about_text("A text.", ["Who?"]) and "<answer>" in asked_about_text("A text.")
