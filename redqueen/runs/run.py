"""One training run: its folder, its steps, its checkpoints, and how it goes on after being killed.

    for _ in run.steps(400, policies=[learner], parts=[opponents], measures=measures):
        ...play, score, estimate, pack, update...
        run.report(learner, trajectories, advantages, metrics)

All chance of a step comes from `run.rng`, which is derived from (run seed, step) and not carried
from step to step. So a run that is killed at any moment and resumed from its last checkpoint makes
the same weights, metrics and records as one that was not.

The folder: `config.json`, `metrics.jsonl` (a line a step), `episodes/step_N.jsonl`,
`checkpoints/step_N/` (the state after N updates), `final.json` once the run is over, `error.txt` where
an error ended it; `measures.json`: what its figures rest on; `TITLE.txt` for what a
recipe shows before its first step, `first_replies.txt` for ten replies of the first measurement, `first_replies.json`
and `last_replies.json` for some of the first and the last one to the same questions, `NAME.json` for a table that it
keeps.
"""

from __future__ import annotations

import fcntl
import gc
import json
import os
import platform
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from random import Random
from shlex import quote
from typing import Any, Protocol

import numpy as np
import torch

from redqueen.chance import derive
from redqueen.credit.rewards import has_verdict, with_verdict
from redqueen.markup import run_as_html
from redqueen.measures.accuracy import ATTEMPTS
from redqueen.play.table import told_of_episodes
from redqueen.progress import counted
from redqueen.protocols import (
    AttemptsProblems,
    LimitsReplies,
    Measure,
    Paced,
    Player,
    Policy,
    Resumable,
    Settles,
    ShowsReplies,
    StatesAlarms,
    StatesBasis,
    StatesFormat,
    has,
    shaped,
)
from redqueen.records import episode_line, plain
from redqueen.runs.checkpoints import (
    best_checkpoints,
    best_name,
    changed_files,
    check,
    checkpoints,
    clear,
    facts_of,
    fitting,
    is_number,
    read_checkpoint,
    remove,
    saving,
    write_checkpoint,
)
from redqueen.runs.collapse import Collapse, Watch
from redqueen.runs.samples import FORMS, Samples, rested
from redqueen.runs.signal import SHOWN, Signal
from redqueen.trust.disks import told
from redqueen.trust.door import remember
from redqueen.trust.no_links import appended, remove_file, write_whole
from redqueen.trust.reading import as_object, read_bytes, read_json, read_text, within
from redqueen.types import Basis, Damaged, Mean, Metrics, NonFiniteLoss, RedQueenError, Trajectory, Unreachable

LEARNER = "learner"  # the policy whose figures keep their names
ERROR = "error.txt"  # why a run ended before its last step, unless it was killed
INTERRUPTED = "interrupted from the keyboard"
TERMINATED = "interrupted by SIGTERM"
LOCK = ".lock"  # in the folder of a run, held while it is trained

MOST_STEPS = 1 << 40
LINE = {
    "step": int,
    "time?": {...: (int, float)},
    "alarms?": [str],
    "stopped?": str,
    "samples?": {...: [int]},
    "rests_on?": {...: int},
}
Line = dict[str, Any]  # one line of metrics.jsonl; what differs between equal runs is under "time"


class Watcher(Protocol):
    """Looks at a run without being part of it."""

    def begin(self, run: Run, start: int, count: int) -> None: ...
    def step(self, line: Line) -> None: ...
    def end(self, run: Run) -> None: ...


class ShowsTexts(Watcher, Protocol):
    """A watcher that prints texts."""

    def show(self, title: str, text: str) -> None: ...


@dataclass(frozen=True)
class Schedule:
    """How often a run does what is not training."""

    evaluate_every: int = 5  # steps between measurements; the first and the last step are always measured
    checkpoint_every: int = 25
    keep_checkpoints: int = 2
    record_episodes: int = 8  # episodes kept of each step
    test_attempts: int = ATTEMPTS  # at each held-out problem, in a measurement
    test_replies: int = 0
    """of a measure at most: first fewer attempts at each held-out problem, then fewer problems of each level; 0: no
    limit"""

    def __post_init__(self) -> None:
        least = {
            "evaluate_every": 1,
            "test_attempts": 1,
            "test_replies": 0,
            "checkpoint_every": 1,
            "keep_checkpoints": 1,
            "record_episodes": 0,
        }
        for name, smallest in least.items():
            if getattr(self, name) < smallest:
                flag = "--" + name.replace("_", "-")
                raise RedQueenError(f"{flag} must be at least {smallest}, not {getattr(self, name)}")


class Run:
    """See the module. A folder that already holds checkpoints is continued, not overwritten."""

    def __init__(
        self,
        folder: Path,
        seed: int = 0,
        schedule: Schedule = Schedule(),
        watchers: Sequence[Watcher] = (),
        watch: Watch = Watch(),
        tests: int = 0,
    ) -> None:
        self.folder = folder
        self.seed = seed
        self.tests = tests  # the seed by which held-out problems are dealt: that of the run, for `redqueen train`
        self.schedule = schedule
        self.watchers = list(watchers)
        self.step = 0
        self.rng = Random(derive(seed, "step", 0))
        self.shown: dict[str, str] = {}
        self.collapse = Collapse(watch)
        self.signal = Signal()
        self.samples = Samples()
        self.began = False
        self.policies: Sequence[Policy] = ()  # those that it trains, once `steps` has named them
        self.parts: Sequence[Resumable] = ()  # what else a checkpoint holds, likewise
        self.identity = ""  # a digest of the settings, where they are known: a checkpoint of others does not fit
        self.files: Mapping[str, str] = {}  # digests of the files that its settings name, where they are known
        self.stopped = ""  # why the run ended before its last step
        self.leaving = ""  # why it is to end with the step it is in, which is saved: `leave`
        self._in_step = False
        self.measuring = False  # whether what is played now is for a measurement
        self._line: Line = {}

    def leave(self, why: str) -> bool:
        """Asks the run to end with the step it is in: it is finished and saved, then KeyboardInterrupt(why) is raised.
        False where it is in no step, or was asked before; then nothing is changed."""
        if not self._in_step or self.leaving:
            return False
        self.leaving = why
        return True

    def derived(self, *path: int | str) -> int:
        """A seed for something outside the steps: weights, adapters."""
        return derive(self.seed, *path)

    def rng_of(self, step: int) -> Random:
        """The generator with which a step began."""
        return Random(derive(self.seed, "step", step))

    def show(self, title: str, text: str) -> None:
        """Something to read before the first step, such as a table of pay-offs: it is printed by the watchers that
        print, and written to `TITLE.txt`. After the first step it is too late."""
        assert not self._line, "what a run shows is said before its first step"
        self.shown[title] = text

    def steps(
        self,
        count: int,
        policies: Sequence[Policy],
        parts: Sequence[Resumable] = (),
        measures: Sequence[Measure] = (),
    ) -> Iterator[int]:
        """The numbers of the steps still to do. Before the first, everything that is named here takes
        back what the newest checkpoint holds; between steps, it is measured and saved."""
        assert len({policy.name for policy in policies}) == len(policies), "policies of a run need names of their own"
        if count < 1:
            raise RedQueenError(f"a run needs at least one step, not {count}")
        resumable = [*parts, *measures]
        for each in resumable:
            if not has(each, Resumable):
                raise RedQueenError(
                    f"{type(each).__name__} has no state() and restore(state): a part that keeps nothing between steps "
                    "is not named in run.steps"
                )
        self._sample(measures)
        with saving(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        with held(self.folder), told_of_episodes(self.samples.take):
            yield from self._steps(count, policies, resumable, measures)

    def _sample(self, measures: Sequence[Measure]) -> None:
        """Says how often held-out problems are attempted, and how many replies a measurement has at most."""
        attempted = [each for each in measures if has(each, AttemptsProblems)]
        if not attempted and self.schedule.test_attempts != ATTEMPTS:
            raise RedQueenError("--test-attempts has no effect: nothing here is attempted to measure it; leave it out")
        for each in attempted:
            each.sample(self.schedule.test_attempts)
        for limited in measures:
            if has(limited, LimitsReplies):
                limited.limit(self.schedule.test_replies)

    def _steps(
        self, count: int, policies: Sequence[Policy], resumable: Sequence[Resumable], measures: Sequence[Measure]
    ) -> Iterator[int]:
        self.policies, self.parts = policies, resumable
        start = self._resume(policies, resumable)
        _pace(policies, start, count)
        if start < count:
            with saving(self.folder):
                for name in ("final.json", ERROR):  # of an end that was not the last
                    remove_file(self.folder, name)
        for watcher in self.watchers:  # the first writes config.json, without which a folder is no run
            watcher.begin(self, start, count)
        if bases := {name: asdict(each) for name, each in bases_of_measures(measures).items()}:
            self.keep("measures", bases)
        for title, text in self.shown.items():
            with saving(self.folder):
                write_whole(self.folder, f"{title}.txt", text + "\n")
        self.began = True
        reached = count
        with _loaded_things_set_aside():
            for step in range(start, count):
                self.step, self._in_step = step, True
                self.rng = self.rng_of(step)
                began = time.perf_counter()
                before, self._line = self._line, {"step": step}
                versions = [policy.version for policy in policies]
                _pace(policies, step, count)
                for policy in policies:
                    policy.forget()
                if step % self.schedule.evaluate_every == 0:
                    for going in resumable:
                        if has(going, Settles):
                            going.settle()  # what measures may use the same games and tools
                    self.measuring = True
                    self._measure(measures)
                    if step == 0:
                        self._show_replies(measures)
                        self._keep_replies("first", measures)
                    self.measuring = False
                    if self.collapse.measured(before | self._line) and self.collapse.watch.keeps_best:
                        self._save(step, policies, resumable, "best")
                    for policy in policies:
                        policy.forget()  # a step is the same whether or not it was measured before
                measured = time.perf_counter()
                yield step
                ended = time.perf_counter()
                spent = {"step": ended - began, "measure": measured - began}
                self._line["time"] = {**spent, "at": time.time(), "gigabytes": _gigabytes()}
                updated = versions != [policy.version for policy in policies]
                names = [policy.name for policy in policies]
                unused = self.samples.unused(names, SHOWN)
                self._line["samples"] = self.samples.close(names)
                self._line |= self.collapse.check(self._line) | self.signal.check(self._line, updated, unused)
                self._line |= _rung([*resumable, self.collapse, self.signal]) | self.signal.shown()
                self.stopped = self._answer(policies, resumable)
                self._write(self._line)
                last = step + 1 == count or bool(self.stopped or self.leaving)
                if (step + 1) % self.schedule.checkpoint_every == 0 or last:
                    self._save(step + 1, policies, resumable)
                self._in_step = False
                if self.leaving:
                    raise KeyboardInterrupt(self.leaving)
                if self.stopped:
                    reached = step + 1
                    break
        self._finish(reached, measures)

    def report(
        self,
        policy: Player,
        trajectories: Sequence[Trajectory],
        advantages: Sequence[np.ndarray],
        metrics: Metrics,
        role: str = "",
    ) -> None:
        """Records one update of `policy`: what it was made of, and the `metrics` that the update returned.

        The figures of the policy called "learner" keep their names (`loss`, `reward/solver`), those of every other
        policy stand under its name (`proposer/loss`), however many policies learn. A recipe that updates one policy on
        each of its roles in turn names the `role`, under which they stand then (`solver/loss`)."""
        above = role or ("" if policy.name == LEARNER else policy.name)
        found = rested(summary(trajectories) | metrics, trajectories)
        self.note({f"{above}/{key}": value for key, value in found.items()} if above else found)
        self.samples.use(trajectories, advantages)
        asked_for = policy.asked_for if has(policy, StatesFormat) else None
        self.signal.observe(trajectories, advantages, metrics, above, asked_for)
        self._record(trajectories, advantages)

    def keep(self, name: str, table: Mapping[str, Any]) -> None:
        """Something to look at that grows with the run, such as a payoff matrix: `NAME.json`, each time anew."""
        with saving(self.folder):
            write_whole(self.folder, f"{name}.json", json.dumps(plain(table)) + "\n")

    def note(self, metrics: Metrics) -> None:
        """Adds figures to this step, and of those that are a `Mean` how many samples they rest on. Raises RedQueenError
        for one that the step already has."""
        for name in metrics:
            if name in self._line:
                raise RedQueenError(f"step {self.step} has two figures {name!r}: give one of them another name")
        self._line |= metrics
        self._rest({name: value.count for name, value in metrics.items() if isinstance(value, Mean)})

    def _rest(self, counts: Mapping[str, int]) -> None:
        if counts:
            self._line["rests_on"] = {**self._line.get("rests_on", {}), **counts}

    def _repr_html_(self) -> str:
        """How a notebook shows it; `redqueen.views.notebook.show_run` shows its report."""
        curves: dict[str, list[float]] = {}
        lines = [*read_metrics(self.folder), *filter(None, [read_final(self.folder)])]
        for line in lines:
            for name, value in numbers(line).items():
                curves.setdefault(name, []).append(value)
        return run_as_html(f"{self.folder}, seed {self.seed}, step {lines[-1]['step'] if lines else 0}", curves)

    def _measure(self, measures: Sequence[Measure]) -> None:
        self.samples.measuring = True
        for measure in counted("measurements" if len(measures) > 1 else "measuring", measures):
            self.note(measure())
        self.samples.measuring = False

    def _show_replies(self, measures: Sequence[Measure]) -> None:
        """Prints the replies that measures have to show, and writes them to `first_replies.txt`."""
        texts = [measure.first_replies() for measure in measures if has(measure, ShowsReplies)]
        if text := "\n\n".join(filter(None, texts)):
            with saving(self.folder):
                write_whole(self.folder, "first_replies.txt", text + "\n")
            for watcher in self.watchers:
                if has(watcher, ShowsTexts):
                    watcher.show("first replies", text)

    def _keep_replies(self, which: str, measures: Sequence[Measure]) -> None:
        """Writes a few replies of a measurement to `first_replies.json` or `last_replies.json`, to look at."""
        kept = [reply for measure in measures if has(measure, ShowsReplies) for reply in measure.latest_replies()]
        if kept:
            self.keep(f"{which}_replies", {"step": self.step, "replies": kept})

    def _finish(self, step: int, measures: Sequence[Measure]) -> None:
        """The last word: everything measured once more, after the last update."""
        self.step = step
        self._line = {"step": step}
        for policy in self.policies:
            policy.forget()  # a run that was resumed here has nothing in its caches
        self._measure(measures)
        self._keep_replies("last", measures)
        self._line["samples"] = self.samples.close([policy.name for policy in self.policies])
        if self.stopped:
            self._line["stopped"] = self.stopped
        with saving(self.folder):
            write_whole(self.folder, "final.json", json.dumps(plain(self._line)) + "\n", lasting=True)
        for watcher in self.watchers:
            watcher.end(self)

    # The folder

    def _write(self, line: Line) -> None:
        with saving(self.folder / "metrics.jsonl"), appended(self.folder, "metrics.jsonl") as file:
            file.write(json.dumps(plain(line)) + "\n")
        for watcher in self.watchers:
            watcher.step(line)

    def _record(self, trajectories: Sequence[Trajectory], advantages: Sequence[np.ndarray]) -> None:
        distinct = {id(trajectory.episode): trajectory.episode for trajectory in trajectories}
        kept = _spread(list(distinct), self.schedule.record_episodes)
        episodes = {number: distinct[number] for number in kept}
        credit: dict[int, dict[str, Any]] = {number: {} for number in kept}
        for trajectory, advantage in zip(trajectories, advantages, strict=True):
            if id(trajectory.episode) in credit:
                seats = credit[id(trajectory.episode)]
                seats[str(trajectory.seat)] = _credited(trajectory, advantage, seats.get(str(trajectory.seat)))
        if not episodes:
            return
        folder = self.folder / "episodes"
        with saving(folder):
            lines = [episode_line(episode, credit=credit[number]) for number, episode in episodes.items()]
            name = f"step_{self.step:06d}.jsonl"
            before = (folder / name).read_text() if (folder / name).is_file() else ""
            write_whole(self.folder, f"episodes/{name}", before + "".join(lines))

    def _resume(self, policies: Sequence[Policy], parts: Sequence[Resumable]) -> int:
        """The step to go on from."""
        saved = checkpoints(self.folder)
        step = 0
        if saved:
            step = check(saved[-1])
            clear(self.folder)
            if self.identity and facts_of(saved[-1]).get("settings", self.identity) != self.identity:
                raise RedQueenError(
                    f"{saved[-1]} was written with another recipe, seed or config than {self.folder}/config.json says: "
                    "put back what was changed, or train anew in another folder"
                )
            facts = read_checkpoint(saved[-1], policies, parts)
            for name in changed_files(facts, self.files):
                warnings.warn(
                    f"{name} has changed since {saved[-1]} was written: the run goes on with what it says now, and "
                    "does not end as one that never stopped; put it back, or train anew in another folder",
                    stacklevel=2,
                )
            if "collapse" in facts:  # older checkpoints did not watch
                with fitting(saved[-1]), within(f"{saved[-1]}/manifest.json: "):
                    self.collapse.restore(facts["collapse"])
            if "signal" in facts:
                with fitting(saved[-1]), within(f"{saved[-1]}/manifest.json: "):
                    self.signal.restore(facts["signal"])
        self._forget_after(step)
        return step

    def _save(self, step: int, policies: Sequence[Policy], parts: Sequence[Resumable], name: str = "step") -> None:
        """A checkpoint; of the older ones stay the last few, and the best measurements that these know of."""
        facts = {"step": step, "collapse": self.collapse.state(), "signal": self.signal.state()}
        facts |= {"settings": self.identity} if self.identity else {}
        facts |= {"files": dict(self.files)} if self.files else {}
        if name == "step":  # a machine that loses its power must not keep a checkpoint without the lines before it
            with saving(self.folder / "metrics.jsonl"), appended(self.folder, "metrics.jsonl") as lines:
                os.fsync(lines.fileno())
        write_checkpoint(self.folder / "checkpoints" / f"{name}_{step:06d}", policies, parts, facts)
        if name == "step":
            saved = checkpoints(self.folder)
            kept = saved[-self.schedule.keep_checkpoints :]
            wanted = {best_name(facts_of(path).get("collapse", {}).get("best_step")) for path in kept}
            spare = [path for path in best_checkpoints(self.folder) if path.name not in wanted]
            remove([*saved[: -self.schedule.keep_checkpoints], *spare])

    def _answer(self, policies: Sequence[Policy], resumable: Sequence[Resumable]) -> str:
        """What a collapse is answered with: "" where the run goes on, else why it ends."""
        rung = self.collapse.alarms()
        watch, best = self.collapse.watch, self.collapse.best_step
        if not rung or watch.on_collapse == "warn":
            return ""
        if watch.on_collapse == "roll_back" and best is not None and self.collapse.roll_backs < watch.most_roll_backs:
            read_checkpoint(self.folder / "checkpoints" / best_name(best), policies, resumable)
            self.collapse.roll_backs += 1
            self.collapse.calm()
            self._line["rolled_back_to"] = float(best)
            return ""
        kept = f"; the best measurement is {self.folder}@best, after {best} updates" if watch.keeps_best else ""
        self.collapse.calm()
        return f"{'; '.join(rung)}{kept}"

    def _forget_after(self, step: int) -> None:
        """Drops what a killed run wrote after its last checkpoint; it will be made again."""
        metrics = self.folder / "metrics.jsonl"
        with saving(metrics):
            self._dropped_after(metrics, step)

    def _dropped_after(self, metrics: Path, step: int) -> None:
        kept = [line for line in read_metrics(self.folder) if line["step"] < step]
        self._line = kept[-1] if kept else {}
        if metrics.exists():
            write_whole(self.folder, metrics.name, "".join(json.dumps(line) + "\n" for line in kept))
        for number, path in recorded_steps(self.folder):
            if number >= step:
                remove_file(self.folder, f"episodes/{path.name}")


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keeps other processes from training in a folder. What holds it is gone when this process is, however it ends."""
    with saving(folder):
        lock = appended(folder, LOCK)
    with lock:
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            raise RedQueenError(
                f"{folder} is being trained by another process{_holder(folder)}: wait for its end, stop it, or choose "
                "another --output"
            ) from None
        with saving(folder):
            lock.truncate(0)
            lock.write(f"{os.getpid()} on {platform.node()} since {time.strftime('%Y-%m-%d %H:%M:%S')}\n")
            lock.flush()
        yield


def _holder(folder: Path) -> str:
    """Who holds a folder, as the holder has written into its lock; "" where that says nothing."""
    try:
        said = read_text(folder / LOCK, most=200).strip()
    except Damaged:
        return ""
    return f", {said}" if said else ""


@contextmanager
def _loaded_things_set_aside() -> Iterator[None]:
    """The collector need not walk what was loaded each time a round has made many objects. Afterwards it may again:
    a policy that nobody holds any more must not stay. Where a caller of many short runs has frozen what is loaded, it
    stays so."""
    if gc.get_freeze_count():
        yield
        return
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def guarded(train: Callable[[], Policy], run: Run) -> Policy:
    """Runs a training. An error that ends it is written to `error.txt` too."""
    try:
        return _explained(train, run)
    except BaseException as error:
        if run.began:
            _keep_error(run, error)
        raise


def _keep_error(run: Run, error: BaseException) -> None:
    """Writes `error.txt`, unless it cannot be written: then the error itself is what the user must see."""
    words = str(error) or (INTERRUPTED if isinstance(error, KeyboardInterrupt) else "")
    named = "" if isinstance(error, RedQueenError | KeyboardInterrupt) else f"{type(error).__name__}: "
    where = "" if words.startswith("step ") else f"step {run.step}: "
    with suppress(OSError, RedQueenError):
        write_whole(run.folder, ERROR, f"{where}{named}{words}\n")


def _explained(train: Callable[[], Policy], run: Run) -> Policy:
    """Runs a training. A loss that is not finite stops it with the step named and the batch saved, an endpoint that is
    gone, a full disk or a folder that cannot be written with the way to go on."""
    try:
        return train()
    except Unreachable as error:
        if not run.began:
            raise
        raise Unreachable(f"step {run.step}: {error}; {to_go_on(run.folder)}") from error
    except NonFiniteLoss as error:
        path = run.folder / f"failed_batch_{run.step:06d}.pt"
        with saving(path):
            held_in_memory = BytesIO()
            torch.save(batch_tensors(error.batch), held_in_memory)
            write_whole(run.folder, path.name, held_in_memory.getvalue())
        raise RedQueenError(
            f"step {run.step}: {error}; the weights are as they were, the batch is in {path}"
        ) from error
    except Exception as error:
        if not (reason := told(error)):
            raise
        where = getattr(error, "filename", None) or run.folder
        begun = f"step {run.step}: " if run.began else ""
        raise RedQueenError(f"{begun}cannot write {where}: {reason}; {_way_on(run.folder)}") from error


def _way_on(folder: Path) -> str:
    try:
        return to_go_on(folder)
    except RedQueenError as error:  # the newest checkpoint cannot be read
        return str(error)


def to_go_on(folder: Path) -> str:
    """The command that goes on with a run, and from which step."""
    saved = checkpoints(folder)
    since = f"from step {facts_of(saved[-1])['step']}" if saved else "from the start, as nothing is saved yet"
    return f"go on {since} with: redqueen resume {quote(str(folder))}"


def batch_tensors(batch: Any) -> dict[str, Any]:
    """The arrays of a batch, to look at."""
    names = ("tokens", "loss_weights", "sampled_logprobs", "advantages", "versions", "recited", "trajectory", "lengths")
    return {name: getattr(batch, name) for name in names}


def _spread(things: Sequence[int], count: int) -> list[int]:
    """`count` of them in order, evenly spaced from the first to the last, so that all roles of a step are seen."""
    if len(things) <= count:
        return list(things)
    last = max(count - 1, 1)
    return [things[place * (len(things) - 1) // last] for place in range(count)]


def _credited(trajectory: Trajectory, advantages: np.ndarray, before: dict[str, Any] | None) -> dict[str, Any]:
    """The credit of a seat in the record of an episode, a number for each turn that the seat played: None for one that
    the trajectory does not hold as it was played, unless it was credited `before`."""
    played = [turn for turn in trajectory.episode.turns if turn.ask.seat == trajectory.seat]
    places: list[int | None] = list(range(len(played)))
    if len(played) != len(trajectory.turns):
        numbers = {id(turn): number for number, turn in enumerate(played)}
        places = [numbers.get(id(turn)) for turn in trajectory.turns]

    def placed(values: np.ndarray, earlier: list[float | None] | None) -> list[float | None]:
        found = list(earlier or [None] * len(played))
        for place, value in zip(places, _known(values), strict=True):
            if place is not None:
                found[place] = value
        return found

    earlier = before or {"rewards": None, "advantages": None, "parts": {}}
    parts = {name: placed(values, earlier["parts"].get(name)) for name, values in trajectory.parts.items()}
    return {
        "rewards": placed(trajectory.rewards, earlier["rewards"]),
        "advantages": placed(advantages, earlier["advantages"]),
        "parts": {**earlier["parts"], **parts},
    }


def _known(values: np.ndarray) -> list[float | None]:
    """The numbers as JSON has them: None for NaN."""
    return [None if np.isnan(value) else float(value) for value in values]


def summary(trajectories: Sequence[Trajectory]) -> Metrics:
    """What is worth knowing about the play of one step, over the seats in hand: the mean reward of each role and of
    each part that rewards were added up from. What has no verdict is in no mean of rewards, and counted."""
    earned: dict[str, list[float]] = {}
    parts: dict[str, list[float]] = {}
    for trajectory in with_verdict(trajectories):
        earned.setdefault(trajectory.seat.role, []).append(float(trajectory.rewards.sum()))
        for name, values in trajectory.parts.items():
            parts.setdefault(name, []).append(float(values.sum()))
    turns = [turn for trajectory in trajectories for turn in trajectory.turns]
    episodes = {id(trajectory.episode): trajectory.episode for trajectory in trajectories}.values()
    named = [*sorted(parts.items()), *sorted(earned.items())]  # a role that is called like a part keeps its figure
    metrics = {f"reward/{name}": float(np.mean(rewards)) for name, rewards in named}
    if unknown := sum(not has_verdict(trajectory) for trajectory in trajectories):
        metrics["attempts/without_verdict"] = float(unknown)
    if turns:
        metrics |= {
            "episodes": float(len(episodes)),
            "turns_per_episode": float(np.mean([len(episode.turns) for episode in episodes])),
            "malformed": float(np.mean([turn.reply.malformed for turn in turns])),
            "truncated": float(np.mean([turn.reply.truncated for turn in turns])),
            "forfeits": float(np.mean(["forfeit" in episode.outcome.facts for episode in episodes])),
            "completion_length": float(np.mean([len(turn.reply.tokens) for turn in turns])),
        }
    return metrics


def recorded_steps(folder: Path) -> list[tuple[int, Path]]:
    """The steps of a run whose episodes were recorded, and the files that hold them, in order."""
    found = [(path.stem.removeprefix("step_"), path) for path in (folder / "episodes").glob("step_*.jsonl")]
    return sorted((int(number), path) for number, path in found if is_number(number))


def read_metrics(folder: Path) -> list[Line]:
    """The lines of a run's metrics; a last line that was cut short is left out. Raises RedQueenError for one before it
    that is no line of metrics."""
    path = folder / "metrics.jsonl"
    texts = read_bytes(path).splitlines() if path.exists() or path.is_symlink() else []
    lines = list(map(line_of, texts))
    return checked_lines(lines[:-1] if lines and lines[-1] is None else lines, path)


def line_of(text: bytes) -> Line | None:
    """A line of metrics; None for what is none."""
    try:
        return checked_line(as_object(text, "line"), "line")
    except Damaged:
        return None


def checked_line(line: Line, place: str) -> Line:
    """The line, if its step, time, alarms and figures are what they must be, else Damaged."""
    shaped(line, LINE, place)
    if not 0 <= line["step"] < MOST_STEPS:
        raise Damaged(f"{place}.step must be from 0 to {MOST_STEPS}, not {line['step']}")
    counts = [*line.get("samples", {}).values(), *([count] * len(FORMS) for count in line.get("rests_on", {}).values())]
    if not all(len(each) == len(FORMS) and all(0 <= count < MOST_STEPS for count in each) for each in counts):
        raise Damaged(f"{place}: counts of samples must be from 0 to {MOST_STEPS}, {len(FORMS)} for each of its fates")
    for name, value in line.items():
        shaped(value, object, f"{place}.{name}")
    return line


def checked_lines(lines: Sequence[Line | None], path: Path, before: int = 0) -> list[Line]:
    """The lines, which stand after `before` others. Raises RedQueenError where one is None."""
    found = [line for line in lines if line is not None]
    if len(found) < len(lines):
        number = before + lines.index(None) + 1
        raise Damaged(
            f"line {number} of {path} is no line of metrics, an object with a whole number step: mend it, or remove it"
        )
    return found


def _pace(policies: Sequence[Policy], step: int, count: int) -> None:
    """Sets the learning rates of a step, of those policies that have a schedule."""
    for policy in policies:
        if has(policy, Paced):
            policy.pace_at(step, count)


def bases_of_measures(measures: Sequence[Measure]) -> dict[str, Basis]:
    """What the measured figures rest on, of those measures that state it."""
    stated = [each.basis() for each in measures if has(each, StatesBasis)]
    return {name: found for each in stated for name, found in each.items()}


def _rung(watching: Sequence[object]) -> Line:
    """`alarms`: messages of all firing alarms; empty if none fires."""
    words = [text for each in watching if has(each, StatesAlarms) for text in each.alarms()]
    return {"alarms": words} if words else {}


def alarms_of(line: Line) -> dict[str, str]:
    """The alarms that ring in a line by their names; with what they say, where that is known."""
    names = [name.removeprefix("alarm/").replace("_", " ") for name in line if name.startswith("alarm/") and line[name]]
    return dict.fromkeys(names, "") | {text.partition(":")[0]: text for text in line.get("alarms", ())}


def _gigabytes() -> float:
    """The most memory that this process has held so far; with CUDA, the most of its device."""
    if on_device := torch.cuda.max_memory_allocated():
        return on_device / 1e9
    unit = 1 if sys.platform == "darwin" else 1024  # bytes
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def numbers(line: Line) -> Metrics:
    """The figures of a line by their names; neither its step nor its time."""
    return {name: float(value) for name, value in line.items() if name != "step" and isinstance(value, int | float)}


def read_final(folder: Path) -> Line:
    """The last measurement of a run, made after its last update; empty while it goes on."""
    path = folder / "final.json"
    try:
        return checked_line(read_json(path), str(path)) if path.exists() else {}
    except Damaged as error:
        raise Damaged(
            f"{path} is cut short or was changed: remove it and redqueen resume {quote(str(folder))} ({error})"
        ) from None


class SettingsFile:
    """A watcher that writes `config.json` once a run really begins: how it was started, and with what."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings

    def begin(self, run: Run, start: int, count: int) -> None:
        remember()
        with saving(run.folder):
            write_whole(run.folder, "config.json", json.dumps(plain(self._settings), indent=2) + "\n", lasting=True)

    def step(self, line: Line) -> None:
        return None

    def end(self, run: Run) -> None:
        return None
