"""Monty, an interpreter of a part of Python that has no files, no network and no host: the tier for most programs.

A pool of workers, each a process with no way out and behind walls of its own (`monty_walls`), runs one program at a
time in a session of its own. Source and
arguments cross as data, and what comes back is text: the value as Monty would print it, which is read as a literal and
never evaluated. No function, module or folder of this process is lent to a program.

Monty's answer counts only where it is known to be CPython's (`agreement`). Whatever it lacks or does otherwise is
UNSUPPORTED, and for the jail to answer. It has no hash seeds: another seed moves its objects to other addresses.
"""

from __future__ import annotations

import re
import weakref
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

import pydantic_monty
from pydantic_monty._binary import find_monty_binary

from redqueen.checks.sandbox.agreement import HUGE, reaches_out, read
from redqueen.checks.sandbox.literals import LONGEST, NotPlain, literal, parse
from redqueen.checks.sandbox.monty_walls import started_behind
from redqueen.checks.sandbox.runs_of_programs import Kind, Limits, Program, Verdict
from redqueen.checks.sandbox.syntax import Unread
from redqueen.checks.sandbox.vocabulary import EXCEPTIONS
from redqueen.types import RedQueenError

START = 30.0  # seconds that a worker may take to start, on a busy machine
GRACE = 0.5  # seconds after which a worker that does not mind its limit is killed
SESSIONS = 20_000  # of a worker before another takes its place; its memory does not grow with them
ADDRESS = re.compile(r" at 0x[0-9a-f]+>")
LOST = re.compile("\ufffd|[^.]\\.\\.\\.[^.]")  # in place of a lone surrogate, and of what is nested deep
LARGEST_ARGUMENTS = 1 << 20  # characters of their literals
VALUE_LINE = 3  # of the code below
_CODE = "exec(redqueen_source)\nredqueen_value = {function}(*redqueen_arguments)\nf'{{redqueen_value!r}}'[:{longest}]"


class Monty:
    """Runs programs in Monty, `workers` at a time; a `Tier`. Raises RedQueenError where its workers cannot start."""

    def __init__(self, limits: Limits | None = None, workers: int = 2) -> None:
        if workers < 1:
            raise RedQueenError(f"Monty needs 1 worker or more, not {workers}")
        self.limits = limits or Limits()
        self._longest = min(self.limits.output, LONGEST)  # characters of a value
        program, end = started_behind(find_monty_binary(), self.limits.memory)
        self._end = weakref.finalize(self, end)
        pool = pydantic_monty.Monty(
            binary_path=program,
            min_processes=workers,
            max_processes=workers,
            request_timeout=self.limits.seconds + START,  # a new worker's start counts as well
            feed_duration_limit_grace=GRACE,
            max_checkouts_per_worker=SESSIONS,
        )
        try:
            self._pool = pool.__enter__()
        except (OSError, RuntimeError) as error:
            self._end()
            raise RedQueenError(f"Monty does not start: {error}; reinstall pydantic-monty") from error
        self._threads = ThreadPoolExecutor(workers, "monty")
        self._allowed = pydantic_monty.ResourceLimits(
            max_feed_duration_secs=self.limits.seconds,
            max_memory=self.limits.memory,
            max_recursion_depth=self.limits.recursion,
            max_suspensions=100,
        )

    def run(self, programs: list[Program], hash_seed: int = 0) -> list[Verdict]:
        """How each program ended, in order. Raises RedQueenError for arguments that are not plain data."""
        shift = [[] for _ in range(hash_seed % 64)]  # type: list[list[Any]]
        return list(self._threads.map(lambda program: self._judge(program, shift), programs))

    def close(self) -> None:
        """Ends the workers; nothing more is run."""
        self._threads.shutdown()
        self._pool.__exit__(None, None, None)
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _judge(self, program: Program, shift: list[list[Any]]) -> Verdict:
        if program.test:
            return Verdict(Kind.UNSUPPORTED, detail="a test of its own")
        if not _travel(program.arguments):
            return Verdict(
                Kind.UNSUPPORTED, detail="an argument", message="sets and lone surrogates are not handed over"
            )
        try:
            reading = read(program.source)
        except Unread as error:
            return error.verdict
        if reading.reads_floats and _holds_text_or_huge(program.arguments):
            return Verdict(Kind.UNSUPPORTED, detail="a float that may be NaN")
        if not reading.outside:
            verdict = self._run(program, shift)
            doubtful = reading.values_only and verdict.kind is not Kind.VALUE
            return Verdict(Kind.UNSUPPORTED, detail="something lazy that fails") if doubtful else verdict
        if reaches_out(program.source):
            verdict = self._run(program, shift)
            if verdict.kind is Kind.FORBIDDEN:
                return verdict
        return Verdict(Kind.UNSUPPORTED, detail=reading.outside)

    def _run(self, program: Program, shift: list[list[Any]]) -> Verdict:
        code = "exec(redqueen_source)"
        inputs: dict[str, Any] = {"redqueen_shift": shift, "redqueen_source": program.source}
        if program.function:
            if not program.function.isidentifier():
                return Verdict(
                    Kind.EXCEPTION, detail="NameError", message=f"no function is called {program.function!r}"
                )
            code = _CODE.format(function=program.function, longest=self._longest + 1)
            inputs["redqueen_arguments"] = list(program.arguments)
        # UTF-8 takes up to 4 bytes a character
        printed = pydantic_monty.CollectString(4 * self.limits.output)
        try:
            with self._pool.checkout(
                limits=self._allowed, assert_message_annotations=False, os_policy={"sleep": "zero"}
            ) as session:
                text = session.feed_run(code, inputs=inputs, print_callback=printed)
        except pydantic_monty.MontyError as error:
            return self._failure(error, printed.output[: self.limits.output])
        return self._value(text if program.function else "None", printed.output)

    def _value(self, text: str, printed: str) -> Verdict:
        if len(text) > self._longest or len(printed) > self.limits.output:
            return Verdict(Kind.MEMORY, printed=printed[: self.limits.output], detail="output")
        if ADDRESS.search(text) or ADDRESS.search(printed):
            return Verdict(Kind.UNSUPPORTED, printed=printed, detail="an address")
        if LOST.search(text) or LOST.search(printed):
            return Verdict(Kind.UNSUPPORTED, printed=printed, detail="text that Monty may have cut or replaced")
        try:
            value = literal(parse(text))
        except NotPlain as error:
            return Verdict(Kind.UNSUPPORTED, printed=printed, detail="value", message=str(error))
        if len(value) > self.limits.output:
            return Verdict(Kind.MEMORY, printed=printed, detail="output")
        return Verdict(Kind.VALUE, value, printed)

    def _failure(self, error: pydantic_monty.MontyError, printed: str) -> Verdict:
        match error:
            case pydantic_monty.MontyCrashedError(timed_out=True):
                return Verdict(Kind.TIMEOUT, printed=printed, detail="seconds")
            case pydantic_monty.MontyCrashedError():
                return Verdict(Kind.UNSUPPORTED, printed=printed, detail="crash", message=str(error)[:200])
            case pydantic_monty.MontyRuntimeError():
                at_value = [frame.line for frame in error.traceback()] == [VALUE_LINE]
            case _:
                at_value = False
        raised = error.exception()
        name, message = type(raised).__name__, str(raised)[: self.limits.output]
        match name:
            case "TimeoutError" if "time limit exceeded" in message:
                return Verdict(Kind.TIMEOUT, printed=printed, detail="seconds")
            case "MemoryError" if "memory limit" in message:
                spent = "output" if message.endswith(f"> {4 * self.limits.output} bytes") else "memory"
                return Verdict(Kind.MEMORY, printed=printed, detail=spent)
            case "RecursionError":
                return Verdict(Kind.MEMORY, printed=printed, detail="recursion")
            case "PermissionError":
                return Verdict(Kind.FORBIDDEN, printed=printed, detail=message)
            case "RuntimeError" if "is not supported in this environment" in message:
                return Verdict(Kind.FORBIDDEN, printed=printed, detail=message)
        surrogate = "not in range(0x110000)" in message  # which CPython's `chr` would make
        if name in EXCEPTIONS | {"Exception"} and not at_value and not surrogate:
            return Verdict(Kind.EXCEPTION, printed=printed, detail=name, message=message)
        # a type, attribute, module or piece of syntax that is missing, in Monty or in the program
        return Verdict(Kind.UNSUPPORTED, printed=printed, detail=name, message=message)


def _travel(arguments: tuple[Any, ...]) -> bool:
    """Whether arguments reach Monty as they are. Raises RedQueenError where they are not plain data."""
    try:
        text = literal(arguments, LARGEST_ARGUMENTS, ordered=True)
    except NotPlain as error:
        raise RedQueenError(f"the arguments of a program are plain data, not {error}") from error
    return ("{" not in text and "set()" not in text and "\\u" not in text) or all(map(_is_ordered, arguments))


def _holds_text_or_huge(value: Any) -> bool:
    """Whether a value holds a text, which a program may read as NaN, or a float that infinity is near."""
    kind = type(value)
    if kind in (list, tuple, set):
        return any(map(_holds_text_or_huge, value))
    if kind is dict:
        return any(_holds_text_or_huge(each) for pair in value.items() for each in pair)
    return kind is str or kind is bytes or (kind is float and abs(value) > HUGE)


def _is_ordered(value: Any) -> bool:
    """Whether a value holds neither sets, whose order this process would choose, nor text that is not Unicode."""
    kind = type(value)
    if kind is str:
        return not any("\ud800" <= character <= "\udfff" for character in value)
    if kind is list or kind is tuple:
        return all(map(_is_ordered, value))
    if kind is dict:
        return all(_is_ordered(key) and _is_ordered(item) for key, item in value.items())
    return kind is not set
