"""The guest's side: a process that loads a driver once and forks one child for each visit.

It runs in the guest's own interpreter, which need not know Red Queen: nothing but the standard library is imported
here, and Python 3.10 is enough. A driver may import this module by its name. Two kinds of sockets lead in: the first,
on a descriptor named on the command line, takes one line and one descriptor for each visit; each visit speaks JSON
lines on its own. Standard output and error lead nowhere, so that what an environment prints meets no reply.

A driver is a file with `load(settings) -> Driver`:

    about()             {"seats": [...], "tasks": [...], "held_out": [...], "repeatable": true}; a task has an id, and
                        may have a prompt and facts
    open(task, seed)    a session, in a child process of its own whose global generators are seeded

and a session has

    tools               [{"name", "usage"}], empty where acts are said
    turn                {"asks": [{"seat", "shown", "choices"}], "over": false, "gains": {seat: number}}; an ask may
                        have a "number", where a role has several seats, and the last turn "shown", a last view
    say(texts)          the next turn, given a text for each of the asks
    call(tool, text)    {"output", "failed"}
    assess(answer)      {"scores": {seat: number}, "parts": {...}, "facts": {...}}; changes nothing; the seat "solver/1"
                        is the second of the role "solver"
    state()             plain data
    close()
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import pathlib
import random
import resource
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

_DEATH_SIGNAL = 1  # of prctl: what a child is sent when its parent dies
AGENT = "agent"  # the seat of an environment that has one
LONGEST = 4_000  # characters of a view


def one_turn(shown: str, choices: Iterable[str] = (), over: bool = False, gain: float = 0.0) -> dict[str, Any]:
    """The turn of an environment of one seat."""
    asks = [] if over else [{"seat": AGENT, "shown": shown[:LONGEST], "choices": list(choices)}]
    return {"asks": asks, "over": over, "shown": shown[:LONGEST], "gains": {AGENT: float(gain)}}


def about_seeds(count: int, tests: int, seats: Sequence[str] = (AGENT,), repeatable: bool = True) -> dict[str, Any]:
    """What a driver says of itself whose tasks are seeds: the first `tests` are held out."""
    tasks = [{"id": f"seed{seed}", "facts": {"seed": seed}} for seed in range(tests + count)]
    return {"seats": list(seats), "tasks": tasks[tests:], "held_out": tasks[:tests], "repeatable": repeatable}


def question(number: int, row: dict[str, Any]) -> dict[str, Any]:
    """The task of a row: `question` or `prompt`, `answer`, the rest as facts."""
    prompt, answer = str(row.pop("prompt", "") or row.pop("question")), row.pop("answer", "")
    name = str(row.pop("id", f"line{number}"))
    return {"id": name, "prompt": prompt, "answer": str(answer), "facts": {"row": row}}


def read_tasks(
    path: str,
    task_of: Callable[[int, dict[str, Any]], dict[str, Any]] = question,
    wanted: str = "a task is an object with a prompt or a question",
    tests: float = 0.2,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The tasks of a file of JSON lines, to train on and to hold out, as `task_of` makes them of a line's number and
    row. Raises ValueError with the line that is not as `wanted`."""
    found = list[dict[str, Any]]()
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                found.append(task_of(number, json.loads(line)))
            except (ValueError, KeyError, AttributeError, TypeError):
                raise ValueError(f"{path}, line {number}: {wanted}") from None
    last = max(1, int(len(found) * tests))
    if len(found) < 2:
        raise ValueError(f"{path} needs at least two tasks, one of them held out")
    return found[:-last], found[-last:]


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    source, settings = sys.argv[2], json.loads(sys.argv[3])
    sys.modules["redqueen.guests.guest_process"] = sys.modules["__main__"]  # as drivers know it
    sys.path[:] = [each for each in sys.path if each != os.path.dirname(os.path.abspath(__file__))]
    try:
        driver = _module("driver", source).load(settings)
        about = driver.about()
        with suppress(ImportError):
            import numpy  # noqa: F401  # so that its generator can be seeded
        _say(control, {"ready": about})
    except BaseException as error:
        _say(control, {"raised": _one_line(error)})
        raise
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    _serve(control, driver)
    os._exit(0)


def _serve(control: socket.socket, driver: Any) -> None:
    """Forks a child for each descriptor that comes, and says how children ended, until nobody is at the other end."""
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, 4096, 1)
        if not data:
            return
        order = json.loads(data)
        if "ended" in order:
            _say(control, {"status": _status(order["ended"])})
            continue
        child = os.fork()
        if child == 0:
            control.close()
            _visit(driver, socket.socket(fileno=descriptors[0]), order)
        os.close(descriptors[0])
        _say(control, {"child": child})


def _status(child: int) -> int:
    """How a child ended, after it was told to: its exit status, or the negative number of a signal."""
    try:
        status = os.waitpid(child, 0)[1]
    except ChildProcessError:
        return 0
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _visit(driver: Any, talk: socket.socket, order: dict[str, Any]) -> None:
    """The whole life of a child: one session, and no return."""
    os.setpgid(0, 0)  # what an environment starts ends with its visit
    with suppress(OSError, AttributeError):  # not on Linux: the child ends when its socket does
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (order["memory"], order["memory"]))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    session = None
    with talk.makefile("rb") as lines:
        for line in lines:
            asked = json.loads(line)
            signal.setitimer(signal.ITIMER_PROF, order["seconds"])
            try:
                if asked["do"] == "open":
                    _seed(asked["seed"])
                    session = driver.open(asked["task"], asked["seed"])
                    answer = {"turn": session.turn, "tools": list(session.tools)}
                else:
                    answer = _answer(session, asked)
                said = {"number": asked["number"], "answer": answer}
                data = json.dumps(said)
            except MemoryError:
                data = json.dumps({"number": asked["number"], "lost": "memory"})
            except BaseException as error:  # whatever an environment raises is told, and its visit is over
                where = traceback.extract_tb(error.__traceback__)[-1:]
                place = f" ({os.path.basename(where[0].filename)}, line {where[0].lineno})" if where else ""
                data = json.dumps({"number": asked["number"], "raised": _one_line(error) + place})
            signal.setitimer(signal.ITIMER_PROF, 0)
            talk.sendall(data.encode() + b"\n")
            if asked["do"] == "close":
                break
    os._exit(0)


def _answer(session: Any, asked: dict[str, Any]) -> Any:
    if asked["do"] == "say":
        return session.say(asked["said"])
    if asked["do"] == "call":
        return session.call(asked["tool"], asked["text"])
    if asked["do"] == "assess":
        return session.assess(asked["answer"])
    if asked["do"] == "state":
        return session.state()
    return session.close() if session is not None else None


def _seed(seed: int) -> None:
    """Seeds the generators that belong to the process."""
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)


def member(name: str) -> Any:
    """What FILE.py:Name or module:Name names. Raises ValueError for a file that is no Python."""
    place, _, found = name.rpartition(":")
    return getattr(module_of(place), found)


def module_of(place: str) -> Any:
    """The module of that name, or of a file; it goes by the file's name from now on, unless another module has it.
    Raises ValueError for a file that is no Python."""
    if not place.endswith(".py"):
        return importlib.import_module(place)
    stem = pathlib.Path(place).stem
    known = sys.modules.get(stem)
    if known is not None and getattr(known, "__file__", None) == place:
        return known
    return _module(stem if known is None else "own", place)


def _module(name: str, path: str) -> Any:
    plan = importlib.util.spec_from_file_location(name, path)
    if plan is None or plan.loader is None:
        raise ValueError(f"{path} cannot be read")
    module = importlib.util.module_from_spec(plan)
    sys.modules[name] = module
    plan.loader.exec_module(module)
    return module


def _say(control: socket.socket, data: Any) -> None:
    control.sendall(json.dumps(data).encode() + b"\n")


def _one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:500]


if __name__ == "__main__":
    main()
