import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redqueen.players.language.answers import Boxed, Bracketed, Code, Json, Plain, Tagged
from redqueen.types import RedQueenError

MOVES = ("pass", "bet")
SQUARES = ("1", "4", "7")


@pytest.mark.parametrize(
    ("text", "choices", "expected"),
    [
        ("bet", MOVES, ("", "bet")),
        ("  BET.\n", MOVES, ("", "bet")),
        ('"Pass"', MOVES, ("", "pass")),
        ("**bet**", MOVES, ("", "bet")),
        ("I have the king.\n\nbet", MOVES, ("I have the king.", "bet")),
        ("better", MOVES, ("", "better")),
        ("I would not bet", MOVES, ("", "I would not bet")),
        ("pass or bet", MOVES, ("", "pass or bet")),
        ("", MOVES, ("", "")),
        (" \n ", MOVES, ("", "")),
        ("a long story\nwith lines", (), ("", "a long story\nwith lines")),
        ("[4]", ("[4]", "[14]"), ("", "[4]")),
        ("4", ("[4]", "[14]"), ("", "[4]")),
        ("two  words", ("Two Words",), ("", "Two Words")),
        ("A", ("a", "A"), ("", "A")),
        ("-4", ("4",), ("", "-4")),
        ("?", ("!", "pass"), ("", "?")),
    ],
)
def test_plain_takes_the_reply_as_the_action(text, choices, expected):
    assert Plain().parse(text, choices) == expected


@pytest.mark.parametrize(
    ("text", "choices", "expected"),
    [
        (
            r"Square [4] is free, and \boxed{1} is bad, so \boxed{7}.",
            SQUARES,
            ("Square [4] is free, and \\boxed{1} is bad, so", "7"),
        ),
        (r"\boxed{ BET }", MOVES, ("", "bet")),
        (r"\boxed{\text{bet}}", MOVES, ("", "bet")),
        (r"\boxed{better}", MOVES, ("", "better")),
        (r"\boxed{\frac{1}{2}}", (), ("", r"\frac{1}{2}")),
        (r"\boxed{a {b {c}} d}", (), ("", "a {b {c}} d")),
        (r"\boxed{\{1, 2\}}", (), ("", r"\{1, 2\}")),
        (r"\boxed{1 \\}", (), ("", r"1 \\")),
        (r"\boxed{\boxed{4}}", SQUARES, (r"\boxed{", "4")),
        ("\\boxed {4}", SQUARES, ("", "4")),
        (r"I say \boxed{pass}, no: \boxed{be", MOVES, (r"I say \boxed{pass}, no: \boxed{be", "")),
        (r"thought \boxed{}", MOVES, ("thought", "")),
        (r"thought \boxed{   }", (), ("thought", "")),
        ("bet", MOVES, ("bet", "")),
        (r"\boxed", MOVES, (r"\boxed", "")),
        (r"\boxed{", MOVES, (r"\boxed{", "")),
        ("", MOVES, ("", "")),
        ("boxed{bet}", MOVES, ("boxed{bet}", "")),
        (r"\boxed{[4]}", SQUARES, ("", "4")),
        (r"\boxed{14}", SQUARES, ("", "14")),
    ],
)
def test_boxed_takes_the_last_box(text, choices, expected):
    assert Boxed().parse(text, choices) == expected


@pytest.mark.parametrize(
    ("text", "choices", "expected"),
    [
        ("Square [4] is free, but [7] wins.", SQUARES, ("Square [4] is free, but", "7")),
        ("[Bet]", MOVES, ("", "bet")),
        ("[[4]]", SQUARES, ("[", "4")),
        ("[4] or [7", SQUARES, ("[4] or [7", "")),
        ("7] then", SQUARES, ("7] then", "")),
        ("hm []", SQUARES, ("hm", "")),
        ("[better]", MOVES, ("", "better")),
        ("4", SQUARES, ("4", "")),
        ("[give 2 wood]", (), ("", "give 2 wood")),
        ("[4]", ("[4]", "[14]"), ("", "[4]")),
    ],
)
def test_bracketed_takes_the_last_brackets(text, choices, expected):
    assert Bracketed().parse(text, choices) == expected


@pytest.mark.parametrize("answer", [Plain(), Boxed(), Bracketed()])
@pytest.mark.parametrize("piece", ["\\boxed{", "[", "\\", "{", "bet ", "\\boxed ", "]", "\n"])
def test_huge_texts_are_read_at_once(answer, piece):
    start = time.process_time()
    answer.parse(piece * 200_000, MOVES)
    assert time.process_time() - start < 2.0


def test_instructions_name_the_format():
    assert "\\boxed{}" in Boxed().instruction
    assert "[answer]" in Bracketed().instruction
    assert "alone" in Plain().instruction


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("Six sevens. <answer>42</answer>", "42"),
        ("<answer>41</answer> No: <answer> 42 </answer>.", "42"),
        ("<answer>42", ""),
        ("<answer>41</answer> <answer>42", ""),  # the last one is not closed
        ("42", ""),
    ],
)
def test_a_tagged_answer_is_the_last_one(text, action):
    assert Tagged().parse(text, ())[1] == action


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ('So {"answer": 42}', "42"),
        ('```json\n{"answer": "forty two", "sure": true}\n```', "forty two"),
        ('{"answer": 41} or rather {"answer": [1, 2]}', "[1, 2]"),
        ('{"answer": {"x": {"y": 1}}}', '{"x": {"y": 1}}'),
        ('The set {1, 2} {"answer": "{1}"} {oops', "{1}"),
        ('{"result": 42}', ""),
        ("42", ""),
    ],
)
def test_a_json_answer_is_that_of_the_last_object_that_has_one(text, action):
    assert Json().parse(text, ())[1] == action


def test_code_is_what_stands_in_blocks():
    one = "Here it is:\n```python\ndef f(a):\n    return a\n```\nIt copies."
    assert Code().parse(one, ()) == ("Here it is:", "def f(a):\n    return a")
    two = "A program\n```python\nx\n```\nand its input\n```input\n1\n```\n"
    assert Code().parse(two, ())[1] == "```python\nx\n```\n```input\n1\n```"
    assert Code().parse("def f(a): return a", ())[1] == ""
    assert Code().parse("```python\nx\n```\n```input\n1", ())[1] == ""  # the second was cut off


@pytest.mark.parametrize("form", [Tagged(), Json(), Code()])
def test_a_legal_reply_is_known_in_every_format(form):
    written = {Tagged: "<answer>Bet.</answer>", Json: '{"answer": "Bet."}', Code: "```\nBet.\n```"}[type(form)]
    assert form.parse(written, ("bet", "pass"))[1] == "bet"


FORMATS = [Plain(), Boxed(), Bracketed(), Tagged(), Json(), Code()]
PLAIN_WORDS = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="{}[]<>`\\")).map(str.strip)


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: type(form).__name__)
@given(action=PLAIN_WORDS)
def test_what_is_written_in_a_format_is_found_again(form, action):
    assert form.parse(form.write(action), ())[1] == action


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: type(form).__name__)
@given(action=st.text('ab{}[]<>`\\" \n/answerboxedtext', max_size=24))
def test_what_no_reply_can_show_is_refused_and_nothing_else_is_found(form, action):
    try:
        reply = form.write(action)
    except RedQueenError as error:
        assert "\n" not in str(error)
    else:
        assert form.parse(reply, ())[1] == action.strip()


@pytest.mark.parametrize(
    ("form", "action", "reply"),
    [
        (Plain(), " 42 ", "42"),
        (Boxed(), r"\frac{1}{2}", r"\boxed{\frac{1}{2}}"),
        (Bracketed(), "bet", "[bet]"),
        (Tagged(), "x < 3", "<answer>x < 3</answer>"),
        (Json(), 'say "no"', '{"answer": "say \\"no\\""}'),
        (Code(), "print(1)", "```\nprint(1)\n```"),
        (Code(), "```python\nf = 1\n```\n```input\n2\n```", "```python\nf = 1\n```\n```input\n2\n```"),
    ],
)
def test_what_is_written_in_each_format(form, action, reply):
    assert form.write(action) == reply
    assert form.parse(reply, ())[1] == action.strip()
