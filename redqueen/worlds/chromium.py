"""Pages in Debian's Chromium, driven over a pipe: one process, a tab for each visit, no port and no network.

A page's clock is ours (`page.js`): it stands still but for what each act lets pass, so that what a page does after a
while depends on acts alone. What a model says reaches a page as typed text or as the place of a click, never as code.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TooLate
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Thread
from typing import Any
from warnings import warn

from redqueen.types import Assessment, RedQueenError

SCRIPT = Path(__file__).with_name("page.js")
MISSING = "pages need Debian's Chromium: apt-get install chromium"
PATIENCE = 5  # how many times its seconds a page is waited for on a machine that leaves its browser too few of them
PASSES = 2_000  # milliseconds of the page's own clock after each act
FLAGS = (
    "--headless --no-sandbox --remote-debugging-pipe --disable-gpu --no-first-run --disable-extensions "
    "--disable-background-networking --disable-background-timer-throttling --disable-renderer-backgrounding "
    "--disable-backgrounding-occluded-windows "
    "--renderer-process-limit=4 --mute-audio --lang=en"
)
# what Chromium answers where a page moved on while it was asked: nothing is lost
CUT = ("Inspected target navigated or closed", "Execution context was destroyed", "Promise was collected")
MOST_MOVES = 20  # to another page, of one that has not loaded: as many as browsers follow redirects
NO_NETWORK = "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"  # but for this machine


class PageLost(Exception):
    """A page or its browser that no longer answers; the text says why, in a few words."""


class PageMoved(PageLost):
    """A page that moved on to another while it was asked; the other may be asked again."""


def why_no_pages() -> str:
    """What is missing for pages; "" where nothing is."""
    return "" if shutil.which("chromium") else MISSING


@dataclass
class Chromium:
    """Tabs of one process, which begins with the first and is replaced where it has died. It ends with this object."""

    seconds: float = 60.0  # of an answer, after which a page is lost where its browser has worked for half of them
    welcomed: bool = False  # whether a page was ever seen
    _pipe: Pipe | None = field(default=None, repr=False)
    _idle: list[Tab] = field(default_factory=list, repr=False)  # those that were given back
    _lock: Lock = field(default_factory=Lock, repr=False)

    def tab(self) -> Tab:
        """A tab that nobody else has. Raises PageLost."""
        with self._lock:
            if self._pipe is None or self._pipe.dead:
                self._idle.clear()
                self._pipe = Pipe(self.seconds)
            pipe, known = self._pipe, self._idle.pop() if self._idle else None
        return known or _new_tab(pipe)

    def give_back(self, tab: Tab) -> None:
        """Takes a tab for later visits."""
        with self._lock:
            if tab.pipe is self._pipe and not tab.pipe.dead:
                self._idle.append(tab)

    def give_up(self, tab: Tab) -> None:
        """Closes a tab whose page was lost."""
        with suppress(PageLost):
            tab.pipe.call("Target.closeTarget", {"targetId": tab.target})

    def close(self) -> None:
        """Ends the process."""
        with self._lock:
            if self._pipe is not None:
                self._pipe.close()


class Loan:
    """A tab of a browser for one visit. Where its page is lost, `failed` says why, and the tab is not used again;
    `page` stands before that where a name says more."""

    def __init__(self, browser: Chromium, page: str = "") -> None:
        self.tab: Tab | None = None
        self.failed = ""
        self._browser, self._page = browser, f"{page}: " if page else ""

    def open(self, begin: Callable[[Tab], None]) -> None:
        """Takes a tab, in which `begin` opens the page. Raises RedQueenError where the browser has never shown one."""
        try:
            self.tab = self._browser.tab()
            begin(self.tab)
            self._browser.welcomed = True
        except PageLost as lost:
            if not self._browser.welcomed:
                raise RedQueenError(f"{self._page}the page {lost}; does chromium --headless run here?") from None
            self.lose(lost)

    def lose(self, lost: PageLost) -> None:
        self.failed = f"the page {lost}"
        warn(f"{self._page}{self.failed}: its episode ends here", stacklevel=4)

    @property
    def told(self) -> str:
        """Why it failed, as a sentence."""
        return f"{self.failed[0].upper()}{self.failed[1:]}."

    @property
    def unknown(self) -> Assessment:
        """The verdict on a visit whose page was lost: none."""
        return Assessment(0.0, facts={"failed": self.failed, "right": None})

    def close(self) -> None:
        """Gives the tab back, or up."""
        if self.tab is not None:
            (self._browser.give_up if self.failed else self._browser.give_back)(self.tab)
            self.tab = None


def _new_tab(pipe: Pipe) -> Tab:
    target = str(pipe.call("Target.createTarget", {"url": "about:blank"})["targetId"])
    session = str(pipe.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"])
    pipe.call("Emulation.setFocusEmulationEnabled", {"enabled": True}, session)
    pipe.call("Page.enable", {}, session)
    pipe.call("Page.addScriptToEvaluateOnNewDocument", {"source": SCRIPT.read_text(encoding="utf-8")}, session)
    return Tab(pipe, session, target)


@dataclass(frozen=True)
class Tab:
    """One page at a time. Every method raises PageLost where the page does not answer."""

    pipe: Pipe
    session: str
    target: str

    def open(self, address: str) -> None:
        """Loads an address and waits until all of it is there."""
        self.run("window.__left = true")
        found = self.pipe.call("Page.navigate", {"url": address}, self.session)
        if "errorText" in found:
            raise PageLost(f"was not loaded: {found['errorText']}")
        self.arrive()

    def arrive(self) -> None:
        """Waits for the page after one that is marked as left, and for those that it leads to while it loads."""
        moves = 0
        while True:
            try:
                if not self.run("window.__left || __page.loaded()"):
                    return
            except PageMoved:
                moves += 1
                if moves > MOST_MOVES:
                    raise PageLost(f"moved on {moves} times and never loaded") from None
            time.sleep(0.002)

    def run(self, code: str, *given: Any) -> Any:
        """The value of an expression of ours; `given` stands in it as the list `given`, as data."""
        asked = {
            "expression": f"((...given) => {code})(...{json.dumps(given)})",
            "awaitPromise": True,
            "returnByValue": True,
        }
        found = self.pipe.call("Runtime.evaluate", asked, self.session)
        if "exceptionDetails" in found:
            raise PageLost(f"failed: {_said(found['exceptionDetails'])}")
        return found["result"].get("value")

    def click(self, place: Sequence[float]) -> None:
        """A click of the left button at a place of the window."""
        at: Mapping[str, Any] = {"x": place[0], "y": place[1], "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            self.pipe.call("Input.dispatchMouseEvent", {**at, "type": kind}, self.session)

    def write(self, text: str) -> None:
        """Types a text where the cursor is."""
        self.pipe.call("Input.insertText", {"text": text}, self.session)


def _said(details: Mapping[str, Any]) -> str:
    text = details.get("exception", {}).get("description") or details.get("text", "")
    return str(text).split("\n")[0][:200]


class Pipe:
    """A process of Chromium and the conversation with it: messages of JSON with a zero byte after each."""

    def __init__(self, seconds: float) -> None:
        program = shutil.which("chromium")
        if program is None:
            raise RedQueenError(MISSING)
        self.dead, self.seconds, self._last = False, seconds, 0
        self._waiting, self._lock = dict[int, Future[Any]](), Lock()
        folder = tempfile.mkdtemp(prefix="redqueen-chromium-")
        (read, self._out), (self._in, write) = os.pipe(), os.pipe()
        theirs = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, 10) for each in (read, write)]
        # Chromium reads from 3 and writes to 4, which a shell gives it
        command = 'exec "$0" "$@" 3<&{} 4>&{}'.format(*theirs)
        given = [
            program,
            *FLAGS.split(),
            f"--user-data-dir={folder}",
            f"--host-resolver-rules={NO_NETWORK}",
        ]
        self._process = subprocess.Popen(
            ["bash", "-c", command, *given],
            pass_fds=theirs,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "TZ": "UTC"},
        )
        for each in (read, write, *theirs):
            os.close(each)
        self.close = weakref.finalize(self, _end, self._process, self._out, folder)
        Thread(target=_listen, args=(weakref.ref(self), self._in), daemon=True).start()

    def call(self, method: str, given: Mapping[str, Any], session: str = "") -> dict[str, Any]:
        """What a method of the browser answers. Raises PageLost."""
        number, answer = self._ask(method, given, session)
        try:
            if self.dead:
                raise PageLost("is gone: its browser has ended")
            found = self._waited(answer)
        except TooLate as late:
            if session:  # what its page runs is ended, as other pages may share its process
                self._ask("Runtime.terminateExecution", {}, session)
            else:  # the browser itself
                self.dead = True
                self.close()
            raise PageLost(f"did not answer within {late} seconds") from None
        finally:
            self._waiting.pop(number, None)
        if "error" in found:
            message = str(found["error"].get("message", ""))
            raise (PageMoved if message.startswith(CUT) else PageLost)(f"refused {method}: {message}")
        return dict(found["result"])

    def _waited(self, answer: Future[Any]) -> dict[str, Any]:
        """The answer. Raises TimeoutError, with the seconds: a busy machine must not decide which pages are lost."""
        with suppress(TooLate):  # nearly every answer is there by then: nobody's work is counted for it
            return dict(answer.result(self.seconds / 10))
        before, left, turn = _worked(self._process.pid), 0.9 * self.seconds, 1
        while True:
            try:
                return dict(answer.result(left))
            except TooLate:
                if turn == PATIENCE or _worked(self._process.pid) - before >= self.seconds / 2:
                    raise TooLate(f"{turn * self.seconds:g}") from None
            left, turn = self.seconds, turn + 1

    def _ask(self, method: str, given: Mapping[str, Any], session: str) -> tuple[int, Future[Any]]:
        """Sends a message; its number and what will be its answer."""
        answer: Future[Any] = Future()
        with self._lock:
            self._last += 1
            number = self._last
            self._waiting[number] = answer
            asked = {"id": number, "method": method, "params": given, **({"sessionId": session} if session else {})}
            try:
                _write(self._out, json.dumps(asked).encode() + b"\0")
            except OSError:
                self.dead = True
        return number, answer

    def hear(self, line: bytes) -> None:
        """Gives an answer to who waits for it."""
        found = json.loads(line)
        if (waiting := self._waiting.pop(found.get("id", 0), None)) is not None:
            waiting.set_result(found)

    def end(self) -> None:
        """Tells all who wait that the process has ended."""
        self.dead = True
        for each in list(self._waiting.values()):
            if not each.done():
                each.set_exception(PageLost("is gone: its browser has ended"))


def _worked(process: int) -> float:
    """Seconds for which a process and all that it started have had a processor; as many as there are since the machine
    began where the system does not tell."""
    ticks, parents = dict[int, int](), dict[int, int]()
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            found = place.read_text(errors="replace").rpartition(")")[2].split()
            parents[int(place.parent.name)] = int(found[1])
            ticks[int(place.parent.name)] = int(found[11]) + int(found[12])
    if process not in ticks:
        return time.monotonic()
    mine, waiting = 0, [process]
    while waiting:
        one = waiting.pop()
        mine += ticks.get(one, 0)
        waiting += [each for each, parent in parents.items() if parent == one]
    return mine / os.sysconf("SC_CLK_TCK")


def _write(out: int, data: bytes) -> None:
    while data:
        data = data[os.write(out, data) :]


def _listen(of: weakref.ref[Pipe], source: int) -> None:
    """Reads what a process says until it ends."""
    with os.fdopen(source, "rb") as stream:
        left = b""
        while said := stream.read1(1 << 16):
            *lines, left = (left + said).split(b"\0")
            if (pipe := of()) is None:
                break
            for line in lines:
                pipe.hear(line)
            del pipe
    if (pipe := of()) is not None:
        pipe.end()


def _end(process: subprocess.Popen[bytes], out: int, folder: str) -> None:
    """Ends a process, which does so by itself when its pipe is closed, and removes what it kept."""
    os.close(out)
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    shutil.rmtree(folder, ignore_errors=True)
