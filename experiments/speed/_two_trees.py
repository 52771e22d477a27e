"""How long the same work takes in two trees of this repository, in turns, in one run.

python experiments/speed/_two_trees.py OLD NEW [ROUNDS [WORK ...]]     two checkouts; the works are those below

Each round starts a process in each tree, which is told where to import from. The two then take turns at portions of a
fraction of a second, one waits while the other works, so that a machine that is faster now and slower then is so for
both. Of each work it prints medians over the rounds of wall and processor time, its own and that of the processes that
it has started, and the mean ratio (of logarithms, round by round) with Student's interval.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from math import exp, log
from pathlib import Path
from random import Random
from statistics import median

PORTIONS = 12  # of a round, after one that is not counted
SOURCE = "def f(x):\n    return x * 2 + {number}\n"
Times = tuple[float, float]  # seconds of wall and of processor


def steps() -> Iterator[None]:
    """Trainings of two steps of `absolute_zero`, with a tiny model that writes programs."""
    from redqueen.contracts.recipes import TINY, shrunk
    from redqueen.runs.train import train
    from redqueen.settings.finding import find_recipe

    config = shrunk(find_recipe("absolute_zero").Config(), learner=TINY, questions="programs", steps=2)
    while True:
        with tempfile.TemporaryDirectory() as folder:
            train("absolute_zero", config, Path(folder) / "run", seed=1)
        yield


def starts(where: str) -> Iterator[None]:
    """A worker's start and its first program."""
    while True:
        with _place(where)(workers=1) as tier:
            _run(tier, 1)
        yield


def verdicts(where: str, count: int) -> Iterator[None]:
    """So many programs, in a worker that has started."""
    with _place(where)(workers=1) as tier:
        while True:
            _run(tier, count)
            yield


def _place(where: str):  # type: ignore[no-untyped-def]  # the class as the tree at hand has it
    from redqueen.checks.sandbox.jail import Jail
    from redqueen.checks.sandbox.monty import Monty

    return {"jail": Jail, "monty": Monty}[where]


def _run(tier, count: int) -> None:  # type: ignore[no-untyped-def]
    from redqueen.checks.sandbox.runs_of_programs import Program

    programs = [Program(SOURCE.format(number=number), "f", (3,)) for number in range(count)]
    assert all(each.value == str(6 + number) for number, each in enumerate(tier.run(programs)))


def replies() -> Iterator[None]:
    """Replies of an endpoint on loopback, each of 2,000 characters."""
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    from redqueen.players.endpoint import Server
    from redqueen.types import Ask, Message, Seat

    class Echo(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            choice = {"message": {"role": "assistant", "content": "so it is " * 200}, "finish_reason": "stop"}
            content = json.dumps({"choices": [choice], "usage": {}}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *words: object) -> None:
            return None

    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        pid = os.fork()
        if not pid:
            server.serve_forever()
        player = Server("echo", f"http://127.0.0.1:{server.server_port}/v1")
        asks = [Ask(Seat("first"), (Message("system", f"say {n}"),), seed=n) for n in range(60)]
        try:
            while True:
                assert len(player.reply(asks)) == len(asks)
                yield
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


WORKS: dict[str, Callable[[], Iterator[None]]] = {
    "absolute_zero, 24 steps": steps,
    "Monty, 4,800 programs": lambda: verdicts("monty", 400),
    "Monty, 12 starts": lambda: starts("monty"),
    "Jail, 360 programs": lambda: verdicts("jail", 30),
    "Jail, 12 starts": lambda: starts("jail"),
    "endpoint, 720 replies": replies,
}


class Side:
    """A process in a tree that does one work, a portion at a time."""

    def __init__(self, tree: str, work: str, place: str) -> None:
        own = {"PYTHONPATH": tree, "OMP_NUM_THREADS": "1", "XDG_CONFIG_HOME": place, "PYTHONWARNINGS": "ignore"}
        words = [sys.executable, __file__, "--within", tree, work]
        self._process = subprocess.Popen(
            words, env={**os.environ, **own}, cwd=place, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._wall = 0.0
        self.portion()
        self._before, self._wall = self.portion(), 0.0

    def portion(self) -> float:
        """Has it do a portion; seconds of processor that it has taken since it began."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        began = time.perf_counter()
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        while not (line := self._process.stdout.readline()).startswith("spent "):
            assert line, "it has ended"
        self._wall += time.perf_counter() - began
        self._spent = float(line.split()[1])
        return self._spent

    def close(self) -> Times:
        """Ends it; what its portions took."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait() == 0
        return self._wall, self._spent - self._before


def within(tree: str, work: str) -> None:
    """A side, from within."""
    import redqueen

    assert Path(redqueen.__file__).is_relative_to(Path(tree).resolve()), f"{redqueen.__file__} is not of {tree}"
    portions = WORKS[work]()
    for _ in sys.stdin:
        next(portions)
        print("spent", spent(), flush=True)
    portions.close()  # type: ignore[attr-defined]  # these are generators


def spent() -> float:
    """Seconds of processor of this process and all that it has started, those that ended too."""
    fields = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields[int(file.parent.name)] = file.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
    total, todo = 0, [os.getpid()]
    while todo:
        pid = todo.pop()
        total += sum(map(int, fields[pid][11:15]))
        todo += [other for other, each in fields.items() if int(each[1]) == pid]
    return total / os.sysconf("SC_CLK_TCK")


def main(old: str, new: str, rounds: int = 12, *works: str) -> None:
    print(f"{rounds} rounds of {PORTIONS} portions in turns\n")
    print("| work | old: wall, processor | new: wall, processor | new / old, wall | processor |\n|---|---|---|---|---|")
    for work in works or WORKS:
        measured: dict[str, list[Times]] = {old: [], new: []}
        for number in range(rounds):
            with tempfile.TemporaryDirectory() as place:
                sides = {tree: Side(tree, work, place) for tree in Random(number).sample([old, new], 2)}
                for _ in range(PORTIONS):
                    for side in sides.values():
                        side.portion()
                for tree, side in sides.items():
                    measured[tree].append(side.close())
            print(work, measured[old][-1], measured[new][-1], file=sys.stderr, flush=True)
        told(work, measured[old], measured[new])


def told(work: str, old: Sequence[Times], new: Sequence[Times]) -> None:
    """Prints a row."""
    from redqueen.measures.intervals import student_interval

    cells = [", ".join(f"{median(each[n] for each in tree):.2f} s" for n in (0, 1)) for tree in (old, new)]
    for n in (0, 1):
        found = student_interval([log(mine[n] / theirs[n]) for mine, theirs in zip(new, old, strict=True)])
        cells.append(f"{exp(found.mean):.3f} [{exp(found.low):.3f}, {exp(found.high):.3f}]")
    print(f"| {work} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    first, second, *rest = sys.argv[1:]
    if first == "--within":
        within(second, rest[0])
    else:
        main(first, second, int(rest[0]) if rest else 12, *rest[1:])
