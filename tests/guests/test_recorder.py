"""The endpoint by which agents that are not ours ask: three dialects, tools, streams, and what is refused."""

import json
import threading
from contextlib import contextmanager, suppress

import httpx
import numpy as np
import pytest

from redqueen.games.programmed import Desk
from redqueen.guests import recorder
from redqueen.guests.dialects.wanted import Unfit
from redqueen.guests.recorder import Endpoint
from redqueen.types import Reply, Task

CALL = 'Let me look. <tool_call>\n{"name": "find", "arguments": {"what": "cups"}}\n</tool_call>'
PARAMETERS = {"type": "object", "properties": {"what": {"type": "string"}}}
FUNCTION = {"name": "find", "description": "finds things", "parameters": PARAMETERS}


@pytest.fixture(scope="module")
def endpoint():
    told = []
    found = Endpoint(tell=told.append)
    found.told_lines = told
    yield found
    found.close()


@contextmanager
def seated(endpoint, *replies, role="agent", calls=64):
    """A chair, and a list of what was asked; the asks are answered with these replies."""
    desk, asked, left = Desk((role,), 7, calls), [], list(replies)
    over = threading.Event()

    def answer():
        while not over.is_set():
            for wish in desk.take(0.02):
                asked.append(wish)
                reply = left.pop(0) if left else "yes"
                wish.said.set_result(reply if isinstance(reply, Reply) else said(reply))

    worker = threading.Thread(target=answer, daemon=True)
    worker.start()
    chairs = endpoint.seats(desk)
    chair = chairs[role]
    chair.asked = asked
    try:
        yield chair
    finally:
        over.set()
        worker.join(5)
        endpoint.clear(chairs)


def said(text, truncated=False):
    logprobs = np.array([-0.5, -0.25])
    return Reply(text, "bot", 0, np.array([1, 2, 3]), np.array([7, 8]), logprobs, truncated=truncated)


def post(chair, path, body, key=None):
    url = chair.url.removesuffix("/v1") + path
    return httpx.post(url, json={"model": chair.model, **body}, headers={"Authorization": f"Bearer {key or chair.key}"})


def told(wish):
    return [(message.speaker, message.text) for message in wish.messages]


CHAT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": [{"type": "text", "text": "Cups?"}]}]


def test_chat_completions(endpoint):
    with seated(endpoint, " two ") as chair:
        body = post(chair, "/v1/chat/completions", {"messages": CHAT, "stop": "!", "logprobs": True}).json()
        (wish,) = chair.asked
    assert told(wish) == [("system", "Be brief."), ("game", "Cups?")]
    assert wish.stops == ("!",)
    (choice,) = body["choices"]
    assert choice["message"] == {"role": "assistant", "content": "two"}
    assert choice["finish_reason"] == "stop"
    assert chair.seed == 7
    assert choice["token_ids"] == [7, 8]
    assert body["prompt_token_ids"] == [1, 2, 3]
    assert [each["logprob"] for each in choice["logprobs"]["content"]] == [-0.5, -0.25]
    assert body["usage"] == {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


def test_several_replies_and_a_cut_one(endpoint):
    with seated(endpoint, "a", said("b", truncated=True), "c") as chair:
        body = post(chair, "/v1/chat/completions", {"messages": CHAT, "n": 3}).json()
    found = [(choice["message"]["content"], choice["finish_reason"]) for choice in body["choices"]]
    assert found == [("a", "stop"), ("b", "length"), ("c", "stop")]
    assert body["usage"]["completion_tokens"] == 6


PATHS = {
    "/v1/chat/completions": ("stop", {}),
    "/v1/messages": ("stop_sequences", {"max_tokens": 9}),
}


@pytest.mark.parametrize("path", PATHS)
def test_a_stop_and_what_stands_behind_it_are_not_told(endpoint, path):
    """As both APIs leave it out; the record keeps what was said, and the conversation goes on without it."""
    name, more = PATHS[path]
    wanted = {"messages": [{"role": "user", "content": "Cups?"}], name: ["END", "Observation:"], **more}
    with seated(endpoint, "Thought: a\nObservation: b END", "none") as chair:
        first, second = post(chair, path, wanted).json(), post(chair, path, wanted).json()
    if path == "/v1/messages":
        assert first["content"] == [{"type": "text", "text": "Thought: a"}]
        assert (first["stop_reason"], first["stop_sequence"]) == ("stop_sequence", "Observation:")
        assert (second["stop_reason"], second["stop_sequence"]) == ("end_turn", None)
    else:
        assert first["choices"][0]["message"]["content"] == "Thought: a"
        assert first["choices"][0]["finish_reason"] == "stop"


def test_more_replies_than_calls_are_left_are_refused_and_none_is_recorded(endpoint):
    with seated(endpoint, calls=3) as chair:
        answer = post(chair, "/v1/chat/completions", {"messages": CHAT, "n": 5})
        assert answer.status_code == 400
        assert "5 replies are asked for, and 3 calls of this match are left" in answer.json()["error"]["message"]
        assert post(chair, "/v1/chat/completions", {"messages": CHAT, "n": 3}).status_code == 200
        assert len(chair.asked) == 3


@pytest.mark.parametrize("number", ["1e999", "NaN", "-Infinity"])
@pytest.mark.parametrize(
    "call",
    [
        '<tool_call>{{"name": "find", "arguments": {{"what": {}}}}}</tool_call>',
        '{{"name": "find", "parameters": {{"what": {}}}}}',
        '[TOOL_CALLS]find[ARGS]{{"what": {}}}',
    ],
)
def test_a_call_with_a_number_that_json_does_not_have_is_no_call(endpoint, call, number):
    text = call.format(number)
    tools = [{"name": "find", "input_schema": PARAMETERS}]
    with seated(endpoint, text) as chair:
        wanted = {"messages": [{"role": "user", "content": "Cups?"}], "tools": tools, "max_tokens": 9}
        body = post(chair, "/v1/messages", wanted).json()
    assert body["content"] == [{"type": "text", "text": text}] and body["stop_reason"] == "end_turn"


@pytest.mark.parametrize(
    "call", ['"name": "find", "arguments": {"\\ud800": "a"}', '"name": "\\udfff", "arguments": {}']
)
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses", "/v1/messages"])
def test_half_a_character_in_a_call_is_the_mark_of_a_missing_one(endpoint, path, call):
    ask = {"role": "user", "content": "Cups?"}
    tool = {"type": "function", **FUNCTION, "function": FUNCTION, "input_schema": PARAMETERS}
    wanted = {"input" if path == "/v1/responses" else "messages": [ask], "tools": [tool], "max_tokens": 9}
    with seated(endpoint, f"<tool_call>{{{call}}}</tool_call>", "yes") as chair:
        answer = post(chair, path, wanted)
        assert (answer.status_code, "\ufffd" in answer.text or r"\\ufffd" in answer.text) == (200, True)


def events(text):
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ") and line != "data: [DONE]"]


def test_chat_as_a_stream(endpoint):
    with seated(endpoint, CALL) as chair:
        tools = [{"type": "function", "function": FUNCTION}]
        wanted = {"messages": CHAT, "stream": True, "stream_options": {"include_usage": True}, "tools": tools}
        answer = post(chair, "/v1/chat/completions", wanted)
    assert answer.text.endswith("data: [DONE]\n\n")
    found = events(answer.text)
    deltas = [event["choices"][0]["delta"] for event in found if event["choices"]]
    assert deltas[0] == {"role": "assistant", "content": ""}
    assert deltas[1] == {"content": "Let me look."}
    call = {"name": "find", "arguments": '{"what": "cups"}'}
    assert deltas[2] == {"tool_calls": [{"index": 0, "id": "call_0", "type": "function", "function": call}]}
    assert found[-2]["choices"][0]["finish_reason"] == "tool_calls"
    assert found[-1]["usage"]["total_tokens"] == 5


def test_a_stream_carries_the_log_probabilities_that_are_asked_for(endpoint):
    with seated(endpoint, "yes", "yes") as chair:
        wanted = {"messages": CHAT, "stream": True, "logprobs": True}
        (head, *_) = events(post(chair, "/v1/chat/completions", wanted).text)
        plain = post(chair, "/v1/chat/completions", {"messages": CHAT, "stream": True}).text
    rated = head["choices"][0]["logprobs"]["content"]
    assert [(each["token"], each["logprob"]) for each in rated] == [("token_id:7", -0.5), ("token_id:8", -0.25)]
    assert "logprobs" not in plain


def test_who_asks_for_other_tokens_is_told_that_none_are_sent(endpoint):
    with seated(endpoint, role="rater") as chair:
        wanted = {"model": "rater", "messages": CHAT, "logprobs": True, "top_logprobs": 0}
        assert "x-redqueen-unheeded" not in post(chair, "/v1/chat/completions", wanted).headers
        answer = post(chair, "/v1/chat/completions", {**wanted, "top_logprobs": 5})
        assert answer.headers["x-redqueen-unheeded"] == "top_logprobs"
    assert any("asks with top_logprobs, of which none are sent" in line for line in endpoint.told_lines)


@pytest.mark.parametrize(
    ("path", "content", "said"),
    [
        ("/v1/chat/completions", [{"type": "refusal", "refusal": "No cups."}], "No cups."),
        ("/v1/chat/completions", [{"type": "thinking", "thinking": "Hm"}, {"type": "text", "text": "Two"}], "Two"),
        ("/v1/responses", [{"type": "refusal", "refusal": "No cups."}], "No cups."),
        ("/v1/messages", [{"type": "thinking", "thinking": "Hm", "signature": "x"}], ""),
        ("/v1/messages", [{"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "Two"}], "Two"),
    ],
)
def test_of_the_own_words_refusals_are_kept_and_thoughts_are_not(endpoint, path, content, said):
    ask, answer = {"role": "user", "content": "Cups?"}, {"role": "assistant", "content": content}
    conversation = {"input" if path == "/v1/responses" else "messages": [ask, answer, ask], "max_tokens": 9}
    with seated(endpoint) as chair:
        assert post(chair, path, conversation).status_code == 200
        assert told(chair.asked[0]) == [("game", "Cups?"), ("agent", said), ("game", "Cups?")]


def test_thoughts_of_others_are_not_read(endpoint):
    with seated(endpoint) as chair:
        asked = {"messages": [{"role": "user", "content": [{"type": "thinking", "thinking": "Hm"}]}], "max_tokens": 9}
        answer = post(chair, "/v1/messages", asked)
    assert (answer.status_code, "'thinking'" in answer.text) == (400, True)


@pytest.mark.parametrize(("failed", "shown"), [(True, "Error: no such file"), (False, "no such file")])
def test_that_a_tool_failed_is_shown(endpoint, failed, shown):
    block = {"type": "tool_result", "tool_use_id": "call_0", "content": "no such file", "is_error": failed}
    with seated(endpoint) as chair:
        post(chair, "/v1/messages", {"messages": [{"role": "user", "content": [block]}], "max_tokens": 9})
        assert chair.asked[0].messages[0].results[0].text == shown


def test_the_end_of_a_match_that_took_too_long_is_refused(endpoint):
    desk, head = Desk(("agent",), 0, 8), {"Authorization": f"Bearer {endpoint.key}"}
    endpoint.offer(Task("t", prompt="Cups?"), endpoint.seats(desk), print)
    match = httpx.post(f"{endpoint.url}/matches", headers=head, timeout=10).json()["match"]
    desk.close()
    answer = httpx.post(f"{endpoint.url}/matches/{match}", headers=head, json={"answer": "2"})
    assert answer.status_code == 404
    assert "nothing that is said of its end counts" in answer.json()["error"]["message"]


def test_a_call_and_its_result_in_chat(endpoint):
    with seated(endpoint, CALL, "two cups") as chair:
        wanted = {"messages": CHAT, "tools": [{"type": "function", "function": FUNCTION}]}
        message = post(chair, "/v1/chat/completions", wanted).json()["choices"][0]["message"]
        assert message["content"] == "Let me look."
        assert message["tool_calls"][0]["function"]["name"] == "find"
        result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "2"}
        wanted["messages"] = [*CHAT, message, result]
        assert post(chair, "/v1/chat/completions", wanted).json()["choices"][0]["message"]["content"] == "two cups"
        first, second = chair.asked
    assert first.messages[0].text == "Be brief."
    assert json.dumps(FUNCTION) in first.messages[1].text
    speakers = [message.speaker for message in second.messages]
    assert speakers == ["system", "system", "game", "agent", "tool"]
    assert second.messages[3].text == CALL.replace(". <", ".\n<")
    assert second.messages[4].results[0].text == "2"


def test_responses(endpoint):
    tools = [{"type": "function", **FUNCTION}]
    with seated(endpoint, CALL, "two cups") as chair:
        wanted = {"instructions": "Be brief.", "input": "Cups?", "tools": tools}
        body = post(chair, "/v1/responses", wanted).json()
        assert body["status"] == "completed"
        message, call = body["output"]
        assert message["content"][0]["text"] == "Let me look."
        assert (call["type"], call["name"], call["arguments"]) == ("function_call", "find", '{"what": "cups"}')
        result = {"type": "function_call_output", "call_id": call["call_id"], "output": "2"}
        wanted["input"] = [{"role": "user", "content": "Cups?"}, message, call, result]
        assert post(chair, "/v1/responses", wanted).json()["output"][0]["content"][0]["text"] == "two cups"
        _, second = chair.asked
    assert [message.speaker for message in second.messages] == ["system", "system", "game", "agent", "tool"]
    assert second.messages[3].text == CALL.replace(". <", ".\n<")


def test_responses_as_a_stream(endpoint):
    with seated(endpoint, "two") as chair:
        answer = post(chair, "/v1/responses", {"input": "Cups?", "stream": True})
    found = events(answer.text)
    assert [event["type"] for event in found] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event["sequence_number"] for event in found] == list(range(9))
    assert found[-1]["response"]["output"][0]["content"][0]["text"] == "two"


def test_messages(endpoint):
    tools = [{"name": "find", "description": "finds things", "input_schema": PARAMETERS}]
    with seated(endpoint, CALL, said("two", truncated=True)) as chair:
        asked = [{"role": "user", "content": "Cups?"}]
        wanted = {"system": "Be brief.", "messages": asked, "tools": tools, "max_tokens": 9}
        body = post(chair, "/v1/messages", wanted).json()
        assert body["stop_reason"] == "tool_use"
        text, call = body["content"]
        assert text == {"type": "text", "text": "Let me look."}
        assert (call["name"], call["input"]) == ("find", {"what": "cups"})
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": [{"type": "text", "text": "2"}]}
        asked += [{"role": "assistant", "content": body["content"]}, {"role": "user", "content": [result]}]
        body = post(chair, "/v1/messages", wanted).json()
        assert body["stop_reason"] == "max_tokens"
        assert body["usage"] == {"input_tokens": 3, "output_tokens": 2}
        _, second = chair.asked
    assert [message.speaker for message in second.messages] == ["system", "system", "game", "agent", "tool"]
    assert second.messages[3].text == CALL.replace(". <", ".\n<")


def test_messages_as_a_stream(endpoint):
    with seated(endpoint, "two") as chair:
        wanted = {"messages": [{"role": "user", "content": "Cups?"}], "max_tokens": 9, "stream": True}
        found = events(post(chair, "/v1/messages", wanted).text)
    kinds = [event["type"] for event in found]
    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    assert kinds == ["message_start", *block, "message_delta", "message_stop"]
    assert found[2]["delta"] == {"type": "text_delta", "text": "two"}


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        (
            "/v1/chat/completions",
            {"model": "gpt-4", "messages": CHAT},
            404,
            "speaks for the model 'agent', not \"gpt-4\"",
        ),
        ("/v1/chat/completions", {"messages": "hello"}, 400, "messages must be a list"),
        ("/v1/chat/completions", {"messages": []}, 400, "is to answer, and this one is empty"),
        (
            "/v1/chat/completions",
            {"messages": [{"role": "judge", "content": "x"}]},
            400,
            "system, user, assistant or tool",
        ),
        ("/v1/chat/completions", {"messages": CHAT, "n": 0}, 400, "n must be a whole number above 0"),
        ("/v1/chat/completions", {"messages": CHAT, "n": 65}, 400, "n is at most 64"),
        ("/v1/chat/completions", {"messages": CHAT, "stop": [1]}, 400, "stops are texts"),
        ("/v1/chat/completions", {"messages": CHAT, "tools": [{}]}, 400, "a tool is a function with a name"),
        (
            "/v1/chat/completions",
            {"messages": CHAT, "response_format": {"type": "json_schema"}},
            400,
            "response_format of type json_schema has a schema, an object, not null",
        ),
        (
            "/v1/responses",
            {"input": "x", "text": {"format": {"type": "grammar"}}},
            400,
            'text.format is of a type among text, json_object, json_schema, not "grammar"',
        ),
        (
            "/v1/chat/completions",
            {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
            400,
            "a part of a message is 'image_url'",
        ),
        (
            "/v1/responses",
            {"input": "x", "previous_response_id": "resp_1"},
            400,
            "send the whole conversation as input",
        ),
        ("/v1/responses", {"input": "x", "conversation": "conv_1"}, 400, "conversation is not to be had here"),
        ("/v1/responses", {"input": 3}, 400, "input must be a text or a list"),
        ("/v1/responses", {"input": [{"type": "computer_call"}]}, 400, "an item of the input"),
        ("/v1/messages", {"messages": [{"role": "system", "content": "x"}]}, 400, "user or assistant"),
        ("/v1/messages", {"messages": [{"role": "user", "content": [3]}]}, 400, "a text or a list of blocks"),
        ("/v1/embeddings", {"input": "x"}, 404, "there is nothing here: ask /v1/chat/completions"),
    ],
)
def test_what_cannot_be_answered_is_one_line(endpoint, path, body, status, said):
    with seated(endpoint) as chair:
        answer = post(chair, path, body)
        assert chair.asked == []
    assert answer.status_code == status
    message = answer.json()["error"]["message"]
    assert said in message
    assert "\n" not in message


WHOLE = {
    "/v1/chat/completions": {
        "messages": [*CHAT, {"role": "assistant", "tool_calls": [{"function": FUNCTION}]}, {"role": "user"}],
        "tools": [{"type": "function", "function": FUNCTION}],
        "response_format": {"type": "text"},
        "stream_options": {"include_usage": True},
        "stop": ["x"],
        "n": 1,
    },
    "/v1/responses": {
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "x"}]}, {"type": "function_call_output"}],
        "tools": [{"type": "function", **FUNCTION}],
        "text": {"format": {"type": "text"}},
    },
    "/v1/messages": {
        "messages": [
            {"role": "assistant", "content": [{"type": "tool_use", "name": "find", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "content": "2"}, {"type": "text", "text": "x"}]},
        ],
        "tools": [{"name": "find", "input_schema": PARAMETERS}],
        "system": [{"type": "text", "text": "x"}],
    },
}


def damaged(value, wrong):
    """The value with each of its parts in turn replaced by `wrong`."""
    yield wrong
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        for other in damaged(part, wrong):
            yield {**value, key: other} if isinstance(value, dict) else [*value[:key], other, *value[key + 1 :]]


@pytest.mark.parametrize("path", WHOLE)
@pytest.mark.parametrize("wrong", [3, "x", None, [], {}, [[]], {"x": {}}, True])
def test_fields_of_another_kind_are_answered_or_refused(path, wrong):
    dialect = next(each for each in recorder.DIALECTS if path == each.PATH)
    for body in damaged(WHOLE[path], wrong):
        with suppress(Unfit):
            recorder._read(dialect, body, "agent") if isinstance(body, dict) else None


SHAPED = {
    "/v1/chat/completions": {
        "messages": CHAT,
        "response_format": {"type": "json_schema", "json_schema": {"name": "found", "schema": PARAMETERS}},
    },
    "/v1/responses": {
        "instructions": "Be brief.",
        "input": "Cups?",
        "text": {"format": {"type": "json_schema", "name": "found", "schema": PARAMETERS}},
    },
    "/v1/messages": {
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "Cups?"}],
        "output_config": {"format": {"type": "json_schema", "schema": PARAMETERS}},
    },
}


@pytest.mark.parametrize("path", SHAPED)
def test_a_format_is_told_to_the_model_and_not_forced(endpoint, path):
    with seated(endpoint, '{"what": "cups"}', role="shaped") as chair:
        answer = post(chair, path, SHAPED[path])
        (wish,) = chair.asked
    (first, shape, last) = told(wish)
    assert (first, last) == (("system", "Be brief."), ("game", "Cups?"))
    assert shape[0] == "system"
    assert shape[1].startswith("Reply with JSON that fits this schema, and with nothing else:\n")
    assert json.loads(shape[1].partition("\n")[2]) == PARAMETERS
    assert answer.headers["x-redqueen-unheeded"] == "format"
    assert chair.desk.noted["unheeded_shaped"] == ("format",)
    said = [line for line in endpoint.told_lines if line.startswith("the agent of shaped asks with format")]
    assert len(said) == 1
    assert "its replies are not forced into it" in said[0]


def test_any_object_may_be_asked_for(endpoint):
    with seated(endpoint) as chair:
        wanted = {"messages": CHAT, "response_format": {"type": "json_object"}}
        assert post(chair, "/v1/chat/completions", wanted).status_code == 200
        assert told(chair.asked[0])[1] == ("system", "Reply with a JSON object and nothing else.")


def chosen(path, choice):
    tools = {"/v1/chat/completions": {"type": "function", "function": FUNCTION}, "/v1/responses": FUNCTION}
    body = {"/v1/responses": {"input": "Cups?"}}.get(path, {"messages": CHAT[1:]})
    found = {"name": "find", "input_schema": PARAMETERS} if path == "/v1/messages" else tools[path]
    return {**body, "tools": [{"type": "function", **found}], "tool_choice": choice}


@pytest.mark.parametrize(
    ("path", "choice", "described", "unheeded"),
    [
        ("/v1/chat/completions", "none", False, None),
        ("/v1/chat/completions", "auto", True, None),
        ("/v1/chat/completions", "required", True, "tool_choice"),
        ("/v1/chat/completions", {"type": "function", "function": {"name": "find"}}, True, "tool_choice"),
        ("/v1/responses", "none", False, None),
        ("/v1/responses", {"type": "function", "name": "find"}, True, "tool_choice"),
        ("/v1/messages", {"type": "none"}, False, None),
        ("/v1/messages", {"type": "auto"}, True, None),
        ("/v1/messages", {"type": "any"}, True, "tool_choice"),
        ("/v1/messages", {"type": "auto", "disable_parallel_tool_use": True}, True, "parallel_tool_calls"),
    ],
)
def test_a_call_is_never_forced_and_the_agent_is_told_so(endpoint, path, choice, described, unheeded):
    with seated(endpoint, role="chooser") as chair:
        answer = post(chair, path, chosen(path, choice))
        assert answer.status_code == 200
        assert any("You can call functions." in text for _, text in told(chair.asked[0])) is described
        assert answer.headers.get("x-redqueen-unheeded") == unheeded


def test_functions_as_chat_had_them_before_tools_are_not_heeded_and_the_agent_is_told_so(endpoint):
    with seated(endpoint) as chair:
        wanted = {"messages": CHAT[1:], "functions": [FUNCTION], "function_call": "auto"}
        answer = post(chair, "/v1/chat/completions", wanted)
        assert answer.headers["x-redqueen-unheeded"] == "function_call, functions"


def test_bodies_that_are_no_json_or_too_long(endpoint, monkeypatch):
    monkeypatch.setattr(recorder, "LARGEST", 1000)
    with seated(endpoint) as chair:
        head = {"x-api-key": chair.key}
        for content, status in (
            (b"{", 400),
            (b"[]", 400),
            (b"\xff", 400),
            (b" " * 1001, 413),
            (b"[" * 101 + b"]" * 101, 400),
        ):
            assert httpx.post(f"{chair.url}/messages", content=content, headers=head).status_code == status


def test_half_a_character_is_the_mark_of_a_missing_one(endpoint):
    with seated(endpoint) as chair:
        content = json.dumps({"model": "agent", "messages": [{"role": "user", "content": "a\ud800b"}]}).encode()
        head = {"Authorization": f"Bearer {chair.key}", "content-type": "application/json"}
        assert httpx.post(f"{chair.url}/chat/completions", content=content, headers=head).status_code == 200
        assert chair.asked[0].messages[0].text == "a�b"


def test_a_key_is_a_seat_until_its_match_is_over(endpoint):
    with seated(endpoint) as chair:
        assert post(chair, "/v1/chat/completions", {"messages": CHAT}, key="rq-guess").status_code == 401
        models = httpx.get(f"{chair.url}/models", headers={"Authorization": f"Bearer {chair.key}"}).json()
        assert [model["id"] for model in models["data"]] == ["agent"]
        chair.desk.end(1.0)
        answer = post(chair, "/v1/chat/completions", {"messages": CHAT})
        assert (answer.status_code, answer.json()["error"]["message"]) == (403, "the match is over")
    answer = post(chair, "/v1/chat/completions", {"messages": CHAT})
    assert answer.status_code == 401
    assert "its match is over" in answer.json()["error"]["message"]


def test_settings_that_a_seat_does_not_take_are_said_once_and_noted(endpoint):
    with seated(endpoint) as chair:
        wanted = {"messages": CHAT, "temperature": 0.2, "max_tokens": 1}
        for _ in range(2):
            answer = post(chair, "/v1/chat/completions", wanted)
            assert answer.headers["x-redqueen-unheeded"] == "max_tokens, temperature"
        assert chair.desk.noted == {"unheeded_agent": ("max_tokens", "temperature")}
    assert sum("asks with temperature, which is not taken from it" in line for line in endpoint.told_lines) == 1


def test_matches_are_fetched_and_ended_by_agents_that_run_on_their_own(endpoint):
    desk = Desk(("agent",), 0, 8)
    ends = []
    endpoint.offer(Task("t", prompt="Cups?", answer="2"), endpoint.seats(desk), ends.append)
    head = {"Authorization": f"Bearer {endpoint.key}"}
    assert httpx.post(f"{endpoint.url}/matches").status_code == 401
    match = httpx.post(f"{endpoint.url}/matches", headers=head).json()
    assert match["task"]["prompt"] == "Cups?"
    assert "2" not in json.dumps(match["task"]), "what is right is not told"
    assert match["base_url"] == endpoint.url
    assert match["seats"]["agent"]["model"] == "agent"
    place = f"{endpoint.url}/matches/{match['match']}"
    assert httpx.post(f"{endpoint.url}/matches/none", headers=head, json={}).status_code == 404
    assert httpx.post(place, headers=head, json={"answer": "2"}).json() == {"match": match["match"], "over": True}
    assert ends == [{"answer": "2"}]
    assert httpx.post(place, headers=head, json={"answer": "2"}).status_code == 404


def test_a_match_goes_to_nobody_who_has_left(endpoint):
    head = {"Authorization": f"bearer {endpoint.key}"}
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{endpoint.url}/matches", headers=head, timeout=httpx.Timeout(10, read=0.2))
    desk = Desk(("agent",), 0, 8)
    endpoint.offer(Task("t", prompt="Cups?"), endpoint.seats(desk), print)
    match = httpx.post(f"{endpoint.url}/matches", headers=head, timeout=10).json()
    assert match["task"]["prompt"] == "Cups?"
    desk.close()


def test_matches_that_are_over_are_forgotten(endpoint):
    for _ in range(3):
        desk = Desk(("agent",), 0, 8)
        endpoint.offer(Task("t"), endpoint.seats(desk), print)
        desk.close()
    last = Desk(("agent",), 0, 8)
    endpoint.offer(Task("t"), endpoint.seats(last), print)
    assert len(endpoint._offers) == 1
    assert len(endpoint._chairs) == 1
    last.close()


def test_a_match_that_nobody_plays_any_more_is_not_offered(endpoint, monkeypatch):
    monkeypatch.setattr(recorder, "PATIENCE", 0.1)
    desk = Desk(("agent",), 0, 8)
    endpoint.offer(Task("t"), endpoint.seats(desk), print)
    desk.close()
    answer = httpx.post(f"{endpoint.url}/matches", headers={"x-api-key": endpoint.key})
    assert answer.json() == {"match": None}


def test_the_clients_of_openai_understand_the_answers(endpoint):
    openai = pytest.importorskip("openai")
    tools = [{"type": "function", "function": FUNCTION}]
    with (
        seated(endpoint, CALL, "two", CALL, "three") as chair,
        openai.OpenAI(base_url=chair.url, api_key=chair.key, max_retries=0) as client,
    ):
        answer = client.chat.completions.create(model="agent", messages=CHAT, tools=tools)
        assert answer.choices[0].message.tool_calls[0].function.arguments == '{"what": "cups"}'
        chunks = list(client.chat.completions.create(model="agent", messages=CHAT, stream=True))
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "two"
        answer = client.responses.create(model="agent", input="Cups?", tools=[{"type": "function", **FUNCTION}])
        assert answer.output[1].name == "find"
        with client.responses.stream(model="agent", input="Cups?") as stream:
            assert stream.get_final_response().output_text == "three"
        with pytest.raises(openai.NotFoundError, match="speaks for the model 'agent'"):
            client.chat.completions.create(model="gpt", messages=CHAT)


def test_the_client_of_anthropic_understands_the_answers(endpoint):
    anthropic = pytest.importorskip("anthropic")
    tools = [{"name": "find", "description": "finds things", "input_schema": PARAMETERS}]
    with (
        seated(endpoint, CALL, CALL) as chair,
        anthropic.Anthropic(base_url=chair.url.removesuffix("/v1"), api_key=chair.key, max_retries=0) as client,
    ):
        asked = {"model": "agent", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}], "tools": tools}
        answer = client.messages.create(**asked)
        assert answer.content[1].input == {"what": "cups"}
        with client.messages.stream(**asked) as stream:
            final = stream.get_final_message()
        assert final.content[0].text == "Let me look."
        assert final.content[1].input == {"what": "cups"}
        assert final.stop_reason == "tool_use"
