"""How long the same work takes in two trees of this repository, in turns, in one run.

python experiments/speed/_two_trees.py OLD NEW [ROUNDS [WORK ...]]     two checkouts; steps, verdicts, replies

Each round starts a process in each tree, which is told where to import from. Of each kind of work it prints medians of
wall and processor time, its own and that of the processes it has started, and the mean ratio (of logarithms, round by
round) with Student's interval.
The kinds: steps of `absolute_zero` with a tiny model that writes programs, verdicts of programs in Monty and in the
jail, and replies of an endpoint on loopback.
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
from contextlib import contextmanager
from math import exp, log
from pathlib import Path
from random import Random
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median

STEPS, PROGRAMS, JAILED, REPLIES = 6, 4000, 300, 600
SOURCE = "def f(x):\n    return x * 2 + {number}\n"
Found = dict[str, list[float]]  # of each kind of work, wall and processor seconds


def processor() -> float:
    children = getrusage(RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


@contextmanager
def timed(found: Found, kind: str) -> Iterator[None]:
    wall, spent = time.perf_counter(), processor()
    yield
    found[kind] = [time.perf_counter() - wall, processor() - spent]


def steps(found: Found) -> None:
    from redqueen.contracts.recipes import TINY, shrunk
    from redqueen.runs.train import train
    from redqueen.settings.finding import find_recipe

    for count, kind in ((1, ""), (STEPS, f"absolute_zero, {STEPS} steps")):
        config = shrunk(find_recipe("absolute_zero").Config(), learner=TINY, questions="programs", steps=count)
        with tempfile.TemporaryDirectory() as folder, timed(found, kind):
            train("absolute_zero", config, Path(folder) / "run", seed=1)


def verdicts(found: Found) -> None:
    from redqueen.checks.sandbox.jail import Jail
    from redqueen.checks.sandbox.monty import Monty
    from redqueen.checks.sandbox.runs_of_programs import Program

    for place, much in ((Monty, PROGRAMS), (Jail, JAILED)):
        name, began = place.__name__, []
        for count in (1, 1 + much):
            programs = [Program(SOURCE.format(number=number), "f", (3,)) for number in range(count)]
            with timed(found, f"{name}, a worker's start and {count} program"), place(workers=1) as tier:
                assert all(each.value == str(6 + number) for number, each in enumerate(tier.run(programs)))
            began.append(found[f"{name}, a worker's start and {count} program"])
        found.pop(f"{name}, a worker's start and {1 + much} program")
        found[f"{name}, {much} further programs"] = [whole - one for one, whole in zip(*began, strict=True)]


def replies(found: Found) -> None:
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
        asks = [Ask(Seat("first"), (Message("system", f"say {n}"),), seed=n) for n in range(REPLIES)]
        try:
            player.reply(asks[:20])
            with timed(found, f"endpoint, {REPLIES} replies"):
                assert len(player.reply(asks)) == REPLIES
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


WORKS: dict[str, Callable[[Found], None]] = {"steps": steps, "verdicts": verdicts, "replies": replies}


def once(tree: str, works: tuple[str, ...]) -> Found:
    """What a process in a tree measures of these works, of all where none is named."""
    with tempfile.TemporaryDirectory() as place:
        own = {"PYTHONPATH": tree, "OMP_NUM_THREADS": "1", "XDG_CONFIG_HOME": place, "PYTHONWARNINGS": "ignore"}
        words = [sys.executable, __file__, "--within", tree, *works]
        done = subprocess.run(words, env={**os.environ, **own}, cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found: Found = json.loads(done.stdout.splitlines()[-1])
    return found


def within(tree: str, works: list[str]) -> None:
    import redqueen

    assert Path(redqueen.__file__).is_relative_to(Path(tree).resolve()), f"{redqueen.__file__} is not of {tree}"
    found: Found = {}
    for name in works or WORKS:
        WORKS[name](found)
    found.pop("", None)
    print(json.dumps(found))


def main(old: str, new: str, rounds: int = 6, *works: str) -> None:
    measured: dict[str, list[Found]] = {old: [], new: []}
    for number in range(rounds):
        for tree in Random(number).sample([old, new], 2):
            measured[tree].append(once(tree, works))
            print(tree, json.dumps(measured[tree][-1]), file=sys.stderr, flush=True)
    told(measured[old], measured[new])


def told(old: Sequence[Found], new: Sequence[Found]) -> None:
    """Prints the table of what was measured in rounds."""
    from redqueen.measures.intervals import student_interval

    print(f"{len(new)} rounds\n\n| work | old: wall, processor | new: wall, processor | new / old, wall | processor |")
    print("|---|---|---|---|---|")
    for kind in new[0]:
        cells = [", ".join(f"{median(each[kind][n] for each in tree):.2f} s" for n in (0, 1)) for tree in (old, new)]
        for n in (0, 1):
            ratios = [log(mine[kind][n] / theirs[kind][n]) for mine, theirs in zip(new, old, strict=True)]
            found = student_interval(ratios)
            cells.append(f"{exp(found.mean):.3f} [{exp(found.low):.3f}, {exp(found.high):.3f}]")
        print(f"| {kind} | {' | '.join(cells)} |")


if __name__ == "__main__":
    first, second, *rest = sys.argv[1:]
    if first == "--within":
        within(second, rest)
    else:
        main(first, second, int(rest[0]) if rest else 6, *rest[1:])
