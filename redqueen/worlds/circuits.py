"""Small circuits: y is asked for by its table, and a design is an `assign` of Verilog that gives all rows.

    Inputs a b c. y for a b c counted from 000 to 111: 0 0 0 1 0 1 1 1
    assign y = ( a & b ) | ( c & ( a ^ b ) ) ;

A design that gives other rows is told how many are right and the first that is wrong. `listed` shows six designs of
which one is right, and ends with the first that is chosen. Rows are worked out here, or by `simulator=iverilog`, a
program of Debian; designs reach it only as they are written anew from what was read (`checks.verilog`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import Any

from redqueen.chance import derive
from redqueen.checks.verilog import (
    LONGEST,
    DesignError,
    Expression,
    read_design,
    simulated,
    table_of,
    why_not_simulated,
    written,
)
from redqueen.games.talk import titled
from redqueen.protocols import State, Tool
from redqueen.types import Assessment, Observation, RedQueenError, Task

FAMILIES = ("two", "three", "mux", "adder")
LETTERS = "abcdefgh"
SIGNS = ("&", "|", "^")
CHOICES = 6  # designs that are listed
DRAWS = 8  # for each task that is wanted
TRIES = 200  # expressions that are drawn until one needs all of its inputs
FORM = "Reply as: assign y = a & ~ b ;   Signs: ~ & ^ | ? : ( )"


@dataclass(frozen=True)
class Circuits:
    """`count` tasks to train on and `tests` held out, of one family or of all: functions of two and of three inputs, a
    choice between two inputs, a bit of an adder. No table over the same inputs is in both. Of a family with fewer
    (`two` has 280) all are dealt, in the same proportion."""

    family: str = ""
    count: int = 300
    tests: int = 100
    listed: bool = False
    simulator: str = "python"
    repeatable = True

    def __post_init__(self) -> None:
        if self.family and self.family not in FAMILIES:
            raise RedQueenError(f"there is no family {self.family!r} of circuits: they are {', '.join(FAMILIES)}")
        if self.simulator not in ("python", "iverilog"):
            raise RedQueenError(f"circuits are worked out by python or iverilog, not by {self.simulator!r}")
        if self.simulator == "iverilog" and (missing := why_not_simulated()):
            raise RedQueenError(f"{missing}, or leave simulator=iverilog out")
        if min(self.count, self.tests) < 1 or self.count + self.tests > 1000:
            raise RedQueenError("circuits need a task to train on and one to hold out, and are at most 1000")

    @property
    def name(self) -> str:
        return titled("circuits", self)

    def tasks(self) -> Sequence[Task]:
        return self._dealt[self._held :]

    def held_out(self) -> Sequence[Task]:
        return self._dealt[: self._held]

    @property
    def _held(self) -> int:
        return round(len(self._dealt) * self.tests / (self.count + self.tests))

    @cached_property
    def _dealt(self) -> tuple[Task, ...]:
        families = [self.family] if self.family else list(FAMILIES)
        found, known, wanted = list[Task](), set[str](), self.count + self.tests
        for number in range(DRAWS * wanted):
            family = families[number % len(families)]
            rng = Random(derive(0, "circuits", f"{family}{number}"))
            inputs = tuple(sorted(rng.sample(LETTERS, 2 if family == "two" else 3)))
            tree = _drawn(family, inputs, rng)
            if len(found) == wanted:
                break
            if (same := f"{inputs} {table_of(tree, inputs)}") not in known:
                known.add(same)
                found.append(posed(f"{family}{number}", family, inputs, tree, rng))
        return tuple(found)

    def with_goal(self, task: Task, after: State, prompt: str) -> Task:
        """The task that asks for the table of the last design of a visit."""
        inputs = tuple(task.facts["inputs"])
        if not self.worded(task, after):
            raise RedQueenError(f"no design was made that may be the goal of a task that begins as {task.id}")
        tree = read_design(after["tried"][-1], inputs)
        name = f"{' '.join(inputs)} {after['rows']}"
        return replace(posed(name, task.kind, inputs, tree, Random(derive(0, name))), prompt=prompt)

    def worded(self, task: Task, after: State) -> str:
        """ "" for a table that is held out, too."""
        inputs, table = tuple(task.facts["inputs"]), after["rows"]
        held = any((each.facts["inputs"], each.facts["table"]) == (inputs, table) for each in self.held_out())
        return "" if held or not table else asked_for(inputs, table)

    def open(self, task: Task, seed: int) -> CircuitVisit:
        return CircuitVisit(task, self.listed, simulated if self.simulator == "iverilog" else table_of)

    def expert(self, task: Task) -> tuple[str, ...]:
        """The design from which the task was made."""
        return (str(task.facts["design"]),)


def posed(name: str, family: str, inputs: tuple[str, ...], tree: Expression, rng: Random) -> Task:
    """The task that asks for the table of an expression. Listed with it are others of the family over the same inputs,
    drawn from `rng`, so that no length and no sign tells them apart."""
    table = table_of(tree, inputs)
    prompt = asked_for(inputs, table)
    design = f"assign y = {written(tree)} ;"
    others = list[str]()
    while len(others) < CHOICES - 1:
        other = _drawn(family, inputs, rng)
        if table_of(other, inputs) != table and (text := f"assign y = {written(other)} ;") not in others:
            others.append(text)
    place = rng.randrange(CHOICES)
    listed = (*others[:place], design, *others[place:])
    facts = {"inputs": inputs, "table": table, "design": design, "listed": listed, "hidden": (f"answer: {design}",)}
    return Task(name, kind=family, prompt=prompt, facts=facts)


def asked_for(inputs: Sequence[str], table: str) -> str:
    """What is asked of a design."""
    asked, first, last = " ".join(inputs), "0" * len(inputs), "1" * len(inputs)
    return f"Inputs {asked}. y for {asked} counted from {first} to {last}: {' '.join(table)}"


def _drawn(family: str, inputs: tuple[str, ...], rng: Random) -> Expression:
    """An expression of the family that needs all of the inputs."""
    if family in ("two", "three"):
        for _ in range(TRIES):
            tree = _expression(inputs, len(inputs), rng)
            if all(_matters(tree, inputs, name) for name in inputs):
                return tree
        raise RedQueenError(f"no function of {' '.join(inputs)} was found that needs all of them")
    order = rng.sample(inputs, 3)
    one, two, three = ((name,) if rng.random() < 0.75 else ("~", (name,)) for name in order)
    if family == "mux":
        return ("?", (order[0],), two, three)
    if rng.random() < 0.5:
        return ("^", ("^", one, two), three)
    return ("|", ("&", one, two), ("&", three, ("^", one, two)))


def _expression(inputs: Sequence[str], leaves: int, rng: Random) -> Expression:
    """An expression with so many names."""
    if leaves == 1:
        name = (rng.choice(inputs),)
        return ("~", name) if rng.random() < 0.3 else name
    left = rng.randint(1, leaves - 1)
    tree = (rng.choice(SIGNS), _expression(inputs, left, rng), _expression(inputs, leaves - left, rng))
    return ("~", tree) if rng.random() < 0.15 else tree


def _matters(tree: Expression, inputs: Sequence[str], name: str) -> bool:
    """Whether y ever changes with this input."""
    bit = len(inputs) - 1 - inputs.index(name)
    table = table_of(tree, inputs)
    return any(table[row] != table[row ^ (1 << bit)] for row in range(len(table)))


class CircuitVisit:
    """One circuit, and the designs that were tried."""

    tools: tuple[Tool, ...] = ()

    def __init__(self, task: Task, listed: bool, rows_of: Any) -> None:
        self._inputs, self._table = tuple(task.facts["inputs"]), str(task.facts["table"])
        self._choices = tuple(task.facts["listed"]) if listed else ()
        self._rows_of = rows_of
        self._tried = list[str]()
        self._rows = ""  # of the last design; "" where it was none

    def look(self) -> Observation:
        return Observation("\n".join((FORM, *self._choices)), self._choices)

    def act(self, said: str) -> Observation:
        self._tried.append(said[:LONGEST])
        over = bool(self._choices)
        try:
            self._rows = self._rows_of(read_design(said, self._inputs), self._inputs)
        except DesignError as error:
            self._rows = ""
            return Observation(f"No design: {error}.", self._choices)
        wrong = [place for place, (due, row) in enumerate(zip(self._table, self._rows, strict=True)) if due != row]
        if not wrong:
            return Observation("All rows are right.", over=True)
        at = f"{wrong[0]:0{len(self._inputs)}b}"
        shown = (
            f"{len(self._table) - len(wrong)} of {len(self._table)} rows are right. At {' '.join(self._inputs)} = "
            f"{' '.join(at)} y is {self._rows[wrong[0]]}, not {self._table[wrong[0]]}."
        )
        return Observation(shown, () if over else self._choices, over=over)

    def state(self) -> Mapping[str, Any]:
        return {"table": self._table, "tried": list(self._tried), "rows": self._rows}

    def assess(self, answer: str = "") -> Assessment:
        """Score 1 for a last design with all rows. Parts: `compiles`, whether it was one; `rows`, the share that is
        right."""
        right = sum(due == row for due, row in zip(self._table, self._rows, strict=False)) / len(self._table)
        parts = {"compiles": float(bool(self._rows)), "rows": right}
        return Assessment(float(right == 1.0), parts, {"tried": len(self._tried)})

    def close(self) -> None:
        return None
