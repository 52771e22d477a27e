"""Over real HTTP on the loopback: an endpoint that can be slow, busy, broken or silent."""

import json
import math
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import Any

import numpy as np
import pytest

from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.play.flow import Flow
from redqueen.players.endpoint import Server
from redqueen.players.language.answers import Boxed, Plain
from redqueen.players.tabular import TabularPolicy
from redqueen.types import (
    Ask,
    Match,
    Message,
    RedQueenError,
    Reply,
    Seat,
    Text,
    ToolCall,
    ToolResult,
    Turn,
    Unreachable,
)

pytest.importorskip("httpx")

SEAT = Seat("first")
Answer = tuple[int, dict[str, str], bytes]


def completion(text: str | None, finish_reason: str = "stop") -> Answer:
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": finish_reason}
    return 200, {}, json.dumps({"choices": [choice]}).encode()


def parts(*content: dict[str, Any]) -> Answer:
    return 200, {}, json.dumps({"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}).encode()


def error(status: int, message: str = "", headers: dict[str, str] | None = None) -> Answer:
    return status, headers or {}, json.dumps({"error": {"message": message}}).encode()


def always(answer: Answer) -> Callable[[dict[str, Any], int], Answer]:
    return lambda _body, _number: answer


def seconds(delay: float) -> Callable[[dict[str, Any]], float]:
    return lambda _: delay


def echo(body: dict[str, Any], number: int) -> Answer:
    """Repeats the first line it was asked."""
    return completion(body["messages"][-1]["content"].split("\n")[0])


@dataclass
class Endpoint:
    """Answers each request with `script(body, number of this request for the same words)`."""

    script: Callable[[dict[str, Any], int], Answer | None] = echo
    delay: Callable[[dict[str, Any]], float] = lambda _: 0.0
    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    most_at_once: int = 0
    closing: threading.Event = field(default_factory=threading.Event)


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    for name in ("OPENAI_API_KEY", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    it = Endpoint()
    lock = threading.Lock()
    seen: Counter[str] = Counter()
    at_once = 0

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            nonlocal at_once
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                at_once += 1
                it.most_at_once = max(it.most_at_once, at_once)
                it.bodies.append(body)
                it.headers.append({**dict(self.headers), "path": self.path})
                it.times.append(time.monotonic())
                words = json.dumps(body["messages"])
                number, seen[words] = seen[words], seen[words] + 1
            it.closing.wait(it.delay(body))
            with lock:
                at_once -= 1
            answer = it.script(body, number)
            if answer is None:
                self.close_connection = True
                return
            status, headers, content = answer
            self.send_response(status)
            for header, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(header, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            pass  # a client that timed out has closed its end

    server = Quiet(("127.0.0.1", 0), Handler)
    it.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield it
    it.closing.set()
    server.shutdown()
    server.server_close()
    thread.join()


def asked(*texts: str, choices: tuple[str, ...] = (), seed: int = 0) -> list[Ask]:
    return [Ask(SEAT, (Message("game", text),), choices, seed=seed) for text in texts]


def quick(endpoint: Endpoint, **settings: Any) -> Server:
    return Server("toy", endpoint.url, **{"backoff": 0.01, "timeout": 5.0, "retries": 3, **settings})


def test_replies_come_in_the_order_of_the_asks_however_long_each_takes(endpoint):
    endpoint.delay = lambda body: 0.15 if "word 0" in body["messages"][-1]["content"] else 0.0
    replies = quick(endpoint).reply(asked(*(f"word {number}" for number in range(12))))
    assert [reply.text for reply in replies] == [f"word {number}" for number in range(12)]
    assert replies[0].player == "toy"


def test_no_more_requests_are_in_flight_than_allowed(endpoint):
    endpoint.delay = seconds(0.05)
    quick(endpoint, concurrency=3).reply(asked(*(f"word {number}" for number in range(9))))
    assert endpoint.most_at_once == 3


def test_no_asks_are_no_requests(endpoint):
    assert quick(endpoint).reply([]) == []
    assert endpoint.bodies == []


def test_a_chat_has_own_words_as_assistant_and_neighbours_of_one_role_joined(endpoint):
    messages = (
        Message("system", "Be brief."),
        Message("game", "The rules."),
        Message("second", "Hello."),
        Message("first", "Hi."),
        Message("game", "Your move?"),
    )
    ask = Ask(SEAT, messages, ("pass", "bet"), past=(Turn(asked("x")[0], Reply("Hi.", thought="a secret")),))
    quick(endpoint, answer=Boxed(), system="You play.").reply([ask])
    assert endpoint.bodies[0]["messages"] == [
        {"role": "system", "content": "You play.\n\nBe brief."},
        {"role": "user", "content": "The rules.\n\nHello."},
        {"role": "assistant", "content": "Hi."},
        {
            "role": "user",
            "content": "Your move?\n\nYour answer must be exactly one of: pass, bet\n\n" + Boxed().instruction,
        },
    ]


def test_calls_and_results_of_tools_are_sent_as_text(endpoint):
    said = [Text("<information>"), ToolResult("1", "19"), Text("</information>")]
    own = Message("first", [Text("<add>12+7</add>"), ToolCall("1", "add", {"text": "12+7"})])
    quick(endpoint).reply([Ask(SEAT, (Message("game", "12+7?"), own, Message("tool", said)))])
    assert endpoint.bodies[0]["messages"] == [
        {"role": "user", "content": "12+7?"},
        {"role": "assistant", "content": "<add>12+7</add>"},
        {"role": "user", "content": "<information>19</information>\n\n" + Plain().instruction},
    ]


def test_a_request_names_model_seed_and_sampling(endpoint, monkeypatch):
    monkeypatch.setenv("MY_KEY", "s3cret")
    server = quick(endpoint, api_key_env="MY_KEY", temperature=0.7, max_tokens=9, extra={"top_p": 0.5})
    server.reply([*asked("a", seed=1), *asked("b", seed=2), *asked("c", seed=1)])
    bodies = {body["messages"][0]["content"][0]: body for body in endpoint.bodies}
    assert {key: bodies["a"][key] for key in ("model", "temperature", "max_tokens", "top_p")} == {
        "model": "toy",
        "temperature": 0.7,
        "max_tokens": 9,
        "top_p": 0.5,
    }
    assert bodies["a"]["seed"] == bodies["c"]["seed"] != bodies["b"]["seed"]
    assert all(0 <= body["seed"] < 2**31 for body in bodies.values())
    assert endpoint.headers[0]["Authorization"] == "Bearer s3cret"
    assert endpoint.headers[0]["path"] == "/v1/chat/completions"


def test_what_is_left_to_the_endpoint_is_not_sent(endpoint):
    quick(endpoint, temperature=None, max_tokens=None).reply(asked("a"))
    assert set(endpoint.bodies[0]) == {"model", "messages", "seed"}
    assert "Authorization" not in endpoint.headers[0]


def test_a_reply_is_split_into_thought_and_legal_action(endpoint):
    endpoint.script = always(completion("The queen is weak. \\boxed{ PASS }"))
    (reply,) = quick(endpoint, answer=Boxed()).reply(asked("Move?", choices=("pass", "bet")))
    assert (reply.text, reply.thought, reply.malformed, reply.truncated) == ("pass", "The queen is weak.", False, False)


@pytest.mark.parametrize("text", ["no box here", "", None])
def test_a_reply_without_the_format_is_malformed(endpoint, text):
    endpoint.script = always(completion(text, "length"))
    (reply,) = quick(endpoint, answer=Boxed()).reply(asked("Move?", choices=("pass", "bet")))
    assert (reply.text, reply.malformed, reply.truncated) == ("", True, True)


def test_an_answer_in_a_reply_that_ran_out_of_room_is_none(endpoint):
    endpoint.script = always(completion("\\boxed{pass} or", "length"))
    (reply,) = quick(endpoint, answer=Boxed()).reply(asked("Move?", choices=("pass", "bet")))
    assert (reply.text, reply.thought, reply.malformed, reply.truncated) == ("", "\\boxed{pass} or", True, True)
    endpoint.script = always(completion("pass", "length"))  # without a format all that was said is the reply
    (reply,) = quick(endpoint).reply(asked("Move?", choices=("pass", "bet")))
    assert (reply.text, reply.malformed, reply.truncated) == ("pass", False, True)


@pytest.mark.parametrize("failure", [error(429), error(500), error(503, "warming up"), None])
def test_passing_trouble_is_tried_again(endpoint, failure):
    endpoint.script = lambda body, number: failure if number < 2 else echo(body, number)
    replies = quick(endpoint).reply(asked("a", "b"))
    assert [reply.text for reply in replies] == ["a", "b"]
    assert len(endpoint.bodies) == 6


@pytest.mark.parametrize("busy", [error(500), error(429, "", {"Retry-After": "0.01"})])
def test_waits_grow_between_tries_however_soon_the_endpoint_says(endpoint, busy):
    endpoint.script = lambda body, number: busy if number < 3 else echo(body, number)
    quick(endpoint, backoff=0.05).reply(asked("a"))
    waits = [later - earlier for earlier, later in zip(endpoint.times, endpoint.times[1:], strict=False)]
    for doublings, wait in enumerate(waits):
        assert wait >= 0.5 * 0.05 * 2**doublings


def test_retry_after_in_seconds_is_kept_to(endpoint):
    endpoint.script = lambda body, number: error(429, "", {"Retry-After": "1"}) if number < 1 else echo(body, number)
    quick(endpoint).reply(asked("a"))
    assert endpoint.times[1] - endpoint.times[0] >= 1.0


def test_retry_after_as_a_date_is_kept_to_but_not_beyond_the_longest_wait(endpoint):
    date = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    endpoint.script = lambda body, number: error(503, "", {"Retry-After": date}) if number < 1 else echo(body, number)
    quick(endpoint, longest_wait=0.2).reply(asked("a"))
    assert 0.2 <= endpoint.times[1] - endpoint.times[0] < 2.0


def test_an_unreadable_retry_after_is_passed_over(endpoint):
    endpoint.script = lambda body, number: error(429, "", {"Retry-After": "soon"}) if number < 1 else echo(body, number)
    assert quick(endpoint).reply(asked("a"))[0].text == "a"


def test_tries_used_up_say_what_the_trouble_was(endpoint):
    endpoint.script = always(error(503, "out\nof memory"))
    with pytest.raises(RedQueenError, match=r"answered 503 \(out of memory\); gave up after 3 tries$"):
        quick(endpoint, retries=2).reply(asked("a"))
    assert len(endpoint.bodies) == 3


def test_a_silent_endpoint_times_out(endpoint):
    endpoint.delay = seconds(5.0)
    start = time.monotonic()
    with pytest.raises(RedQueenError, match=r"did not answer within 0\.1 s; gave up after 2 tries"):
        quick(endpoint, timeout=0.1, retries=1).reply(asked("a"))
    assert time.monotonic() - start < 3.0


def test_nobody_listening_names_the_url():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(RedQueenError, match=f"nothing answers at {url} .*is the server running"):
        Server("toy", url, retries=1, backoff=0.01).reply(asked("a"))


def test_whoever_listens_will_do_and_nobody_is_told_with_the_role(endpoint):
    listening = quick(endpoint, label="judge")
    assert listening.check() is listening
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(Unreachable, match=f"^judge: nothing answers at {url} .*is the server running"):
        Server("toy", url, label="judge").check()


def takes_the_newer_name_alone(body: dict[str, Any], number: int) -> Answer:
    """As OpenAI's newer models answer."""
    if "max_tokens" in body:
        return error(400, "Unsupported parameter: 'max_tokens' is not ... Use 'max_completion_tokens' instead.")
    return completion(str(body["max_completion_tokens"]))


def test_the_limit_of_tokens_goes_by_the_name_that_the_endpoint_says_from_then_on(endpoint):
    endpoint.script = takes_the_newer_name_alone
    server = quick(endpoint, max_tokens=7, retries=0, concurrency=1)
    assert [reply.text for reply in server.reply(asked("a", "b"))] == ["7", "7"]
    assert [reply.text for reply in server.reply(asked("c"))] == ["7"]
    assert ["max_tokens" in body for body in endpoint.bodies] == [True, False, False, False]


def test_requests_in_flight_together_each_take_the_other_name(endpoint):
    endpoint.script = takes_the_newer_name_alone
    endpoint.delay = seconds(0.1)
    server = quick(endpoint, max_tokens=7, retries=0, concurrency=4)
    assert [reply.text for reply in server.reply(asked("a", "b", "c", "d"))] == ["7"] * 4


def test_an_endpoint_that_refuses_both_names_is_asked_twice_and_no_more(endpoint):
    endpoint.script = always(error(400, "max_tokens or max_completion_tokens is too large"))
    with pytest.raises(RedQueenError, match=r"refused the request \(400, max_tokens or max_completion_tokens is too"):
        quick(endpoint).reply(asked("a"))
    assert len(endpoint.bodies) == 2


def test_the_choice_of_the_lowest_index_is_the_reply_wherever_it_stands(endpoint):
    choices = [{"index": k, "message": {"content": f"n{k}"}, "finish_reason": "stop"} for k in (2, 0, 1)]
    endpoint.script = always((200, {}, json.dumps({"choices": choices}).encode()))
    assert [reply.text for reply in quick(endpoint).reply(asked("a"))] == ["n0"]


def test_content_in_parts_is_their_text(endpoint):
    endpoint.script = always(parts({"type": "text", "text": "one "}, {"type": "text", "text": "two"}))
    assert [reply.text for reply in quick(endpoint).reply(asked("a"))] == ["one two"]


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (error(401, "bad key"), r"refused the key \(401, bad key\): put a valid one into \$OPENAI_API_KEY"),
        (error(404, "no such model"), r"has no model 'toy', or its url should end in /v1 \(404, no such model\)"),
        (
            error(400, "'temperature' does not support 1.0 with this model"),
            r"refused the temperature 1\.0 \(400, 'temperature' does not .* model\): set one that it takes",
        ),
        (
            parts({"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}),
            "sent a part of type image_url in its reply, where only text is read$",
        ),
        (error(400, "too many tokens"), r"refused the request \(400, too many tokens\)"),
        ((200, {}, b"<html>\nwelcome</html>"), "did not send a chat completion but: <html> welcome</html>"),
        ((200, {}, b"{}"), "did not send a chat completion but: {}"),
        ((200, {}, b'{"choices": []}'), "did not send a chat completion"),
        ((200, {}, b'{"choices": [{"message": {"content": [1]}}]}'), "did not send a chat completion"),
        ((200, {}, b"[1, 2"), "did not send a chat completion"),
        ((200, {}, b"\xff\xfe"), "did not send a chat completion"),
        ((422, {}, b"oops"), r"refused the request \(422, oops\)"),
    ],
)
def test_what_trying_again_would_not_better_is_one_line_at_once(endpoint, answer, line):
    endpoint.script = always(answer)
    with pytest.raises(RedQueenError, match=line) as caught:
        quick(endpoint).reply(asked("a"))
    assert len(endpoint.bodies) == 1
    assert "\n" not in str(caught.value)


def refuses_harm(body, number):
    if "harm" in str(body["messages"]):
        return error(400, "stopped by the content filter")
    return echo(body, number)


def test_a_prompt_that_a_filter_stops_has_no_reply_and_the_others_have_theirs(endpoint):
    endpoint.script = refuses_harm
    server, heard = quick(endpoint, concurrency=1), {}
    with pytest.warns(
        UserWarning, match=r"refused the request \(400, stopped by the content filter\): what is asked so"
    ):
        replies = server.reply_each(asked("harm", "a", "b"), lambda place, reply: heard.update({place: reply}))
    assert [reply.text for reply in replies] == ["", "a", "b"]
    assert [reply.malformed for reply in replies] == [True, False, False]
    assert heard == dict(enumerate(replies))
    with pytest.warns(UserWarning, match="no reply"):  # it has taken others before
        assert server.reply(asked("harm"))[0].malformed
    with pytest.warns(UserWarning, match="no reply"):
        (found,) = server.rate_choices(asked("harm", choices=("A", "B")))
    assert np.isnan(found).all() and len(found) == 2


def test_an_endpoint_that_refuses_the_first_prompts_refuses_all(endpoint):
    endpoint.script = always(error(400, "no such field"))
    with pytest.raises(RedQueenError, match=r"refused the request \(400, no such field\)$"):
        quick(endpoint, concurrency=2).reply(asked(*map(str, range(100))))
    assert len(endpoint.bodies) < 20


def test_an_error_that_comes_with_status_200_is_tried_again(endpoint):
    busy = 200, {}, b'{"error": {"message": "upstream is busy", "code": 429}}'
    endpoint.script = lambda body, number: busy if number < 2 else echo(body, number)
    assert [reply.text for reply in quick(endpoint).reply(asked("a"))] == ["a"]
    endpoint.script = always(busy)
    with pytest.raises(RedQueenError, match=r"answered 200 \(upstream is busy\); gave up after"):
        quick(endpoint).reply(asked("a"))


def test_one_failure_ends_the_waits_of_the_others(endpoint):
    endpoint.script = lambda body, _: error(401) if "bad" in str(body["messages"]) else error(503)
    endpoint.delay = lambda body: 0.2 if "bad" in str(body["messages"]) else 0.0
    start = time.monotonic()
    with pytest.raises(RedQueenError, match="refused the key"):
        quick(endpoint, backoff=30.0).reply(asked("bad", "a", "b"))
    assert time.monotonic() - start < 5.0


@pytest.mark.parametrize("settings", [{"url": "localhost:8000"}, {"concurrency": 0}, {"retries": -1}, {"timeout": 0.0}])
def test_settings_that_cannot_work_are_refused(settings):
    with pytest.raises(RedQueenError):
        Server(**{"model": "toy", "url": "http://localhost", **settings})


def test_the_label_is_the_name_where_there_is_one():
    assert Server("toy", "http://localhost").name == "toy"
    assert Server("toy", "http://localhost", label="rival").name == "rival"


def against(server: Server, learner: TabularPolicy, count: int) -> list[Match]:
    game = KuhnPoker()
    return [Match(game, game.tasks()[n % 6], {"first": server, "second": learner}) for n in range(count)]


def test_matches_against_an_endpoint_stay_in_flight_over_updates(endpoint: Endpoint) -> None:
    endpoint.script, endpoint.delay = always(completion("pass")), seconds(0.05)
    server, learner = Server("m", endpoint.url, concurrency=2), TabularPolicy()
    with closing(Flow([KuhnPoker()], learner, 4, staleness=1, known=lambda: [server], at_once=2)) as flow:
        first = flow.play(against(server, learner, 8), Random(0))
        second = flow.play(against(server, learner, 4), Random(1))
    assert {turn.reply.text for episode in first + second for turn in episode.turns if turn.reply.player == "m"} == {
        "pass"
    }
    assert [episode.task.id for episode in first + second] == [KuhnPoker().tasks()[n % 6].id for n in range(8)]
    assert endpoint.most_at_once <= 4  # two calls at once, each with two requests in flight


def test_an_endpoint_that_refuses_ends_the_call_and_the_threads(endpoint: Endpoint) -> None:
    endpoint.script = always(error(401, "no"))
    flow = Flow([KuhnPoker()], TabularPolicy(), 8)
    with pytest.raises(RedQueenError, match="refused the key"):
        flow.play(against(Server("m", endpoint.url), TabularPolicy(), 8), Random(0))
    assert not [thread for thread in threading.enumerate() if thread.name == "slow player"]


def likely(**tokens: float) -> Answer:
    entries = [{"token": token.replace("_", " "), "logprob": math.log(chance)} for token, chance in tokens.items()]
    choice = {"message": {"content": "A"}, "logprobs": {"content": [{"top_logprobs": entries}]}}
    return 200, {}, json.dumps({"choices": [choice]}).encode()


def test_choices_are_rated_by_the_first_token_with_and_without_its_space(endpoint):
    endpoint.script = always(likely(A=0.4, _A=0.2, B=0.2, The=0.2))
    (found,) = quick(endpoint, temperature=0.0).rate_choices(asked("Which?", choices=("A", "B")))
    assert found.tolist() == pytest.approx([0.75, 0.25])
    assert {key: endpoint.bodies[0][key] for key in ("max_tokens", "logprobs", "top_logprobs")} == {
        "max_tokens": 1,
        "logprobs": True,
        "top_logprobs": 20,
    }


def test_choices_are_rated_whatever_their_case_as_replies_are_read(endpoint):
    endpoint.script = always(likely(Bet=0.3, bet=0.1, Pass=0.4, _PASS=0.1, _p=0.1))
    (found,) = quick(endpoint).rate_choices(asked("Which?", choices=("pass", "bet")))
    assert found.tolist() == pytest.approx([0.6, 0.4])


def test_replies_that_came_before_a_failure_are_told(endpoint):
    endpoint.script = lambda body, _: error(401) if "4" in body["messages"][-1]["content"] else echo(body, 0)
    heard = {}
    server = quick(endpoint, concurrency=1)
    asks = [each for n in range(6) for each in asked(f"word {n}")]
    with pytest.raises(RedQueenError, match="refused the key"):
        server.reply_each(asks, lambda place, reply: heard.update({place: reply.text}))
    assert heard.pop(5, "word 5") == "word 5"  # which may have begun before the failure was heard of
    assert heard == {n: f"word {n}" for n in range(4)}
    assert [each.text for each in server.reply_each(asks[:2], lambda *_: None)] == ["word 0", "word 1"]


def test_replies_that_were_in_flight_at_a_failure_are_told(endpoint):
    endpoint.script = lambda body, _: error(401) if "0" in body["messages"][-1]["content"] else echo(body, 0)
    endpoint.delay = lambda body: 0.0 if "0" in body["messages"][-1]["content"] else 0.3
    heard = {}
    asks = [each for n in range(6) for each in asked(f"word {n}")]
    with pytest.raises(RedQueenError, match="refused the key"):
        quick(endpoint, concurrency=3).reply_each(asks, lambda place, reply: heard.update({place: reply.text}))
    assert {n: f"word {n}" for n in (1, 2)}.items() <= heard.items() and len(heard) == len(endpoint.bodies) - 1


def test_no_choice_among_the_likely_tokens_is_no_verdict(endpoint):
    endpoint.script = always(likely(The=0.9))
    (found,) = quick(endpoint).rate_choices(asked("Which?", choices=("A", "B")))
    assert math.isnan(found[0]) and math.isnan(found[1])


def test_an_endpoint_without_log_probabilities_and_choices_that_begin_alike_are_refused(endpoint):
    endpoint.script = always(completion("A"))
    with pytest.raises(RedQueenError, match=r"sent no log-probabilities .*: its replies can be sampled"):
        quick(endpoint).rate_choices(asked("Which?", choices=("A", "B")))
    with pytest.raises(RedQueenError, match=r"1, 2, 10 begin alike: sample replies"):
        quick(endpoint).rate_choices(asked("Which?", choices=("1", "2", "10")))


def test_the_identity_of_an_endpoint_is_all_that_its_replies_depend_on():
    one = Server("m", "http://h/v1", extra={"top_p": 0.5})
    assert one.identity() == Server("m", "http://h/v1", extra={"top_p": 0.5}, retries=9, label="judge").identity()
    others = [
        replace(one, **change) for change in ({"model": "n"}, {"temperature": 0.0}, {"system": "x"}, {"extra": {}})
    ]
    assert one.identity() not in [other.identity() for other in others]
