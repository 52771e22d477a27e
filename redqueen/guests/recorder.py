"""The endpoint through which agents that are not ours ask the seats of a match: each key is a seat.

It listens on this machine alone, as `/v1/chat/completions`, `/v1/responses` and `/v1/messages`. What is said to a key
is recorded as that seat's turn, with the tokens as they were sampled; the agent needs nothing but address and key.

Agents that run on their own fetch matches, with the key of the endpoint itself:

    POST /v1/matches                            ->  {"match": "7", "task": {...}, "seats": {"agent": {"key": ..., ...}}}
    POST /v1/matches/7  {"answer": "42"}            or {"score": 1}, {"scores": {"agent": 1}}, {"failed": "why"}
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Protocol

from redqueen.games.programmed import Desk, MatchOver
from redqueen.guests.dialects import chat, messages, responses
from redqueen.guests.dialects.wanted import TOLD, Said, Unfit, Wanted, as_said
from redqueen.markup import visible
from redqueen.records import task_to_json
from redqueen.texts import MOST_NESTED, is_deep, well_formed
from redqueen.types import RedQueenError, Reply, Task

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

LARGEST = 10_000_000  # bytes of a request
ADDRESS = "127.0.0.1"
KEY = "REDQUEEN_KEY"  # the environment variable that holds the key with which matches are fetched
PATIENCE, MOMENT = 20.0, 0.02  # seconds that who fetches a match waits, and between two looks
_AS_SET = "which is not taken from it: the seat speaks as its role is set (--temperature, --max-completion-length)"
_INSTEAD = {
    TOLD: "of which the model is told in a system message; its replies are not forced into it",
    "tool_choice": "which no reply is forced to follow: the model is told of the functions and chooses",
    "top_logprobs": "of which none are sent: a reply has the log-probabilities of its own tokens",
    "parallel_tool_calls": "which no reply is forced to follow: the model may call several functions at once",
}


class Dialect(Protocol):
    """A way to ask over HTTP: a module of `redqueen.guests.dialects`."""

    PATH: str

    def read(self, body: Mapping[str, Any], own: str) -> Wanted: ...
    def answer(self, said: Sequence[Said], wanted: Wanted, model: str, name: str) -> Mapping[str, Any]: ...
    def events(self, said: Sequence[Said], wanted: Wanted, model: str, name: str) -> Iterator[bytes]: ...
    def refusal(self, reason: str, kind: str) -> Mapping[str, Any]: ...


DIALECTS: tuple[Dialect, ...] = (chat, responses, messages)


@dataclass
class Chair:
    """A seat of a match, as an agent reaches it."""

    role: str
    desk: Desk = field(repr=False)
    url: str
    key: str = field(repr=False)
    answers: int = 0  # given so far
    calls: int = 0  # of functions, in them
    unheeded: set[str] = field(default_factory=set)

    @property
    def model(self) -> str:
        """The name of the model that a client asks for."""
        return self.role

    @property
    def seed(self) -> int:
        """From which all chance of the agent's own is to come, for the match to be played again."""
        return self.desk.seed


@dataclass(frozen=True)
class Offer:
    """A match for agents that run on their own."""

    number: str
    task: Task
    chairs: Mapping[str, Chair]
    end: Callable[[Mapping[str, Any]], None]

    @property
    def over(self) -> bool:
        """Whether nobody plays it any more."""
        return any(chair.desk.over for chair in self.chairs.values())

    def as_json(self, url: str) -> dict[str, Any]:
        """What an agent is told of it: of the task all but its answer and its facts, which say what is right."""
        seats = {role: {"key": chair.key, "model": chair.model} for role, chair in self.chairs.items()}
        task = task_to_json(replace(self.task, answer="", facts={}))
        return {"match": self.number, "task": task, "base_url": url, "seats": seats}


class Endpoint:
    """A server in a thread of its own, on a free port (or `port`). `tell` is given what the user should know, each line
    once."""

    def __init__(self, port: int = 0, tell: Callable[[str], None] | None = None) -> None:
        self.key = os.environ.get(KEY, "") or f"rq-{secrets.token_urlsafe(18)}"
        self._chairs: dict[str, Chair] = {}
        self._offered: deque[Offer] = deque()  # that nobody has fetched
        self._offers: dict[str, Offer] = {}
        self._numbers = count()
        self._told: set[str] = set()
        self.tell = tell or (lambda line: print(f"redqueen: {visible(line)}", file=sys.stderr, flush=True))
        self._lock = Lock()
        self._socket = _listening(port)
        self.url = f"http://{ADDRESS}:{self._socket.getsockname()[1]}/v1"
        self._server = _server(self._application())
        Thread(target=lambda: asyncio.run(self._server.serve([self._socket])), name="endpoint", daemon=True).start()

    def seats(self, desk: Desk) -> dict[str, Chair]:
        """A chair with a key of its own for each seat of a match, until `clear`."""
        found = {role: Chair(role, desk, self.url, f"rq-{secrets.token_urlsafe(18)}") for role in desk.seats}
        with self._lock:
            self._chairs.update({chair.key: chair for chair in found.values()})
        return found

    def offer(self, task: Task, chairs: Mapping[str, Chair], end: Callable[[Mapping[str, Any]], None]) -> None:
        """Offers a match to whoever comes next. `end` is called with what they say of its end; it raises RedQueenError
        for what is none."""
        with self._lock:
            for gone in [each for each in self._offers.values() if each.over]:
                self._forget(gone)
            offer = Offer(str(next(self._numbers)), task, chairs, end)
            self._offered.append(offer)
            self._offers[offer.number] = offer

    def clear(self, chairs: Mapping[str, Chair]) -> None:
        """Takes the keys back."""
        with self._lock:
            for chair in chairs.values():
                self._chairs.pop(chair.key, None)

    def _forget(self, offer: Offer) -> None:
        self._offers.pop(offer.number, None)
        for chair in offer.chairs.values():
            self._chairs.pop(chair.key, None)

    def close(self) -> None:
        self._server.should_exit = True

    def _application(self) -> Any:
        from starlette.applications import Starlette
        from starlette.responses import JSONResponse
        from starlette.routing import Route

        def refused(request: Request, error: Exception) -> Response:
            status = error.status if isinstance(error, Unfit) else 404
            kind = {401: "authentication_error", 404: "not_found_error"}.get(status, "invalid_request_error")
            asked = next((dialect for dialect in DIALECTS if request.url.path == dialect.PATH), chat)
            paths = ", ".join(dialect.PATH for dialect in DIALECTS)
            reason = str(error) if isinstance(error, Unfit) else f"there is nothing here: ask {paths}"
            return JSONResponse(asked.refusal(reason, kind), status)

        routes = [Route(dialect.PATH, _asked_in(self, dialect), methods=["POST"]) for dialect in DIALECTS]
        routes += [
            Route("/v1/models", self._models),
            Route("/v1/matches", self._fetched, methods=["POST"]),
            Route("/v1/matches/{number}", self._ended, methods=["POST"]),
        ]
        return Starlette(routes=routes, exception_handlers={404: refused, 405: refused, Unfit: refused})

    async def answer(self, dialect: Dialect, request: Request) -> Response:
        """The answer to a request in a dialect."""
        from starlette.responses import JSONResponse, StreamingResponse

        chair = self._chair(request.headers)
        body = await _body(request)
        if body.get("model") != chair.model:
            asked = json.dumps(body.get("model"))[:80]
            raise Unfit(f"this key speaks for the model {chair.model!r}, not {asked}", 404)
        wanted = _read(dialect, body, str(chair.desk.seats[chair.role]))
        said = await self._said(chair, wanted)
        name = f"{chair.key[-8:]}{chair.answers}"
        heads = {"x-redqueen-unheeded": ", ".join(sorted(chair.unheeded))} if chair.unheeded else {}
        if wanted.stream:
            events = dialect.events(said, wanted, chair.model, name)
            return StreamingResponse(_each(events), media_type="text/event-stream", headers=heads)
        return JSONResponse(dialect.answer(said, wanted, chair.model, name), headers=heads)

    async def _fetched(self, request: Request) -> Response:
        """The next match that nobody has fetched, or after a while null."""
        from starlette.responses import JSONResponse

        self._check_key(request.headers)
        for _ in range(round(PATIENCE / MOMENT)):
            if await request.is_disconnected():
                break  # nobody would hear of it, and the match be lost
            with self._lock:
                offer = self._offered.popleft() if self._offered else None
            if offer is not None and not offer.over:
                return JSONResponse(offer.as_json(self.url))
            if offer is None:
                await asyncio.sleep(MOMENT)
        return JSONResponse({"match": None})

    async def _ended(self, request: Request) -> Response:
        from starlette.responses import JSONResponse

        self._check_key(request.headers)
        body = await _body(request)
        with self._lock:
            offer = self._offers.get(request.path_params["number"])
        if offer is None or offer.over:
            raise Unfit("there is no such match, or it is over: nothing that is said of its end counts any more", 404)
        try:
            await asyncio.to_thread(offer.end, body)
        except RedQueenError as error:
            raise Unfit(str(error)) from None
        with self._lock:
            self._forget(offer)
        return JSONResponse({"match": offer.number, "over": True})

    def _check_key(self, headers: Mapping[str, str]) -> None:
        if not secrets.compare_digest(_key(headers).encode(), self.key.encode()):
            raise Unfit(f"matches are fetched with the key of the endpoint: ${KEY}, or the one that was printed", 401)

    async def _models(self, request: Request) -> Response:
        from starlette.responses import JSONResponse

        chair = self._chair(request.headers)
        model = {"id": chair.model, "object": "model", "created": 0, "owned_by": "redqueen"}
        return JSONResponse({"object": "list", "data": [model]})

    def _chair(self, headers: Mapping[str, str]) -> Chair:
        with self._lock:
            chair = self._chairs.get(_key(headers))
        if chair is None:
            raise Unfit("the key is that of no seat: its match is over, or has never been", 401)
        return chair

    async def _said(self, chair: Chair, wanted: Wanted) -> list[Said]:
        try:
            asked = chair.desk.asks(chair.role, wanted.messages, wanted.stops, wanted.count)
            replies = [await asyncio.wrap_future(each) for each in asked]
        except MatchOver as error:
            raise Unfit(str(error), 403) from None
        except RedQueenError as error:
            raise Unfit(str(error)) from None
        said = []
        for reply in replies:
            said.append(as_said(reply, wanted, chair.calls))
            chair.calls += len(said[-1].calls)
        chair.answers += 1
        self._note(chair, wanted, replies)
        return said

    def _note(self, chair: Chair, wanted: Wanted, replies: Sequence[Reply]) -> None:
        """Says once of each setting that a seat does not take it from who asks, and notes it in the match."""
        longer = wanted.most is not None and any(len(reply.tokens) > wanted.most for reply in replies)
        found = {*wanted.unheeded, *(["max_tokens"] if longer else [])} - chair.unheeded
        if not found:
            return
        chair.unheeded |= found
        chair.desk.note(f"unheeded_{chair.role}", tuple(sorted(chair.unheeded)))
        for name in sorted(found - self._told):
            self._told.add(name)
            self.tell(f"the agent of {chair.role} asks with {name}, {_INSTEAD.get(name, _AS_SET)}")


def _asked_in(endpoint: Endpoint, dialect: Dialect) -> Callable[[Any], Any]:
    async def asked(request: Request) -> Response:
        return await endpoint.answer(dialect, request)

    return asked


def _read(dialect: Dialect, body: Mapping[str, Any], own: str) -> Wanted:
    try:
        return dialect.read(body, own)
    except (AttributeError, KeyError, TypeError, ValueError):  # a text where an object should be, and the like
        raise Unfit(f"a field of the request is not of the kind that {dialect.PATH} has") from None


def _key(headers: Mapping[str, str]) -> str:
    kind, _, key = headers.get("authorization", "").strip().partition(" ")
    return headers.get("x-api-key") or (key.strip() if kind.casefold() == "bearer" else kind)


async def _each(events: Iterator[bytes]) -> AsyncIterator[bytes]:
    for event in events:
        yield event


async def _body(request: Request) -> Mapping[str, Any]:
    """The object in the request. Raises Unfit for anything else, and stops reading what is too long."""
    parts, length = [], 0
    async for part in request.stream():
        parts.append(part)
        length += len(part)
        if length > LARGEST:
            raise Unfit(f"a request has at most {LARGEST:,} bytes", 413)
    try:
        found = json.loads(b"".join(parts).decode("utf-8"))
        if is_deep(found):
            raise Unfit(f"the body of the request is nested more than {MOST_NESTED} deep")
        found = json.loads(well_formed(json.dumps(found, ensure_ascii=False)))  # half a character may be escaped
    except (ValueError, RecursionError):
        raise Unfit("the body of the request is not JSON in UTF-8") from None
    if not isinstance(found, dict):
        raise Unfit("the body of the request must be a JSON object")
    return found


def _server(application: Any) -> Any:
    import uvicorn

    return uvicorn.Server(
        uvicorn.Config(
            application, log_level="critical", log_config=None, access_log=False, server_header=False, ws="none"
        )
    )


def _listening(port: int) -> socket.socket:
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise RedQueenError("agents ask over HTTP: pip install 'redqueen[serve]'") from None
    try:
        return socket.create_server((ADDRESS, port))
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else "a port is a number from 0 to 65535"
        raise RedQueenError(f"cannot listen at {ADDRESS}, port {port}: {reason or error}") from error
