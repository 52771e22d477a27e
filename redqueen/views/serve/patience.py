"""Limits on connections: how long a request may take to arrive, how long its head may be, and how many may wait.

uvicorn waits for ever for a request that never comes, so that some hundreds of silent connections shut everybody else
out. Here the one that has been silent longest makes room for a new one.
"""

from __future__ import annotations

from asyncio import TimerHandle
from itertools import count
from typing import Any

MOST_CONNECTIONS = 200
SECONDS = 10.0  # in which a whole request must arrive
LARGEST_HEAD = 1 << 14  # bytes of a request's line and headers


def limited(seconds: float = SECONDS, most: int = MOST_CONNECTIONS) -> type[Any]:
    """The HTTP protocol of a `uvicorn.Config` that keeps to the limits."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    turns = count()  # uvloop's clock counts whole milliseconds, in which many connections may come

    class Limited(H11Protocol):
        clock: TimerHandle | None = None
        since = 0  # the smallest has been silent longest

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.wait()
            if len(self.connections) > most:
                others = (each for each in self.connections if isinstance(each, Limited))
                waiting = [each for each in others if each.is_waiting and not each.transport.is_closing()]
                min(waiting, key=lambda each: each.since, default=self).transport.abort()

        def connection_lost(self, exc: Exception | None) -> None:
            self.stop()
            super().connection_lost(exc)

        def on_response_complete(self) -> None:
            self.wait()
            super().on_response_complete()

        @property
        def is_waiting(self) -> bool:
            """Whether no whole request has arrived since the last answer."""
            return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

        def wait(self) -> None:
            self.stop()
            self.since = next(turns)
            self.clock = self.loop.call_later(seconds, self.end)

        def stop(self) -> None:
            if self.clock is not None:
                self.clock.cancel()

        def end(self) -> None:
            if self.is_waiting:
                self.transport.abort()

    return Limited
