"""A world that lists its acts, served as real pages on this machine and acted in by clicks: `acting:pages:site:shop`.

Each visit is a page of its own with a button for each act, which a form sends. What is seen is read from the page in
Debian's Chromium; the state, and whether a task is done, are those of the world.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs

from redqueen.games.acting import shown_by
from redqueen.protocols import State, Tool, Visit, World
from redqueen.types import Assessment, Observation, RedQueenError, Task
from redqueen.worlds.catalogue import find_world
from redqueen.worlds.chromium import Chromium, Loan, PageLost, Tab, why_no_pages

LONGEST = 10_000  # bytes of a form
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>
<body><h1>{title}</h1><pre>
{shown}</pre><form method="post">{buttons}</form></body></html>
"""
READ = "[document.querySelector('pre').textContent, [...document.querySelectorAll('button')].map((one) => one.value)]"
PLACE = """((found) => {
  found.scrollIntoView({ block: "center", behavior: "instant" });
  const box = found.getBoundingClientRect();
  window.__left = true;
  return [box.left + box.width / 2, box.top + box.height / 2];
})(document.querySelectorAll("button")[given[0]])"""


def pages(world: str) -> Pages:
    """The world of that name as pages."""
    return Pages(find_world(world))


@dataclass(frozen=True)
class Pages:
    """The tasks of a world that lists its acts. Raises RedQueenError without Chromium."""

    world: World = field(repr=False)

    def __post_init__(self) -> None:
        if missing := why_no_pages():
            raise RedQueenError(missing)

    @property
    def name(self) -> str:
        return f"pages:{self.world.name}"

    @property
    def repeatable(self) -> bool:
        return self.world.repeatable

    def tasks(self) -> Sequence[Task]:
        return self.world.tasks()

    def held_out(self) -> Sequence[Task]:
        return self.world.held_out()

    def expert(self, task: Task) -> tuple[str, ...]:
        return shown_by(self.world, task)

    @cached_property
    def _server(self) -> Server:
        return Server(self.world.name)

    @cached_property
    def _browser(self) -> Chromium:
        return Chromium()

    def open(self, task: Task, seed: int) -> PageOfWorld:
        visit = self.world.open(task, seed)
        if not visit.look().choices and not visit.look().over:
            visit.close()
            raise RedQueenError(f"{self.world.name} lists no acts, of which pages could have buttons")
        return PageOfWorld(visit, self._server, self._browser)


class PageOfWorld:
    """One visit, behind one page. Where the page is lost the episode ends, with the fact `failed`."""

    tools: tuple[Tool, ...] = ()

    def __init__(self, visit: Visit, server: Server, browser: Chromium) -> None:
        self._visit, self._server, self._loan = visit, server, Loan(browser)
        self._address = server.show(visit)
        self._view = Observation("", over=True)
        self._loan.open(self._begin)
        if self._loan.failed:
            self._view = Observation(self._loan.told, over=True)
        self._first = self._view

    def _begin(self, tab: Tab) -> None:
        tab.open(self._address)
        self._view = self._read(tab)

    def look(self) -> Observation:
        return self._first

    def act(self, said: str) -> Observation:
        tab = self._loan.tab
        if self._loan.failed or tab is None:
            return replace(self._view, choices=(), over=True)
        try:
            if said in self._view.choices:
                tab.click(tab.run(PLACE, self._view.choices.index(said)))
                tab.arrive()
            else:
                self._server.said(self._address, said)
                tab.open(self._address)
            self._view = self._read(tab)
        except PageLost as lost:
            self._loan.lose(lost)
            self._view = Observation(self._loan.told, over=True)
        return self._view

    def _read(self, tab: Tab) -> Observation:
        shown, choices = tab.run(READ)
        known = self._server.view(self._address)
        return Observation(shown, tuple(choices), known.over, known.gain)

    def state(self) -> State:
        return self._visit.state()

    def assess(self, answer: str = "") -> Assessment:
        return self._loan.unknown if self._loan.failed else self._visit.assess(answer)

    def close(self) -> None:
        self._server.forget(self._address)
        self._visit.close()
        self._loan.close()


class Server:
    """Pages on the loopback address of this machine, each under a name that cannot be guessed."""

    def __init__(self, title: str) -> None:
        self._title, self._visits = title, dict[str, Visit]()
        self._views = dict[str, Observation]()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(server.page(self.path))

            def do_POST(self) -> None:
                length = self.headers.get("Content-Length", "0")
                if server.page(self.path) == "" or not (length.isdecimal() and len(length) < 6):
                    self._answer("")
                    return
                form = parse_qs(self.rfile.read(min(int(length), LONGEST)).decode("utf-8", "replace"))
                server.said(self.path, form.get("act", [""])[0])
                self.send_response(303)
                self.send_header("Location", self.path)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def _answer(self, page: str) -> None:
                data = page.encode("utf-8", "replace")
                self.send_response(200 if page else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(data)))
                self.send_header("Cache-Control", "no-store")
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                return None

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        Thread(target=self._http.serve_forever, daemon=True).start()

    def show(self, visit: Visit) -> str:
        """The address of a visit's page."""
        path = f"/{secrets.token_urlsafe(16)}"
        self._visits[path], self._views[path] = visit, visit.look()
        return f"http://127.0.0.1:{self._http.server_address[1]}{path}"

    def said(self, address: str, act: str) -> None:
        """Does an act of a page that is shown; of any other, nothing."""
        path = _path(address)
        if path in self._visits:
            self._views[path] = self._visits[path].act(act)

    def view(self, address: str) -> Observation:
        return self._views[_path(address)]

    def page(self, path: str) -> str:
        """The page of a path; "" where there is none."""
        if path not in self._views:
            return ""
        view = self._views[path]
        acts = [escape(act) for act in (() if view.over else view.choices)]
        buttons = " ".join(f'<button name="act" value="{act}">{act}</button>' for act in acts)
        return PAGE.format(title=escape(self._title), shown=escape(view.shown), buttons=buttons)

    def forget(self, address: str) -> None:
        """Takes a page away."""
        self._visits.pop(_path(address), None)
        self._views.pop(_path(address), None)


def _path(address: str) -> str:
    return f"/{address.rpartition('/')[2]}"
