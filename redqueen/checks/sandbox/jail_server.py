"""The server of a jail: a small interpreter that locks itself in, and then forks one child for each program.

    launcher    started by the parent, waits behind and ends with the server
      server    first process of a pid namespace: no files, no network, no program text ever
        child   first process of a pid namespace of its own: one program, under seccomp and limits

The parent sends two descriptors for each run: the request to read and the pipe for the answer. The server passes
them to the child unread and reports only how the child ended.
"""

from __future__ import annotations

import array
import codecs
import encodings
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

from redqueen.checks.sandbox import jail_addresses
from redqueen.checks.sandbox import jail_kernel as kernel
from redqueen.checks.sandbox.jail_frames import OUT_OF_MEMORY, REPORT, pack_answer, unpack_request
from redqueen.checks.sandbox.jail_program import Allowance, answer
from redqueen.checks.sandbox.jail_seccomp import Filter, filter_for_programs

SLACK = 2 << 20  # bytes of address space that an empty program takes by running
INNER = ("_strptime", "copyreg")  # what built-in functions import in the name of a program


@dataclass(frozen=True)
class Box:
    """What the server knows when it begins to serve."""

    control: socket.socket
    allowance: Allowance
    seconds: float
    address_space: int
    filter: Filter
    namespace: int  # a descriptor of the server's pid namespace, -1 without namespaces
    life: tuple[int, int]  # a pipe whose writing end only the server holds


def main(descriptor: int, settings: dict[str, Any]) -> None:
    """Locks the process in and serves until the parent hangs up."""
    control = socket.socket(fileno=descriptor)
    try:
        box, layers = _build(control, settings)
    except Exception as error:
        control.send(json.dumps({"error": f"{error}" or type(error).__name__}).encode())
        return
    control.send(json.dumps({"error": "", "layers": layers}).encode())
    serve(box)


def _build(control: socket.socket, settings: dict[str, Any]) -> tuple[Box, list[str]]:
    _load(settings["offered"])
    rules = filter_for_programs()
    with open("/proc/self/statm") as file:
        address_space = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE") + settings["memory"] + SLACK
    namespace, layers = _lock_in()
    offered = frozenset((*settings["offered"], *INNER))
    allowance = Allowance(settings["output"], settings["recursion"], offered, settings["loose"])
    box = Box(control, allowance, settings["seconds"], address_space, rules, namespace, os.pipe())
    _forget()
    return box, [*layers, "seccomp", "limits"]


def _load(offered: list[str]) -> None:
    """Loads all that a program may import: later there is no file to load it from."""
    for name in (*offered, *INNER):
        importlib.import_module(name)
    for module in pkgutil.iter_modules(encodings.__path__):
        with suppress(LookupError):  # those of Windows
            codecs.lookup(module.name)
    time.tzset()
    jail_addresses.watch()


def _lock_in() -> tuple[int, list[str]]:
    """Every layer that the server can have for itself and its children. Returns the descriptor of its pid
    namespace (-1 without) and the names of the layers. Raises OSError where there are too few."""
    if os.geteuid() == 0:
        with suppress(OSError):  # root of a namespace without other users stays, and is locked in all the same
            kernel.become_nobody()
    namespace, layers, reasons = -1, [], []
    launcher = os.getpid()
    try:
        namespace = _namespaces()
        layers.append("namespaces")
    except OSError as error:
        reasons.append(f"no namespaces ({error.strerror or error})")
        if os.getpid() == launcher:
            _leave_to_launcher()
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    try:
        layers.append(f"Landlock {kernel.landlock()}")
    except OSError as error:
        reasons.append(f"no Landlock ({error.strerror or error})")
    if not layers:
        raise OSError(", ".join(reasons))
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    kernel.keep_capabilities(1 << kernel.SYS_ADMIN if namespace >= 0 else 0)
    return namespace, layers


def _namespaces() -> int:
    """Enters fresh namespaces; the caller goes on as the first process in them. Returns a descriptor of the pid
    namespace."""
    kernel.leave_namespaces()
    _leave_to_launcher()
    namespace = os.open("/proc/self/ns/pid", os.O_RDONLY)
    kernel.enter_empty_root()
    return namespace


def _leave_to_launcher() -> None:
    """Goes on as a child. The launcher waits behind: at SIGTERM it kills the server, and it collects whoever is
    left, so that no zombie falls to a process that does not expect it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    server = os.fork()
    if server == 0:
        kernel.die_with_parent()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        return
    kernel.adopt_orphans()
    os.closerange(3, 1 << 16)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(server, signal.SIGKILL))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    os._exit(0)


def _forget() -> None:
    """What a program has no use for: the environment, and paths of this machine. Those at which Python and this
    package lie stay: in `sys.prefix`, in the modules and in their code."""
    sys.path.clear()
    sys.path_importer_cache.clear()
    sys.argv[:] = sys.orig_argv[:] = [""]
    sys.executable = ""
    os.environ.clear()
    gc.collect()
    gc.freeze()


def serve(box: Box) -> None:
    """One run after another: receives its two descriptors, forks, waits, reports."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    while True:
        message, ancillary, _, _ = box.control.recvmsg(1, socket.CMSG_SPACE(8))
        if not message:
            return
        request, reply = array.array("i", ancillary[0][2])
        status, late, ready = _run(box, request, reply)
        box.control.send(REPORT.pack(status, late, ready))


def _run(box: Box, request: int, reply: int) -> tuple[int, bool, bool]:
    """How one child ended: its status, whether it was too late, whether it was locked in before it began."""
    ready, locked = os.pipe()
    if box.namespace >= 0:
        kernel.begin_pid_namespace()
    child = os.fork()
    if child == 0:
        _child(box, request, reply, locked)
    for descriptor in (request, reply, locked):
        os.close(descriptor)
    if box.namespace >= 0:
        kernel.return_to_pid_namespace(box.namespace)
    began = os.read(ready, 1) == b"+"  # the clock starts when the program can
    os.close(ready)
    return *_wait(child, time.monotonic() + box.seconds), began


def _wait(child: int, deadline: float) -> tuple[int, bool]:
    """The status of a child, and whether it had to be killed at the deadline."""
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status, False
        left = deadline - time.monotonic()
        if left <= 0:
            os.kill(child, signal.SIGKILL)
            return os.waitpid(child, 0)[1], True
        signal.sigtimedwait({signal.SIGCHLD}, left)


def _child(box: Box, request: int, reply: int, locked: int) -> NoReturn:
    """Locks itself in, reads what to run, runs it, answers, and ends whatever happens."""
    try:
        _shut(box, request, reply, locked)
        os.write(locked, b"+")
        os.close(locked)
        key, wanted = unpack_request(_read(request))
        os.close(request)
        said = pack_answer(key, answer(wanted, box.allowance))
        while said:
            said = said[os.write(reply, said) :]
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except BaseException:
        os._exit(1)
    os._exit(0)


def _shut(box: Box, *descriptors: int) -> None:
    """Every layer that is the child's own. From here there are three descriptors, and none can be opened."""
    kernel.die_with_parent()
    os.close(box.life[1])
    if select.select([box.life[0]], [], [], 0)[0]:
        os._exit(1)  # the server died before it could be watched
    os.setsid()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    last = -1
    for each in sorted(descriptors):
        os.closerange(last + 1, each)
        last = each
    os.closerange(last + 1, 1 << 16)
    kernel.keep_capabilities()
    kernel.limit(box.seconds, box.address_space)
    box.filter.install()
    with suppress(PermissionError):
        os.close(os.open("/", os.O_RDONLY))
        os._exit(1)  # the filter does not hold


def _read(descriptor: int) -> bytes:
    parts = []
    while part := os.read(descriptor, 1 << 16):
        parts.append(part)
    return b"".join(parts)
