import pytest

from redqueen.games.tool_calls import called, described, same, written

CALL = '<tool_call>\n{"name": "find", "arguments": {"what": "cups", "n": 2}}\n</tool_call>'


def test_what_is_said_and_what_is_called():
    text, calls = called(f"I look.\n{CALL}\n{CALL}", number=3)
    assert text == "I look."
    assert [(call.id, call.name, call.arguments) for call in calls] == [
        ("call_3", "find", {"what": "cups", "n": 2}),
        ("call_4", "find", {"what": "cups", "n": 2}),
    ]


def test_what_is_no_call_is_said():
    for text in ("<tool_call>{", "<tool_call>{}</tool_call>", "<tool_call>[1]</tool_call>", "a <tool_call>", "x"):
        assert called(text) == (text, ())
    broken = '<tool_call>{"name": "f", "arguments": 3}</tool_call>'
    assert called(broken) == (broken, ())


def test_parameters_stand_for_arguments_as_llama_writes_them():
    _, (call,) = called('<tool_call>{"name": "f", "parameters": {"x": 1}}</tool_call>')
    assert call.arguments == {"x": 1}


@pytest.mark.parametrize(
    ("text", "before", "calls"),
    [
        ('Well. [TOOL_CALLS] [{"name": "f", "arguments": {"x": [1]}}]', "Well.", [("f", {"x": [1]})]),
        ('[TOOL_CALLS][{"name": "f", "arguments": {}}, {"name": "g", "arguments": {}}]', "", [("f", {}), ("g", {})]),
        (' [{"name": "f", "arguments": {}}]', "", [("f", {})]),
        ('[TOOL_CALLS]f[ARGS]{"x": 1}[TOOL_CALLS]g{}', "", [("f", {"x": 1}), ("g", {})]),
        ('<|python_tag|>{"name": "f", "parameters": {"x": 1}}', "", [("f", {"x": 1})]),
        (' {"name": "f", "parameters": {}}; {"name": "g", "parameters": {}}\n', "", [("f", {}), ("g", {})]),
    ],
)
def test_calls_of_mistral_and_llama(text, before, calls):
    said, found = called(text)
    assert said == before
    assert [(call.name, call.arguments) for call in found] == calls
    assert len({call.id for call in found}) == len(calls)
    assert same(text) == same(written(said, calls))


@pytest.mark.parametrize(
    "text",
    [
        "[TOOL_CALLS]",
        "[TOOL_CALLS] nothing",
        '[TOOL_CALLS]{"x": 1}',
        '[TOOL_CALLS][{"name": "f"}, 3]',
        '[{"name": "f"}]',
        '{"name": "f"}',
        '{"name": "f", "parameters": {}} is a call',
        '{"parameters": {}}',
        '{"name": "f", "parameters": 3}',
        "{" * 100_000,
    ],
)
def test_what_is_no_call_of_these_is_said(text):
    assert called(text) == (text, ())


def test_writing_is_read_again():
    for said, calls in (
        ("", [("f", {"x": "</tool>"})]),
        ("Well.", [("f", {}), ("g", {"a": [1, None]})]),
        ("Well.", []),
    ):
        text, found = called(written(said, calls))
        assert text == said
        assert [(call.name, call.arguments) for call in found] == calls


def test_the_same_said_otherwise():
    other = '<tool_call>{"arguments": {"n": 2, "what": "cups"}, "name": "find"}</tool_call>'
    assert same(f"I look. {CALL}") == same(f" I look.\n{other} ")
    assert same("I look.") != same(f"I look. {CALL}")


def test_functions_are_described_by_their_json():
    assert '{"name": "f", "description": "ö"}' in described([{"name": "f", "description": "ö"}])


def test_a_long_text_of_calls_is_read_in_little_time():
    assert called("<tool_call>" * 200_000)[1] == ()
    assert len(called(CALL * 2000)[1]) == 2000


@pytest.mark.parametrize("depth", [101, 900, 5000])
@pytest.mark.parametrize(
    "form",
    [
        '<tool_call>{{"name": "f", "arguments": {{"a": {0}}}}}</tool_call>',
        '[TOOL_CALLS]f[ARGS]{{"a": {0}}}',
        '<|python_tag|>{{"name": "f", "parameters": {{"a": {0}}}}}',
    ],
)
def test_arguments_that_could_not_be_written_again_are_said(form, depth):
    text = form.format("[" * depth + "]" * depth)
    assert called(text) == (text, ())
