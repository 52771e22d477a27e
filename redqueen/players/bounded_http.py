"""HTTP with limits on a whole answer: its size as sent and as unpacked, and the time from the first byte to the last.

httpx limits the time between two pieces of an answer, and neither their number nor what they unpack to: a server that
sends a byte a second holds a request for ever, and a few megabytes of gzip fill the memory. Redirects are not followed,
since a key would go with them.
"""

from __future__ import annotations

import json
import ssl
import threading
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, Self

from redqueen.types import RedQueenError

if TYPE_CHECKING:
    import httpx

LARGEST = 16 << 20  # bytes of an answer, as sent and as unpacked
_PIECE = 1 << 16  # bytes that are sent at once


class Refused(Exception):
    """An answer beyond a limit, or packed in a way that is not read; its text says which."""


@dataclass(frozen=True)
class Answer:
    """A whole answer."""

    status: int
    headers: Mapping[str, str]
    text: str

    def json(self) -> Any:
        """What the text holds. Raises ValueError where it is no JSON, or is nested too deep."""
        try:
            return json.loads(self.text)
        except RecursionError:
            raise ValueError("nested too deep") from None


class BoundedClient:
    """A client for several threads. `timeout` limits the seconds without any data, `total` those of a whole answer,
    `largest` its bytes. Its calls raise `Refused` beyond the limits, and what httpx raises."""

    def __init__(
        self,
        timeout: float,
        total: float,
        headers: Mapping[str, str] | None = None,
        connections: int = 1,
        largest: int = LARGEST,
    ) -> None:
        httpx = imported()
        self._budget = _Budget(total, largest)
        self._largest = largest
        limits = httpx.Limits(max_connections=connections)
        packed = {"Accept-Encoding": "gzip"}
        self._client: Any = httpx.Client(
            timeout=timeout, limits=limits, headers={**(headers or {}), **packed}, verify=_certificates()
        )
        # httpx has no way to say by which sockets its own transports, also those to proxies, reach the network
        for transport in (self._client._transport, *self._client._mounts.values()):
            if isinstance(transport, httpx.HTTPTransport):
                pool: Any = transport._pool
                pool._network_backend = _Network(pool._network_backend, self._budget)

    def get(self, url: str) -> Answer:
        return self._send("GET", url, None)

    def post(self, url: str, body: Mapping[str, Any]) -> Answer:
        return self._send("POST", url, body)

    def close(self) -> None:
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _send(self, method: str, url: str, body: Mapping[str, Any] | None) -> Answer:
        self._budget.begin()
        try:
            with self._client.stream(method, url, json=body) as response:
                content = self._unpacked(response)
                return Answer(response.status_code, dict(response.headers), content.decode("utf-8", "replace"))
        except imported().TimeoutException:
            self._budget.seconds(None)  # was it the time of the whole answer that was up?
            raise

    def _unpacked(self, response: httpx.Response) -> bytes:
        packed = response.headers.get("Content-Encoding", "identity").strip().lower()
        if packed not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise Refused(f"it is packed as {packed[:20]!r}, which was not asked for")
        plain = packed in ("", "identity")
        unpack = None if plain else zlib.decompressobj(47)  # gzip and zlib, told by their first bytes
        content = bytearray()
        try:
            for piece in response.iter_raw():
                room = self._largest - len(content) + 1
                content += unpack.decompress(piece, room) if unpack else piece
                if len(content) > self._largest:
                    raise Refused(f"it is larger than {self._largest >> 20} MiB")
        except zlib.error:
            raise Refused("it is not packed as its headers say") from None
        return bytes(content)


class _Budget(threading.local):
    """What is left to the answer that this thread waits for."""

    def __init__(self, total: float, largest: int) -> None:
        self._total, self._largest = total, largest
        self.begin()

    def begin(self) -> None:
        self._until, self._left = time.monotonic() + self._total, self._largest

    def seconds(self, timeout: float | None) -> float:
        """How long the next piece may take. Raises Refused where the time is up."""
        left = self._until - time.monotonic()
        if left <= 0.0:
            raise Refused(f"it did not end within {self._total:g} s")
        return left if timeout is None else min(timeout, left)

    def count(self, size: int) -> None:
        """Takes in bytes. Raises Refused where they are too many."""
        self._left -= size
        if self._left < 0:
            raise Refused(f"it is larger than {self._largest >> 20} MiB")


class _Network:
    """A network backend of httpcore whose streams keep to the budget."""

    def __init__(self, network: Any, budget: _Budget) -> None:
        self._network, self._budget = network, budget

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, **how: Any) -> _Stream:
        stream = self._network.connect_tcp(host, port, timeout=self._budget.seconds(timeout), **how)
        return _Stream(stream, self._budget)

    def connect_unix_socket(self, path: str, timeout: float | None = None, **how: Any) -> _Stream:
        return _Stream(
            self._network.connect_unix_socket(path, timeout=self._budget.seconds(timeout), **how), self._budget
        )

    def sleep(self, seconds: float) -> None:
        self._network.sleep(seconds)


class _Stream:
    def __init__(self, stream: Any, budget: _Budget) -> None:
        self._stream, self._budget = stream, budget

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        piece: bytes = self._stream.read(max_bytes, timeout=self._budget.seconds(timeout))
        self._budget.count(len(piece))
        return piece

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _PIECE):
            self._stream.write(buffer[start : start + _PIECE], timeout=self._budget.seconds(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None) -> _Stream:
        try:
            seconds = self._budget.seconds(timeout)
        except Refused:
            self.close()  # which httpcore leaves to whom it asks
            raise
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, seconds), self._budget)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


@cache
def _certificates() -> ssl.SSLContext:
    """Whom to believe, as httpx reads it: once, since reading takes longer than twenty answers of a local server."""
    context: ssl.SSLContext = imported().create_ssl_context()
    return context


def imported() -> ModuleType:
    """httpx. Raises RedQueenError where it is not installed."""
    try:
        import httpx
    except ImportError:
        raise RedQueenError("the server player needs httpx: pip install 'redqueen[server]'") from None
    return httpx
