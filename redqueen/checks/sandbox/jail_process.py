"""A server of the jail, on the parent's side: started, given one program at a time, killed when it exceeds its time."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from redqueen.checks.sandbox.jail_frames import REPORT, largest_answer
from redqueen.checks.sandbox.runs_of_programs import Limits
from redqueen.types import RedQueenError

STARTS_WITHIN = 30.0  # seconds
DIES_WITHIN = 5.0  # seconds
GRACE = 3.0  # seconds after the limit in which a server must have killed and reported
# the packages are named without being run: a server needs a few of their files, not what they import
BOOT = """
import sys, types, json
folder, descriptor, settings = sys.argv[1:]
for name in ("redqueen", "redqueen.checks", "redqueen.checks.sandbox"):
    package = types.ModuleType(name)
    package.__path__ = ["/".join([folder, *name.split(".")])]
    sys.modules[name] = package
from redqueen.checks.sandbox.jail_server import main
main(int(descriptor), json.loads(settings))
"""


@dataclass(frozen=True)
class Ended:
    """How a run ended: what the child sent, and what the server saw."""

    data: bytes = b""
    status: int = 0  # as waitpid tells
    late: bool = False
    ready: bool = True  # it was locked in, and may have seen its program
    flooded: bool = False  # it sent more than an answer can hold
    server_died: bool = False


class ServerDied(Exception):
    """The server went away."""


class Server:
    """One jailed interpreter under one hash seed. It starts by itself; the first `begin` waits for it."""

    def __init__(self, limits: Limits, offered: tuple[str, ...], hash_seed: int, loose: bool = False) -> None:
        self.limits = limits
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            settings = {**asdict(limits), "offered": offered, "loose": loose}
            self.process = _start(theirs.fileno(), settings, hash_seed)
        self.layers: list[str] = []  # of its jail, once it has started
        self.reply = -1  # the pipe of the run in progress, -1 where there is none to read
        self.data = b""
        self.deadline = 0.0

    def wait(self) -> None:
        """Returns when the server is locked in. Raises RedQueenError with the reason where it cannot be."""
        if self.layers:
            return
        self.control.settimeout(STARTS_WITHIN)
        try:
            said = self.control.recv(1 << 16)
        except (TimeoutError, ConnectionError):
            said = b""
        told = json.loads(said or b'{"error": "its interpreter did not start"}')
        if told["error"]:
            self.kill()
            raise RedQueenError(told["error"])
        self.control.setblocking(False)
        self.layers = told["layers"]

    def begin(self, request: bytes) -> None:
        """Hands over one request. Raises RedQueenError where the server never started."""
        self.wait()
        memory = os.memfd_create("request")
        self.reply, theirs = os.pipe()
        os.set_blocking(self.reply, False)
        self.data = b""
        self.deadline = time.monotonic() + self.limits.seconds + GRACE
        try:
            os.pwrite(memory, request, 0)
            with suppress(ConnectionError):  # `step` finds that the server died
                socket.send_fds(self.control, [b"!"], [memory, theirs])
        finally:
            os.close(memory)
            os.close(theirs)

    def listens_to(self) -> list[int]:
        """The descriptors that become readable when there is something for `step`."""
        return [self.control.fileno()] if self.reply < 0 else [self.control.fileno(), self.reply]

    def step(self) -> Ended | None:
        """Takes in what came. Returns how the run ended once it has, None before. Raises ServerDied."""
        report = self._report()  # before the answer: once a child is reported, all it said is in the pipe
        self._drain()
        if len(self.data) > largest_answer(self.limits.output):
            self.kill()
            return Ended(flooded=True)
        if report:
            self._hang_up()
            status, late, ready = REPORT.unpack(report)
            return Ended(self.data, status, bool(late), bool(ready))
        if time.monotonic() > self.deadline:
            self.kill()
            return Ended(late=True)
        return None

    def kill(self) -> None:
        """Ends the server and with it whatever runs inside."""
        self._hang_up()
        self.control.close()
        self.process.terminate()
        try:
            self.process.wait(timeout=DIES_WITHIN)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    @property
    def alive(self) -> bool:
        return self.control.fileno() >= 0

    def _report(self) -> bytes:
        try:
            report = self.control.recv(REPORT.size)
        except BlockingIOError:
            return b""
        except OSError as error:
            raise ServerDied from error
        if not report:
            raise ServerDied
        return report

    def _drain(self) -> None:
        with suppress(BlockingIOError):
            while self.reply >= 0 and len(self.data) <= largest_answer(self.limits.output):
                part = os.read(self.reply, 1 << 16)
                self.data += part
                if not part:
                    self._hang_up()

    def _hang_up(self) -> None:
        if self.reply >= 0:
            os.close(self.reply)
            self.reply = -1


def _start(descriptor: int, settings: dict[str, object], hash_seed: int) -> subprocess.Popen[bytes]:
    """An interpreter without site packages, with nothing of the environment but what is named here."""
    folder = str(Path(__file__).resolve().parents[3])
    command = [sys.executable, "-s", "-S", "-P", "-B", "-X", "utf8", "-c", BOOT, folder, str(descriptor)]
    environment = {"PYTHONHASHSEED": str(hash_seed), "TZ": "UTC"}
    if "LD_LIBRARY_PATH" in os.environ:  # where an interpreter may have its own library
        environment["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
    return subprocess.Popen(
        [*command, json.dumps(settings)],
        pass_fds=[descriptor],
        env=environment,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for the parent
    )
