"""The page and its requests over HTTP: JSON in, JSON out, one line of text for a refusal."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redqueen.types import RedQueenError
from redqueen.views.html.page import rendered
from redqueen.views.serve.guard import App, Guard
from redqueen.views.serve.refusals import Declined
from redqueen.views.serve.room import Room, Wish
from redqueen.views.serve.sitting import LONGEST_ENTRY

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

PLACE = Path(__file__).parent
MOST_BYTES = 1 << 16  # of a request; JSON may need six bytes for a character
LARGEST_SEED = 2**64
POLICY = (
    "default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def application(room: Room, host: str, token: str = "") -> App:
    """The ASGI application that answers the page's requests, for a server that listens at `host`; with a `token` only
    for those who have it."""
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.exceptions import HTTPException
    from starlette.responses import HTMLResponse, Response
    from starlette.routing import Route

    def as_json(value: Any, status: int = 200) -> Response:
        # in ASCII: what a model said may hold half a character, which has no bytes of its own
        return Response(json.dumps(value), status, media_type="application/json")

    async def page(request: Request) -> Response:
        nonce = secrets.token_urlsafe(16)
        policy = POLICY.format(nonce=nonce)
        text = await run_in_threadpool(_page, room, nonce)
        return HTMLResponse(text, headers={"Content-Security-Policy": policy})

    def answering(answer: Callable[[str, dict[str, Any]], Any]) -> Callable[[Request], Any]:
        """An endpoint that calls `answer` with the key in the path and the body's object, in a thread."""

        async def endpoint(request: Request) -> Response:
            body = await _body(request) if request.method == "POST" else dict(request.query_params)
            return as_json(await run_in_threadpool(answer, request.path_params.get("key", ""), body))

        return endpoint

    def refused(request: Request, error: Exception) -> Response:
        return as_json({"error": str(error)}, error.status if isinstance(error, Declined) else 422)

    def unknown(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        return as_json({"error": "there is nothing here" if status < 500 else "the server failed"}, status)

    def failed(request: Request, error: Exception) -> Response:
        return as_json({"error": "The server failed. Its terminal says why; nothing is lost."}, 500)

    routes = [
        Route("/", page),
        Route("/api/menu", answering(lambda _, body: room.menu.listed())),
        Route("/api/games", answering(lambda _, body: room.begin(wish(body))), methods=["POST"]),
        Route("/api/games/{key}", answering(lambda key, body: room.view(key))),
        Route("/api/games/{key}/say", answering(lambda key, body: _say(room, key, body)), methods=["POST"]),
        Route("/api/games/{key}/go", answering(lambda key, body: room.go_on(key)), methods=["POST"]),
        Route("/api/games/{key}/save", answering(lambda key, body: room.save(key)), methods=["POST"]),
        Route("/api/games/{key}/leave", answering(lambda key, body: room.leave(key)), methods=["POST"]),
        Route("/api/games/{key}/chances", answering(lambda key, body: room.chances(key, _move(body)))),
    ]
    handlers: Any = {RedQueenError: refused, HTTPException: unknown, Exception: failed}
    return Guard(Starlette(routes=routes, exception_handlers=handlers), host, token)  # type: ignore[arg-type]


def wish(body: dict[str, Any]) -> Wish:
    """The wish in a request's body. Raises Declined for a bad one."""
    game, player, role = (body.get(name) for name in ("game", "player", "role"))
    if not (isinstance(game, str) and isinstance(player, str) and isinstance(role, str)):
        raise Declined("name a game, a player and a role", 400)
    task, seed = body.get("task"), body.get("seed")
    if task is not None and type(task) is not int:
        raise Declined("a task is named by its place in the list", 400)
    if seed is not None and not (isinstance(seed, str) and _is_seed(seed)):
        raise Declined("A seed is a whole number from 0 to 18446744073709551615, or left out.")
    return Wish(game, player, role, task, None if seed is None else int(seed))


def _is_seed(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 20 and int(text) < LARGEST_SEED


def _say(room: Room, key: str, body: dict[str, Any]) -> dict[str, Any]:
    entry, entries = body.get("entry"), body.get("entries")
    if not isinstance(entry, str) or type(entries) is not int:
        raise Declined("an entry is a text, and comes with the number of entries before it", 400)
    return room.say(key, entry, entries)


def _move(body: dict[str, Any]) -> int | None:
    text = str(body.get("move", ""))
    if text and not (text.isascii() and text.isdigit() and len(text) < 7):
        raise Declined("a move is named by its number", 400)
    return int(text) if text else None


async def _body(request: Request) -> dict[str, Any]:
    """The object in a request's body. Raises Declined for anything else, and stops reading what is too long."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Declined("send JSON", 415)
    read = b""
    async for part in request.stream():
        read += part
        if len(read) > MOST_BYTES:
            raise Declined(f"That is too long: at most {LONGEST_ENTRY:,} characters are taken.", 413)
    try:
        found = json.loads(read or b"{}")
    except (ValueError, RecursionError):
        raise Declined("that is not JSON", 400) from None
    if not isinstance(found, dict):
        raise Declined("send a JSON object", 400)
    return found


def _page(room: Room, nonce: str) -> str:
    style, script = ((PLACE / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    longest = {"longest": LONGEST_ENTRY}
    return rendered(f"Red Queen: {room.menu.folder.name}", style, script, room.menu.listed() | longest, nonce)
