"""Programs, inputs and outputs: Absolute Zero's three kinds of tasks (Zhao et al. 2025, arXiv:2505.03335).

    deduction   the program and the input are given, the output is asked
    abduction   the program and the output are given, an input is asked: any that has this output is right
    induction   some inputs and outputs are given, a program is asked: it must also be right on those kept hidden

A `Wording` makes the prompts and reads the replies; the rest is the same for all. Programs of models run
only in the sandbox. A task whose runs differ is refused, and so is one that
fails or whose output has no plain literal. On a machine without a jail, programs that need it are refused and
count as wrong, with one warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Any, Protocol

from redqueen.checks.sandbox.literals import literal, parse
from redqueen.checks.sandbox.runner import PythonRunner
from redqueen.checks.sandbox.runs_of_programs import Kind, Program, Verdict
from redqueen.checks.sandbox.three_tasks import Pair as CheckedPair
from redqueen.checks.sandbox.three_tasks import reaches_output, reproduces, same_output
from redqueen.types import SOLVER, Demonstration, Refusal, Task

DEDUCTION, ABDUCTION, INDUCTION = KINDS = ("deduction", "abduction", "induction")
Arguments = tuple[Any, ...]  # of one call
Pair = tuple[str, str]  # the literals of the arguments, as a tuple with dicts in their order, and of the output


class Wording(Protocol):
    """The prompts for tasks, and how replies are read."""

    @property
    def name(self) -> str: ...
    def seed(self) -> tuple[str, Arguments]:
        """The program and the input of the first tasks."""
        ...

    def invite(self, kind: str, references: Sequence[Task]) -> str:
        """The prompt of a proposer; for induction the first reference holds the program."""
        ...

    def wanted(self, kind: str, reply: str) -> tuple[str, list[Arguments], str] | Refusal:
        """A proposer's program ("" for induction, where it is given), inputs, and hint or ""; or a refusal."""
        ...

    def pose(self, kind: str, source: str, pairs: Sequence[Pair], hint: str) -> str:
        """The prompt of a solver."""
        ...

    def solution(self, source: str) -> str:
        """A program as the answer to an induction task."""
        ...

    def source(self, answer: str) -> str:
        """The program in an answer to an induction task; "" if there is none."""
        ...

    def problem(self, kind: str, rng: Random) -> tuple[str, list[Pair]]:
        """A program and its pairs, for the set's own problems."""
        ...

    def attempt(self, kind: str, task: Task, rng: Random) -> str:
        """A demonstrated answer, right or wrong."""
        ...

    def proposal(self, kind: str, source: str, pairs: Sequence[Pair], rng: Random) -> str:
        """A demonstrated proposal, valid or not."""
        ...


@dataclass(frozen=True)
class Triplets:
    """The question set of a wording. See the module."""

    wording: Wording
    runner: PythonRunner = field(default_factory=PythonRunner, repr=False, compare=False)

    @property
    def name(self) -> str:
        return self.wording.name

    @property
    def kinds(self) -> tuple[str, ...]:
        return KINDS

    @property
    def levels(self) -> tuple[str, ...]:
        return KINDS

    def seeds(self) -> list[Task]:
        """The identity, once of each kind."""
        source, arguments = self.wording.seed()
        pair = (literal(arguments, ordered=True), literal(arguments[0]))
        return [self._task(kind, source, [pair]) for kind in KINDS]

    def sources(self, kind: str) -> tuple[str, ...]:
        """Programs for induction come from the tasks of the two other kinds."""
        return (DEDUCTION, ABDUCTION) if kind == INDUCTION else (kind,)

    def invite(self, kind: str, references: Sequence[Task], number: int) -> Task:
        references = references or self.seeds()[:1]
        facts = {"source": references[0].facts["source"]} if kind == INDUCTION else {}
        return Task(f"invitation {kind} {number}", kind, self.wording.invite(kind, references), facts=facts)

    def read(self, invitations: Sequence[Task], replies: Sequence[str]) -> list[Task | Refusal]:
        wanted = [self._wanted(task, reply) for task, reply in zip(invitations, replies, strict=True)]
        asked = [each for each in wanted if not isinstance(each, Refusal)]
        verdicts = iter(self.runner.certified([Program(source, "f", x) for source, inputs, _ in asked for x in inputs]))
        found: list[Task | Refusal] = []
        for task, each in zip(invitations, wanted, strict=True):
            if isinstance(each, Refusal):
                found.append(each)
                continue
            source, inputs, hint = each
            runs = [next(verdicts) for _ in inputs]
            failed = next((run for run in runs if run.kind is not Kind.VALUE), None)
            if failed and failed.kind is Kind.UNSUPPORTED and self.runner.missing:
                _warn_once(self.runner.missing)
            pairs = [(literal(x, ordered=True), run.value) for x, run in zip(inputs, runs, strict=True)]
            found.append(Refusal(failed.kind.value) if failed else self._task(task.kind, source, pairs, hint))
        return found

    def _wanted(self, invitation: Task, reply: str) -> tuple[str, list[Arguments], str] | Refusal:
        found = self.wording.wanted(invitation.kind, reply.strip())
        if isinstance(found, Refusal):
            return found
        source, inputs, hint = found
        return (str(invitation.facts["source"]) if invitation.kind == INDUCTION else source), inputs, hint

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        found = [False] * len(tasks)
        checks = {DEDUCTION: self._deduced, ABDUCTION: self._abduced, INDUCTION: self._induced}
        for kind, check in checks.items():
            numbers = [number for number, task in enumerate(tasks) if task.kind == kind]
            results = check([tasks[number] for number in numbers], [answers[number].strip() for number in numbers])
            for number, result in zip(numbers, results, strict=True):
                found[number] = result is True
                if result is None:
                    _warn_once(self.runner.missing)
        return found

    def _deduced(self, tasks: Sequence[Task], answers: Sequence[str]) -> Sequence[bool | None]:
        return same_output([Verdict(Kind.VALUE, _pairs(task)[0][1]) for task in tasks], answers)

    def _abduced(self, tasks: Sequence[Task], answers: Sequence[str]) -> Sequence[bool | None]:
        programs = [Program(str(task.facts["source"]), "f") for task in tasks]
        return reaches_output(self.runner, programs, [_pairs(task)[0][1] for task in tasks], answers)

    def _induced(self, tasks: Sequence[Task], answers: Sequence[str]) -> Sequence[bool | None]:
        programs = [Program(self.wording.source(answer), "f") for answer in answers]
        hidden = [[CheckedPair(parse(x), output) for x, output in _pairs(task)] for task in tasks]
        return reproduces(self.runner, programs, hidden)

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        return [self._task(level, *self.wording.problem(level, rng)) for _ in range(count)]

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        """Half proposals, half solutions, the kinds in turn."""
        return [self._demonstration(number, rng) for number in range(count)]

    def _demonstration(self, number: int, rng: Random) -> Demonstration:
        kind = KINDS[number // 2 % 3]
        (task,) = self.problems(kind, 1, rng)
        if number % 2:
            return Demonstration(SOLVER, task, self.wording.attempt(kind, task, rng))
        invitation = self.invite(kind, [task], number)
        source, pairs = self.wording.problem(kind, rng)
        return Demonstration("proposer", invitation, self.wording.proposal(kind, source, pairs, rng))

    def _task(self, kind: str, source: str, pairs: Sequence[Pair], hint: str = "") -> Task:
        answer = {DEDUCTION: pairs[0][1], ABDUCTION: shown(pairs[0][0]), INDUCTION: self.wording.solution(source)}[kind]
        facts: Mapping[str, Any] = {"source": source, "pairs": [list(pair) for pair in pairs], "hint": hint}
        name = f"{kind} of {source} for {', '.join(x for x, _ in pairs)}"
        return Task(name, kind, self.wording.pose(kind, source, pairs, hint), answer, facts)


@cache  # since the filters of `warnings` forget what they have shown when others are set for a while
def _warn_once(missing: str) -> None:
    warnings.warn(f"programs that need the jail are refused, and count as wrong answers: {missing}", stacklevel=3)


def _pairs(task: Task) -> Sequence[Pair]:
    found: Sequence[Pair] = task.facts["pairs"]
    return found


def shown(pair_input: str) -> str:
    """The arguments of a pair as they stand in a call: "(4,)" becomes "4"."""
    return ", ".join(literal(each, ordered=True) for each in parse(pair_input))
