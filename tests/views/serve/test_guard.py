"""Who may speak to the server."""

import socket

import pytest

from redqueen.views.serve import guard
from redqueen.views.serve.guard import Guard, is_loopback, openable
from redqueen.views.serve.refusals import Declined


def checked(listening, method="GET", **headers):
    Guard(None, listening).check(method, [(name.encode(), value.encode()) for name, value in headers.items()])


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "localhost", "[::1]:8765", "127.1.2.3"])
def test_this_machine_by_its_own_names(host):
    checked("127.0.0.1", host=host)


@pytest.mark.parametrize(
    "host",
    [
        "evil.com",
        "evil.com:8765",
        "127.0.0.1.evil.com",
        "localhost.evil.com",
        "",
        "[",
        "192.168.0.9:8765",
        "0.0.0.0",
        "user@evil.com",
        "2130706433",
    ],
)
def test_a_name_that_was_pointed_here_is_refused(host):
    with pytest.raises(Declined, match="does not go by the name"):
        checked("127.0.0.1", host=host)


def test_a_request_names_one_host():
    guard = Guard(None, "127.0.0.1")
    for headers in ([], [(b"host", b"localhost"), (b"host", b"evil.com")]):
        with pytest.raises(Declined):
            guard.check("GET", headers)


def test_a_server_for_others_goes_by_numbers_and_by_the_name_it_was_given():
    for host in ("192.168.0.9:80", "[fe80::1]:80", "play.example.org:80", "PLAY.example.org"):
        checked("play.example.org", host=host)
    with pytest.raises(Declined):
        checked("0.0.0.0", host="evil.com")


def test_a_refusal_says_how_to_get_in():
    with pytest.raises(Declined, match=r"'box\.lan': open it as localhost, on the machine on which it runs"):
        checked("127.0.0.1", host="box.lan")
    with pytest.raises(Declined, match=r"address of its machine in numbers, or as .*; redqueen serve --host NAME"):
        checked("0.0.0.0", host="box.lan")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.9", "::1", "play.example.org"])
def test_what_can_be_opened_is_let_in(host):
    for name in openable(host):
        assert name not in ("0.0.0.0", "[::]")
        checked(host, host=f"{name}:8765")


def test_a_machine_without_a_network_goes_by_its_name(monkeypatch):
    class Alone(socket.socket):
        def connect(self, address):
            raise OSError("Network is unreachable")

    monkeypatch.setattr(guard.socket, "socket", Alone)
    assert openable("0.0.0.0") == [socket.gethostname()]


@pytest.mark.parametrize(
    "origin",
    ["http://evil.com", "null", "http://localhost:9999", "http://localhost:8765.evil.com", "file://", "http://[", ""],
)
def test_another_site_may_not_post(origin):
    with pytest.raises(Declined, match="another site"):
        checked("127.0.0.1", "POST", host="localhost:8765", origin=origin)


def test_the_page_itself_may_post():
    checked("127.0.0.1", "POST", host="localhost:8765", origin="http://localhost:8765")
    checked("127.0.0.1", "POST", host="localhost:8765")


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.0.9", False),
        ("example.org", False),
    ],
)
def test_only_loopback_is_this_machine_alone(host, expected):
    assert is_loopback(host) == expected


def let_in(guard, query=b"", cookie=None):
    return guard.let_in(query, [] if cookie is None else [(b"cookie", cookie)])


def test_a_server_for_others_asks_for_its_token_and_remembers_who_showed_it():
    asking = Guard(None, "0.0.0.0", "the-token")
    ((name, value),) = let_in(asking, b"a=b&token=the-token")
    assert name == b"set-cookie" and value.endswith(b"=the-token; HttpOnly; SameSite=Strict; Path=/")
    kept = value.partition(b";")[0]
    assert let_in(asking, cookie=b"other=x; " + kept) == []
    for query, cookie in (
        (b"", None),
        (b"token=", None),
        (b"token=the-toke", None),
        (b"token=\xff%ff", b"\xff"),
        (b"", b"other=the-token"),
        (b"", kept.replace(b"the-", b"a-")),
    ):
        with pytest.raises(Declined, match="token and all") as declined:
            let_in(asking, query, cookie)
        assert declined.value.status == 403 and "the-token" not in str(declined.value)


def test_this_machine_needs_no_token():
    assert let_in(Guard(None, "127.0.0.1")) == []
