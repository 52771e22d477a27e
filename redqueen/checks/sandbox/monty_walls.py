"""A second wall around Monty's workers: each starts behind it, so that a fault of the interpreter opens nothing.

    namespaces   user, mount, network, ipc, uts: no network, not even the loopback
    Landlock     no file can be written; read and run are the worker's own program and the libraries of the system
    seccomp      no process besides its own threads, no socket, no tracing, no mounts, no keys, no kernel modules
    limits       memory, open files; no file, no core

A layer that this machine does not have is left out, as with Monty alone. A pool starts a script in place of Monty's
program, which `started_behind` writes and `monty_start` carries out. The script lies in memory: the system forgets it
with this process, however that ends.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

SCRIPT = """\
#!{python} -ISB
import sys
for name in ("redqueen", "redqueen.checks", "redqueen.checks.sandbox"):
    package = type(sys)(name)
    package.__path__ = ["/".join([{folder!r}, *name.split(".")])]
    sys.modules[name] = package
from redqueen.checks.sandbox.monty_start import start
start({program!r}, {memory}, sys.argv[1:])
"""


def started_behind(program: str, memory: int) -> tuple[str, Callable[[], object]]:
    """The path of a script that starts `program` behind the wall with `memory` bytes for what it runs, and what
    removes the script; the program itself where this system has no such walls."""
    if sys.platform != "linux" or " " in sys.executable or len(sys.executable) > 100:  # what a first line can hold
        return program, lambda: None
    text = SCRIPT.format(
        python=sys.executable, folder=str(Path(__file__).resolve().parents[3]), program=program, memory=memory
    )
    return _in_memory(text) or _in_a_folder(text)


def _in_memory(text: str) -> tuple[str, Callable[[], object]] | None:
    """The path of a script that is in no folder, and what removes it; None where this system runs none."""
    try:
        script = os.memfd_create("redqueen-monty")
    except OSError:
        return None
    os.write(script, text.encode())
    path = f"/proc/{os.getpid()}/fd/{script}"
    if os.access(path, os.X_OK):
        return path, partial(os.close, script)
    os.close(script)
    return None


def _in_a_folder(text: str) -> tuple[str, Callable[[], object]]:
    """The same of a script in a folder of its own, which stays where this process is killed."""
    folder = tempfile.mkdtemp(prefix="redqueen-monty-")
    script = Path(folder) / "monty"
    script.write_text(text, encoding="utf-8")
    script.chmod(stat.S_IRUSR | stat.S_IXUSR)
    return str(script), partial(shutil.rmtree, folder, ignore_errors=True)
