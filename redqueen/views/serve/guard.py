"""Refuses requests that the page itself did not make: only browsers that opened it under a name of this machine.

A page of another site could otherwise let a visitor's browser play here: by posting across sites (refused by its
Origin), or by letting its own name point to this machine (DNS rebinding; refused by the Host header). An address in
numbers cannot be pointed anywhere, so where the server listens to more than this machine, any such address will do.
There a request needs the server's token as well: in its address, or in the cookie that the page was answered with.
"""

from __future__ import annotations

import ipaddress
import secrets
import socket
from collections.abc import Awaitable, Callable, Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

from redqueen.views.serve.refusals import Declined

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

HEADERS = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


def is_loopback(host: str) -> bool:
    """Whether a server that listens at `host` can be reached from this machine alone."""
    address = _address(host)
    return host == "localhost" if address is None else address.is_loopback


def openable(host: str) -> list[str]:
    """The names under which a browser can open a server that listens at `host`: for one that listens at all addresses
    the name of the machine and the address from which it reaches others."""
    address = _address(host)
    if host and (address is None or not address.is_unspecified):
        return [f"[{host}]" if ":" in host else host]
    version_6 = address is not None and address.version == 6
    with socket.socket(socket.AF_INET6 if version_6 else socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            asked.connect(("2001:db8::1" if version_6 else "192.0.2.1", 9))  # sends nothing: it looks up the way
        except OSError:
            return [socket.gethostname()]
        own = asked.getsockname()[0]
    return [socket.gethostname(), f"[{own}]" if version_6 else own]


class Guard:
    """ASGI middleware that refuses requests of other sites, and those without the `token` where there is one. `host` is
    where the server listens."""

    def __init__(self, app: App, host: str, token: str = "") -> None:
        self._app = app
        self._token = token
        self._cookie = f"redqueen_{secrets.token_hex(4)}"  # another server on this machine has one of its own
        self._local = is_loopback(host)
        self._names = {"localhost"} if self._local else {"localhost", host.lower(), socket.gethostname().lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *HEADERS, *cookies]}
            await send(message)

        cookies: list[tuple[bytes, bytes]] = []
        try:
            self.check(scope["method"], scope["headers"])
            cookies += self.let_in(scope["query_string"], scope["headers"])
        except Declined as declined:
            start = {"type": "http.response.start", "status": declined.status}
            await send_with_headers({**start, "headers": [(b"content-type", b"text/plain; charset=utf-8")]})
            await send({"type": "http.response.body", "body": f"{declined}\n".encode("ascii", "backslashreplace")})
            return
        await self._app(scope, receive, send_with_headers)

    def check(self, method: str, headers: list[tuple[bytes, bytes]]) -> None:
        """Raises Declined for a request that no page of this server made."""
        hosts = [value.decode("latin-1") for name, value in headers if name == b"host"]
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            asked = hosts[0][:80] if hosts else ""
            raise Declined(f"this server does not go by the name {asked!r}: {self._advice()}", 403)
        origins = [value.decode("latin-1") for name, value in headers if name == b"origin"]
        if method not in ("GET", "HEAD") and any(_place_of(origin) != hosts[0].lower() for origin in origins):
            raise Declined("a page of another site may not play here", 403)

    def let_in(self, query: bytes, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """The headers that keep a visitor in who has shown the token. Raises Declined for one who has not."""
        if not self._token:
            return []
        told = parse_qs(query.decode("latin-1")).get("token", [])
        if any(secrets.compare_digest(each.encode(), self._token.encode()) for each in told):
            return [(b"set-cookie", f"{self._cookie}={self._token}; HttpOnly; SameSite=Strict; Path=/".encode())]
        for name, value in headers:
            if name == b"cookie" and self._is_kept(value.decode("latin-1")):
                return []
        raise Declined("this page opens with the address that redqueen serve has printed, token and all", 403)

    def _is_kept(self, cookies: str) -> bool:
        try:
            found = SimpleCookie(cookies).get(self._cookie)
        except CookieError:
            return False
        return found is not None and secrets.compare_digest(found.value.encode(), self._token.encode())

    def _advice(self) -> str:
        if self._local:
            return "open it as localhost, on the machine on which it runs"
        names = sorted(name for name in self._names if name != "localhost" and _address(name) is None)
        return (
            f"open it by the address of its machine in numbers, or as {' or '.join(names)}; "
            "redqueen serve --host NAME lets it go by another name"
        )

    def _is_ours(self, place: str) -> bool:
        try:
            name = (urlsplit(f"//{place}").hostname or "").lower()
        except ValueError:
            return False
        address = _address(name)
        if address is None:
            return name in self._names
        return address.is_loopback or not self._local


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


def _place_of(origin: str) -> str:
    """The host and port of an origin, as a Host header has them; "" for what has none ("null")."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""
