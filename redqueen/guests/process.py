"""An environment in a process and an interpreter of its own: other pins, other global generators, its own death.

    guest = Guest(python, driver, {"name": "kuhn"})     one process, in which the driver is loaded once
    talk = guest.open(task, seed)                       a child of it for each visit, forked in milliseconds
    talk.say(["bet"])                                   what came of it, within limits

A guest that dies is started again and told the same once more; where it dies at the same place again, takes too long,
eats memory, or says what is no reply, `GuestFailed` says in one line which, and that visit alone is over.

A guest is not a sandbox: it may do what the user may. It is other people's code that the user has installed.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redqueen.guests.waiting import Allowance
from redqueen.protocols import FINITE, shaped
from redqueen.texts import is_deep
from redqueen.types import Damaged, RedQueenError

START = 180.0  # seconds by the clock in which a driver is loaded
_HOST = Path(__file__).with_name("guest_process.py")
_TURN = {
    "asks": [{"seat": str, "shown": str, "choices?": [str], "number?": int}],
    "over": bool,
    "shown?": str,
    "gains?": {...: FINITE},
}
_ANSWERS: Mapping[str, Any] = {
    "open": {"turn": _TURN, "tools": [{"name": str, "usage": str}]},
    "say": _TURN,
    "call": {"output": str, "failed": bool},
    "assess": {"scores": {...: FINITE}, "parts?": {...: FINITE}, "facts?": dict},
    "state": dict,
}
_TASK = {"id": str, "prompt?": str, "answer?": str, "facts?": dict}
_ABOUT = {"seats": [str], "tasks": [_TASK], "held_out": [_TASK], "repeatable": bool}


@dataclass(frozen=True)
class GuestLimits:
    """What one answer of a guest may cost; more ends its visit."""

    seconds: float = 30.0  # of processor time, and as many of waiting for anything but a processor
    memory: int = 4 << 30  # bytes that its process holds
    characters: int = 1 << 20  # of what it says
    patience: float = 10.0  # how many times `seconds` it may take by the clock, on a machine that others keep busy

    def __post_init__(self) -> None:
        if min(self.seconds, self.memory, self.characters, self.patience) <= 0:
            raise RedQueenError(f"the limits of a guest must be above 0, not {self}")


class GuestFailed(RedQueenError):
    """A visit of a guest is over before its end. `reason` says why, in words."""

    def __init__(self, guest: str, reason: str) -> None:
        super().__init__(f"the guest {guest} {reason}")
        self.reason = reason


class _Died(Exception):
    """A child is gone. The text says how, or is empty where nobody knows."""


class Guest:
    """A driver in an interpreter. The process starts when it is first needed, and again after its death; any thread
    may use it. `title` names it in messages."""

    def __init__(
        self,
        title: str,
        python: Path,
        driver: Path,
        settings: Mapping[str, Any] | None = None,
        limits: GuestLimits = GuestLimits(),
    ) -> None:
        self.title, self.limits = title, limits
        self._command = (str(python), "-s", str(_HOST), str(driver), json.dumps(dict(settings or {})))
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: _Lines | None = None
        self._about: dict[str, Any] | None = None
        self.welcomed = False  # whether any visit has succeeded

    @property
    def about(self) -> Mapping[str, Any]:
        """What the driver says of itself: seats, tasks, held_out, repeatable. Raises RedQueenError where it does not
        start."""
        with self._lock:
            if self._about is None:
                self._started()
            assert self._about is not None
            return self._about

    def open(self, task: Mapping[str, Any], seed: int) -> GuestTalk:
        """A visit. Raises GuestFailed where it fails at once."""
        return GuestTalk(self, task, seed)

    def close(self) -> None:
        """Ends the process and its visits; the next use starts another."""
        with self._lock:
            self._stop()

    def child(self) -> tuple[int, _Lines]:
        """A new child by its process id, and the lines to it."""
        with self._lock:
            order = {"memory": self.limits.memory, "seconds": self.limits.seconds}
            for attempt in range(2):
                control = self._started()
                ours, theirs = socket.socketpair()
                try:
                    socket.send_fds(control.socket, [json.dumps(order).encode()], [theirs.fileno()])
                    said = control.line(Allowance(START), self.limits.characters)
                    return int(json.loads(said)["child"]), _Lines(ours)
                except (OSError, _Died, ValueError, KeyError, TypeError):
                    ours.close()
                    self._stop()
                    if attempt:
                        raise GuestFailed(self.title, "dies whenever a visit begins") from None
                finally:
                    theirs.close()
        raise AssertionError("unreachable")

    def ended(self, child: int) -> int:
        """Kills a child and what it started, as far as they live; how the child ended: its exit status, or the negative
        number of a signal."""
        with self._lock:
            if self._control is None:
                return -signal.SIGKILL
            for kill in (os.kill, os.killpg):  # it leads a group of its own, but for its first moments
                with suppress(ProcessLookupError):
                    kill(child, signal.SIGKILL)
            try:
                self._control.send({"ended": child})
                return int(json.loads(self._control.line(Allowance(START), 1 << 20))["status"])
            except (OSError, _Died, ValueError, KeyError, TypeError):
                self._stop()
                return -signal.SIGKILL

    def _started(self) -> _Lines:
        if self._control is not None and self._process is not None and self._process.poll() is None:
            return self._control
        self._stop()
        ours, theirs = socket.socketpair()
        program, *words = self._command
        with theirs, tempfile.TemporaryFile() as complaints:
            try:
                process = subprocess.Popen(
                    [program, *words[:2], str(theirs.fileno()), *words[2:]],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=complaints,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,  # Ctrl-C is for the trainer
                    env=_surroundings(),
                )
            except OSError as error:
                ours.close()
                raise RedQueenError(f"the guest {self.title} cannot be started: {program}: {error.strerror}") from error
            theirs.close()
            control = _Lines(ours)
            try:
                hello = shaped(json.loads(control.line(Allowance(START), 64 << 20)), dict, "what a guest says first")
                if "raised" in hello:
                    raise RedQueenError(f"the guest {self.title} does not start: {hello['raised']}")
                about = shaped(hello.get("ready"), _ABOUT, "what a driver says of itself")
                if not about["seats"] or not about["tasks"] or not about["held_out"]:
                    raise RedQueenError(f"the guest {self.title} must have seats, tasks and held-out tasks")
            except (RedQueenError, ValueError, _Died) as error:
                process.kill()
                process.wait()
                control.close()
                if isinstance(error, RedQueenError) and not isinstance(error, Damaged):
                    raise
                complaints.seek(0)
                last = (complaints.read()[-2000:].decode(errors="replace").strip().splitlines() or [str(error)])[-1]
                raise RedQueenError(f"the guest {self.title} does not start: {last.strip()[:300]}") from error
        self._process, self._control, self._about = process, control, about
        self._end = weakref.finalize(self, _end, process, ours)
        return control

    def _stop(self) -> None:
        if self._process is not None:
            self._end()
        self._process = self._control = None


class GuestTalk:
    """One visit. What was said is kept, so that a guest that has died can be told it once more."""

    def __init__(self, guest: Guest, task: Mapping[str, Any], seed: int) -> None:
        self._guest, self._said = guest, list[tuple[dict[str, Any], Any]]()
        self._child, self._lines = 0, None
        self._number, self._lost = 0, ""
        opened = self._asked({"do": "open", "task": dict(task), "seed": seed}, kept=True)
        self.turn: Mapping[str, Any] = opened["turn"]
        self.tools: Sequence[Mapping[str, str]] = opened["tools"]

    _lines: _Lines | None

    def say(self, texts: Sequence[str]) -> Mapping[str, Any]:
        """The next turn, given a text for each of the asks of the last."""
        self.turn = self._asked({"do": "say", "said": [_text(text) for text in texts]}, kept=True)
        return self.turn

    def call(self, tool: str, text: str) -> Mapping[str, Any]:
        """The output of a tool, and whether the call was at fault."""
        return dict(self._asked({"do": "call", "tool": tool, "text": _text(text)}, kept=True))

    def assess(self, answer: str = "") -> Mapping[str, Any]:
        """The scores so far by seat, parts, and facts."""
        return dict(self._asked({"do": "assess", "answer": _text(answer)}))

    def state(self) -> Mapping[str, Any]:
        """What the driver says of its state: plain data."""
        return dict(self._asked({"do": "state"}))

    def close(self) -> None:
        """Ends the child."""
        if self._lines is not None:
            with suppress(OSError, _Died):
                self._lines.send({"do": "close", "number": -1})
                self._lines.line(Allowance(5.0), self._guest.limits.characters)
            self._leave()

    def _asked(self, question: dict[str, Any], kept: bool = False) -> Any:
        """The answer. A child that has died is replaced, once for each question."""
        if self._lost:
            raise GuestFailed(self._guest.title, self._lost)
        for again in (False, True):
            try:
                if self._lines is None:
                    self._child, self._lines = self._guest.child()
                    for past, answer in self._said:
                        if self._exchanged(past) != answer:
                            self._fail("died, and shows something else when it is told the same once more")
                answer = self._exchanged(question)
            except _Died as death:
                how = _end_in_words(self._leave(), str(death))
                if how != "died":
                    self._fail(how)
                if again:
                    self._fail("died, and again when it was told the same")
                continue
            except BaseException:
                self._leave()
                raise
            if kept:
                self._said.append((question, answer))
            return answer
        raise AssertionError("unreachable")

    def _exchanged(self, question: dict[str, Any]) -> Any:
        assert self._lines is not None
        self._number += 1
        limits = self._guest.limits
        try:
            self._lines.send({**question, "number": self._number})
        except OSError:
            raise _Died("") from None
        allowed = Allowance(limits.seconds, self._child, limits.patience)
        said = self._lines.line(allowed, limits.characters)
        try:
            answer = json.loads(said)
            if answer["number"] != self._number or is_deep(answer):
                raise ValueError
        except (ValueError, TypeError, KeyError, RecursionError):
            self._fail(f"said what is no reply: {said[:60].decode(errors='replace')!r}")
        if "lost" in answer:
            self._fail(f"needs more than {limits.memory >> 20} MiB")
        if "raised" in answer:
            self._fail(f"raised {answer['raised']}")
        try:
            return shaped(answer.get("answer"), _ANSWERS[question["do"]], f"the answer to {question['do']}")
        except Damaged as error:
            self._fail(f"said what is no reply: {error}")

    def _fail(self, reason: str) -> Any:
        self._leave()
        self._lost = reason
        raise GuestFailed(self._guest.title, reason)

    def _leave(self) -> int:
        """Ends the child; how it ended."""
        if self._lines is None:
            return 0
        self._lines.close()
        self._lines = None
        return self._guest.ended(self._child)


class _Lines:
    """JSON lines over a socket."""

    def __init__(self, end: socket.socket) -> None:
        self.socket, self._waiting = end, bytearray()

    def send(self, data: Any) -> None:
        self.socket.settimeout(60.0)  # one that does not read is as dead as one that does not answer
        self.socket.sendall(json.dumps(data).encode() + b"\n")

    def line(self, allowed: Allowance, most: int) -> bytes:
        """The next line. Raises _Died at the end of the stream ("" for how), where all that is `allowed` was waited
        ("clock"), and for a line of more than `most` characters ("words")."""
        while (found := self._waiting.find(b"\n")) < 0:
            if len(self._waiting) > most:
                raise _Died("words")
            poll = select.poll()  # many visits have descriptors beyond what select takes
            poll.register(self.socket, select.POLLIN)
            if not poll.poll(allowed.tick * 1000):
                if allowed.over():
                    raise _Died("clock")
                continue
            try:
                data = self.socket.recv(1 << 16)
            except OSError:
                data = b""
            if not data:
                raise _Died("")
            self._waiting += data
            if b"\n" not in data and allowed.over():
                raise _Died("clock")
        line = bytes(self._waiting[:found])
        del self._waiting[: found + 1]
        return line

    def close(self) -> None:
        self.socket.close()


def _end_in_words(status: int, why: str) -> str:
    if why == "clock":
        return "does not answer"
    if why == "words":
        return "says more than it may"
    if status == -signal.SIGPROF:
        return "takes more processor time than it may"
    return "died"


def _text(said: str) -> str:
    """The text with halves of characters, which no other program may be handed, replaced."""
    return said.encode(errors="replace").decode()


def _surroundings() -> dict[str, str]:
    """The variables of a guest's process: ours, but for what leads Python to our own packages."""
    ours = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    return {**ours, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def _end(process: subprocess.Popen[bytes], control: socket.socket) -> None:
    control.close()
    process.kill()  # its children die with it
    with suppress(subprocess.TimeoutExpired):
        process.wait(10.0)
