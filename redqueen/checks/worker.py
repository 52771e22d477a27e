"""A function that runs in a process of its own, kept warm and killed when it exceeds its limits.

For libraries that may hang or run out of memory on a model's text. Time is the processor time of the process, so that a
busy machine changes no verdict; a process that neither works nor answers is ended after `PATIENCE` times as
long by the clock. The time and memory limits are not a sandbox: text that a library would evaluate as code
must be refused before it is sent here.

The process does not share the generators, loggers, warnings or imports of the trainer, and walks sets in
the order of hash seed 0. Linux and macOS.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import IO, Any

from redqueen.types import RedQueenError

PATIENCE = 5.0
START = 120.0  # seconds by the clock that imports may take
_SERVE = (
    "import sys; from redqueen.checks.worker import serve; serve(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))"
)


class Undecided(RedQueenError):
    """There is no verdict. `reason` is "time", "memory", "death" or the name of the library's error."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"no verdict ({reason}): verdicts() gives None in its place, and a longer limit may give one")
        self.reason = reason


class Worker:
    """Answers questions, one at a time, from any thread. The process starts with the first and again after a kill.

    `prepare` names a function without arguments ("package.module:name") that imports what is needed and returns the
    function from question to answer, both plain JSON data.
    """

    def __init__(self, prepare: str, seconds: float, memory: int) -> None:
        """`seconds` of processor time for one answer, `memory` in bytes of address space. Raises RedQueenError
        unless both are above 0."""
        if seconds <= 0 or memory <= 0:
            raise RedQueenError(f"the limits must be above 0, not {seconds} seconds and {memory} bytes")
        self._prepare, self._seconds, self._memory = prepare, seconds, memory
        self._process: subprocess.Popen[bytes] | None = None
        self._end: Callable[[], object] = lambda: None
        self._lock = threading.Lock()

    def ask(self, question: Any) -> Any:
        """The answer. Raises Undecided if the process was killed, RedQueenError if the function raised it, and
        RuntimeError with the traceback if the function raised any other error."""
        with self._lock:
            try:
                reply = self._exchange(question)
            except BaseException:  # also Ctrl-C: an answer that comes late must not meet the next question
                self._stop()
                raise
            if "lost" in reply:
                self._stop()
                raise Undecided(reply["lost"])
        if "refused" in reply:
            raise RedQueenError(reply["refused"])
        if "raised" in reply:
            raise RuntimeError(reply["raised"])
        return reply["answer"]

    def close(self) -> None:
        """Ends the process. The next question starts another."""
        with self._lock:
            self._stop()

    def _exchange(self, question: Any) -> dict[str, Any]:
        process = self._started()
        stdin, stdout = _pipes(process)
        try:
            stdin.write(json.dumps(question).encode() + b"\n")
            stdin.flush()
        except BrokenPipeError:
            raise Undecided("death") from None
        reply = _line(stdout, self._seconds * PATIENCE)
        if reply is None:
            raise Undecided("time")
        if not reply:
            raise Undecided("time" if process.wait() == -signal.SIGPROF else "death")
        return dict(json.loads(reply))

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._stop()
        path = os.pathsep.join(part or os.getcwd() for part in sys.path)
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _SERVE, self._prepare, str(self._seconds), str(self._memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the trainer
            env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"},
        )
        self._process, self._end = process, weakref.finalize(self, _end, process)
        hello = _line(_pipes(process)[1], START)
        state = dict(json.loads(hello)) if hello else {"raised": "the process did not start"}
        if "ready" not in state:
            self._stop()
            raise RedQueenError(state["refused"]) if "refused" in state else RuntimeError(state["raised"])
        return process

    def _stop(self) -> None:
        self._end()
        self._process = None


def serve(prepare: str, seconds: float, memory: int) -> None:
    """The loop inside the process: a line of JSON in, a line of JSON out."""
    import resource

    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is not an answer

    def say(reply: dict[str, Any]) -> None:
        out.write(json.dumps(reply) + "\n")
        out.flush()

    module, _, name = prepare.partition(":")
    ready = _tried(lambda: getattr(import_module(module), name)())
    if "answer" not in ready:
        say(ready)
        return
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    say({"ready": True})
    for line in sys.stdin:
        signal.setitimer(signal.ITIMER_PROF, seconds)  # its signal ends the process, also inside a C function
        reply = _tried(lambda: json.loads(json.dumps(ready["answer"](json.loads(line)))))  # noqa: B023, called at once
        say(reply)


def _tried(call: Callable[[], Any]) -> dict[str, Any]:
    try:
        return {"answer": call()}
    except Undecided as error:
        return {"lost": error.reason}
    except RedQueenError as error:
        return {"refused": str(error)}
    except (MemoryError, RecursionError):
        return {"lost": "memory"}
    except Exception:
        return {"raised": traceback.format_exc()}


def _line(stream: IO[bytes], seconds: float) -> bytes | None:
    """The next line, b"" where the stream ended first, None where the time did."""
    end = time.monotonic() + seconds
    read = b""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while not read.endswith(b"\n"):
            if not selector.select(max(0.0, end - time.monotonic())):
                return None
            more = os.read(stream.fileno(), 1 << 16)
            if not more:
                return b""
            read += more
    return read


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdin is not None and process.stdout is not None, "the process was started with pipes"
    return process.stdin, process.stdout


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    stdin, stdout = _pipes(process)
    stdout.close()
    with suppress(BrokenPipeError):  # a question that was never read
        stdin.close()
