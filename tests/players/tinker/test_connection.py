"""What goes wrong with a server is one line, and soon enough."""

import sys
import threading
import time
from concurrent.futures import Future, wait
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from redqueen.players.tinker.connection import Connection, base_and_url, connect, is_on_server
from redqueen.types import RedQueenError

tinker = pytest.importorskip("tinker")


def capable(*names):
    models = [SimpleNamespace(model_name=name, max_context_length=None) for name in names]
    return SimpleNamespace(get_server_capabilities=lambda: done(SimpleNamespace(supported_models=models)))


def done(value):
    found = Future()
    found.set_result(value)
    return found


def connection(service=None, **settings):
    usual = {"is_skyrl": False, "poll": 0.01, "timeout": 5.0, "patience": 0.05}
    return Connection(service, service, "a/model", "http://here", **{**usual, **settings})


def test_a_model_on_a_server_is_named_with_its_base_and_its_url():
    assert base_and_url("tinker:Qwen/Qwen3-8B@http://localhost:8000") == ("Qwen/Qwen3-8B", "http://localhost:8000")
    assert base_and_url("tinker:/models/a@b@http://h:1") == ("/models/a@b", "http://h:1")
    assert base_and_url("tinker:Qwen/Qwen3-8B") == ("Qwen/Qwen3-8B", "")
    assert is_on_server("tinker:x")
    assert not is_on_server("tiny")
    for bad in ("tinker:", "tinker:@http://h", "tinker:base@"):
        with pytest.raises(RedQueenError, match="write tinker:BASE@URL"):
            base_and_url(bad)


def test_a_base_model_that_the_server_does_not_have_is_named_with_those_it_has():
    with pytest.raises(RedQueenError, match=r"does not have the base model 'a/model': it has other/thing, more"):
        connection(capable("other/thing", "more")).check()
    with pytest.raises(RedQueenError, match=r"did you mean a/models\?"):
        connection(capable("a/models")).check()
    alone = Connection(None, capable("one"), "", "http://here", is_skyrl=False)
    alone.check()
    assert alone.base_model == "one"


def test_a_request_that_takes_too_long_is_given_up():
    with pytest.raises(RedQueenError, match=r"http://here did not learn within 0\.1 s"):
        connection(timeout=0.1).call("learn", lambda: Future().result(2.0))


def test_a_server_that_has_gone_is_noticed_and_the_way_on_is_said():
    began = time.monotonic()
    with pytest.raises(RedQueenError, match=r"has not answered for 0\.05 s: .*redqueen resume RUN"):
        connection(alive=lambda: False).call("learn", lambda: Future().result(10.0))
    assert time.monotonic() - began < 2.0


def test_a_server_that_comes_back_in_time_is_waited_for():
    answers = iter([False, False, True])
    waited = connection(alive=lambda: next(answers, True), patience=0.5)
    assert waited.call("learn", lambda: time.sleep(0.1) or "done") == "done"


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            ValueError("Error retrieving result: no  such\nthing"),
            "could not learn: Error retrieving result: no such thing",
        ),
        (ValueError("Error code: 400 - {'detail': 'rank 64'} (status 400) for id"), "could not learn: rank 64$"),
        (TimeoutError("read timed out"), "could not learn: read timed out"),
        (OSError("broken pipe"), "could not learn: broken pipe"),
        (
            tinker.TinkerError("Request failed: LoRA rank 64 must be low for self.request_id='3' and more"),
            "could not learn: LoRA rank 64 must be low",
        ),
        (
            tinker.TinkerError("Request failed: Model x not loaded (stale) for self.request_id='3'"),
            r"has forgotten this run's model \(Model x not loaded \(stale\)\): .*redqueen resume",
        ),
        (
            tinker.TinkerError("The api_key must start with the 'tml-' prefix"),
            r"refused the key .*: put a valid one into \$TINKER_API_KEY",
        ),
    ],
)
def test_what_the_client_raises_becomes_one_line(error, line):
    def fail():
        raise error

    with pytest.raises(RedQueenError, match=line) as raised:
        connection().call("learn", fail)
    assert "\n" not in str(raised.value)


def test_work_that_is_done_as_its_wait_ends_is_done(monkeypatch):
    class Late(Future):
        def result(self, timeout=None):
            if timeout is not None:
                wait([self])
                raise TimeoutError
            return super().result()

    monkeypatch.setattr("redqueen.players.tinker.connection.Future", Late)
    assert connection().call("learn", lambda: "done") == "done"


def test_a_mistake_of_our_own_stays_what_it_is():
    with pytest.raises(KeyError, match="oops"):
        connection().call("learn", lambda: {}["oops"])


def test_without_the_client_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "tinker", None)
    with pytest.raises(RedQueenError, match=r"pip install 'redqueen\[tinker\]'"):
        connect("a/model", "http://127.0.0.1:1")


def test_a_server_that_is_not_there_is_said_to_be_so():
    with pytest.raises(RedQueenError, match=r"nothing answers at http://127\.0\.0\.1:9: is the server running\?"):
        connect("a/model", "http://127.0.0.1:9")
    with pytest.raises(RedQueenError, match=r"must begin with http:// or https://, not 'localhost'"):
        connect("a/model", "localhost")


def test_the_hosted_service_needs_a_key(monkeypatch):
    monkeypatch.delenv("TINKER_API_KEY", raising=False)
    monkeypatch.delenv("TINKER_BASE_URL", raising=False)
    with pytest.raises(RedQueenError, match=r"needs a key in \$TINKER_API_KEY"):
        connect("a/model", "")


class Refuses(BaseHTTPRequestHandler):
    """A server that is well, and lets nobody in."""

    def do_GET(self):
        self._answer(200, b'{"status": "ok"}')

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._answer(401, b'{"detail": "who are you?"}')

    def _answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


def test_a_key_that_is_refused_is_said_to_be_so():
    with HTTPServer(("127.0.0.1", 0), Refuses) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(
            RedQueenError, match=r"refused the key .*who are you.*: put a valid one into \$TINKER_API_KEY"
        ):
            connect("a/model", f"http://127.0.0.1:{server.server_port}")
        server.shutdown()


class NeverOpens(Refuses):
    """A server that is well and opens no session: it fails, or does not answer at all. Once it is `closing` it lets
    nobody in, at which the client stops: else it would ask the port again, whoever listens there by then."""

    def do_GET(self):
        self._answer(200, b'{"status": "ok"}') if self.path in ("/", "/api/v1/healthz") else self.do_POST()

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.server.hangs:
            self.server.closing.wait(30.0)
        status = 401 if self.server.closing.is_set() else 500
        self._answer(status, b'{"detail": "boom"}')


@pytest.mark.parametrize("hangs", [False, True])
def test_a_server_that_never_opens_a_session_is_given_up_in_one_line(hangs, monkeypatch):
    monkeypatch.setattr("redqueen.players.tinker.connection._AT_ONCE", 0.5)
    with ThreadingHTTPServer(("127.0.0.1", 0), NeverOpens) as server:
        server.daemon_threads, server.hangs, server.closing = True, hangs, threading.Event()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url, began = f"http://127.0.0.1:{server.server_port}", time.monotonic()
        with pytest.raises(RedQueenError, match=rf"^{url} did not open a session within 0\.5 s$"):
            connect("a/model", url)
        assert time.monotonic() - began < 10.0
        server.closing.set()
        given_up = [thread for thread in threading.enumerate() if "_carry_out" in thread.name]
        for thread in given_up:
            thread.join(30.0)
        assert given_up and not any(thread.is_alive() for thread in given_up)
        server.shutdown()


def test_what_a_server_has_is_not_waited_for_as_long_as_its_work(monkeypatch):
    monkeypatch.setattr("redqueen.players.tinker.connection._AT_ONCE", 0.1)
    silent = SimpleNamespace(get_server_capabilities=Future)
    with pytest.raises(RedQueenError, match=r"did not say what it serves within 0\.1 s"):
        connection(silent).check()


def test_a_run_that_ends_frees_what_it_holds():
    gone = []
    adapter = done(SimpleNamespace(model_id="m0"))
    service = SimpleNamespace(create_lora_training_client=lambda *_, **__: adapter)
    made = connection(service, unload=gone.append)
    made.create(4, 0)
    made.close()
    made.close()
    assert gone == ["m0"]
