"""The server of the page, from the first request to Ctrl-C."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from typing import Any

from redqueen.types import RedQueenError
from redqueen.views.serve.app import application
from redqueen.views.serve.guard import is_loopback, openable
from redqueen.views.serve.menu import Menu
from redqueen.views.serve.patience import LARGEST_HEAD, limited
from redqueen.views.serve.room import Room


def serve(menu: Menu, host: str, port: int, tell: Callable[[str], None]) -> None:
    """Answers until Ctrl-C. Port 0 takes a free one. `tell` is given a line with the address, and a warning where
    others than this machine reach it: the address then holds a token, without which nothing is answered. Raises
    RedQueenError for an address that cannot be had, and without the extra."""
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError:
        raise RedQueenError("serving a page needs starlette and uvicorn: pip install 'redqueen[serve]'") from None
    bound = listening(host, port)
    token = "" if is_loopback(host) else secrets.token_urlsafe(16)
    end = f"/?token={token}" if token else ""
    places = " or ".join(f"http://{name}:{bound.getsockname()[1]}{end}" for name in openable(host))
    tell(f"play against {menu.folder} at {places} (Ctrl-C ends it)")
    if token:
        tell(
            "warning: whoever has this address, token and all, can play, use this machine's time and save games into "
            f"{menu.folder}; it is sent unencrypted"
        )
    with bound:
        uvicorn.Server(configured(application(Room(menu), host, token))).run(sockets=[bound])


def configured(app: Any) -> Any:
    """The `uvicorn.Config` that answers with `app`."""
    import uvicorn

    return uvicorn.Config(
        app,
        log_level="warning",
        log_config=None,  # its own would close the handlers that other libraries have set up
        access_log=False,  # a path holds the key of somebody's game
        server_header=False,
        ws="none",
        http=limited(),
        h11_max_incomplete_event_size=LARGEST_HEAD,
        timeout_graceful_shutdown=2,
    )


def listening(host: str, port: int) -> socket.socket:
    """A socket bound there, so that what is wrong with the address is said before anything runs."""
    if not 0 <= port < 1 << 16:
        raise RedQueenError(f"--port must be from 0 to 65535, not {port}")
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise RedQueenError(
            f"cannot listen at {host}, port {port}: {reason}; choose another --host or --port"
        ) from error
