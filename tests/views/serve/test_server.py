"""Where the server listens, and what it says before it does."""

import socket
import sys
import threading
import time
from contextlib import ExitStack, closing, suppress

import pytest

from redqueen.types import RedQueenError
from redqueen.views.serve.guard import openable
from redqueen.views.serve.menu import Menu
from redqueen.views.serve.patience import limited
from redqueen.views.serve.server import configured, listening, serve


def test_a_port_that_is_taken_is_one_clear_line():
    with (
        closing(listening("127.0.0.1", 0)) as taken,
        pytest.raises(RedQueenError, match="cannot listen at"),
    ):
        listening("127.0.0.1", taken.getsockname()[1])


@pytest.mark.parametrize(("host", "port"), [("no.such.host.invalid", 0), ("203.0.113.9", 0)])
def test_an_address_that_is_not_ours_is_one_clear_line(host, port):
    with pytest.raises(RedQueenError, match="choose another --host or --port"):
        listening(host, port)


@pytest.mark.parametrize(("host", "warned"), [("127.0.0.1", False), ("0.0.0.0", True)])
def test_others_are_let_in_with_a_warning_only(host, warned, board_run, monkeypatch):
    uvicorn = pytest.importorskip("uvicorn")
    served = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: served.append(sockets[0].getsockname()))
    lines = []
    serve(Menu(board_run), host, 0, lines.append)
    assert served[0][0] == host
    places = lines[0].removeprefix(f"play against {board_run} at ").removesuffix(" (Ctrl-C ends it)").split(" or ")
    assert [place.partition("/?token=")[0] for place in places] == [
        f"http://{n}:{served[0][1]}" for n in openable(host)
    ]
    assert [len(place.partition("/?token=")[2]) for place in places] == [22 if warned else 0] * len(places)
    assert any("warning: whoever has this address" in line for line in lines) == warned
    with socket.socket() as again:
        again.bind(served[0])


async def _hello(scope, receive, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
        await send({"type": "http.response.body", "body": b"hello"})


@pytest.fixture
def hello(monkeypatch):
    """The port of a server that says hello, and waits two seconds for a request and for 20 connections at most."""
    uvicorn = pytest.importorskip("uvicorn")
    monkeypatch.setattr("redqueen.views.serve.server.limited", lambda: limited(2.0, 20))
    with closing(listening("127.0.0.1", 0)) as bound:
        server = uvicorn.Server(configured(_hello))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield bound.getsockname()[1]
        server.should_exit = True
        thread.join()


def asked(port, request=b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"):
    with closing(socket.create_connection(("127.0.0.1", port), timeout=5.0)) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def test_silent_connections_shut_nobody_out(hello):
    with ExitStack() as closes:
        for _ in range(60):  # in one millisecond many come
            silent = [
                closes.enter_context(closing(socket.create_connection(("127.0.0.1", hello), timeout=5.0)))
                for _ in range(60)
            ]
            assert asked(hello).endswith(b"hello")
        for each in silent:
            with suppress(ConnectionResetError):
                assert each.recv(1) == b""


@pytest.mark.parametrize("piece", [b"GET / HTTP/1.1\r\n", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n1"])
def test_a_request_that_does_not_end_is_cut_off(hello, piece):
    began = time.monotonic()
    with closing(socket.create_connection(("127.0.0.1", hello), timeout=5.0)) as connection, suppress(OSError):
        connection.sendall(piece)
        while connection.recv(1 << 16):
            pass
    assert 1.5 < time.monotonic() - began < 4.5


def test_a_head_without_end_is_refused(hello):
    with suppress(ConnectionResetError, BrokenPipeError):
        assert b" 400 " in asked(hello, b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 4000)
    assert asked(hello).endswith(b"hello")


def test_a_connection_is_kept_for_the_next_request(hello):
    request = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with closing(socket.create_connection(("127.0.0.1", hello), timeout=5.0)) as connection:
        for _ in range(3):
            connection.sendall(request)
            assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200")


def test_a_port_is_a_port():
    with pytest.raises(RedQueenError, match="--port must be from 0 to 65535, not 99999"):
        listening("127.0.0.1", 99999)


def test_without_the_extra_it_says_how_to_get_it(board_run, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(RedQueenError, match=r"pip install 'redqueen\[serve\]'"):
        serve(Menu(board_run), "127.0.0.1", 0, print)
