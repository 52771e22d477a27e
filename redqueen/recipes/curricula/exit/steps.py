"""ExIt's histories: what an attempt improves, which histories are continued, and how one is shown (2509.04575)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isnan
from random import Random
from typing import Any, Protocol

import numpy as np

from redqueen.credit.outcomes import number, whole_reply
from redqueen.credit.rewards import spoken_turns
from redqueen.curricula.draws import ByCredit, Independent, Weights
from redqueen.curricula.eviction import LowestPriority
from redqueen.curricula.history import TaskHistory
from redqueen.curricula.store import TaskStore
from redqueen.protocols import Game, State, has
from redqueen.types import Episode, Group, Message, Metrics, RedQueenError, Seat, Task

CORRECT = "Improve on your last answer: correct it where it is wrong."
ANOTHER = "Solve it again with an approach that differs from that of your last answer."
BEFORE = "before"  # the fact of a task that holds the quality of the attempt that it continues

Draw = Callable[[int, Random], list[Task]]
Continued = Callable[[Episode, Random], Task]


class Continues(Game, Protocol):
    """A game whose matches can be taken up where they ended. Its outcomes have the fact `quality`, from 0 to 1."""

    def continued(self, episode: Episode) -> Task:
        """The task of going on from the end of an episode."""
        ...


def quality(episode: Episode) -> float:
    """The quality of an attempt from 0 to 1: the fact `quality`, else its verdict; NaN where nobody knows."""
    facts = episode.outcome.facts
    return number(facts["quality"] if "quality" in facts else facts["right"])


def gain(now: float, before: float) -> float:
    """max(0, (now - before) / (1 - before)), the share of what was missing that an attempt made good. Raises
    RedQueenError for an attempt that had nothing to improve."""
    if before >= 1.0:
        raise RedQueenError("an attempt of quality 1 is solved: there is nothing to improve, so it is no task")
    return max(0.0, (now - before) / (1.0 - before)) if not isnan(now) else now


def returned(episode: Episode) -> float:
    """The gain of an attempt over the one that its task continues; NaN without a verdict."""
    return gain(quality(episode), float(episode.task.facts.get(BEFORE, 0.0)))


def improvement(episode: Episode) -> dict[Seat, np.ndarray]:
    """The gain of an attempt on the last turn of each seat."""
    found = {}
    for seat, turns in spoken_turns(episode).items():
        found[seat] = np.zeros(len(turns))
        found[seat][-1:] = returned(episode)
    return found


@dataclass(frozen=True)
class BySoftmax:
    """exp(kappa w) of other weights w, divided by the largest."""

    weights: Weights
    kappa: float

    def __call__(self, held: Sequence[TaskHistory], now: int) -> np.ndarray:
        found = self.kappa * self.weights(held, now)
        return np.asarray(np.exp(found - found.max()))


class Histories:
    """A buffer of attempts that are continued as tasks of their own. Raises RedQueenError for a game whose attempts
    cannot be continued, and for a buffer that never holds enough."""

    def __init__(self, config: Any, game: Game) -> None:
        if config.least > config.buffer:
            raise RedQueenError(f"--least {config.least} histories never lie in a --buffer of {config.buffer}")
        if config.game and not has(game, Continues):
            raise RedQueenError(
                f"the game {game.name} takes no match up where it ended: it needs a method continued(episode) and the "
                "fact quality"
            )
        self._game = game if config.game else None
        self._share, self._least = config.history_share, config.least
        self._another, self._remembered = config.another_share, config.remembered
        by_spread = ByCredit(unknown=0.0)
        self._store = TaskStore(
            config.buffer,
            sampling=Independent(BySoftmax(by_spread, config.kappa)),
            eviction=LowestPriority(by_spread),
            screens=(),
            result=lambda episode: None if isnan(quality(episode)) else quality(episode),
            name="buffer",
        )

    def draw(self, problems: Draw, count: int, rng: Random) -> list[Task]:
        """The tasks of a step: histories, as many as chance draws and the buffer holds, then problems."""
        ready = len(self._store) >= self._least
        wanted = sum(rng.random() < self._share for _ in range(count)) if ready else 0
        held = self._store.draw(wanted, rng) if wanted else []
        return held + (problems(count - wanted, rng) if wanted < count else [])

    def observe(self, groups: Sequence[Group], rng: Random) -> None:
        """Records the spread of each group, and adds one of its attempts, drawn at random, unless that is solved."""
        for group in groups:
            earned = np.array([returned(each) for each in group.attempts])
            known = [each for each, value in zip(group.attempts, earned, strict=True) if not isnan(value)]
            if not known:
                continue
            spread = float(np.nanvar(earned))
            self._store.credit(group.task.id, spread)
            chosen = known[rng.randrange(len(known))]
            if quality(chosen) < 1.0:
                child = self.continued(chosen, rng)
                self._store.add([child], origin="continued", parents=[(group.task.id,)], credits=[spread])
        self._store.observe(groups)

    def continued(self, episode: Episode, rng: Random) -> Task:
        """The task of improving on an attempt."""
        if self._game is not None:
            child: Task = self._game.continued(episode)  # type: ignore[attr-defined]
        else:
            request = ANOTHER if rng.random() < self._another else CORRECT
            child = with_attempt(episode, request, self._remembered)
        facts = {**child.facts, BEFORE: quality(episode)}
        return replace(child, id=f"{child.id.partition(' #')[0]} #{episode.seed}", facts=facts)

    def metrics(self) -> Metrics:
        """Figures of the buffer."""
        return self._store.metrics()

    def state(self) -> State:
        return self._store.state()

    def restore(self, state: State) -> None:
        self._store.restore(state)


def with_attempt(episode: Episode, request: str, remembered: int) -> Task:
    """The question of an episode with its reply and a `request` behind it; of earlier replies only so many are left
    that there are `remembered`."""
    task = episode.task
    asked = task.messages or (Message("user", task.prompt),)
    said = (*asked, Message("assistant", whole_reply(episode).strip() or "I do not know."), Message("user", request))
    opening = next(at for at, message in enumerate(said) if message.speaker == "assistant")
    return replace(task, messages=said[:opening] + said[opening:][-2 * remembered :])
