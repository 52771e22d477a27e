"""Python functions in fenced blocks: Absolute Zero's tasks for models that can write programs.

proposer   a function f in a ```python block and the arguments of a call in an ```input block; for induction,
           ten lines of arguments in an ```input block, and a hint in a ```message block
solver     the output; the arguments of a call; a function f in a ```python block
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from random import Random

from redqueen.checks.sandbox import jail
from redqueen.checks.sandbox.literals import NotPlain, literal, quiet
from redqueen.checks.sandbox.three_tasks import arguments
from redqueen.questions.triplets import ABDUCTION, DEDUCTION, INDUCTION, Arguments, Pair, Triplets, shown
from redqueen.types import RedQueenError, Refusal, Task

LONGEST = 4000  # characters of a program
PAIRS = 10  # N of an induction task; the first half is shown, all are checked
_BLOCK = re.compile(r"```[ \t]*+(\w++)[ \t]*+\n(.*?)```", re.DOTALL)
_RULES = """\
Rules: the function is called f and has one argument or more; it always gives the same output for the same input; it \
prints nothing and uses no file, network, clock or chance; it ends within a second; its output is a plain value such \
as a number, a string, a list or a dictionary."""


def programs() -> Triplets:
    """The question set; its problems are 64 small functions shipped with the library. Raises RedQueenError if
    this machine has no jail, which many programs of models need."""
    if missing := jail.why_not():
        raise RedQueenError(f"the question set programs needs the jail, as expressions does not: {missing}")
    return Triplets(Fenced())


@dataclass(frozen=True)
class Fenced:
    name: str = field(default="programs", repr=False)

    def seed(self) -> tuple[str, Arguments]:
        return "def f(a):\n    return a", ("Hello world",)

    def invite(self, kind: str, references: Sequence[Task]) -> str:
        if kind == INDUCTION:
            return (
                f"Here is a function:\n\n{_fenced('python', references[0].facts['source'])}\n\n"
                f"Somebody is to find it out from examples. Write {PAIRS} different inputs for it, each the arguments "
                "of one call on a line of its own, in a block that begins with ```input. Let them show all that it "
                "does. Then write one sentence that hints at what it does and does not give it away, in a block that "
                "begins with ```message."
            )
        hard = "the output" if kind == DEDUCTION else "an input that gives its output"
        known = "\n\n".join(_example(task) for task in references)
        return (
            f"Write a Python function and one input for it. It is a test of reasoning: {hard} should be hard to work "
            f"out by reading.\n\n{_RULES}\n\nMake it different from these:\n\n{known}\n\n"
            "Write the function in a block that begins with ```python, and the arguments of the call in a block that "
            "begins with ```input."
        )

    def wanted(self, kind: str, reply: str) -> tuple[str, list[Arguments], str] | Refusal:
        blocks = _blocks(reply)
        try:
            if kind == INDUCTION:
                inputs = [arguments(line) for line in blocks.get("input", "").splitlines() if line.strip()]
                distinct = len({literal(x) for x in inputs})
                hint = " ".join(blocks.get("message", "").split())
                return ("", inputs, hint) if distinct == len(inputs) == PAIRS else Refusal("wrong number of inputs")
            if "python" not in blocks or "input" not in blocks:
                return Refusal("malformed")
            source = _function(blocks["python"])
            return (source, [arguments(blocks["input"])], "") if source else Refusal("no function f")
        except NotPlain:
            return Refusal("malformed")

    def pose(self, kind: str, source: str, pairs: Sequence[Pair], hint: str) -> str:
        x, output = pairs[0]
        if kind == DEDUCTION:
            return f"{_fenced('python', source)}\n\nWhat does f({shown(x)}) give?"
        if kind == ABDUCTION:
            return (
                f"{_fenced('python', source)}\n\nWith which arguments does f give {output}? Answer with the arguments "
                "as they stand between the brackets of the call."
            )
        examples = "\n".join(f"f({shown(x)}) gives {output}" for x, output in pairs[: max(1, len(pairs) // 2)])
        return f"{examples}\n{hint}\n\nWrite the Python function f, in a block that begins with ```python."

    def solution(self, source: str) -> str:
        return _fenced("python", source)

    def source(self, answer: str) -> str:
        return _function(_blocks(answer).get("python", answer))

    # Dealing

    def problem(self, kind: str, rng: Random) -> tuple[str, list[Pair]]:
        source, pairs = rng.choice(_shipped())
        return source, rng.sample(pairs, len(pairs) if kind == INDUCTION else 1)

    def attempt(self, kind: str, task: Task, rng: Random) -> str:
        return task.answer

    def proposal(self, kind: str, source: str, pairs: Sequence[Pair], rng: Random) -> str:
        lines = "\n".join(shown(x) for x, _ in pairs)
        return (
            _fenced("input", lines) if kind == INDUCTION else f"{_fenced('python', source)}\n{_fenced('input', lines)}"
        )


def _fenced(kind: str, text: str) -> str:
    return f"```{kind}\n{text}\n```"


def _blocks(reply: str) -> dict[str, str]:
    """The first block of each kind, without white space around it."""
    found: dict[str, str] = {}
    for kind, text in _BLOCK.findall(reply):
        found.setdefault(kind.lower(), text.strip())
    return found


def _function(text: str) -> str:
    """The program if it defines a function f; a single function of another name is also named f. Nothing is
    run."""
    if not text or len(text) > LONGEST:
        return ""
    try:
        with quiet():
            tree = ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return ""
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    if "f" in functions:
        return text
    return f"{text}\nf = {functions[0]}" if len(functions) == 1 else ""


def _example(task: Task) -> str:
    return f"{_fenced('python', task.facts['source'])}\n{_fenced('input', shown(task.facts['pairs'][0][0]))}"


@lru_cache(maxsize=1)
def _shipped() -> tuple[tuple[str, tuple[Pair, ...]], ...]:
    lines = (Path(__file__).parent / "programs.jsonl").read_text().splitlines()
    read = [json.loads(line) for line in lines]
    return tuple((each["source"], tuple((x, output) for x, output in each["pairs"])) for each in read)
