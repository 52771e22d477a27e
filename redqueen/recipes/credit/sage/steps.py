"""SAGE's hints: who writes them, and which level of them a task has."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Annotated, Any, Protocol

from redqueen.checks.leaks import stands_in
from redqueen.credit.learnability import known
from redqueen.credit.outcomes import verdicts
from redqueen.curricula.held_out import Apart
from redqueen.curricula.hints import asked, by_opening, hinted, share_hinted, unsolved
from redqueen.games.single_reply import SingleReply
from redqueen.play.groups import attempts
from redqueen.protocols import Policy, Questions, State
from redqueen.questions.asking import said
from redqueen.questions.verdicts import check_known
from redqueen.runs.run import Run
from redqueen.settings.limits import Within
from redqueen.types import Group, Mean, Metrics, RedQueenError, Task

Levels = Annotated[int, Within(0, 3)]  # of hints
HINT = SingleReply("hinter")
ASKED = 2  # times for hints that can be read
ABOUT = ("the concept that it takes", "the method", "the steps in detail")


class Hints(Protocol):
    """Gives tasks with a hint of a level from 1."""

    def __call__(self, tasks: Sequence[Task], level: int) -> Sequence[Task | None]:
        """The tasks with a hint of this level; None for one to which there is none."""
        ...

    def metrics(self) -> Metrics: ...


def hinter(config: Any, learner: Policy, run: Run, questions: Questions, tests: Apart) -> Hints:
    """What gives hints, as the settings say. Raises RedQueenError for settings that never have an effect, and for a
    question set that does not know the answers to its `tests`."""
    check_known(questions, tests)
    if config.form == "light" and not config.levels:
        raise RedQueenError("--form light has no effect without hints: --levels 1 or more")
    if config.rise > config.fall:
        raise RedQueenError(f"--rise {config.rise:g} is above --fall {config.fall:g}: a level would rise and fall")
    return Openings() if config.hints == "opening" else Written(learner, run.rng)


class Openings:
    """The opening of the answer."""

    def __call__(self, tasks: Sequence[Task], level: int) -> Sequence[Task | None]:
        return by_opening(tasks, level)

    def metrics(self) -> Metrics:
        return {}


class Written:
    """Hints that the `writer` makes from the answer, of all levels at once; those of the last step are kept while it
    lasts, so that a task is asked about once."""

    def __init__(self, writer: Policy, rng: Random) -> None:
        self._writer, self._rng = writer, rng
        self._found: dict[tuple[str, str], tuple[str, ...]] = {}
        self._asked = self._leaks = self._unread = 0

    def __call__(self, tasks: Sequence[Task], level: int) -> Sequence[Task | None]:
        missing = [task for task in tasks if _name(task) not in self._found and task.answer]
        self._asked += len(missing)
        for _ in range(ASKED):
            if missing:
                groups = attempts(HINT, [request(task) for task in missing], self._writer, 1, self._rng)
                for task, reply in zip(missing, said(groups), strict=True):
                    if hints := read_hints(reply):
                        self._found[_name(task)] = hints
                missing = [task for task in missing if _name(task) not in self._found]
        self._unread += len(missing)
        for task in missing:
            self._found[_name(task)] = ()
        return [self._with(task, level) for task in tasks]

    def _with(self, task: Task, level: int) -> Task | None:
        hints = self._found.get(_name(task), ())
        if len(hints) < level:
            return None
        if stands_in(hints[level - 1], task.answer):
            self._leaks += 1
            return None
        return hinted(task, hints[level - 1][: len(asked(task))], level)

    def metrics(self) -> Metrics:
        """Of the hints asked for since the last call, the share that could not be read, and of those to be shown how
        many held the answer, over the same number. Forgets the hints."""
        found: Metrics = {}
        if self._asked:
            found = {
                "hints_unread": Mean(self._unread / self._asked, self._asked),
                "hint_leaks": Mean(self._leaks / self._asked, self._asked),
            }
        self._asked = self._leaks = self._unread = 0
        self._found = {}
        return found


def _name(task: Task) -> tuple[str, str]:
    return (task.id, task.prompt)


def request(task: Task) -> Task:
    """What the writer of hints is shown."""
    problem = "\n\n".join(message.text for message in task.messages) or task.prompt
    solution = str(task.facts.get("gold", task.answer))
    wanted = ", ".join(f'"level_{number}": "{about}"' for number, about in enumerate(ABOUT, 1))
    return Task(
        f"hints to {task.id}",
        "hints",
        f"Problem:\n{problem}\n\nSolution:\n{solution}\n\nWrite three hints that help somebody to solve the problem "
        f"alone, each telling more than the one before, as JSON: {{{wanted}}}. Never tell the final answer.",
    )


def read_hints(reply: str) -> tuple[str, ...]:
    """The hints in a reply, from the first level on; () where none can be read."""
    opened, closed = reply.find("{"), reply.rfind("}")
    try:
        found = json.loads(reply[opened : closed + 1])
    except (ValueError, RecursionError):
        return ()
    levels = [found.get(f"level_{number}") for number in range(1, len(ABOUT) + 1)] if isinstance(found, dict) else []
    hints = [text.strip() if isinstance(text, str) else "" for text in levels]
    return tuple(hints) if hints and all(hints) else ()


class HintLevels:
    """The level of the hint that each task has, by its id, in the light form; 0 is no hint."""

    def __init__(self, light: bool, most: int, rise: float = 0.0, fall: float = 0.35) -> None:
        self._light, self._most, self._rise, self._fall = light, most, rise, fall
        self._levels: dict[str, int] = {}

    @property
    def rerolls(self) -> int:
        """How many levels of hints an unsolved task is attempted again with: none in the light form."""
        return 0 if self._light else self._most

    def level(self, task: Task) -> int:
        """The level of its next hint."""
        return self._levels.get(task.id, 0)

    def asked(self, tasks: Sequence[Task], hints: Hints) -> list[Task]:
        """The tasks, with the hints of their levels as far as there are any."""
        found = list(tasks)
        for level in range(1, self._most + 1):
            places = [place for place, task in enumerate(tasks) if self.level(task) == level]
            helped = hints([tasks[place] for place in places], level) if places else ()
            for place, task in zip(places, helped, strict=True):
                found[place] = tasks[place] if task is None else task
        return found

    def observe(self, groups: Sequence[Group]) -> None:
        """Moves the level of each task by the accuracy of its attempts, in the light form."""
        for group in groups if self._light else ():
            right = known(verdicts(group))
            if len(right):
                accuracy, level = float(right.mean()), self.level(group.task)
                up = accuracy <= self._rise
                moved = level + 1 if up else level - 1 if accuracy > self._fall else level
                self._levels[group.task.id] = min(max(moved, 0), self._most)

    def metrics(self, groups: Sequence[Group]) -> Metrics:
        """Shares of the groups: those with a hint, and those that nobody solved all the same."""
        never = sum(map(unsolved, groups)) / len(groups)
        return {"hinted": Mean(share_hinted(groups), len(groups)), "unsolved": Mean(never, len(groups))}

    def state(self) -> State:
        return {"levels": dict(self._levels)}

    def restore(self, state: State) -> None:
        self._levels = dict(state["levels"])
