"""Ctrl-C and SIGTERM in a training: the first ends the step it is in and saves it, the second ends at once."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

from redqueen.runs.run import INTERRUPTED, TERMINATED, Run

ASKED = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED}
NAMES = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}


@contextmanager
def steps_are_ended(run: Run) -> Iterator[None]:
    """A first Ctrl-C or SIGTERM lets the step end in which the run is, has it saved, and raises KeyboardInterrupt then;
    a second, or one outside the steps, raises it at once. Signals that are ignored stay so."""
    if current_thread() is not main_thread():
        yield
        return

    def asked(number: int, frame: FrameType | None) -> None:
        why = ASKED[signal.Signals(number)]
        if not run.leave(why):
            raise KeyboardInterrupt(why)
        name = NAMES[signal.Signals(number)]
        # not by print, which may be what was interrupted
        os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, _promise(name, run.step).encode())

    before = {each: signal.getsignal(each) for each in ASKED}
    heard = [each for each, handler in before.items() if handler is not signal.SIG_IGN]
    for each in heard:
        signal.signal(each, asked)
    try:
        yield
    finally:
        for each in heard:
            signal.signal(each, before[each])


def _promise(name: str, step: int) -> str:
    return f"\nredqueen: {name}: ends step {step + 1}, then saves it; once more ends at once\n"
