"""From a program to the request that a jail is sent, and from how its run ended to a verdict."""

from __future__ import annotations

import os
import signal

from redqueen.checks.sandbox.jail_frames import MESSAGE, OUT_OF_MEMORY, Answer, Request, unpack_answer
from redqueen.checks.sandbox.jail_process import Ended
from redqueen.checks.sandbox.literals import NotPlain, literal, parse
from redqueen.checks.sandbox.runs_of_programs import Kind, Limits, Program, Verdict

LONGEST_SOURCE = 1 << 18  # characters; as many for the arguments
SAID = {kind.value: kind for kind in (Kind.VALUE, Kind.EXCEPTION, Kind.MEMORY, Kind.FORBIDDEN, Kind.UNSUPPORTED)}


def request_of(program: Program) -> Request | Verdict:
    """The request for a program, or the verdict on one that cannot be sent."""
    if max(len(program.source), len(program.setup), len(program.test)) > LONGEST_SOURCE:
        return Verdict(Kind.UNSUPPORTED, detail=f"a source of more than {LONGEST_SOURCE} characters")
    try:
        arguments = literal(program.arguments, LONGEST_SOURCE, ordered=True)
    except NotPlain as error:
        return Verdict(Kind.UNSUPPORTED, detail=f"arguments: {error}")
    return Request(program.source, program.function, arguments, program.setup, program.test)


def verdict_on(ended: Ended, key: bytes, limits: Limits, loose: bool = False) -> Verdict:
    """The verdict on a run. Only one whole answer under the key of this run, from a child that then ended by itself
    in time, can be a value or an exception; with `loose` any text is a value."""
    if ended.late:
        return Verdict(Kind.TIMEOUT, detail="seconds")
    if ended.flooded:
        return Verdict(Kind.FORBIDDEN, detail="answer", message="it sent more than an answer")
    if ended.status:
        return _on_status(ended.status)
    answer = unpack_answer(key, ended.data)
    if answer is None or answer.kind not in SAID:
        return Verdict(Kind.FORBIDDEN, detail="exit", message="it ended without one whole answer")
    return _on_answer(answer, limits, loose)


def _on_status(status: int) -> Verdict:
    """A child that did not end by itself. A crash of the interpreter is most often a stack or memory that ran out."""
    if os.WIFEXITED(status):
        if os.WEXITSTATUS(status) == OUT_OF_MEMORY:
            return Verdict(Kind.MEMORY, detail="memory")
        return Verdict(Kind.FORBIDDEN, detail="exit", message=f"it left with status {os.WEXITSTATUS(status)}")
    name = signal.Signals(os.WTERMSIG(status)).name
    if name == "SIGSYS":
        return Verdict(Kind.FORBIDDEN, detail="system call", message="it made a system call that is never allowed")
    if name in ("SIGXCPU", "SIGALRM"):
        return Verdict(Kind.TIMEOUT, detail="seconds")
    return Verdict(Kind.MEMORY, detail=name, message="the interpreter crashed")


def _on_answer(answer: Answer, limits: Limits, loose: bool) -> Verdict:
    kind = SAID[answer.kind]
    if len(answer.printed) > limits.output or len(answer.value) > limits.output:
        return Verdict(Kind.MEMORY, detail="output")
    if kind is not Kind.VALUE:
        detail, message = answer.detail[:MESSAGE], answer.message[:MESSAGE]
        return Verdict(kind, "", answer.printed, detail, message, answer.shows_address)
    if not (loose or _plain(answer.value)):
        return Verdict(Kind.FORBIDDEN, detail="answer", message="its value is not written as values are")
    return Verdict(kind, answer.value, answer.printed, shows_address=answer.shows_address)


def _plain(text: str) -> bool:
    """Whether this is the one text of a plain value."""
    try:
        return literal(parse(text)) == text
    except NotPlain:
        return False
