"""A data set on disk as a question set: prompts to answer, gold replies to imitate, preferences to learn from.

    --questions dataset:path=train.jsonl,held_out=0.1
    --questions dataset:path=train.parquet,test=test.parquet,ignore=id+source,skip=true

The formats are those of `questions.examples`. Problems of the level "train" and of the level "held_out" never have a
prompt in common, up to case and spacing. A data set takes no proposed tasks.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Protocol, TypeVar

from redqueen.chance import derive
from redqueen.checks.numeric import normalised, number
from redqueen.curricula.held_out import HELD_OUT, TRAIN, Apart, apart_from, as_compared
from redqueen.games.single_reply import SingleReply
from redqueen.players.language.reciter import Reciter, reader
from redqueen.protocols import Player, Questions
from redqueen.questions.examples import BadRow, Conversation, Example, as_text, doubles, example
from redqueen.questions.rows import read_rows
from redqueen.types import Demonstration, Match, Message, RedQueenError, Task

SOLVER, KIND = "solver", "instruction"
T = TypeVar("T")


@dataclass(frozen=True)
class Preference:
    """One pair of a preference data set."""

    task: Task
    chosen: str
    rejected: str


def instructions(held_out: float = 0.1, seed: int = 0) -> Dataset:
    """The few hundred short instructions with short answers that are shipped with the library."""
    return Dataset(str(Path(__file__).parent / "instructions.jsonl"), held_out, seed=seed, name="instructions")


def preferences(held_out: float = 0.1, seed: int = 0) -> Dataset:
    """The same instructions with two answers each: the gold one, and as the rejected one a sample of
    SmolLM2-135M-Instruct at temperature 1, at most 56 tokens long, cut after its last whole sentence."""
    return Dataset(str(Path(__file__).parent / "preferences.jsonl"), held_out, seed=seed, name="preferences")


class Preferring(Questions, Protocol):
    """A question set with preference pairs."""

    def preferences(self, level: str, count: int, rng: Random) -> list[Preference]:
        """Up to `count` different pairs of a level."""
        ...


@dataclass(frozen=True)
class Dataset:
    """A data set on disk as a question set. Raises RedQueenError for a bad row; with `skip` such rows are left out,
    with a warning that counts them."""

    path: str
    held_out: float = 0.1  # share of the prompts, drawn by `seed`; no effect with `test`
    test: str = ""  # another data set, all of it held out
    split: str = ""  # of a folder with several
    ignore: str = ""  # columns to ignore, as in id+source
    skip: bool = False
    seed: int = 0
    name: str = field(default="dataset", repr=False)

    def __post_init__(self) -> None:
        if not 0.0 <= self.held_out < 1.0:
            raise RedQueenError(f"the share that is held out is at least 0 and below 1, not {self.held_out:g}")
        if not self._parts[TRAIN]:
            raise RedQueenError(f"{self.path} holds nothing to train on: hold out less, or give it more rows")

    @cached_property
    def _parts(self) -> dict[str, list[Example]]:
        found = self._examples(self.path, self.split)
        if self.test:
            tests = self._examples(self.test, self.split if Path(self.test).is_dir() else "")
            return {TRAIN: self._apart(found, tests), HELD_OUT: tests}
        held = {_compared(key) for key in _drawn(found, self.held_out, self.seed)}
        return {
            TRAIN: [each for each in found if _compared(each.key) not in held],
            HELD_OUT: [each for each in found if _compared(each.key) in held],
        }

    def _examples(self, path: str, split: str) -> list[Example]:
        """The good rows, all of one format, none twice."""
        rows = read_rows(Path(path).expanduser(), split)
        faults: list[BadRow] = []
        found: list[tuple[tuple[str, ...], Example]] = []
        for row in rows:
            try:
                found.append(example(row, self.ignore.split("+")))
                if found[-1][0] != found[0][0]:
                    form, _ = found.pop()
                    raise BadRow(_mixed(row.place, form, *found[0]))
            except BadRow as fault:
                faults.append(fault)
        examples = [each for _, each in found]
        repeated = doubles(examples)
        faults += [
            BadRow(f"{each.place}: it says the same as {before}: take one of them out")
            for each, before in zip(examples, repeated, strict=True)
            if before
        ]
        self._put_up_with(faults, path, len(rows))
        kept = [each for each, before in zip(examples, repeated, strict=True) if not before]
        if not kept:
            raise RedQueenError(f"{path} holds no row that can be used" + (f": {faults[0]}" if faults else ""))
        return kept

    def _apart(self, found: Sequence[Example], tests: Sequence[Example]) -> list[Example]:
        """The examples whose prompts are not in the tests."""
        held = {_compared(each.key): each.place for each in tests}
        faults = [
            BadRow(f"{each.place}: its prompt is also held out ({held[_compared(each.key)]}): take one of them out")
            for each in found
            if _compared(each.key) in held
        ]
        self._put_up_with(faults, self.path, len(found))
        return [each for each in found if _compared(each.key) not in held]

    def _put_up_with(self, faults: Sequence[BadRow], path: str, count: int) -> None:
        """Raises the first fault, or warns of their number."""
        if not faults:
            return
        if not self.skip:
            more = f" (and {len(faults) - 1} rows more; skip=true leaves them out)" if len(faults) > 1 else ""
            raise RedQueenError(f"{faults[0]}{more}")
        # the caller that made the data set: over _examples, _parts, its property, and two that make a dataclass
        warnings.warn(f"{path}: skipped {len(faults)} of {count} rows, the first: {faults[0]}", stacklevel=7)

    # Questions

    @property
    def levels(self) -> tuple[str, ...]:
        return tuple(level for level in (TRAIN, HELD_OUT) if self._parts[level])

    @cached_property
    def _tasks(self) -> dict[str, list[Task]]:
        return {level: [_task(each) for each in part] for level, part in self._parts.items()}

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool | None]:
        """Whether each reply equals the answer, as text or as a number; without an answer, the gold
        reply. None (unknown) for a prompt with neither."""
        return [_is_right(task, answer) for task, answer in zip(tasks, answers, strict=True)]

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        """`count` problems of a level, in random order; none twice before all were drawn."""
        return _shuffled(self._tasks[self._known(level)], count, rng)

    # Replies

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        """`count` gold (or chosen) replies of the training part; none twice before all were drawn."""
        return _shuffled(self.gold(TRAIN), count, rng)

    def gold(self, level: str) -> list[Demonstration]:
        """All gold (or chosen) replies of a part, in the order of the rows. Raises RedQueenError if rows have only
        prompts."""
        self._known(level)
        pairs = list(zip(self._parts[level], self._tasks[level], strict=True))
        if pairs and not pairs[0][0].completion:
            raise RedQueenError(f"{self.path} holds prompts alone: demonstrations need a column completion")
        return [Demonstration(SOLVER, task, each.completion) for each, task in pairs]

    def preferences(self, level: str, count: int, rng: Random) -> list[Preference]:
        """Up to `count` different pairs of a part. Raises RedQueenError if there are none."""
        self._known(level)
        pairs = list(zip(self._parts[level], self._tasks[level], strict=True))
        if pairs and not pairs[0][0].rejected:
            raise RedQueenError(f"{self.path} holds no preferences: they need the columns chosen and rejected")
        found = [Preference(task, each.completion, each.rejected) for each, task in pairs]
        return rng.sample(found, min(len(found), count))

    def _known(self, level: str) -> str:
        if level not in self.levels:
            raise RedQueenError(f"{self.path} has no part {level!r}: its parts are {', '.join(self.levels)}")
        return level


def training_pairs(questions: Preferring, count: int, apart: Apart, rng: Random) -> list[Preference]:
    """Up to `count` pairs of the part for training, none of a held-out task. Raises RedQueenError where none is
    left."""
    return pairs_apart(apart, questions.preferences(TRAIN, count, rng))


def pairs_apart(apart: Apart, preferences: Sequence[Preference]) -> list[Preference]:
    """The pairs whose tasks are not held out. Raises RedQueenError if none is left."""
    kept = {task.id for task in apart_from(apart, [each.task for each in preferences])}
    if not kept:
        raise RedQueenError(
            "all pairs are of tasks that are held out: hold out fewer (--problems), or a part of its own "
            "(dataset:path=FILE,held_out=0.1)"
        )
    return [each for each in preferences if each.task.id in kept]


def recitations(preferences: Sequence[Preference], learner: Player) -> tuple[list[Match], list[Match]]:
    """Matches in which the learner recites the chosen and the rejected replies in its own tokens; play and score them
    for `batch.pack_pairs`."""
    game, speaker = SingleReply(SOLVER), reader(learner)
    return (
        [Match(game, each.task, {SOLVER: Reciter(speaker, each.chosen)}) for each in preferences],
        [Match(game, each.task, {SOLVER: Reciter(speaker, each.rejected)}) for each in preferences],
    )


def _mixed(place: str, form: Sequence[str], first: Sequence[str], shown: Example) -> str:
    return (
        f"{place}: it has {' and '.join(form)} while {shown.place} has {' and '.join(first)}: "
        "all rows must have the same format"
    )


def _drawn(examples: Sequence[Example], share: float, seed: int) -> set[Conversation]:
    """A `share` of the different prompts, at least one if it is above 0; which ones does not depend on the order of
    the rows, and hardly on added rows."""
    keys = sorted({each.key for each in examples}, key=lambda key: (derive(seed, as_text(key)), key))
    return set(keys[: max(1, round(share * len(keys)))]) if share else set()


def _compared(key: Conversation) -> str:
    return as_compared(as_text(key))


def _task(found: Example) -> Task:
    told = tuple(Message(role, text) for role, text in found.messages) if len(found.messages) > 1 else ()
    # the gold reply where the answer is only what it comes to
    facts = {"gold": found.completion} if found.answer and found.completion else {}
    return Task(found.place, KIND, as_text(found.messages), found.answer or found.completion, facts, messages=told)


def _is_right(task: Task, answer: str) -> bool | None:
    if not task.answer:
        return None
    value = number(task.answer)
    same = normalised(answer) == normalised(task.answer) != ""
    return same or (value is not None and number(answer) == value)


def _shuffled(items: Sequence[T], count: int, rng: Random) -> list[T]:
    """`count` items in random order, in counts that differ by at most one."""
    drawn: list[T] = []
    while items and len(drawn) < count:
        drawn += rng.sample(items, min(len(items), count - len(drawn)))
    return drawn
