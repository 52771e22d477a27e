"""A growing curriculum: tasks with their provenance and results, drawn under a sampling policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, isnan
from random import Random
from statistics import fmean

from redqueen.credit.outcomes import result, unknown
from redqueen.curricula.draws import Distinct, Independent, Sampling, Uniform
from redqueen.curricula.duplicates import SameKey, Screen
from redqueen.curricula.eviction import Eviction, oldest_of_most
from redqueen.curricula.history import HISTORY, TaskHistory, after, history_from_state, history_to_state, storable
from redqueen.curricula.sameness import by_text
from redqueen.protocols import COUNT, State, shaped
from redqueen.types import SOLVER, Episode, Group, Metrics, RedQueenError, Task

Result = Callable[[Episode], float | None]
"""Returns the result of an episode for its task; None if there is none, as for an attempt that was cut off."""


_STATE = {"step": COUNT, "offered": COUNT, "left": int, "refused": {...: COUNT}, "held": [HISTORY]}


class TaskStore:
    """A store of given or proposed tasks, oldest first.

    The store counts steps: every `observe` ends one, and `add` with a `step` moves on to it. Beyond `capacity`, tasks
    leave by `eviction` (default: the oldest of the most frequent kind); `screens` keep others out (default: those whose
    prompt is held already). The latest `window` results of each task are kept; those over `solved_above` count as
    solved. Every draw, and every `add` that evicts, takes time in proportion to the tasks held: add the tasks of a step
    in one call.
    """

    def __init__(
        self,
        capacity: int | None = None,
        sampling: Sampling = Independent(Uniform()),
        references: Sampling = Distinct(Uniform()),
        eviction: Eviction | None = None,
        screens: Sequence[Screen] | None = None,
        result: Result | None = None,  # default: the verdict, or the score of `role`
        role: str = SOLVER,
        solved_above: float = 0.5,
        window: int = 16,
        name: str = "tasks",  # prefix of its metrics
    ) -> None:
        if capacity is not None and capacity < 1:
            raise RedQueenError(f"a task store needs a capacity of at least 1, not {capacity}")
        if eviction is not None and capacity is None:
            raise RedQueenError("a rule for eviction has no effect without a capacity: set one")
        if window < 1:
            raise RedQueenError(f"a task store needs a window of at least 1 result, not {window}")
        self.capacity = capacity
        self.sampling = sampling
        self.references = references
        self.eviction = eviction or oldest_of_most
        self.screens = (SameKey(by_text()),) if screens is None else tuple(screens)
        self.result = result or result_of(role)
        self.role = role
        self.solved_above = solved_above
        self.window = window
        self.name = name
        self.step = 0
        self._held: dict[str, TaskHistory] = {}  # by id, oldest first
        self._offered = 0
        self._left = 0
        self._refused: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._held)

    def __getitem__(self, task_id: str) -> TaskHistory:
        if task_id not in self._held:
            raise RedQueenError(f"the store does not hold the task {task_id!r}")
        return self._held[task_id]

    def histories(self, kinds: Collection[str] = ()) -> list[TaskHistory]:
        """The histories of the tasks of these `kinds` (default: all), oldest first."""
        return [history for history in self._held.values() if not kinds or history.task.kind in kinds]

    def kinds(self) -> dict[str, int]:
        """The number of tasks held of each kind."""
        return dict(Counter(history.task.kind for history in self._held.values()))

    # What goes in and out

    def add(
        self,
        tasks: Sequence[Task],
        origin: str = "given",
        parents: Sequence[Sequence[str]] = (),
        gates: Sequence[str] = (),
        author_version: int = 0,
        step: int | None = None,
        credits: Sequence[float] = (),
        room: bool = True,
    ) -> list[str]:
        """Adds tasks; returns for each the empty string, or why it was refused: "duplicate of X", "full: ...", "the
        id X is taken".

        `parents` holds for each task the ids of those it was made from, `credits` its mean |advantage| where that is
        known. Without `room` none leaves yet: `make_room` is called when the results of new tasks are known. Lists
        among the facts become tuples. A step before the store's own, or a task that cannot be stored, raises
        RedQueenError, and nothing is added."""
        if parents and len(parents) != len(tasks):
            raise RedQueenError(f"parents must be given for each of {len(tasks)} tasks, not for {len(parents)}")
        kept = [storable(task) for task in tasks]
        self._bring_to(step)
        for screen in self.screens:
            screen.prepare(kept)
        reasons = []
        for place, task in enumerate(kept):
            made_from = parents[place] if parents else ()
            reasons.append(self._refusal(task))
            if not reasons[-1]:
                for screen in self.screens:
                    screen.hold([task])
                self._held[task.id] = TaskHistory(
                    task, origin, tuple(made_from), tuple(gates), self.step, author_version, self._depth(made_from)
                )
                if credits:
                    self.credit(task.id, credits[place])
        self._offered += len(kept)
        evicted = self.make_room() if room else set()
        for place, task in enumerate(kept):
            if not reasons[place] and task.id in evicted:
                reasons[place] = f"full: {self.capacity} tasks are held, which the eviction prefers"
                self._refused["full"] += 1
                self._left -= 1
        return reasons

    def make_room(self) -> set[str]:
        """Lets tasks leave beyond the capacity, by `eviction`; returns their ids."""
        excess = 0 if self.capacity is None else len(self._held) - self.capacity
        if excess <= 0:
            return set()
        held = list(self._held.values())
        leaving = self.eviction(held, excess, self.step)
        assert len(set(leaving)) == excess, f"the eviction named {len(set(leaving))} tasks where {excess} are too many"
        return {task.id for task in self._take_out([held[index].task.id for index in leaving])}

    def prune(self, leaves: Callable[[TaskHistory], bool]) -> list[Task]:
        """Removes and returns the tasks for which `leaves` is true: `prune(solved_at_least(0.9))`."""
        return self._take_out([history.task.id for history in self._held.values() if leaves(history)])

    def refill(self, tasks: Sequence[Task], origin: str = "given", step: int | None = None) -> None:
        """Holds `tasks` in place of all that were held."""
        self.prune(lambda history: True)
        self.add(tasks, origin, step=step)

    def draw(self, count: int, rng: Random, kinds: Collection[str] = ()) -> list[Task]:
        """Tasks of these `kinds` (default: all) under the sampling policy. Raises RedQueenError if there are
        none."""
        return self._drawn(self.sampling, count, rng, kinds)

    def draw_references(self, count: int, rng: Random, kinds: Collection[str] = ()) -> list[Task]:
        """Tasks to show a proposer, under the `references` policy; by default all different, and fewer than `count` if
        fewer are held."""
        return self._drawn(self.references, count, rng, kinds)

    def only(self, *kinds: str) -> View:
        """The tasks of some kinds as a separate curriculum."""
        return View(self, kinds)

    # What it learns

    def observe(self, played: Sequence[Episode] | Sequence[Group]) -> None:
        """Records the results of all episodes (or attempts of groups) whose tasks are held, and ends the step."""
        episodes = [one for each in played for one in (each.attempts if isinstance(each, Group) else (each,))]
        held = [episode for episode in episodes if episode.task.id in self._held]
        self._learn([(episode.task.id, self.result(episode), (episode,)) for episode in held])

    def observe_groups(self, groups: Sequence[Group], result: Callable[[Group], float]) -> None:
        """Records one `result` of each group whose task is held, such as its solve rate (none if that is NaN), and
        ends the step."""
        held = [(group, result(group)) for group in groups if group.task.id in self._held]
        self._learn([(group.task.id, None if isnan(found) else found, group.attempts) for group, found in held])

    def _learn(self, found: Sequence[tuple[str, float | None, Sequence[Episode]]]) -> None:
        results: dict[str, list[float]] = {}
        versions: dict[str, list[int]] = {}
        for task_id, value, episodes in found:
            if value is None:
                continue
            if not isfinite(value):
                raise RedQueenError(f"the result of task {task_id!r} is {value}: a result is a finite number or None")
            results.setdefault(task_id, []).append(float(value))
            turns = [turn for episode in episodes for turn in episode.turns]
            spoken = [turn.reply.version for turn in turns if turn.ask.seat.role == self.role]
            versions.setdefault(task_id, []).extend(spoken)
        for task_id, of_task in results.items():
            version = max(versions[task_id], default=None)
            self._held[task_id] = after(
                self._held[task_id], of_task, self.step, version, self.solved_above, self.window
            )
        self.step += 1

    def credit(self, task_id: str, value: float) -> None:
        """Records the mean |advantage| of a task's attempts; does nothing for a task no longer held."""
        if not (isfinite(value) and value >= 0.0):
            raise RedQueenError(f"the credit of task {task_id!r} must be a finite number of at least 0, not {value}")
        if task_id in self._held:
            self._held[task_id] = replace(self._held[task_id], credit=float(value))

    def metrics(self) -> Metrics:
        """Metrics of the tasks held (ages in steps, solve rates as shares of the tasks tried), and counts of the tasks
        added, refused and evicted since the start."""
        held = list(self._held.values())
        refused = sum(self._refused.values())
        found = {
            "held": float(len(held)),
            "offered": float(self._offered),
            "added": float(self._offered - refused),
            "left": float(self._left),
            "mean_age": fmean(self.step - history.added for history in held) if held else 0.0,
            "mean_depth": fmean(history.depth for history in held) if held else 0.0,
            "max_depth": float(max((history.depth for history in held), default=0)),
            "untried": float(sum(history.solve_rate is None for history in held)),
            "unique_share": 1.0 - self._refused["duplicate"] / self._offered if self._offered else 1.0,
            **{f"refused_{reason}": float(count) for reason, count in sorted(self._refused.items())},
            **rate_shares([history.solve_rate for history in held if history.solve_rate is not None]),
        }
        return {f"{self.name}/{key}": value for key, value in found.items()}

    def state(self) -> State:
        return {
            "step": self.step,
            "offered": self._offered,
            "left": self._left,
            "refused": dict(self._refused),
            "held": [history_to_state(history) for history in self._held.values()],
        }

    def restore(self, state: State) -> None:
        """Restores what `state` returned. Screens are rebuilt from the tasks held; they have no state of their own."""
        shaped(state, _STATE, "the task store: ")
        self._release(list(self._held.values()))
        self.step, self._offered, self._left = state["step"], state["offered"], state["left"]
        self._refused = Counter(state["refused"])
        histories = [history_from_state(each) for each in state["held"]]
        self._held = {history.task.id: history for history in histories}
        tasks = [history.task for history in histories]
        for screen in self.screens:
            screen.prepare(tasks)
            screen.hold(tasks)

    # Inside

    def _bring_to(self, step: int | None) -> None:
        if step is not None and step < self.step:
            raise RedQueenError(
                f"tasks of step {step} come after the store has reached step {self.step}: call observe once a step, "
                "or leave the step to the store"
            )
        self.step = self.step if step is None else step

    def _refusal(self, task: Task) -> str:
        for screen in self.screens:
            reason = screen.reason(task)
            if reason:
                self._refused[screen.refusal] += 1
                return reason
        if task.id in self._held:
            self._refused["id"] += 1
            return f"the id {task.id} is taken"
        return ""

    def _depth(self, parents: Sequence[str]) -> int:
        known = [self._held[parent].depth for parent in parents if parent in self._held]
        return 1 + max(known, default=0) if parents else 0

    def _take_out(self, task_ids: Sequence[str]) -> list[Task]:
        leaving = [self._held.pop(task_id) for task_id in task_ids]
        self._release(leaving)
        self._left += len(leaving)
        return [history.task for history in leaving]

    def _release(self, histories: Sequence[TaskHistory]) -> None:
        for screen in self.screens:
            screen.release([history.task for history in histories])

    def _drawn(self, sampling: Sampling, count: int, rng: Random, kinds: Collection[str]) -> list[Task]:
        held = self.histories(kinds)
        if not held:
            raise RedQueenError(f"{self._lack(kinds)}: add some before drawing")
        return [held[index].task for index in sampling(held, count, self.step, rng)]

    def _lack(self, kinds: Collection[str]) -> str:
        if not self._held:
            return f"the store {self.name!r} is empty"
        there = ", ".join(f"{count} {kind}" for kind, count in self.kinds().items())
        return f"the store {self.name!r} holds no task of the kind {' or '.join(sorted(kinds))} (it holds {there})"


@dataclass(frozen=True)
class View:
    """Some kinds of a store as a curriculum. If views of different kinds share a store, call `observe` of the store
    itself, which then ends the step once."""

    store: TaskStore
    kinds: tuple[str, ...]

    def draw(self, count: int, rng: Random) -> list[Task]:
        return self.store.draw(count, rng, self.kinds)

    def observe(self, episodes: Sequence[Episode]) -> None:
        self.store.observe([episode for episode in episodes if episode.task.kind in self.kinds])


def result_of(role: str) -> Result:
    """A function that returns the result of an episode for its task: the mean result of the seats of `role`
    (`outcomes.result`), their verdicts or scores; None without a verdict."""

    def found(episode: Episode) -> float | None:
        results = [result(episode, seat) for seat in episode.seats if seat.role == role]
        if not results:
            raise RedQueenError(
                f"there is no seat of the role {role} in an episode of {episode.game}, task {episode.task.id!r}: "
                "name the role whose score counts, or give the store a result"
            )
        return None if unknown(episode) else fmean(results)

    return found


def rate_shares(rates: Sequence[float]) -> Mapping[str, float]:
    """The histogram of solve rates as shares of the tasks: 0, up to 1/4, 1/2, 3/4, below 1, and 1."""
    bounds = {"solved_never": 0.0, "solved_to_25": 0.25, "solved_to_50": 0.5, "solved_to_75": 0.75}
    counts = dict.fromkeys([*bounds, "solved_to_99", "solved_always"], 0)
    for rate in rates:
        last = "solved_always" if rate >= 1.0 else "solved_to_99"
        counts[next((name for name, bound in bounds.items() if rate <= bound), last)] += 1
    return {name: count / len(rates) if rates else 0.0 for name, count in counts.items()}
