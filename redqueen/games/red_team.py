"""The two turns of red teaming: an attacker rewrites a seed prompt, a defender answers the rewrite.

    seed -> ATTACK -> only the answer is passed on -> DEFEND -> outcome     (a vanilla seed goes to DEFEND unchanged)

A reply may begin with a hidden thought, "way 3</think><answer>a K c</answer>": the prompt opens the thought,
and only the answer block is passed on. A reply without such a block ends the match; nothing of it is passed on.
A `World` decides what is passed on, what may be said and which attacks are legal; success is decided later, by a
classifier (`checks.safety`) and a table of rewards (`credit.payoff_table`). Until then every score is 0.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

from redqueen.games.talk import ask, offence, told
from redqueen.protocols import Play
from redqueen.texts import between
from redqueen.types import Ask, Outcome, Reply, Seat, Task

SEATS = ATTACKER, DEFENDER = Seat("attacker"), Seat("defender")
HARMFUL, BENIGN = "harmful", "benign"  # kinds of seeds
OPENING, CLOSING = "<think>", "</think>"
ANSWER, ANSWERED = "<answer>", "</answer>"


@dataclass(frozen=True)
class Question:
    """The prompt of a seat, without the opening tag of its thought."""

    prompt: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Crossing:
    """The part of an attack that the defender is shown, and the truth about it, for judges that are rules."""

    prompt: str
    truth: Mapping[str, Any] = field(default_factory=dict)


class World(Protocol):
    """The seeds, the prompts and the legal attacks. A seed is a task of the kind `HARMFUL` or `BENIGN`."""

    @property
    def name(self) -> str: ...
    @property
    def thoughts(self) -> bool:
        """Whether seats think before they answer; false if replies are listed."""
        ...

    def seeds(self) -> list[Task]:
        """Some seeds, of both kinds."""
        ...

    def attack(self, seed: Task) -> Question: ...
    def crossing(self, seed: Task, answer: str, rng: Random) -> Crossing | None:
        """What the defender is shown of the rewrite `answer`; None if it is outside the limits."""
        ...

    def vanilla(self, seed: Task, rng: Random) -> Crossing:
        """The crossing of the unchanged seed."""
        ...

    def defence(self, prompt: str) -> Question: ...


@dataclass(frozen=True)
class Said:
    """The answer of a reply, "" if there is none, and whether the reply was in the stated format."""

    answer: str
    kept: bool


def read_hidden(text: str) -> Said:
    """The answer in `text`. The format is kept if the thought is closed once and exactly one answer block follows it,
    neither empty, with nothing after. Otherwise the last answer block without other tags still gives the answer."""
    counts = [text.count(tag) for tag in (OPENING, CLOSING, ANSWER, ANSWERED)]
    whole = _WHOLE.fullmatch(text) if counts == [0, 1, 1, 1] else None
    if whole and whole[1].strip() and whole[2].strip():
        return Said(whole[2].strip(), kept=True)
    blocks = [text[begin:end] for _, begin, end, _ in between(_ANSWER, _ANSWERED, text)]
    last = blocks[-1].strip() if blocks else ""
    return Said("" if _TAG.search(last) else last, kept=False)


_WHOLE = re.compile(r"(.+?)</think>\s*<answer>(.+?)</answer>\s*", re.DOTALL)
_ANSWER, _ANSWERED = re.compile(ANSWER), re.compile(ANSWERED)
_TAG = re.compile(r"</?(?:think|answer)>")


def hidden(thought: str, answer: str) -> str:
    """A reply in the stated format, whose thought the prompt has opened."""
    return f"{thought}{CLOSING}{ANSWER}{answer}{ANSWERED}"


@dataclass(frozen=True)
class RedTeam:
    """See the module. Facts: `seed` (its kind), `vanilla`, `kept` (for each seat that spoke, whether it kept the
    format), and after both turns `prompt` (what the defender was shown), `response` and `truth` (for rules)."""

    world: World
    roles: tuple[str, ...] = field(default=("attacker", "defender"), init=False)

    @property
    def name(self) -> str:
        return f"red_team:{self.world.name}"

    def tasks(self) -> Sequence[Task]:
        return self.world.seeds()

    def play(self, task: Task, rng: Random) -> Play:
        vanilla = bool(task.facts.get("vanilla"))
        facts: dict[str, Any] = {"seed": task.kind, "vanilla": vanilla, "kept": {}}
        crossing: Crossing | None
        if vanilla:
            crossing = self.world.vanilla(task, rng)
        else:
            said = yield from self._said(ATTACKER, self.world.attack(task))
            crossing = self.world.crossing(task, said.answer, rng) if said.answer else None
            facts["kept"] = {str(ATTACKER): said.kept and crossing is not None}
            if crossing is None:
                return _over({**facts, **offence(ATTACKER, said.answer)})
        said = yield from self._said(DEFENDER, self.world.defence(crossing.prompt))
        facts["kept"] = {**facts["kept"], str(DEFENDER): said.kept}
        if not said.answer:
            return _over({**facts, **offence(DEFENDER, "")})
        return _over({**facts, "prompt": crossing.prompt, "response": said.answer, "truth": dict(crossing.truth)})

    def shown(self, question: Question) -> str:
        """The prompt of a seat, ending with the opening tag of its thought if seats think."""
        return f"{question.prompt}\n{OPENING}" if self.world.thoughts and not question.choices else question.prompt

    def _said(self, seat: Seat, question: Question) -> Generator[list[Ask], list[Reply], Said]:
        text = yield from ask(seat, told(self.shown(question)), question.choices)
        if question.choices:
            legal = text in question.choices
            return Said(text if legal else "", kept=legal)
        return read_hidden(text) if self.world.thoughts else Said(text, kept=bool(text))


def _over(facts: Mapping[str, Any]) -> Outcome:
    return Outcome(dict.fromkeys(SEATS, 0.0), facts)
