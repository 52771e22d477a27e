"""What a row says in each of the standard formats, and what is said of a row that says nothing."""

import pytest

from redqueen.questions.columns import Layout, layout_of
from redqueen.questions.data_rows import Row
from redqueen.questions.examples import BadRow, as_text, doubles, example
from redqueen.types import RedQueenError


def said(role, text):
    return {"role": role, "content": text}


ASKED = [said("system", "Be brief."), said("user", "Hi")]
PROMPT = (("system", "Be brief."), ("user", "Hi"))


def of(ignore=(), named=None, **columns):
    row = Row("f.jsonl, line 7", columns)
    return example(row, layout_of([row], named or {}, "f.jsonl", ignore))


def fault(**columns):
    with pytest.raises(BadRow) as error:
        of(**columns)
    line = str(error.value)
    assert line.startswith("f.jsonl, line 7: ") and "\n" not in line
    return line


def parts(**columns):
    found = of(**columns)
    return found.messages, found.completion, found.rejected, *(found.answers or ("",))


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
        (
            "\n\nHuman: Hi\n\nAssistant: Yes, I do",
            "\n\nHuman: Hi\n\nAssistant: Yes, but",
            "Hi",
            "Yes, I do",
            "Yes, but",
        ),
    ],
)
def test_an_implicit_prompt_is_what_both_texts_begin_with(chosen, rejected, prompt, better, worse):
    assert parts(chosen=chosen, rejected=rejected) == ((("user", prompt),), better, worse, "")


def test_a_dialogue_of_human_and_assistant_is_read_as_its_messages():
    before = "\n\nHuman: Say 1.\nHuman: or 2\n\nAssistant: Which?\n\nHuman: Any.\n\nAssistant: "
    prompt = (("user", "Say 1.\nHuman: or 2"), ("assistant", "Which?"), ("user", "Any."))
    assert parts(chosen=before + "It is 1.", rejected=before + "It is 3.") == (prompt, "It is 1.", "It is 3.", "")
    with pytest.raises(RedQueenError, match="the same messages but for the last one"):
        parts(chosen=before + "It is 1.", rejected="Human: Say 2.\n\nAssistant: It is 3.")
    with pytest.raises(RedQueenError, match="ends with the user"):
        parts(chosen=before + "1\n\nHuman: Thanks.", rejected=before + "3")


def test_replies_of_pairs_may_be_messages_of_sharegpt_or_texts_after_messages():
    said = {"from": "gpt", "value": "It is 1."}, {"from": "gpt", "value": "No."}
    asked = [{"from": "human", "value": "Say 1."}]
    wanted = ((("user", "Say 1."),), "It is 1.", "No.", "")
    assert parts(conversations=asked, chosen=said[0], rejected=said[1]) == wanted
    assert parts(messages=[{"role": "user", "content": "Say 1."}], chosen="It is 1.", rejected="No.") == wanted


def test_what_else_a_row_has_is_not_read_and_a_column_may_be_ignored():
    assert parts(prompt="Hi", id=3, source="web") == ((("user", "Hi"),), "", "", "")
    assert parts(ignore=("answer",), prompt="Hi", answer="4")[3] == ""


def test_a_row_without_a_question_is_refused_for_the_whole_file():
    for columns in ({}, {"completion": "a"}, {"chosen": "a"}, {"id": 3}):
        with pytest.raises(RedQueenError, match="no column that looks like a question") as error:
            of(**columns)
        assert not isinstance(error.value, BadRow)


def test_a_row_without_what_others_have_is_bad():
    rows = [Row("a, line 1", {"problem": "1+1", "solution": 2}), Row("a, line 2", {"problem": "1+2"})]
    layout = layout_of(rows, {}, "a")
    assert example(rows[0], layout).completion == "2"
    with pytest.raises(BadRow, match="a, line 2: it has no solution"):
        example(rows[1], layout)
    assert example(rows[1], layout, graded=False).completion == ""


def test_a_conversation_may_end_with_the_question_and_be_in_the_form_of_sharegpt():
    assert parts(messages=ASKED) == (PROMPT, "", "", "")
    shared = [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Yes."}]
    assert parts(conversations=shared) == ((("user", "Hi"),), "Yes.", "", "")
    assert parts(prompt=ASKED, completion="b") == (PROMPT, "b", "", "")


def test_an_answer_is_a_number_a_text_or_several_of_which_any_is_right():
    assert of(prompt="a", answer=4).answers == ("4",)
    assert of(question="a", answers={"text": ["b", "c", "b"], "answer_start": [1, 2, 3]}).answers == ("b", "c")
    assert of(question="a", answer={"value": "b", "aliases": ["b", "c"], "type": "name"}).answers == ("b", "c")
    assert of(prompt="a", reward_model={"ground_truth": "34", "style": "rule"}).answers == ("34",)


def test_choices_and_a_context_are_shown_with_the_question_unless_it_holds_them():
    found = of(question="Which?", context="A text.", choices=["red", "blue"], answer=1)
    assert found.messages == (("user", "A text.\n\nWhich?\n\nA) red\nB) blue"),)
    assert of(question="Red or blue?", choices="['Red', 'blue']").messages[0][1] == "Red or blue?"
    assert of(question="Which?", A="x", B="y", C="z", D="w", answer="C").choices == ("x", "y", "z", "w")
    assert of(question="Which?", options={"A": "x", "B": "y"}, answer="B").choices == ("x", "y")
    arc = of(question="Which?", choices={"text": ["x", "y"], "label": ["1", "2"]}, answerKey="2")
    assert (arc.choices, arc.answers) == (("x", "y"), ("B",))


def test_a_column_of_system_prompts_is_said_before_the_question():
    asked = (("system", "Be brief."), ("user", "1+1?"))
    assert of(question="1+1?", system_prompt="Be brief.").messages == asked
    assert of(question="1+1?", system="").messages == asked[1:]
    both = [said("system", "Be brief."), said("user", "1+1?")]
    assert of(prompt=both, system="Be brief.").messages == asked
    assert "another system prompt than the column has: leave the column out" in fault(prompt=both, system="Be long.")


def test_tests_go_with_the_lines_before_the_program():
    checks = "def check(candidate):\n    assert candidate(1) == 2"
    found = of(prompt="from typing import List\n\ndef f(x: List):\n", test=checks, entry_point="f")
    assert (found.tests, found.setup) == (("assert f(1) == 2",), "from typing import List")
    assert "tests must hold lines such as assert" in fault(question="a", tests=checks)  # of which function?
    assert of(question="a", answer="b", test="?").tests == ()


def test_a_column_of_imports_stands_before_the_program():
    assert of(question="a", tests=["assert f(1) == 2"], test_imports=["import math", "import re"]).setup == (
        "import math\nimport re"
    )


def test_a_row_whose_tests_cannot_be_run_says_why():
    assert "tests cannot be run: 'assert f(2) = 3' is no Python" in fault(
        question="a", tests=["assert f(1) == 2", "assert f(2) = 3"]
    )
    assert "tests cannot be run: they need the module 'numpy', which the sandbox does not have" in fault(
        question="a", tests="import numpy\nassert f(1) == numpy.ones(2)"
    )


def test_an_instruction_goes_with_its_input():
    assert parts(instruction="Add.", input="1 2", output="3")[:2] == ((("user", "Add.\n\n1 2"),), "3")
    assert parts(instruction="Add.", input="", output="3")[:2] == ((("user", "Add."),), "3")


@pytest.mark.parametrize(
    "columns, wanted",
    [
        ({"prompt": "a", "rejected": "b"}, "with prompt and rejected the row needs chosen"),
        ({"problem": "a", "rejected": "b", "chosen": " "}, "chosen is empty"),
        ({"prompt": "  "}, "prompt is empty"),
        ({"prompt": 3}, "prompt must be text, not 3"),
        ({"prompt": "a", "completion": ""}, "completion is empty"),
        ({"problem": "  "}, "problem is empty"),
        ({"prompt": "a", "answer": {"b": 1}}, "answer must be text or a number, not "),
        ({"prompt": "a", "target": " "}, "target is empty"),
        ({"question": "a", "choices": ["b"], "answer": 0}, "choices must be a list of 2 to 10 texts"),
        ({"question": "a", "tests": ["f(2) == 4"]}, "tests must hold lines such as assert f(2) == 4"),
        ({"prompt": []}, "prompt must be a list of messages, not []"),
        ({"prompt": [said("human", "a")]}, 'message 1 of prompt has the role "human"'),
        ({"prompt": [said("user", " ")]}, "the content of message 1 of prompt is empty"),
        ({"prompt": [{"by": "human", "value": "a"}]}, 'message 1 of prompt must be {"role": ..., "content": ...}'),
        ({"prompt": [said("user", "a"), said("system", "b")]}, "message 2 of prompt is the system's"),
        ({"prompt": [said("system", "a")]}, "the prompt ends with the system"),
        ({"messages": [said("assistant", "a")]}, "no message of the user before the last reply"),
        ({"messages": [said("user", "a"), said("assistant", "b"), said("assistant", "c")]}, "no message of the user"),
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
        example(Row("a.jsonl, line 2", {}, "this is not JSON"), Layout({}))


def test_prompts_are_alike_whatever_their_case_and_spacing():
    def one(text, completion="x"):
        return of(prompt=text, completion=completion)

    assert one("What  is\nIT?").key == one("what is it?").key != one("what is it!").key
    same = [one("a"), one("A "), one("a", "y"), one("b"), one("a", "X")]
    assert [bool(each) for each in doubles(same)] == [False, True, False, False, True]
    others = [of(prompt="a", chosen="b", rejected=text) for text in ("c", "d", "C")]
    assert [bool(each) for each in doubles(others)] == [False, False, True]


def test_a_conversation_reads_as_text_with_its_roles():
    assert as_text((("user", "Hi"),)) == "Hi"
    assert as_text(PROMPT) == "System: Be brief.\n\nUser: Hi"
