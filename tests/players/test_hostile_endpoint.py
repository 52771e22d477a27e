"""Endpoints that send too much, too slowly, or what is no answer: each ends in one line, and no key is ever told."""

import gzip
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from redqueen.players.endpoint import Server
from redqueen.types import Ask, Message, RedQueenError, Reply, Seat, Unreachable

pytest.importorskip("httpx")

KEY = "sk-nobody-may-see-this"
ASK = Ask(Seat("first"), (Message("system", "Bet or pass?"),), seed=1)
RATED = Ask(Seat("first"), (Message("system", "A or B?"),), ("A", "B"), seed=1)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def body(content: bytes, head: bytes = HEAD) -> bytes:
    return head + b"Content-Length: %d\r\n\r\n" % len(content) + content


def said(text: Any) -> bytes:
    return body(json.dumps({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}).encode())


@pytest.fixture
def hostile(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Server]]:
    """A server on the loopback that answers every request with the given pieces, one every `pause` seconds."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    ended = threading.Event()
    listening = socket.create_server(("127.0.0.1", 0))
    listening.settimeout(0.05)
    pieces: list[bytes] = []
    pauses = [0.0]

    def answer() -> None:
        while not ended.is_set():
            try:
                connection, _ = listening.accept()
            except TimeoutError:
                continue
            with connection, suppress(OSError):
                connection.settimeout(5.0)
                connection.recv(1 << 16)
                for piece in pieces:
                    connection.sendall(piece)
                    if ended.wait(pauses[0]):
                        break
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(1 << 16):  # what is left unread would break the connection
                    pass

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()

    def serve(*sent: bytes, pause: float = 0.0, **settings: Any) -> Server:
        pieces[:], pauses[0] = sent, pause
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        return Server("model", url, **{"retries": 0, "timeout": 2.0, "total": 0.5, "largest": 1 << 20, **settings})

    yield serve
    ended.set()
    thread.join()
    listening.close()


def refusal(server: Server, ask: Ask = ASK) -> str:
    """The one line with which the server's answer is refused, within a second or two."""
    began = time.monotonic()
    with pytest.raises(RedQueenError) as caught:
        server.rate_choices([ask]) if ask.choices else server.reply([ask])
    assert time.monotonic() - began < 2.0
    line = str(caught.value)
    assert "\n" not in line and KEY not in line and len(line) < 400
    return line


@pytest.mark.parametrize("text", [b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200, body(b" " * 200)], ids=["headers", "body"])
def test_a_byte_at_a_time_ends_with_the_time_of_a_whole_answer(hostile, text):
    line = refusal(hostile(*[bytes([byte]) for byte in text], pause=0.02))
    assert line.endswith("is not taken: it did not end within 0.5 s")


@pytest.mark.parametrize(
    ("sent", "wrong"),
    [
        ([HEAD + b"Transfer-Encoding: chunked\r\n\r\n", *[b"10000\r\n" + b" " * 65536 + b"\r\n"] * 32], "than 1 MiB"),
        ([HEAD, *[b"X-%d: y\r\n" % number for number in range(20_000)]], "broke"),
        ([HEAD + b"X: " + b"y" * (1 << 20)], "broke"),
        ([body(gzip.compress(bytes(64 << 20)), HEAD + b"Content-Encoding: gzip\r\n")], "than 1 MiB"),
        ([body(b"no gzip", HEAD + b"Content-Encoding: gzip\r\n")], "not packed as its headers say"),
        ([body(b"{}", HEAD + b"Content-Encoding: br\r\n")], "packed as 'br'"),
        ([b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/%s\r\nContent-Length: 0\r\n\r\n" % KEY.encode()], "302"),
        ([b"HTTP/1.1 200 OK\r\n\r\n"], "did not send a chat completion"),
        ([b"SSH-2.0-OpenSSH\r\n"], "broke"),
        ([b""], "broke"),
    ],
)
def test_what_is_too_large_or_no_http_is_one_line(hostile, sent, wrong):
    assert wrong in refusal(hostile(*sent, total=5.0))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html>",
        b"[" * 100_000,
        b'{"choices":' * 100_000,
        b"9" * 100_000,
        b"NaN",
        b"null",
        b"[]",
        b'{"choices": {}}',
        b'{"choices": [[]]}',
        b'{"choices": ["message"]}',
        b'{"choices": [{"message": "x"}]}',
        b'{"choices": [{"message": {"content": 7}}]}',
        b'{"choices": [{"message": {"content": ["a"]}}]}',
        b'{"error": {"message": {"a": 1}}}',
        b'{"error": ["a"]}',
        b"\xff\xfe\x00\xd8",
        b"\x1b[2J" + KEY.encode(),
    ],
    ids=lambda content: content[:24].decode("latin-1"),
)
def test_every_answer_that_is_none_is_one_line(hostile, content):
    for head in (HEAD, b"HTTP/1.1 400 Bad\r\nRetry-After: -1\r\n", b"HTTP/1.1 500 No\r\nRetry-After: 9e999\r\n"):
        line = refusal(hostile(body(content, head), total=5.0))
        assert line.isprintable() and "\x1b" not in line


@pytest.mark.parametrize("logprob", ["NaN", "Infinity", "1e5", "9" * 400, '"x"', "null", "[]", "true"])
def test_log_probabilities_that_are_none_are_one_line(hostile, logprob):
    text = '{"choices": [{"logprobs": {"content": [{"top_logprobs": [{"token": "A", "logprob": HERE}]}]}}]}'
    text = text.replace("HERE", logprob)
    assert "sent no log-probabilities" in refusal(hostile(body(text.encode()), total=5.0), RATED)


@pytest.mark.parametrize(
    "when", ["soon", "Mon, 01 Jan 99999 00:00:00 GMT", "9" * 400, "Fri, 31 Dec 9999 23:59:59 -2359"]
)
def test_a_date_that_is_none_asks_for_no_wait(hostile, when):
    head = b"HTTP/1.1 429 Later\r\nRetry-After: %s\r\n" % when.encode()
    with pytest.raises(Unreachable, match="answered 429"):
        hostile(body(b"{}", head), retries=1, backoff=0.01, longest_wait=0.01).reply([ASK])


def test_half_a_character_is_made_whole_and_a_key_is_not_repeated(hostile):
    (reply,) = hostile(said("a\ud800b " + KEY), total=5.0).reply([ASK])
    assert reply.text == "a\ufffdb [key]"
    spoken = Ask(ASK.seat, (Message("second", "half \udc00"),), seed=1)
    assert hostile().messages(spoken)[0]["content"].startswith("half \ufffd")


@pytest.mark.parametrize("key", ["two\nlines", "schlüssel"])
def test_a_key_that_no_header_may_hold_is_not_told(hostile, monkeypatch, key):
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}{key}")
    assert "OPENAI_API_KEY holds a character that no key has" in refusal(hostile(said("hi")))


def test_a_password_in_an_address_is_refused_since_it_would_be_recorded():
    with pytest.raises(RedQueenError, match="holds no user and password") as caught:
        Server("model", f"http://me:{KEY}@127.0.0.1:9/v1")
    assert KEY not in str(caught.value)


def test_a_reply_still_arrives_packed_and_in_pieces(hostile):
    whole = said("hi")
    assert isinstance(hostile(*[bytes([each]) for each in whole], total=5.0).reply([ASK])[0], Reply)
    head, content = HEAD + b"Content-Encoding: gzip\r\n", gzip.compress(whole.partition(b"\r\n\r\n")[2])
    assert hostile(body(content, head), total=5.0).reply([ASK])[0].text == "hi"


def test_certificates_are_read_once_for_all_clients(monkeypatch):
    import httpx

    from redqueen.players import bounded_http

    read = []
    real = httpx.create_ssl_context
    monkeypatch.setattr(httpx, "create_ssl_context", lambda: read.append(1) or real())
    bounded_http._certificates.cache_clear()
    for _ in range(3):
        with bounded_http.BoundedClient(1.0, 1.0):
            pass
    assert len(read) == 1


def test_a_connection_whose_time_is_up_before_it_is_encrypted_is_closed():
    from redqueen.players import bounded_http

    class Stream:
        closed = False

        def close(self):
            self.closed = True

        def start_tls(self, *how):
            raise AssertionError("there is no time for that")

    budget = bounded_http._Budget(0.05, 10)
    stream = Stream()
    time.sleep(0.06)
    with pytest.raises(bounded_http.Refused, match="did not end within"):
        bounded_http._Stream(stream, budget).start_tls(None)
    assert stream.closed
