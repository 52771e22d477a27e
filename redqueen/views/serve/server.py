"""The server of the page, from the first request to Ctrl-C."""

from __future__ import annotations

import socket
from collections.abc import Callable

from redqueen.types import RedQueenError
from redqueen.views.serve.app import application
from redqueen.views.serve.guard import is_loopback, openable
from redqueen.views.serve.menu import Menu
from redqueen.views.serve.room import Room

MOST_CONNECTIONS = 200


def serve(menu: Menu, host: str, port: int, tell: Callable[[str], None]) -> None:
    """Answers until Ctrl-C. Port 0 takes a free one. `tell` is given a line with the address, and a warning where
    others than this machine reach it. Raises RedQueenError for an address that cannot be had, and without the extra."""
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError:
        raise RedQueenError("serving a page needs starlette and uvicorn: pip install 'redqueen[serve]'") from None
    bound = listening(host, port)
    places = " or ".join(f"http://{name}:{bound.getsockname()[1]}" for name in openable(host))
    tell(f"play against {menu.folder} at {places} (Ctrl-C ends it)")
    if not is_loopback(host):
        tell(f"warning: whoever reaches {host} can play, use this machine's time and save games into {menu.folder}")
    config = uvicorn.Config(
        application(Room(menu), host),
        log_level="warning",
        log_config=None,  # its own would close the handlers that other libraries have set up
        access_log=False,  # a path holds the key of somebody's game
        server_header=False,
        ws="none",
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=2,
    )
    with bound:
        uvicorn.Server(config).run(sockets=[bound])


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
