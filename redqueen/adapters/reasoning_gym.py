"""Data sets of reasoning-gym as a question set: unlimited problems made by programs, scored by the library's rules.

    --questions reasoning_gym:dataset=chain_sum+countdown
    --questions "reasoning_gym:dataset=chain_sum(max_terms=2)+chain_sum(min_terms=5,max_terms=6)"

Each data set is a level, named as written here; settings in brackets are the fields of its config. Problems for tests
and for training are both made from drawn seeds, so recipes keep the prompts of the tests out of training.

A proposer writes no problem but how one is made, "num_terms=3 num_digits=2 seed=41": the numbers that the library's own
curriculum of the data set varies, and a seed. What the brackets set bounds what may be asked, from the smallest to the
largest (nothing is chosen where these are equal); where they do not, the curriculum's lowest and highest level do.
Needs the extra `gym`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from random import Random
from typing import Any

from redqueen.adapters.reasoning_gym_checks import ReasoningGym
from redqueen.protocols import Proposable
from redqueen.types import SOLVER, Demonstration, RedQueenError, Refusal, Task

Source = tuple[str, Mapping[str, Any]]  # the name of a data set, and its settings
SEEDS = 10_000
_CHOICE = re.compile(r"(\w+) ?= ?(-?[0-9]{1,12})")


@dataclass(frozen=True)
class Choice:
    """A number that a proposer chooses: the `fields` of the config that get it, and its bounds, which are included."""

    name: str
    fields: tuple[str, ...]
    low: int
    high: int


@dataclass(frozen=True)
class Reasoning:
    """See the module. Raises RedQueenError for an unknown data set or setting."""

    dataset: str = "basic_arithmetic"  # several as in chain_sum+countdown
    threshold: float = 1.0  # what a right answer scores at least
    seconds: float = 10.0  # of processor time for the problems of one draw, or for one answer
    name: str = field(default="reasoning_gym", repr=False)

    def __post_init__(self) -> None:
        for level in self.levels:
            self._made(level, 1, 0)  # errors are raised before a model is loaded

    @cached_property
    def _sources(self) -> dict[str, Source]:
        try:
            return _sources(ast.parse(self.dataset.strip(), mode="eval").body)
        except (SyntaxError, ValueError):
            raise RedQueenError(
                f"{self.dataset!r} names no data sets of reasoning-gym: write dataset=chain_sum+countdown, with "
                "settings dataset=chain_sum(max_terms=3)"
            ) from None

    @cached_property
    def _gym(self) -> ReasoningGym:
        return ReasoningGym(self.threshold, self.seconds)

    @property
    def levels(self) -> tuple[str, ...]:
        return tuple(self._sources)

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        """For each answer whether the library scores it `threshold` or more; false if it gives no verdict within
        `seconds`."""
        return [verdict is True for verdict in self._gym.verdicts(tasks, answers)]

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        """The first `count` tasks of the data set `level` under a drawn seed; a small data set may repeat tasks."""
        return self._made(level, count, rng.getrandbits(31)) if count else []

    @property
    def kinds(self) -> tuple[str, ...]:
        """The data sets that have numbers to choose, and make a problem with the lowest."""
        return tuple(self._easiest)

    def needs(self, wanted: type) -> str:
        """What is lacking for proposals, in one line; "" if nothing."""
        if wanted is not Proposable or self.kinds:
            return ""
        return f"{self.dataset} of reasoning-gym has no curriculum of numbers, so that a proposer has nothing to choose"

    def seeds(self) -> list[Task]:
        """A problem of each data set with the lowest numbers, under the lowest seed by which one can be made."""
        return list(self._easiest.values())

    def sources(self, kind: str) -> tuple[str, ...]:
        return (kind,)

    def invite(self, kind: str, references: Sequence[Task], number: int) -> Task:
        """An invitation with the bounds of what may be chosen, and what was asked before; a problem that nobody
        proposed was not chosen by numbers, and is not shown."""
        choices = self._choices[kind]
        form = " ".join(f"{each.name}=N" for each in choices)
        bounds = ", ".join(f"{each.name} from {each.low} to {each.high}" for each in choices)
        chosen = [task.facts["proposal"] for task in references if "proposal" in task.facts]
        before = "".join(f"\nAsked before: {each}" for each in chosen)
        prompt = f"Choose a problem of {kind}. Write {form} seed=N with {bounds}, seed below {SEEDS}.{before}"
        return Task(f"invitation {kind} {number}", kind, prompt)

    def read(self, invitations: Sequence[Task], replies: Sequence[str]) -> list[Task | Refusal]:
        return [
            self._read(invitation.kind, reply.strip()) for invitation, reply in zip(invitations, replies, strict=True)
        ]

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        """One third proposals, drawn evenly within their bounds, if there is anything to propose; else solutions, of
        the levels in turn, as the library states them."""
        kinds, levels = self.kinds, self.levels
        return [
            self._proposal(kinds[number // 3 % len(kinds)], number, rng)
            if kinds and number % 3 == 0
            else self._solution(levels[number % len(levels)], rng)
            for number in range(count)
        ]

    def _solution(self, level: str, rng: Random) -> Demonstration:
        (task,) = self.problems(level, 1, rng)
        if not task.answer:
            raise RedQueenError(f"reasoning-gym states no answer to problems of {level}: there is nothing to imitate")
        return Demonstration(SOLVER, task, task.answer)

    def _proposal(self, kind: str, number: int, rng: Random) -> Demonstration:
        chosen = {each.name: rng.randint(each.low, each.high) for each in self._choices[kind]}
        return Demonstration("proposer", self.invite(kind, (), number), _written(chosen, rng.randrange(SEEDS)))

    @cached_property
    def _easiest(self) -> dict[str, Task]:
        """A problem of each data set that has numbers to choose and makes one with the lowest, by its name."""
        found: dict[str, Task] = {}
        for kind, choices in self._choices.items():
            lowest = {each.name: each.low for each in choices}
            for seed in range(20 if choices else 0):
                if isinstance(task := self._proposed(kind, lowest, seed), Task):
                    found[kind] = task
                    break
        return found

    @cached_property
    def _choices(self) -> dict[str, tuple[Choice, ...]]:
        """What may be chosen, by data set."""
        given: dict[str, list[Mapping[str, Any]]] = {}
        for dataset, settings in self._sources.values():
            given.setdefault(dataset, []).append(settings)
        found = {
            dataset: [
                Choice(name, fields, *_bounds(fields, low, high, settings))
                for name, fields, low, high in self._gym.numbers(dataset)
            ]
            for dataset, settings in given.items()
        }
        return {dataset: tuple(each for each in named if each.low < each.high) for dataset, named in found.items()}

    def _read(self, kind: str, text: str) -> Task | Refusal:
        found = _CHOICE.findall(text)
        chosen = {name: int(number) for name, number in found}
        choices = self._choices[kind]
        if [name for name, _ in found] != [*(each.name for each in choices), "seed"]:
            return Refusal("malformed")
        seed = chosen.pop("seed")
        if not 0 <= seed < SEEDS or any(not each.low <= chosen[each.name] <= each.high for each in choices):
            return Refusal("out of bounds")
        return self._proposed(kind, chosen, seed)

    def _proposed(self, kind: str, chosen: Mapping[str, int], seed: int) -> Task | Refusal:
        """The problem that was chosen; its facts say as what ("proposal")."""
        settings = next(settings for dataset, settings in self._sources.values() if dataset == kind)
        numbers = {field: chosen[each.name] for each in self._choices[kind] for field in each.fields}
        try:
            (task,) = self._gym.tasks(kind, 1, seed, {**settings, **numbers})
        except RedQueenError:  # numbers that do not go together, or a problem that takes too long to make
            return Refusal("not made")
        written = _written(chosen, seed)
        return replace(task, id=f"{kind} {written}", facts={**task.facts, "proposal": written})

    def _made(self, level: str, count: int, seed: int) -> list[Task]:
        if level not in self._sources:
            raise RedQueenError(f"{self.name} has no level {level!r}: its levels are {', '.join(self.levels)}")
        dataset, settings = self._sources[level]
        return self._gym.tasks(dataset, count, seed, settings)


def _written(chosen: Mapping[str, int], seed: int) -> str:
    return " ".join(f"{name}={number}" for name, number in {**chosen, "seed": seed}.items())


def _bounds(fields: Sequence[str], low: int, high: int, given: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """The smallest and the largest number that the settings `given` name for these fields; else those of the
    curriculum."""
    named = [settings[name] for settings in given for name in fields if isinstance(settings.get(name), int)]
    set_low, set_high = (any(name in settings for settings in given) for name in (fields[0], fields[-1]))
    return min(named if set_low else [low, *named]), max(named if set_high else [high, *named])


def _sources(node: ast.expr) -> dict[str, Source]:
    """The data sets in an expression such as a + b(x=1), by their names as written. Nothing is evaluated."""
    match node:
        case ast.BinOp(left, ast.Add(), right):
            return _sources(left) | _sources(right)
        case ast.Name(name):
            return {name: (name, {})}
        case ast.Call(ast.Name(name), [], settings):
            return {ast.unparse(node): (name, {str(each.arg): ast.literal_eval(each.value) for each in settings})}
    raise ValueError(node)
