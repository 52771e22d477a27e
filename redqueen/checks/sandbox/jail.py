"""CPython for programs that a model wrote: each in a process of its own, locked in by the kernel.

A jail keeps a few servers: small interpreters that lock themselves in before they have seen any program, and fork
a child for each. The layers, from the outside in (`jail_kernel` and `jail_seccomp` say how):

    namespaces   user, mount, pid, network, ipc, uts; every child is alone in a pid namespace of its own
    root         an empty folder that cannot be written; what may be imported was loaded before
    Landlock     no access to any file, no port, no signal across the border
    seccomp      system calls for computing in memory; no file, socket, process, signal or executable memory
    limits       processor time, address space; no file, core, process
    the rest     no capability, no new privileges, no environment, no descriptor but the pipe for the answer

Seccomp and the limits must be had, and namespaces or Landlock: else `Jail()` raises, and nothing runs.

The answer is a byte string with lengths, of bounded size, which the parent never evaluates. The value that was
expected never enters a child, and a server never reads a program, so all that a program can forge is a value,
printed text or an exception of its own: what it could have returned, printed or raised as well. A program with a test
of the user's (`Program.test`) shares its process, and can forge that it passes.

Not covered: bugs of the kernel behind the few calls that are left, and side channels such as time and caches.
A program may use one processor until its time is over.

A script that leaves by `sys.exit()` or `sys.exit(0)` has ended normally; a function that does so has raised
SystemExit. A program that catches a refusal and goes on is judged by what it then does.
"""

from __future__ import annotations

import os
import secrets
import select
import sys
import time
from collections import deque
from dataclasses import dataclass, replace
from functools import cache
from threading import Lock
from types import TracebackType
from typing import Self

from redqueen.checks.sandbox.jail_frames import KEY, Request, pack_request
from redqueen.checks.sandbox.jail_process import Ended, Server, ServerDied
from redqueen.checks.sandbox.jail_verdicts import request_of, verdict_on
from redqueen.checks.sandbox.runs_of_programs import Kind, Limits, Program, Verdict
from redqueen.types import RedQueenError

# fmt: off
OFFERED = (
    "__future__", "abc", "array", "ast", "base64", "binascii", "bisect", "builtins", "calendar", "cmath", "codecs",
    "collections", "collections.abc", "colorsys", "contextlib", "copy", "csv", "dataclasses", "datetime", "decimal",
    "difflib", "enum", "errno", "fractions", "functools", "graphlib", "hashlib", "heapq", "hmac", "html", "io",
    "itertools", "json", "keyword", "locale", "math", "numbers", "operator", "pprint", "queue", "random", "re",
    "reprlib", "secrets", "statistics", "string", "struct", "sys", "textwrap", "time", "timeit", "traceback",
    "types", "typing", "unicodedata", "uuid", "warnings", "weakref", "zlib",
)
# fmt: on
SEEDS = 4  # hash seeds whose servers are kept
TRIAL = """
import sys
def trial():
    try:
        return not sys.modules["posix"].listdir("/")
    except PermissionError:
        return True
"""
ADVICE = "Allow unprivileged user namespaces, or use a kernel with Landlock (5.13 and newer) and seccomp filters"
TRIES = 2  # a run whose server dies is tried once more: the server may have been killed from outside


@dataclass(frozen=True)
class _Job:
    """A program of a call that has no verdict yet."""

    index: int
    request: Request
    key: bytes
    tries: int = 0


class Jail:
    """Runs programs in jailed CPython, `workers` at a time; a `Tier`.

    `offered` are the modules that a program may import, of the standard library: they are loaded before the jail
    closes. A `loose` jail is for programs that are tested: it writes a value by its content (`contents`), forgets what
    is printed beyond the limit, and seeds `random`. Raises RedQueenError where this machine cannot hold a jail.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        workers: int = 2,
        offered: tuple[str, ...] = OFFERED,
        loose: bool = False,
    ) -> None:
        if workers < 1:
            raise RedQueenError(f"a jail needs 1 worker or more, not {workers}")
        if reason := why_not():
            raise RedQueenError(reason)
        self.limits = limits or Limits()
        self.workers = workers
        self.offered = offered
        self.loose = loose
        self._servers: dict[int, list[Server]] = {}  # hash seed -> servers, the seed used last at the end
        self._lock = Lock()
        self._owner = os.getpid()
        self._closed = False

    def run(self, programs: list[Program], hash_seed: int = 0) -> list[Verdict]:
        """How each program ended, in order. Raises RedQueenError for a seed out of range, after `close`, for a
        module that cannot be offered, and where the machine stops locking children in."""
        if not 0 <= hash_seed < 1 << 32:
            raise RedQueenError(f"a hash seed lies between 0 and {(1 << 32) - 1}, not at {hash_seed}")
        verdicts: dict[int, Verdict] = {}
        waiting: deque[_Job] = deque()
        for index, program in enumerate(programs):
            request = request_of(program)
            if isinstance(request, Verdict):
                verdicts[index] = request
            else:
                waiting.append(_Job(index, request, secrets.token_bytes(KEY)))
        with self._lock:
            self._work_off(waiting, verdicts, hash_seed)
        return [verdicts[index] for index in range(len(programs))]

    def close(self) -> None:
        """Ends the servers; the jail runs nothing more."""
        with self._lock:
            self._closed = True
            for hash_seed in list(self._servers):
                self._dismiss(hash_seed)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _work_off(self, waiting: deque[_Job], verdicts: dict[int, Verdict], hash_seed: int) -> None:
        running: dict[Server, _Job] = {}
        try:
            while waiting or running:
                self._assign(waiting, running, hash_seed)
                for server in _with_news(running):
                    ended = _step(server)
                    if ended is None:
                        continue
                    job = running.pop(server)
                    verdict = _verdict(job, ended, self.limits, self.loose)
                    if verdict is None:
                        waiting.appendleft(replace(job, tries=job.tries + 1))
                    else:
                        verdicts[job.index] = verdict
        finally:  # after an error or Ctrl-C nothing runs on
            for server in running:
                server.kill()

    def _assign(self, waiting: deque[_Job], running: dict[Server, _Job], hash_seed: int) -> None:
        """Gives every idle server something to run."""
        for server in self._staff(hash_seed, len(waiting) + len(running)):
            if waiting and server not in running:
                job = waiting.popleft()
                running[server] = job
                server.begin(pack_request(job.key, job.request))

    def _staff(self, hash_seed: int, programs: int) -> list[Server]:
        """The servers of a seed, at most one per program: new ones replace dead ones."""
        if self._closed or self._owner != os.getpid():
            raise RedQueenError("this jail is closed, or was made by another process: make another")
        servers = [server for server in self._servers.pop(hash_seed, []) if server.alive]
        self._servers[hash_seed] = servers
        while len(servers) < min(self.workers, programs):
            servers.append(Server(self.limits, self.offered, hash_seed, self.loose))
        while len(self._servers) > SEEDS:
            self._dismiss(next(iter(self._servers)))
        return servers

    def _dismiss(self, hash_seed: int) -> None:
        for server in self._servers.pop(hash_seed):
            if server.alive:
                server.kill()


@cache
def why_not() -> str:
    """Why this machine cannot run a jail, and what would help, in one line; "" if it can. Tried once."""
    if sys.platform != "linux":
        return f"Python code is jailed by Linux, and this is {sys.platform}: use a Linux container or virtual machine"
    server = Server(Limits(seconds=10.0), OFFERED, 0)
    job = _Job(0, Request(TRIAL, "trial", "()"), secrets.token_bytes(KEY), tries=TRIES)
    try:
        server.begin(pack_request(job.key, job.request))
        while not (ended := _step(server)):
            select.select(server.listens_to(), [], [], 1.0)
        verdict = _verdict(job, ended, server.limits)
    except RedQueenError as error:
        return f"Python code cannot be jailed here: {error}. {ADVICE}"
    finally:
        if server.alive:
            server.kill()
    return "" if verdict == Verdict(Kind.VALUE, "True") else f"the jail for Python code does not hold here: {verdict}"


def _with_news(running: dict[Server, _Job]) -> list[Server]:
    """The servers that something came from, or whose time is over; waits for the first."""
    whose = {descriptor: server for server in running for descriptor in server.listens_to()}
    poll = select.poll()
    for descriptor in whose:
        poll.register(descriptor, select.POLLIN)
    left = min(server.deadline for server in running) - time.monotonic()
    news = {whose[descriptor] for descriptor, _ in poll.poll(max(0.0, left) * 1000 + 1)}
    return [server for server in running if server in news or time.monotonic() > server.deadline]


def _step(server: Server) -> Ended | None:
    try:
        return server.step()
    except ServerDied:
        server.kill()
        return Ended(server_died=True)


def _verdict(job: _Job, ended: Ended, limits: Limits, loose: bool = False) -> Verdict | None:
    """The verdict on a job; None if it is to be tried again."""
    if ended.ready and not ended.server_died:
        return verdict_on(ended, job.key, limits, loose)
    if job.tries + 1 < TRIES:
        return None
    if ended.server_died:
        return Verdict(Kind.FORBIDDEN, detail="server", message="its server died with it, twice")
    raise RedQueenError("the jail could not lock in a child: is this machine out of memory or processes?")
