"""Theorems of propositional logic, proved by short strings that a kernel checks (`checks.detachment`).

    Prove > p p
    1 > p > q p        2 > > p > q r > > p q > p r        3 > > ~ p ~ q > q p
    D x y follows from x and y: if x proves > a b and y proves a, it proves b.       D D 2 1 1

An attempt that proves something else is told what it proves. Done is a proof of the statement, or of a formula of
which it is an instance. Every fourth statement is held out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from redqueen.checks.detachment import AXIOMS, LONGEST, NoProof, Term, is_instance, proved, read, theorems, written
from redqueen.games.talk import titled
from redqueen.protocols import State, Tool
from redqueen.types import Assessment, Observation, RedQueenError, Task

AXIOM_LINES = "\n".join(f"{name}: {written(term)}" for name, term in AXIOMS.items())
RULE = "D x y: if x proves > a b and y proves a, it proves b. Reply with a proof of D and 1 2 3."


@dataclass(frozen=True)
class Proofs:
    """Statements with a shortest proof of at most `longest` symbols (3 to 17), of at most `largest` symbols."""

    longest: int = 11
    largest: int = 13
    repeatable = True

    def __post_init__(self) -> None:
        if not 5 <= self.longest <= 17 or self.longest % 2 == 0:
            raise RedQueenError(f"proofs have an odd number of symbols, here at most 5 to 17, not {self.longest}")
        if not 5 <= self.largest <= 31:
            raise RedQueenError(f"statements have at most 5 to 31 symbols, not {self.largest}")

    @property
    def name(self) -> str:
        return titled("proofs", self)

    def tasks(self) -> Sequence[Task]:
        return [task for number, task in enumerate(self._dealt) if number % 4]

    def held_out(self) -> Sequence[Task]:
        return self._dealt[::4]

    @cached_property
    def _dealt(self) -> tuple[Task, ...]:
        texts = {written(term): proof for term, proof in theorems(self.longest).items()}
        kept = {
            text: proof for text, proof in texts.items() if len(text.split()) <= self.largest and proof not in AXIOMS
        }
        return tuple(
            Task(text, kind=f"{len(proof.split())} symbols", prompt=f"Prove {text}", facts={"hidden": (proof,)})
            for text, proof in kept.items()
            if proof not in AXIOMS
        )

    def with_goal(self, task: Task, after: State, prompt: str) -> Task:
        """The task whose statement is what the last proof of a visit proves."""
        found = last_proved(after)
        if found is None or not self.worded(task, after):
            raise RedQueenError(f"nothing was proved that may be the goal of a task that begins as {task.id}")
        proof, statement = found
        return Task(statement, kind=f"{len(proof.split())} symbols", prompt=prompt, facts={"hidden": (proof,)})

    def worded(self, task: Task, after: State) -> str:
        """ "" for what is held out, too."""
        found = last_proved(after)
        held = found is not None and any(found[1] == each.id for each in self.held_out())
        return "" if found is None or held else f"Prove {found[1]}"

    def open(self, task: Task, seed: int) -> ProofVisit:
        return ProofVisit(read(task.id))

    def expert(self, task: Task) -> tuple[str, ...]:
        """A shortest proof."""
        (proof,) = task.facts["hidden"]
        return (str(proof),)


def last_proved(state: State) -> tuple[str, str] | None:
    """The last proof that was tried in a visit and proves something, with its statement."""
    for said in reversed(state["tried"]):
        try:
            return said, written(proved(said))
        except NoProof:
            continue
    return None


class ProofVisit:
    """One statement, and what has been tried."""

    tools: tuple[Tool, ...] = ()

    def __init__(self, statement: Term) -> None:
        self._statement = statement
        self._tried = list[str]()
        self._done = False

    def look(self) -> Observation:
        return Observation(f"{AXIOM_LINES}\n{RULE}")

    def act(self, said: str) -> Observation:
        self._tried.append(said[: 2 * LONGEST])
        try:
            found = proved(said)
        except NoProof as error:
            return Observation(f"No proof: {error}.", over=self._done)
        self._done = self._done or is_instance(self._statement, found)
        shown = "Proved." if self._done else f"That proves {written(found)}, of which the statement is no instance."
        return Observation(shown, over=self._done)

    def state(self) -> Mapping[str, Any]:
        return {"statement": written(self._statement), "tried": list(self._tried), "done": self._done}

    def assess(self, answer: str = "") -> Assessment:
        return Assessment(float(self._done), facts={"tried": len(self._tried)})

    def close(self) -> None:
        return None
