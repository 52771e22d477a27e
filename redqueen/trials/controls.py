"""Controls of recipes that learn without labels: the same run, in which what solves is paid by something else.

    config=Controlled(recipe.Config(...)), trial=ControlledTraining(recipe)
    variants={"METHOD": {}, **CONTROLS}

Of every group of attempts only the reward is another one; tasks, attempts and updates are as many. Rewards dealt anew
have the same values and no signal; the majority is the label that costs nothing; known answers are the upper line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from types import MappingProxyType, ModuleType
from typing import Any, Literal

import numpy as np

from redqueen.credit.outcomes import verdicts
from redqueen.credit.rewards import score
from redqueen.protocols import Policy
from redqueen.questions.asking import graded
from redqueen.questions.catalogue import find_questions
from redqueen.questions.labels import held_to_majority
from redqueen.trials.experiment import NEVER, Changes, Training, Trial, nothing
from redqueen.types import SOLVER, Group, Metrics, Trajectory

Paid = Literal["its own", "dealt anew", "the majority", "known answers"]
CONTROLS: Mapping[str, Changes] = MappingProxyType(
    {
        "rewards dealt anew": {"paid": "dealt anew"},
        "the majority": {"paid": "the majority"},
        "known answers": {"paid": "known answers"},
    }
)


@dataclass(frozen=True)
class Controlled:
    """The config of a method, and what its solver is paid by."""

    method: Any
    paid: Paid = "its own"


@dataclass(frozen=True)
class ControlledTraining:
    """One training of a `recipe`, a module whose `train` scores its groups with `score`. `parts` makes further names of
    the module that are replaced, from the config and the seed."""

    recipe: ModuleType
    evaluate_every: int = NEVER
    read: Callable[[Policy, int], Metrics] = nothing
    parts: Callable[[Any, int], Mapping[str, Any]] = lambda config, seed: {}

    def __call__(self, config: Controlled, seed: int, folder: Path) -> Trial:
        parts = {**self.parts(config, seed), "score": paid_by(config.paid, config.method)}
        with swapped(self.recipe, parts):
            return Training(self.recipe.train, self.evaluate_every, self.read)(config.method, seed, folder)


@contextmanager
def swapped(module: ModuleType, parts: Mapping[str, Any]) -> Iterator[None]:
    """A context in which the names in `parts` are replaced by these values in the module. Raises KeyError for one it
    has not."""
    before = {name: vars(module)[name] for name in parts}
    vars(module).update(parts)
    try:
        yield
    finally:
        vars(module).update(before)


def paid_by(paid: Paid, config: Any) -> Callable[..., list[Trajectory]]:
    """`score`, with the rewards of what solves replaced as `paid` says."""
    questions = find_questions(config.questions)
    truncated = vars(config).get("truncated_score", "wrong")

    def scored(played: Sequence[Any], *rewards: Any) -> list[Trajectory]:
        found = score(played, *rewards)
        groups = [each for each in played if isinstance(each, Group) and _of_solvers(each)]
        places = [at for at, each in enumerate(found) if each.seat.role == SOLVER and each.group is not None]
        if paid == "its own" or not places:
            return found
        if paid == "dealt anew":
            given = [found[at].rewards for at in places]
            Random(groups[0].number).shuffle(given)
        else:
            held = (
                held_to_majority(groups, truncated) if paid == "the majority" else graded(questions, groups, truncated)
            )
            truths = [each for group in held for each in verdicts(group)]
            given = [np.array([each]) for each in truths]
        for at, own in zip(places, given, strict=True):
            found[at] = replace(found[at], rewards=own, parts={})
        return found

    return scored


def _of_solvers(group: Group) -> bool:
    return any(seat.role == SOLVER for episode in group.attempts for seat in episode.seats)
