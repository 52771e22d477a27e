"""Python expressions of x in one line: Absolute Zero's tasks for small models and untrained ones.

proposer   "x*3+1 for x=4"; for induction, four values of x: "1, 4, 6, 9"
solver     the value; a value of x; the expression
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import add, mul, sub
from random import Random

from redqueen.checks.sandbox.literals import NotPlain, literal, parse
from redqueen.checks.sandbox.three_tasks import arguments
from redqueen.questions.triplets import ABDUCTION, DEDUCTION, INDUCTION, Arguments, Pair, Triplets, shown
from redqueen.types import RedQueenError, Refusal, Task

LONGEST = 200  # characters of an expression
PAIRS = 4  # of an induction task, of which SHOWN are shown
SHOWN = 2
_PROPOSAL = re.compile(rf"(.{{1,{LONGEST}}}?) for x=(.{{1,{LONGEST}}})")
_HEAD = "def f(x):\n    return "


def expressions(skill: float = 0.06, valid: float = 0.6, largest: int = 5) -> Triplets:
    """The question set. The settings are for problems and demonstrations only: how often a demonstrated solution is
    right (`skill`), how often a demonstrated proposal can be run (`valid`), and the largest number in an expression.
    Nearly all of it runs without the jail."""
    return Triplets(OneLine(skill, valid, largest))


@dataclass(frozen=True)
class OneLine:
    skill: float
    valid: float
    largest: int
    name: str = field(default="expressions", repr=False)

    def __post_init__(self) -> None:
        if self.largest < 1:
            raise RedQueenError(f"the largest number in an expression is at least 1, not {self.largest}")

    def seed(self) -> tuple[str, Arguments]:
        return _HEAD + "x", (7,)

    def invite(self, kind: str, references: Sequence[Task]) -> str:
        if kind == INDUCTION:
            return f"Write {PAIRS} values of x for {_body(references[0])}, like 1, 2, 3, 4."
        hard = "value" if kind == DEDUCTION else "x"
        known = "".join(f"\n{_body(task)} for x={shown(task.facts['pairs'][0][0])}" for task in references)
        return f"Write a new Python expression of x and an x, so that its {hard} is hard to tell, like these:{known}"

    def wanted(self, kind: str, reply: str) -> tuple[str, list[Arguments], str] | Refusal:
        try:
            if kind == INDUCTION:
                inputs = [(x,) for x in arguments(reply)]
                distinct = len({literal(x) for x in inputs})
                return ("", inputs, "") if distinct == len(inputs) == PAIRS else Refusal("wrong number of inputs")
            found = _PROPOSAL.fullmatch(reply)
            return (_HEAD + found[1], [(parse(found[2]),)], "") if found else Refusal("malformed")
        except NotPlain:
            return Refusal("malformed")

    def pose(self, kind: str, source: str, pairs: Sequence[Pair], hint: str) -> str:
        body, (x, value) = source.removeprefix(_HEAD), pairs[0]
        if kind == DEDUCTION:
            return f"What is {body} for x={shown(x)}?"
        if kind == ABDUCTION:
            return f"For which x is {body} equal to {value}?"
        examples = " and ".join(f"{value} for x={shown(x)}" for x, value in pairs[:SHOWN])
        return f"Which expression of x is {examples}?"

    def solution(self, source: str) -> str:
        return source.removeprefix(_HEAD)

    def source(self, answer: str) -> str:
        return _HEAD + answer if answer and len(answer) <= LONGEST and "\n" not in answer else ""

    # Dealing

    def problem(self, kind: str, rng: Random) -> tuple[str, list[Pair]]:
        """A problem; for abduction one whose value is no answer, so that copying it is always wrong."""
        while True:
            body = self._expression(rng)
            inputs = rng.sample(range(10), PAIRS if kind == INDUCTION else 1)
            values = [_value(body, x) for x in inputs]
            if kind != ABDUCTION or _value(body, values[0]) != values[0]:
                return _HEAD + body, [(f"({x},)", str(value)) for x, value in zip(inputs, values, strict=True)]

    def _expression(self, rng: Random) -> str:
        first, second = (self._step(rng) for _ in range(2))
        return rng.choice((f"x{first}", f"x{first}{second}", f"(x{first}){second}"))

    def _step(self, rng: Random) -> str:
        operation = rng.choice("+-*")
        return f"{operation}{rng.randint(2 if operation == '*' else 1, self.largest)}"

    def attempt(self, kind: str, task: Task, rng: Random) -> str:
        """The right answer, or a typical wrong one: without the last step, the value in place of the x, a random
        expression."""
        if rng.random() < self.skill:
            return task.answer
        x, value = task.facts["pairs"][0]
        if kind == DEDUCTION:
            return str(_value(_half_done(_body(task)), *parse(x)))
        return str(value) if kind == ABDUCTION else self._expression(rng)

    def proposal(self, kind: str, source: str, pairs: Sequence[Pair], rng: Random) -> str:
        sound = rng.random() < self.valid
        if kind == INDUCTION:
            return ", ".join(shown(x) for x, _ in (pairs if sound else pairs[: rng.randint(1, PAIRS - 1)]))
        body, x = self.solution(source), shown(pairs[0][0])
        spoilt = (f"{body}+ for x={x}", f"{body}/0 for x={x}", f"{body} x={x}", f"y{body} for x={x}")
        return f"{body} for x={x}" if sound else rng.choice(spoilt)


def _body(task: Task) -> str:
    return str(task.facts["source"]).removeprefix(_HEAD)


def _half_done(expression: str) -> str:
    """The expression without its last step: x*3+1 becomes x*3."""
    return re.sub(r"[+*-][0-9]+$", "", expression).strip("()")


def _value(expression: str, x: int) -> int:
    """The value of an expression made of x, whole numbers, +, - and *."""
    return _worked_out(ast.parse(expression, mode="eval").body, x)


def _worked_out(node: ast.expr, x: int) -> int:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name():
            return x
        case ast.BinOp(left, operation, right):
            return _OPERATIONS[type(operation)](_worked_out(left, x), _worked_out(right, x))
    raise AssertionError(f"{ast.unparse(node)} is not dealt here")


_OPERATIONS: Mapping[type[ast.operator], Callable[[int, int], int]] = {ast.Add: add, ast.Sub: sub, ast.Mult: mul}
