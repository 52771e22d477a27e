"""WebRL's tasks that are set in hindsight (`worlds.hindsight`), begun where others failed, and a setter without a model
(2411.02337)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from redqueen.protocols import World
from redqueen.types import Ask, Refusal, Reply, Task
from redqueen.worlds.hindsight import request, set_by, set_in, walk

TRIES = 50  # walks of `Wanderer`, until one changes something
FAILED = "These tasks were tried, and not done:"


@dataclass
class Hindsight:
    """New tasks of a world, set by doing. Raises RedQueenError as it sets one in a world that takes no goals."""

    world: World
    _starts: dict[str, Task] = field(default_factory=dict)  # of each prompt, the task as which the new one begins

    def invite(self, failed: Sequence[Task], number: int) -> Task:
        """A request for a task that begins as the first of the `failed` ones and is like them."""
        prompt = request(self.world, failed, FAILED)
        self._starts[prompt] = failed[0]
        return Task(f"{number} {failed[0].id}", failed[0].kind, prompt)

    def begun(self, prompt: str) -> Task:
        """The task as which the one begins that a prompt asks for."""
        return self._starts[prompt]

    def read(self, invitations: Sequence[Task], replies: Sequence[str]) -> list[Task | Refusal]:
        """For each reply the task that it sets, or a refusal."""
        asked = zip(invitations, replies, strict=True)
        return [set_in(self.world, self._starts[each.prompt], reply) for each, reply in asked]

    def set(self, start: Task, acts: Sequence[str], wording: str) -> Task | Refusal:
        """The task that begins as `start` and is done by the acts, or a refusal."""
        return set_by(self.world, start, acts, wording)


@dataclass(frozen=True)
class Wanderer:
    """A player that sets tasks without a model: it takes listed acts at random, as many as `acts` says at most, until
    something has changed, and words it as the world does."""

    hindsight: Hindsight
    acts: int = 6
    name: str = "wanderer"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._walked(ask), self.name) for ask in asks]

    def _walked(self, ask: Ask) -> str:
        start, rng = self.hindsight.begun(ask.messages[-1].text), Random(ask.seed)
        for _ in range(TRIES):
            acts, wording = walk(self.hindsight.world, start, rng.randint(1, self.acts), rng)
            if wording:
                return f"acts: {' | '.join(acts)}\ntask: {wording}"
        return "nothing to be done here"
