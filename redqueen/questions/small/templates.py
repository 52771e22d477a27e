"""Problems made from concepts by a latent rationale: eight ways to join two or three small numbers.

The concepts say which operations a problem is about ("plus and times"), the rationale how they are joined ("times a
sum"), and the problem is what comes out, "4*(2+3)". For each of the four sets of concepts there is an easy rationale
and a hard one. A prompter, given concepts, writes "times a sum: 4*(2+3)"; an explainer, given concepts and a problem,
writes the rationale.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from types import MappingProxyType
from typing import Protocol

from redqueen.protocols import Proposable
from redqueen.types import SOLVER, Demonstration, RedQueenError, Refusal, Task


class Explained(Proposable, Protocol):
    """A question set whose problems come from concepts by way of a rationale. `invite` shows the concepts of its first
    reference; what a proposer replies is read by the question set, which keeps the rationale among the task's facts."""

    def explain(self, task: Task) -> Task:
        """The task of an explainer, who is to find the rationale: a problem and its concepts."""
        ...

    def written(self, task: Task, rationale: str) -> str:
        """A rationale and the problem as one reply to an invitation."""
        ...

    def rationales(self) -> Sequence[str]:
        """Every rationale, if they can be listed; otherwise none."""
        ...


@dataclass(frozen=True)
class Template:
    """A rationale: a formula of a, b and c, and the concepts that it uses."""

    rationale: str
    concepts: str
    pattern: str
    value: Callable[[int, int, int], int]
    hard: bool = False

    def fill(self, numbers: Sequence[int]) -> str:
        return "".join(str(numbers["abc".index(sign)]) if sign in "abc" else sign for sign in self.pattern)


TEMPLATES = (
    Template("add", "plus", "a+b", lambda a, b, c: a + b),
    Template("add twice", "plus", "a+b+c", lambda a, b, c: a + b + c, hard=True),
    Template("take", "minus", "a-b", lambda a, b, c: a - b),
    Template("take twice", "minus", "a-b-c", lambda a, b, c: a - b - c, hard=True),
    Template("add then take", "plus and minus", "a+b-c", lambda a, b, c: a + b - c),
    Template("take a sum", "plus and minus", "a-(b+c)", lambda a, b, c: a - (b + c), hard=True),
    Template("times then add", "plus and times", "a*b+c", lambda a, b, c: a * b + c),
    Template("times a sum", "plus and times", "a*(b+c)", lambda a, b, c: a * (b + c), hard=True),
)
BY_RATIONALE = MappingProxyType({template.rationale: template for template in TEMPLATES})
BY_PATTERN = MappingProxyType({template.pattern: template for template in TEMPLATES})
_NUMBER = re.compile(r"[1-9]")


@dataclass(frozen=True)
class Templates:
    """See the module. Kinds and levels are the rationales. All but `largest` is for seeds and demonstrations: how often
    a hard rationale is behind a problem, how often the rationale that is shown is the true one (otherwise any), and
    how often an easy and a hard problem are answered right (otherwise by a number nearby)."""

    largest: int = 6  # of a number, at most 9
    hard: float = 0.15
    annotated: float = 0.5
    skill: float = 0.85
    skill_hard: float = 0.35
    seeds_made: int = 64
    name: str = field(default="templates", repr=False)

    def __post_init__(self) -> None:
        if not 3 <= self.largest <= 9:
            raise RedQueenError(f"the largest number of a template is from 3 to 9, not {self.largest}")

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(BY_RATIONALE)

    @property
    def levels(self) -> tuple[str, ...]:
        return self.kinds

    def rationales(self) -> Sequence[str]:
        return self.kinds

    def seeds(self) -> list[Task]:
        """One problem of each kind, then further ones drawn as in the demonstrations."""
        rng = Random(0)
        made = [self.problems(kind, 1, rng)[0] for kind in self.kinds]
        return made + [self._problem(self._template(rng), rng) for _ in range(self.seeds_made - len(made))]

    def sources(self, kind: str) -> tuple[str, ...]:
        return self.kinds

    def invite(self, kind: str, references: Sequence[Task], number: int) -> Task:
        """An invitation with the concepts of the first reference, or those of the kind if there is none."""
        concepts = references[0].facts["concepts"] if references else BY_RATIONALE[kind].concepts
        prompt = f"Write a problem about {concepts}."
        return Task(f"invitation {kind} {number}", kind, prompt, facts={"concepts": concepts})

    def explain(self, task: Task) -> Task:
        concepts = task.facts["concepts"]
        prompt = f"How is {task.facts['expression']} made from {concepts}?"
        return Task(f"explain {task.id}", task.kind, prompt, facts={"concepts": concepts})

    def written(self, task: Task, rationale: str) -> str:
        return f"{rationale}: {task.facts['expression']}"

    def read(self, invitations: Sequence[Task], replies: Sequence[str]) -> list[Task | Refusal]:
        """The problems with computed answers. Whether a rationale fits its problem is not checked."""
        return [
            _read(str(task.facts["concepts"]), reply.strip()) for task, reply in zip(invitations, replies, strict=True)
        ]

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        return [task.answer == answer.strip() for task, answer in zip(tasks, answers, strict=True)]

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        return [self._problem(BY_RATIONALE[level], rng) for _ in range(count)]

    def _problem(self, template: Template, rng: Random) -> Task:
        while True:
            numbers = [rng.randint(1, self.largest) for _ in range(3)]
            if template.value(*numbers) >= 0:
                return _task(template, numbers)

    def _template(self, rng: Random) -> Template:
        hard = rng.random() < self.hard
        return rng.choice([template for template in TEMPLATES if template.hard == hard])

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        """Demonstrations: two solutions, of all kinds equally, for each rationale and each problem."""
        return [self._demonstration(number, rng) for number in range(count)]

    def _demonstration(self, number: int, rng: Random) -> Demonstration:
        if number % 2:
            task = self._problem(rng.choice(TEMPLATES), rng)
            return Demonstration(SOLVER, task, self._solution(task, rng))
        task = self._problem(self._template(rng), rng)
        shown = task.kind if rng.random() < self.annotated else rng.choice(self.kinds)
        if number % 4:
            return Demonstration("explainer", self.explain(task), shown)
        return Demonstration("proposer", self.invite(task.kind, [task], number), self.written(task, shown))

    def _solution(self, task: Task, rng: Random) -> str:
        if rng.random() < (self.skill_hard if BY_RATIONALE[task.kind].hard else self.skill):
            return task.answer
        return str(max(0, int(task.answer) + rng.choice((-4, -3, -2, -1, 1, 2, 3, 4))))


def _task(template: Template, numbers: Sequence[int], stated: str = "") -> Task:
    expression = template.fill(numbers)
    facts = {"expression": expression, "concepts": template.concepts, "rationale": template.rationale, "stated": stated}
    answer = str(template.value(*numbers))
    return Task(expression, template.rationale, f"What is {expression}?", answer, facts)


def _read(concepts: str, reply: str) -> Task | Refusal:
    stated, colon, expression = reply.partition(": ")
    found = _NUMBER.findall(expression)
    signs = iter("abc")
    template = BY_PATTERN.get(_NUMBER.sub(lambda _: next(signs), expression)) if len(found) <= 3 else None
    if not colon or template is None:
        return Refusal("malformed")
    if template.concepts != concepts:
        return Refusal("other concepts")
    numbers = [*map(int, found), 0][:3]
    if template.value(*numbers) < 0:
        return Refusal("negative")
    return _task(template, numbers, stated)
