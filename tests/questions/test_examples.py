"""What a row says in each of the standard formats, and what is said of a row that says nothing."""

import pytest

from redqueen.questions.examples import BadRow, as_text, doubles, example
from redqueen.questions.rows import Row
from redqueen.types import RedQueenError


def said(role, text):
    return {"role": role, "content": text}


ASKED = [said("system", "Be brief."), said("user", "Hi")]
PROMPT = (("system", "Be brief."), ("user", "Hi"))


def of(ignore=(), **columns):
    return example(Row("f.jsonl, line 7", columns), ignore)


def fault(**columns):
    with pytest.raises(BadRow) as error:
        of(**columns)
    line = str(error.value)
    assert line.startswith("f.jsonl, line 7: ") and "\n" not in line
    return line


def parts(**columns):
    _, found = of(**columns)
    return found.messages, found.completion, found.rejected, found.answer


def test_plain_text_in_each_format():
    user = (("user", "Hi"),)
    assert parts(prompt=" Hi\n") == (user, "", "", "")
    assert parts(prompt="Hi", answer="4") == (user, "", "", "4")
    assert parts(prompt="Hi", completion=" Yes.") == (user, "Yes.", "", "")
    assert parts(prompt="Hi", chosen="Yes.", rejected="No.") == (user, "Yes.", "No.", "")


def test_conversations_in_each_format():
    yes, no = [said("assistant", "Yes.")], [said("assistant", "No.")]
    assert parts(prompt=ASKED) == (PROMPT, "", "", "")
    assert parts(prompt=ASKED, completion=yes) == (PROMPT, "Yes.", "", "")
    assert parts(messages=ASKED + yes) == (PROMPT, "Yes.", "", "")
    assert parts(prompt=ASKED, chosen=yes, rejected=no) == (PROMPT, "Yes.", "No.", "")
    assert parts(chosen=ASKED + yes, rejected=ASKED + no) == (PROMPT, "Yes.", "No.", "")


def test_of_a_conversation_of_many_turns_the_last_reply_is_the_completion():
    turns = [*ASKED, said("assistant", "Hello."), said("user", "Bye")]
    messages, completion, _, _ = parts(messages=[*turns, said("assistant", "Bye.")])
    assert messages == (*PROMPT, ("assistant", "Hello."), ("user", "Bye"))
    assert completion == "Bye."


@pytest.mark.parametrize(
    "chosen, rejected, prompt, better, worse",
    [
        ("The sky is blue.", "The sky is green.", "The sky is", "blue.", "green."),
        ("The sky is blue.", "The sky is blond.", "The sky is", "blue.", "blond."),  # not inside a word
        ("\n\nHuman: Hi\n\nAssistant: Yes", "\n\nHuman: Hi\n\nAssistant: No", "Human: Hi\n\nAssistant:", "Yes", "No"),
    ],
)
def test_an_implicit_prompt_is_what_both_texts_begin_with(chosen, rejected, prompt, better, worse):
    assert parts(chosen=chosen, rejected=rejected) == ((("user", prompt),), better, worse, "")


def test_unknown_columns_are_named_and_may_be_left_aside():
    with pytest.raises(RedQueenError) as error:
        of(prompt="a", id=3, source="web")
    assert "'id', 'source' is no column that is read here" in str(error.value)
    assert "ignore=id+source" in str(error.value)
    assert not isinstance(error.value, BadRow)  # every row has them: none would be left
    assert parts(ignore=("id",), prompt="Hi", id=3)[0] == (("user", "Hi"),)


@pytest.mark.parametrize(
    "columns, wanted",
    [
        ({}, "the row has no prompt"),
        ({"completion": "a"}, "beside completion the row needs prompt"),
        ({"chosen": "a"}, "beside chosen the row needs"),
        ({"prompt": "a", "rejected": "b"}, "beside prompt and rejected the row needs chosen"),
        ({"prompt": "a", "messages": "b"}, "messages, prompt do not go together"),
        ({"prompt": "a", "completion": "b", "chosen": "c", "rejected": "d"}, "do not go together"),
        ({"prompt": "  "}, "prompt is empty"),
        ({"prompt": 3}, "prompt must be text, not 3"),
        ({"prompt": "a", "completion": ""}, "completion is empty"),
        ({"prompt": "a", "answer": 4}, "answer must be text, not 4"),
        ({"prompt": []}, "prompt must be a list of messages, not []"),
        ({"prompt": [said("human", "a")]}, 'message 1 of prompt has the role "human"'),
        ({"prompt": [said("user", " ")]}, "the content of message 1 of prompt is empty"),
        ({"prompt": [{"from": "human", "value": "a"}]}, 'message 1 of prompt must be {"role": ..., "content": ...}'),
        ({"prompt": [said("user", "a"), said("system", "b")]}, "message 2 of prompt is the system's"),
        ({"prompt": [said("user", "a"), said("assistant", "b")]}, "the prompt ends with the assistant"),
        ({"prompt": [said("system", "a")]}, "the prompt ends with the system"),
        ({"messages": [said("user", "a")]}, "ends with the assistant's reply"),
        ({"messages": [said("assistant", "a")]}, "no message of the user before the last reply"),
        ({"messages": [said("user", "a"), said("assistant", "b"), said("assistant", "c")]}, "no message of the user"),
        ({"prompt": ASKED, "completion": "b"}, "completion is text and prompt a list of messages: make them alike"),
        ({"prompt": "a", "chosen": ASKED, "rejected": ASKED}, "ignore=prompt takes the beginning"),
        ({"prompt": ASKED, "completion": [said("user", "b")]}, "completion must be one message of the assistant"),
        ({"prompt": "a", "chosen": "b", "rejected": " b"}, "chosen and rejected say the same"),
        ({"chosen": "a b", "rejected": "a b"}, "chosen and rejected say the same"),
        ({"chosen": "yes", "rejected": "no"}, "do not begin alike"),
        ({"chosen": "a b", "rejected": "a b c"}, "is the beginning of the other"),
        (
            {"chosen": [*ASKED, said("assistant", "b")], "rejected": [said("user", "a"), said("assistant", "c")]},
            "the same messages but for the last one",
        ),
    ],
)
def test_a_bad_row_has_one_line_that_says_what_would_be_right(columns, wanted):
    assert wanted in fault(**columns)


def test_a_line_that_could_not_be_read_says_why():
    with pytest.raises(BadRow, match="line 2: this is not JSON"):
        example(Row("a.jsonl, line 2", {}, "this is not JSON"))


def test_prompts_are_alike_whatever_their_case_and_spacing():
    def one(text, completion="x"):
        return of(prompt=text, completion=completion)[1]

    assert one("What  is\nIT?").key == one("what is it?").key != one("what is it!").key
    same = [one("a"), one("A "), one("a", "y"), one("b"), one("a", "X")]
    assert [bool(each) for each in doubles(same)] == [False, True, False, False, True]
    others = [of(prompt="a", chosen="b", rejected=text)[1] for text in ("c", "d", "C")]
    assert [bool(each) for each in doubles(others)] == [False, False, True]


def test_a_conversation_reads_as_text_with_its_roles():
    assert as_text((("user", "Hi"),)) == "Hi"
    assert as_text(PROMPT) == "System: Be brief.\n\nUser: Hi"
