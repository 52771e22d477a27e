"""Where a request went wrong: a tree of calls between services, in which one has a fault.

    spans     <spans>s0</spans>        the calls that s0 made: id, service, milliseconds, status
    metrics   <metrics>pay</metrics>   how long the service takes as a rule, how long now, and its errors
    answer    pay, cart, mail          the services that may be at fault, the likeliest first

The fault makes a call slow, so that all calls above it are slow too, or lets it fail, which is passed up to the root.
A decoy is slow or fails too, but always does, as its metrics say: whoever follows what looks worst is led astray. After
ThinkFL (arXiv:2504.18776); trees, noise and faults are drawn by the number of the task alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, log2
from random import Random
from typing import Any

from redqueen.chance import derive
from redqueen.games.talk import titled
from redqueen.games.tools import ToolError, find_call
from redqueen.protocols import State, Tool
from redqueen.types import Assessment, Observation, RedQueenError, Task

SERVICES = tuple(f"{name}{number}" for name in ("cart", "mail", "pay", "user", "stock", "ship") for number in range(8))
USUAL = (5, 30)  # milliseconds that a service takes by itself
SLOW = (150, 300)  # more, of a slow fault
DECOY = (200, 400)  # that a decoy takes by itself, always
PROMPT = "The request s0 went wrong. Which service is at fault?"
LOOKED_FOR = "The request s0 was served. Which service takes {} ms by itself now?"  # of a task set in hindsight


@dataclass(frozen=True)
class Traces:
    """`count` requests to train on and `tests` held out, each a tree of `least` to `most` calls with `decoys` services
    that are slow, or fail, as a rule."""

    count: int = 300
    tests: int = 100
    least: int = 15
    most: int = 40
    decoys: int = 1
    repeatable = True

    def __post_init__(self) -> None:
        if not 4 <= self.least <= self.most <= len(SERVICES):
            raise RedQueenError(f"a request has 4 to {len(SERVICES)} calls, not {self.least} to {self.most}")
        if min(self.count, self.tests) < 1 or not 0 <= self.decoys <= 3:
            raise RedQueenError("traces need a task to train on and one to hold out, and have 0 to 3 decoys")

    @property
    def name(self) -> str:
        return titled("traces", self)

    def tasks(self) -> Sequence[Task]:
        return self._dealt[0]

    def held_out(self) -> Sequence[Task]:
        return self._dealt[1]

    @cached_property
    def _dealt(self) -> tuple[tuple[Task, ...], tuple[Task, ...]]:
        trained, held = (
            tuple(self._posed(f"{which}{number}") for number in range(count))
            for which, count in (("request", self.count), ("held", self.tests))
        )
        return trained, held

    def _posed(self, name: str) -> Task:
        rng = Random(derive(0, "traces", name))
        size = rng.randint(self.least, self.most)
        above = [None, *(_parent(number, rng) for number in range(1, size))]
        services = rng.sample(SERVICES, size)
        kind = rng.choice(("slow", "error"))
        leaves = sorted(set(range(size)) - {each for each in above if each is not None})
        fault = rng.choice(leaves)
        way = _way(above, fault)
        beside = [number for number in range(1, size) if number not in way and above[number] in way]
        decoys = rng.sample(beside, min(self.decoys, len(beside)))
        own = [rng.randint(*USUAL) for _ in range(size)]
        for number in decoys if kind == "slow" else ():
            own[number] = rng.randint(*DECOY)
        now = [max(1, round(each * rng.uniform(0.9, 1.1))) for each in own]
        now[fault] += rng.randint(*SLOW) if kind == "slow" else 0
        always = decoys if kind == "error" else []  # these fail as a rule, and whoever calls them goes on
        failed = (*way, *always) if kind == "error" else ()
        facts = {
            "spans": [
                {
                    "above": above[number],
                    "service": services[number],
                    "usual": own[number],
                    "now": now[number],
                    "failed": number in failed,
                    "fails": "now" if number == fault and kind == "error" else "always" if number in always else "",
                }
                for number in range(size)
            ],
            "fault": fault,
            "hidden": (f"{kind} {services[fault]}",),
        }
        return Task(name, kind=kind, prompt=PROMPT, facts=facts)

    def with_goal(self, task: Task, after: State, prompt: str) -> Task:
        """The task to find, in the same request, the service that was named or measured last."""
        if not self.worded(task, after):
            raise RedQueenError(f"no service was found that may be the goal of a task that begins as {task.id}")
        service = _last(after)
        number = next(at for at, span in enumerate(task.facts["spans"]) if span["service"] == service)
        facts = {**task.facts, "fault": number, "hidden": (f"{task.kind} {service}",)}
        return Task(f"{task.id.partition(' ')[0]} {service}", task.kind, prompt, facts=facts)

    def worded(self, task: Task, after: State) -> str:
        """ "" where no service was found, another one takes as long, and for requests that are held out."""
        spans, service = task.facts["spans"], _last(after)
        found = [span["now"] for span in spans if span["service"] == service]
        alike = sum(span["now"] == found[0] for span in spans) if found else 0
        held = any(each.facts["spans"] == spans for each in self.held_out())
        return LOOKED_FOR.format(found[0]) if alike == 1 and not held else ""

    def open(self, task: Task, seed: int) -> TraceVisit:
        return TraceVisit(task.facts["spans"], int(task.facts["fault"]))

    def expert(self, task: Task) -> tuple[str, ...]:
        """The way down to the fault, its metrics, and its service."""
        spans, fault = task.facts["spans"], int(task.facts["fault"])
        way = _way([span["above"] for span in spans], fault)
        down = [f"<spans>s{number}</spans>" for number in way if number != fault]
        service = str(spans[fault]["service"])
        return (*down, f"<metrics>{service}</metrics>", service)


def _last(after: State) -> str:
    """The service that was named first in the end, or else that of the last call if it was measured; else ""."""
    named = re.findall(r"[a-z]+\d", after["said"])
    return str(named[0] if named else after["asked"][-1] if after["asked"] else "")


def _parent(number: int, rng: Random) -> int:
    """A call above, rather a late one, so that trees grow deep."""
    return rng.randint(max(0, (number - 1) // 2 - 2), number - 1) if number > 2 else 0


def _way(above: Sequence[int | None], number: int) -> tuple[int, ...]:
    """The calls from the root to this one."""
    found, here = list[int](), number
    while True:
        found.append(here)
        over = above[here]
        if over is None:
            return tuple(reversed(found))
        here = over


@dataclass(frozen=True)
class Reading:
    """A tool that reads the traces of one visit."""

    visit: TraceVisit
    name: str
    usage: str

    def __call__(self, text: str) -> str:
        return self.visit.spans(text) if self.name == "spans" else self.visit.metrics(text)


class TraceVisit:
    """One request, and what was looked at."""

    def __init__(self, spans: Sequence[Mapping[str, Any]], fault: int) -> None:
        self._spans, self._fault = spans, fault
        self._asked = list[str]()
        self._opened = list[int]()
        self._said = ""
        self.tools: tuple[Tool, ...] = (
            Reading(self, "spans", "<spans>s0</spans> shows the calls that s0 made."),
            Reading(self, "metrics", "<metrics>pay</metrics> shows what pay takes as a rule. Reply with services."),
        )

    def look(self) -> Observation:
        return Observation(self._line(0), self._choices())

    def act(self, said: str) -> Observation:
        """The output of a call, or the end where services are named."""
        found = find_call(said, self.tools)
        if found is None and not self._named(said):
            return Observation(
                "No such service: <spans>ID</spans>, <metrics>SERVICE</metrics>, or services.", self._choices()
            )
        if found is None:
            self._said = said[:200]
            return Observation("The end.", over=True)
        tool, text = found
        try:
            shown = tool(text)
        except ToolError as error:
            shown = f"Error: {error}"
        return Observation(shown, self._choices())

    def spans(self, text: str) -> str:
        """The calls that one made, a line each. Raises ToolError for what is none."""
        numbers = {f"s{number}": number for number in range(len(self._spans))}
        if text not in numbers:
            raise ToolError(f"there is no call {text[:20]!r}")
        number = numbers[text]
        self._asked.append(text)
        if number not in self._opened:
            self._opened.append(number)
        return "\n".join(map(self._line, self._below(number))) or f"{text} made no calls."

    def metrics(self, text: str) -> str:
        """What a service takes as a rule and now. Raises ToolError for an unknown one."""
        span = next((each for each in self._spans if each["service"] == text), None)
        if span is None:
            raise ToolError(f"there is no service {text[:20]!r}")
        self._asked.append(text)
        errors = {"now": ", fails by itself now", "always": ", fails by itself as a rule"}.get(str(span["fails"]), "")
        return f"{text}: by itself {span['usual']} ms as a rule, {span['now']} ms now{errors}"

    def _below(self, number: int) -> list[int]:
        return [at for at, span in enumerate(self._spans) if span["above"] == number]

    def _line(self, number: int) -> str:
        span = self._spans[number]
        return f"s{number} {span['service']} {self._whole(number)} ms {'error' if span['failed'] else 'ok'}"

    def _whole(self, number: int) -> int:
        """Milliseconds of a call with all that it made."""
        return int(self._spans[number]["now"]) + sum(map(self._whole, self._below(number)))

    def _choices(self) -> tuple[str, ...]:
        """Every call that is seen and not opened, and every service that is seen, to be measured or named."""
        seen = [0, *(at for number in self._opened for at in self._below(number))]
        services = [str(self._spans[number]["service"]) for number in seen]
        down = [f"<spans>s{number}</spans>" for number in seen if number not in self._opened]
        return (*down, *(f"<metrics>{service}</metrics>" for service in services), *services)

    def _named(self, text: str) -> list[str]:
        """The services of a ranking, in order, each once."""
        known = {str(span["service"]) for span in self._spans}
        return list(dict.fromkeys(word for word in re.findall(r"[a-z]+\d", text) if word in known))

    def state(self) -> Mapping[str, Any]:
        return {"asked": list(self._asked), "opened": list(self._opened), "said": self._said}

    def assess(self, answer: str = "") -> Assessment:
        """Score 1 where the service at fault is named first. Parts: `rank`, 1 over its place among those named; `path`,
        the calls opened on the way to the fault, over all that were opened or lie there."""
        named, fault = self._named(answer), str(self._spans[self._fault]["service"])
        rank = 1.0 / (1 + named.index(fault)) if fault in named else 0.0
        way = set(_way([span["above"] for span in self._spans], self._fault)) - {self._fault}
        opened = set(self._opened) - {self._fault}
        path = len(way & opened) / len(way | opened) if way | opened else 1.0
        over = max(0, len(self._asked) - ceil(log2(len(self._spans))))
        return Assessment(float(rank == 1.0), {"rank": rank, "path": path}, {"asked": len(self._asked), "over": over})

    def close(self) -> None:
        return None
