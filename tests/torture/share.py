"""Kills trainings at random instants and compares what they leave with what a training leaves that nobody touched.

python tests/torture/share.py SECONDS [SEED [KIND ...]]     one share; `make torture SECONDS=600 SEED=7` calls it; a
                                                            KIND is part of a case's name, or one of the ways

Everything is imported once, in this process, what an undisturbed training imports late too; each training is a fork of
it in memory (`/dev/shm`, where there is one), so that a kill costs a fraction of a second. A share goes round all
cases. A trial takes a case (a recipe with a kind of player), disturbs its training in one way, lets it finish, and
compares metrics, records, weights, optimisers and parts with those of the undisturbed training, file by file.
The ways:

    kill         SIGKILL at a random instant, or as the n-th file is about to be opened, renamed or removed; 2 to 12
    terminate    SIGTERM at a random instant
    interrupt    SIGINT twice, the second while the first is answered
    disk         no file may grow beyond a random size
    tmpfs        the folder lies on a file system with a random number of bytes, which is then made larger
    clock        the clock jumps back and forth by up to a year between any two looks, and the training is killed too
    two          a second training of the same folder begins at a random instant: one of them is refused in one line
    guests       processes that the training has started are killed, or get no memory, at random instants

What happens in a trial follows from its seed, up to the instants, which no seed can decide. Of a training that hangs
the stacks are told. The last line is a row for docs/reliability.md; where TORTURE_LEDGER names a file it is appended
to that, and `python tests/torture/ledger.py` adds up what `ledger.jsonl` holds.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import faulthandler
import gc
import hashlib
import importlib
import itertools
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import torch
from ledger import append, shown

from redqueen.contracts.recipes import TINY, left_behind, plays_games, shrunk, small
from redqueen.runs.run import Schedule
from redqueen.runs.train import train
from redqueen.settings.finding import RECIPES, find_recipe
from redqueen.settings.roles import Role
from redqueen.types import RedQueenError

HERE = Path(__file__).parent
MEMORY = Path("/dev/shm")
WAYS = ("kill", "terminate", "interrupt", "disk", "tmpfs", "clock", "two", "guests")
OFTEN = (18, 2, 4, 2, 1, 1, 2, 1)  # how often each way is drawn
PATIENCE = 300.0  # seconds after which a training counts as hung
WRITES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate")  # and "open" for writing
FINISHED, REFUSED, STOPPED, FAILED = 0, 2, 130, 1


@dataclass(frozen=True)
class Case:
    """A training: `recipe` as `redqueen train` names it, with a config of few matches and steps."""

    name: str
    recipe: str
    config: Any

    def run(self, folder: Path) -> None:
        schedule = Schedule(evaluate_every=2, checkpoint_every=1, record_episodes=2)
        train(self.recipe, self.config, folder, seed=3, schedule=schedule)


def cases(url: str) -> list[Case]:
    """Every recipe, every recipe of games with a language model too, matches in flight, matches without rounds, a role
    behind an endpoint at `url`, steps played ahead, in a process of their own, or stepped by others, and drafts."""
    found = []
    for name in RECIPES:
        config = small(find_recipe(name), steps=4, votes=3)
        found.append(Case(name, name, config))
        if plays_games(config) and "learner" in vars(config):
            tiny = dataclasses.replace(config, learner=dataclasses.replace(config.learner, model=TINY.model))
            found.append(Case(f"{name} tiny", name, tiny))
    flow = small(find_recipe("fictitious_self_play"), steps=5)
    wordy = dataclasses.replace(flow, learner=dataclasses.replace(flow.learner, model=TINY.model))
    for staleness, (kind, config) in itertools.product((1, 2), (("", flow), ("tiny ", wordy))):
        config = dataclasses.replace(config, staleness=staleness, matches_per_step=3)
        found.append(Case(f"fictitious_self_play {kind}staleness {staleness}", "fictitious_self_play", config))
    continuous = str(HERE / "continuous.py")
    found.append(Case("continuous", continuous, find_recipe(continuous).Config()))
    zero = small(find_recipe("absolute_zero"), steps=3)
    speech = dataclasses.replace(zero.proposer.speech, max_completion_length=8)
    config = dataclasses.replace(zero, proposer=Role(f"{url}#echo", speech=speech))
    found.append(Case("absolute_zero endpoint", "absolute_zero", config))
    programs = shrunk(find_recipe("absolute_zero").Config(), learner=TINY, questions="programs", steps=3)
    found.append(Case("absolute_zero programs", "absolute_zero", programs))
    for name, staleness, placement, actors in (
        ("grpo", 1, "here", 0),
        ("grpo", 1, "process", 0),
        ("spiral", 0, "process", 0),
        ("spiral", 1, "here", 0),
        ("spiral", 0, "here", 2),
    ):
        settings = {"game": "kuhn_poker"} if name == "spiral" else {}
        config = shrunk(find_recipe(name).Config(), steps=4, learner=TINY, **settings)
        ahead = dataclasses.replace(config.ahead, staleness=staleness, placement=placement, actors=actors)
        update = dataclasses.replace(config.update, correct="tis") if staleness else config.update
        changed = dataclasses.replace(config, ahead=ahead, update=update)
        where = f"actors {actors}" if actors else placement
        found.append(Case(f"{name} ahead {staleness} {where}", name, changed))
    layered = dataclasses.replace(TINY, model="tiny:hidden=16,heads=2,layers=4", draft=0.5)
    found.append(Case("grpo draft", "grpo", shrunk(find_recipe("grpo").Config(), steps=4, learner=layered)))
    return found


def serve() -> tuple[int, str]:
    """Starts an endpoint that repeats the end of what it is asked; its process and its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Echo) as server:
        url = f"http://127.0.0.1:{server.server_port}/v1"
        process = os.fork()
        if not process:
            server.serve_forever()
    return process, url


class _Echo(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        said = str(body["messages"][-1]["content"])[-40:]
        choice = {"message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
        content = json.dumps({"choices": [choice], "usage": {}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        return None


# --- a training as a process ---------------------------------------------------------------------------------------


class Child:
    """A training in a process of its own. `before` is called in it first."""

    def __init__(self, case: Case, folder: Path, before: Callable[[], None] = lambda: None) -> None:
        self.said = folder.parent.with_name(f"{folder.parent.name}.said")  # on another disk than the folder
        self.pid = os.fork()
        if not self.pid:
            status = STOPPED  # of an interrupt that comes while the first is told of
            try:
                status = _trained(case, folder, before, self.said)
            finally:
                os._exit(status)

    def over(self) -> bool:
        """Whether it has ended; it is collected."""
        if self.pid:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid, self.status = 0, os.waitstatus_to_exitcode(status)
        return not self.pid

    def wait(self, seconds: float = PATIENCE) -> int:
        """Its exit status, negative for a signal; FAILED for one that hangs."""
        end = time.monotonic() + seconds
        while not self.over():
            if time.monotonic() > end:
                self._ask_where()
                self.send(signal.SIGKILL)
                self.wait()
                self.status = FAILED
            time.sleep(0.002)
        return self.status

    def _ask_where(self) -> None:
        """Has a training that hangs write its stacks into `said`."""
        infinite = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        with contextlib.suppress(OSError):
            resource.prlimit(self.pid, resource.RLIMIT_FSIZE, infinite)
        self.said.write_text("hung\n")
        self.send(signal.SIGUSR1)
        time.sleep(2.0)

    def send(self, number: int) -> None:
        if not self.over():
            os.kill(self.pid, number)


def _trained(case: Case, folder: Path, before: Callable[[], None], said: Path) -> int:
    try:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
        stacks = open(said, "a")  # noqa: SIM115 - as long as the process lives
        faulthandler.register(signal.SIGUSR1, file=stacks, all_threads=True)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
        warnings.simplefilter("ignore")
        before()
        case.run(folder)
        return FINISHED
    except RedQueenError as error:
        text, status = str(error), REFUSED
    except KeyboardInterrupt:
        text, status = "interrupted", STOPPED
    except BaseException:
        text, status = traceback.format_exc(), FAILED
    with contextlib.suppress(OSError):
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        said.write_text(text)
    return status


def digests(folder: Path) -> dict[str, str]:
    """A hash of each thing that a finished training left."""
    found = left_behind(SimpleNamespace(folder=folder))  # type: ignore[arg-type]
    return {name: hashlib.sha256(repr(value).encode()).hexdigest() for name, value in found.items()}


# --- ways to disturb it --------------------------------------------------------------------------------------------


def at_file(number: int) -> Callable[[], None]:
    """Kills the process as it is about to open for writing, rename, make or remove its `number`-th file."""
    left = [number]

    def heard(event: str, words: tuple[Any, ...]) -> None:
        if writes(event, words):
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)

    return lambda: sys.addaudithook(heard)


def writes(event: str, words: tuple[Any, ...]) -> bool:
    """Whether an event that is audited is about to change a file."""
    opens = event == "open" and isinstance(words[2], int) and words[2] & (os.O_WRONLY | os.O_RDWR)
    return event in WRITES or bool(opens)


def limited(size: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def jumping(seed: int) -> Callable[[], None]:
    """Makes the clock jump by up to a year at every look."""
    random, real = Random(seed), time.time

    def begin() -> None:
        time.time = lambda: real() + random.uniform(-3e7, 3e7)

    return begin


def descendants(pid: int) -> list[int]:
    """The processes that a process has started, and theirs."""
    found = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += [int(each) for each in (task / "children").read_text().split()]
    return [each for child in found for each in (child, *descendants(child))]


class Trial:
    """One training that is disturbed until it has finished. `wrong` says what went wrong: nothing, if all is well."""

    def __init__(self, case: Case, whole: Whole, place: Path, random: Random) -> None:
        self.case, self.whole, self.random = case, whole, random
        self.folder = place / "run"
        self.wrong: list[str] = []
        self.counts: Counter[str] = Counter()

    def instant(self) -> float:
        return self.random.uniform(0.0, self.whole.seconds)

    def done(self, child: Child, allowed: tuple[int, ...] = (FINISHED,)) -> int:
        """Waits for a training, which may end only so."""
        status = child.wait()
        if status not in allowed:
            said = child.said.read_text() if child.said.exists() else ""
            self.wrong.append(f"ended with {status}: {said[-1500:]}")
        elif status == REFUSED and "\n" in child.said.read_text().strip():
            self.wrong.append(f"not one line: {child.said.read_text()[:500]}")
        return status

    def disturb(self, way: str) -> None:
        for _ in range(self.random.choice((2, 4, 8, 12) if way == "kill" else (1, 1, 2, 4))):
            if self.wrong or getattr(self, way)() == FINISHED:
                return

    def kill(self) -> int:
        at_a_file = self.random.random() < 0.5
        part = self.random.choice((1.0, 0.5, 0.25))  # what is gone on with takes less than a whole training
        number = self.random.randrange(1, int(part * self.whole.writes) + 1)
        child = Child(self.case, self.folder, at_file(number) if at_a_file else lambda: None)
        if not at_a_file:
            time.sleep(part * self.instant())
            child.send(signal.SIGKILL)
        status = self.done(child, (FINISHED, -signal.SIGKILL))
        self.counts["kill"] += status != FINISHED
        return status

    def terminate(self) -> int:
        child = Child(self.case, self.folder)
        time.sleep(self.instant())
        child.send(signal.SIGTERM)
        status = self.done(child, (FINISHED, -signal.SIGTERM))
        self.counts["terminate"] += status != FINISHED
        return status

    def interrupt(self) -> int:
        child = Child(self.case, self.folder)
        time.sleep(self.instant())
        child.send(signal.SIGINT)
        time.sleep(self.random.choice((0.0, 0.001, 0.01, 0.05)))
        child.send(signal.SIGINT)
        # the second may come while Python already ends: it dies by it, or says with which error
        status = self.done(child, (FINISHED, STOPPED, FAILED, -signal.SIGINT))
        said = child.said.read_text() if child.said.exists() else ""
        if status == FAILED and "KeyboardInterrupt" not in said:
            self.wrong.append(f"interrupted: {said[-1500:]}")
        self.counts["interrupt"] += status != FINISHED
        return status

    def disk(self) -> int:
        child = Child(self.case, self.folder, limited(int(10 ** self.random.uniform(0.5, 5.5))))
        status = self.done(child, (FINISHED, REFUSED))
        self.counts["disk"] += status == REFUSED
        return status

    def clock(self) -> int:
        child = Child(self.case, self.folder, jumping(self.random.getrandbits(32)))
        if self.random.random() < 0.5:
            time.sleep(self.instant())
            child.send(signal.SIGKILL)
        self.counts["clock"] += 1
        return self.done(child, (FINISHED, -signal.SIGKILL))

    def two(self) -> int:
        first = Child(self.case, self.folder)
        time.sleep(self.instant())
        second = Child(self.case, self.folder)
        statuses = [self.done(each, (FINISHED, REFUSED)) for each in (first, second)]
        if FINISHED not in statuses:
            self.wrong.append("both were refused")
        self.counts["two"] += REFUSED in statuses
        return FINISHED

    def guests(self) -> int:
        child = Child(self.case, self.folder)
        end = time.monotonic() + self.instant()
        while not child.over() and time.monotonic() < end:
            for guest in descendants(child.pid)[:8]:
                with contextlib.suppress(OSError, ValueError):
                    if self.random.random() < 0.5:
                        os.kill(guest, signal.SIGKILL)
                    else:
                        resource.prlimit(guest, resource.RLIMIT_AS, (1 << 20, 1 << 20))
                    self.counts["guests"] += 1
            time.sleep(self.random.uniform(0.0, 0.2))
        return self.done(child, (FINISHED, REFUSED))

    def finish(self) -> None:
        """Lets it go on to its end and compares."""
        expected = self.whole.hashes
        if not self.wrong:
            self.done(Child(self.case, self.folder))
        if not self.wrong:
            found = digests(self.folder)
            self.wrong += [f"{name} differs" for name in {**expected, **found} if expected.get(name) != found.get(name)]


def on_a_small_disk(trial: Trial) -> None:
    """The trial in a process of its own, on a file system that is too small for it and is then made larger; nothing
    where this process may not mount one."""
    kilobytes = int(10 ** trial.random.uniform(0.5, 3.0))
    read, write = os.pipe()
    process = os.fork()
    if not process:
        with contextlib.suppress(BaseException):
            if mounted(trial.folder.parent, kilobytes):
                status = trial.done(Child(trial.case, trial.folder), (FINISHED, REFUSED))
                trial.counts["tmpfs"] += status == REFUSED
                mounted(trial.folder.parent, 1 << 20, again=True)
                trial.finish()
            else:
                trial.counts["tmpfs, not allowed to mount"] += 1
            os.write(write, json.dumps([trial.wrong, trial.counts]).encode()[:60_000])
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read()
    os.waitpid(process, 0)
    trial.wrong, counts = json.loads(said) if said else (["the process on the small disk died"], {})
    trial.counts = Counter(counts)


def mounted(place: Path, kilobytes: int, again: bool = False) -> bool:
    """Whether a file system of this size now lies at a place, seen by this process and those it starts alone."""
    libc = ctypes.CDLL(None, use_errno=True)
    new_namespace, private, recursive, remount = 0x00020000, 1 << 18, 1 << 14, 32
    options = f"size={kilobytes}k".encode()
    if again:
        return not libc.mount(b"none", str(place).encode(), b"tmpfs", remount, options)
    return not (
        libc.unshare(new_namespace)
        or libc.mount(b"none", b"/", None, recursive | private, None)
        or libc.mount(b"none", str(place).encode(), b"tmpfs", 0, options)
    )


# --- a share -------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def own_folder() -> Iterator[Path]:
    """A folder for everything, in which the user's trust list lies too."""
    with tempfile.TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as place:
        os.environ["XDG_CONFIG_HOME"] = f"{place}/config"
        yield Path(place)


def share(seconds: float, seed: int, kinds: list[str]) -> int:
    """Runs trials for so long and prints what went wrong; returns how many trials did."""
    torch.set_num_threads(1)
    assert threading.active_count() == 1, "a process with threads is not forked"
    random, end = Random(seed), time.monotonic() + seconds
    server, url = serve()
    known: dict[str, Whole] = {}
    broken: set[str] = set()
    counts: Counter[str] = Counter()
    trials, wrong = 0, 0
    try:
        with own_folder() as place:
            named = [kind for kind in kinds if kind not in WAYS]
            chosen = [case for case in cases(url) if not named or any(kind in case.name for kind in named)]
            ways = {
                way: often for way, often in zip(WAYS, OFTEN, strict=True) if way in kinds or not {*kinds} & {*WAYS}
            }
            random.shuffle(chosen)
            for case in itertools.cycle(chosen):
                if time.monotonic() > end:
                    break
                if case.name in broken:
                    continue
                if case.name not in known:
                    try:
                        known[case.name] = undisturbed(case, place / "whole" / "run")
                    except Broken as error:
                        broken.add(case.name)
                        wrong += 1
                        print(f"seed {seed}, {error}", flush=True)
                        continue
                here = place / f"trial_{trials}"
                here.mkdir()
                way = random.choices([*ways], [*ways.values()])[0]
                trial = Trial(case, known[case.name], here, Random(random.getrandbits(64)))
                if way == "tmpfs":
                    on_a_small_disk(trial)
                else:
                    trial.disturb(way)
                    trial.finish()
                trials, wrong, counts = trials + 1, wrong + bool(trial.wrong), counts + trial.counts
                if trial.wrong:
                    print(f"seed {seed}, trial {trials - 1}, {case.name}, {way}: {trial.wrong}", flush=True)
                    kept = Path(os.environ.get("TORTURE_KEEP", "/nowhere"))
                    if kept.is_dir():
                        shutil.copytree(here, kept / f"{seed}_{trials - 1}", symlinks=True, dirs_exist_ok=True)
                shutil.rmtree(here)
    finally:
        os.kill(server, signal.SIGKILL)
        os.waitpid(server, 0)
    order = (*WAYS, *sorted(set(counts) - {*WAYS}))
    done = {name: counts[name] for name in order if counts[name]}
    row = {"what": "trainings", "seed": seed, "seconds": seconds, "cases": len(known), "trials": trials, "wrong": wrong}
    append(row | {"done": done, "names": sorted(known)})
    print(shown(row | {"done": done}))
    return wrong


@dataclass(frozen=True)
class Whole:
    """A training that nobody disturbed: how long it takes, how often it writes, and the hashes of what it leaves."""

    seconds: float
    writes: int
    hashes: dict[str, str]


@dataclass(frozen=True)
class Watched(Case):
    """A training that says how often it has written and what it has imported."""

    def run(self, folder: Path) -> None:
        count, before = [0], {*sys.modules}

        def heard(event: str, words: tuple[Any, ...]) -> None:
            count[0] += writes(event, words)

        sys.addaudithook(heard)
        super().run(folder)
        told = [count[0], [name for name in sys.modules if name not in before]]
        folder.with_suffix(".told").write_text(json.dumps(told))


class Broken(Exception):
    """A training that does not come to its end although nobody disturbs it."""


def undisturbed(case: Case, folder: Path) -> Whole:
    """The training that nobody disturbs. What it had to import is imported here, for all that are forked later.
    Raises Broken."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(exist_ok=True)
    began = time.monotonic()
    child = Child(Watched(case.name, case.recipe, case.config), folder)
    if child.wait() != FINISHED:
        raise Broken(f"{case.name} does not train undisturbed: {child.said.read_text()}")
    seconds = time.monotonic() - began
    count, names = json.loads(folder.with_suffix(".told").read_text())
    hashes = digests(folder)
    shutil.rmtree(folder)
    if names:
        for name in names:
            with contextlib.suppress(BaseException):
                importlib.import_module(name)
        assert threading.active_count() == 1, "a process with threads is not forked"
        gc.freeze()
        began = time.monotonic()  # once more, now that everything is imported
        child = Child(case, folder)
        child.wait()
        seconds = time.monotonic() - began
    return Whole(seconds, count, hashes)


if __name__ == "__main__":
    words = sys.argv[1:]
    raise SystemExit(share(float(words[0]), int(words[1]) if len(words) > 1 else 0, words[2:]) > 0)
