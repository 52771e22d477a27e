"""Where the server listens, and what it says before it does."""

import socket
import sys
from contextlib import closing

import pytest

from redqueen.types import RedQueenError
from redqueen.views.serve.guard import openable
from redqueen.views.serve.menu import Menu
from redqueen.views.serve.server import listening, serve


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
    assert places == [f"http://{name}:{served[0][1]}" for name in openable(host)]
    assert any("warning: whoever reaches" in line for line in lines) == warned
    with socket.socket() as again:
        again.bind(served[0])


def test_a_port_is_a_port():
    with pytest.raises(RedQueenError, match="--port must be from 0 to 65535, not 99999"):
        listening("127.0.0.1", 99999)


def test_without_the_extra_it_says_how_to_get_it(board_run, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(RedQueenError, match=r"pip install 'redqueen\[serve\]'"):
        serve(Menu(board_run), "127.0.0.1", 0, print)
