"""One round of data, generated once and learned from in several updates: the inner loop of iterative methods.

    if step % config.updates == 0:                  # generate and select: a new iteration
        reference.refresh()
        ...
        round.renew(beside(batch, reference.likelihoods(batch)))
    metrics = round.update(learner, config.pairs_per_update, objective, run.rng)   # train

The data are held without padding. They and their reference likelihoods are part of the checkpoint, so that a run
resumes in the middle of an iteration without generating them again; unless the recipe can make the same data again
(`remade`), as from a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol, TypeVar, cast

import torch

from redqueen.objectives.batch import portion
from redqueen.objectives.packed import PackedRows, give_back, joined
from redqueen.protocols import COUNT, Maybe, Objective, Policy, State, has, shaped
from redqueen.types import Batch, Constraint, Damaged, Likelihoods, Mean, Metrics, RedQueenError

T = TypeVar("T")
PADDED = 1024  # pairs that are padded at a time


@dataclass(frozen=True)
class Ceiling:
    """Stops an iteration once the metric `figure` of an update exceeds `most`: `Ceiling("preference_margin", 20.0)`."""

    figure: str
    most: float


class Given(Protocol):
    """An objective that knows the whole minibatch: what it takes from it is the same for all parts of an update."""

    def given(self, learner: Policy, batch: Batch) -> Objective:
        """The objective of an update of `learner` on `batch`."""
        ...


_STATE = {"rows?": Maybe(dict), "left": [COUNT], "done": COUNT, "stopped": bool, "equal?": COUNT}


def no_update() -> Metrics:
    """The metrics of a step in which nothing is learned."""
    return {"loss": Mean(0.0, 0), "gradient_norm": Mean(0.0, 0)}


class Round:
    """The pairs (or whole replies) of an iteration, drawn without replacement in at most `passes` passes.

    Many passes over few pairs overfit; a ceiling on the margin or on the distance from the reference
    stops an inner problem that should not be solved exactly (SPIN with beta below 1/2 diverges if it is);
    `most_margin` is the ceiling of `margin_a_token`, in nats a token, so that it means the same for long replies.
    """

    def __init__(
        self,
        passes: int = 3,
        ceilings: Sequence[Ceiling] = (),
        most_margin: float | None = None,
        remade: bool = False,
    ) -> None:
        if passes < 1:
            raise RedQueenError(f"passes over the data of an iteration must be at least 1, not {passes}")
        self._passes = passes
        of_margin = () if most_margin is None else (Ceiling("margin_a_token", most_margin),)
        self._ceilings = (*ceilings, *of_margin)
        self._parts: list[PackedRows] = []
        self._remade, self._goes_on = remade, False
        self._left: list[int] = []  # pairs of this pass still to come
        self._done = 0  # whole passes begun
        self._stopped = False
        self._equal = 0
        self._drawn = 1  # pairs of the last minibatch

    def renew(self, data: Batch, equal: int = 0) -> None:
        """Replaces the data by those of the next iteration, of which `equal` pairs of equal texts were left out."""
        self._parts, self._equal = [], 0
        self._begin()
        self.add(data, equal)

    def grow(self, data: Batch) -> None:
        """Adds the data of the next iteration to those before, and begins to learn from all of them anew."""
        self._begin()
        if len(data):
            self.add(data)

    def _begin(self) -> None:
        self._left, self._done, self._stopped, self._goes_on = [], 0, False, False

    def add(self, data: Batch, equal: int = 0) -> None:
        """Adds a part of the data, of which `equal` pairs were left out, before the first update on them: many pairs
        are never padded as a whole (`slices`). In a resumed run whose data are `remade` it goes on where the checkpoint
        was."""
        assert data.pairs is not None, "a round holds pairs or samples: pack_pairs or pack_samples makes them"
        self._parts.append(PackedRows(data))
        if len(self._parts) > 1:
            give_back()  # what padding the parts took
        self._equal += 0 if self._goes_on else equal

    @staticmethod
    def slices(pairs: Sequence[T]) -> Iterator[Sequence[T]]:
        """The pairs in parts that are small enough to be padded."""
        return (pairs[first : first + PADDED] for first in range(0, len(pairs), PADDED))

    @property
    def size(self) -> int:
        """The number of pairs."""
        return sum(len(torch.unique(part.pairs)) for part in self._parts)

    def _joined(self) -> PackedRows:
        if len(self._parts) > 1:
            self._parts = [joined(self._parts)]
        return self._parts[0]

    @property
    def open(self) -> bool:
        """Whether data of this iteration are left and no ceiling has stopped it."""
        return not self._stopped and self.size > 0 and (bool(self._left) or self._done < self._passes)

    def updates_left(self) -> int:
        """How many more updates the data of this iteration are enough for, with minibatches as large as the last."""
        passes = self._passes - self._done
        return -(-(len(self._left) + passes * self.size) // self._drawn) if self.open else 0

    def draw(self, count: int, rng: Random) -> Batch:
        """A minibatch of `count` pairs, fewer at the end of the last pass; its weights sum to one."""
        assert self._parts, "renew before drawing"
        held = self._joined()
        drawn: list[int] = []
        while len(drawn) < min(count, self.size) and self.open:
            if not self._left:
                self._left = torch.unique(held.pairs).tolist()
                rng.shuffle(self._left)
                self._done += 1
            known = set(drawn)
            fresh = [pair for pair in self._left if pair not in known][: min(count, self.size) - len(drawn)]
            drawn, taken = drawn + fresh, set(fresh)
            self._left = [pair for pair in self._left if pair not in taken]
        self._drawn = max(1, len(drawn))
        rows = torch.isin(held.pairs, torch.tensor(drawn, dtype=torch.int64)).nonzero()[:, 0]
        return portion(held.take(rows), drawn)

    def observe(self, metrics: Metrics) -> None:
        """Closes the round if a metric is above its ceiling."""
        self._stopped |= any(metrics.get(each.figure, 0.0) > each.most for each in self._ceilings)

    def update(self, learner: Policy, count: int, objective: Objective | Given, rng: Random) -> Metrics:
        """Metrics of one update on a minibatch of `count` pairs, which rest on those drawn. If nothing is left of this
        iteration, `learner` stays as it is and the loss and the gradient norm are 0."""
        if not self.open:
            return no_update()
        drawn = self.draw(count, rng)
        of_all = objective.given(learner, drawn) if has(objective, Given) else cast(Objective, objective)
        metrics = learner.update(drawn, of_all)
        self.observe(metrics)
        pairs = len(torch.unique(drawn.pairs)) if drawn.pairs is not None else len(drawn)
        return {name: Mean(value, pairs) for name, value in metrics.items()}

    def metrics(self) -> Metrics:
        """Metrics: `round/pairs`, `round/passes` (begun), and `round/stopped` (1 if a ceiling stopped it); where pairs
        of equal texts were left out, `round/equal`, how many."""
        found = {"round/pairs": self.size, "round/passes": self._done, "round/stopped": float(self._stopped)}
        return found | ({"round/equal": self._equal} if self._equal else {})

    def alarms(self) -> list[str]:
        """A message if more pairs of this iteration were left out, because their texts are equal, than stayed."""
        few = self._equal > self.size
        message = f"equal texts: {self._equal} of {self._equal + self.size} pairs say the same twice and were left out"
        return [message] if few else []

    def state(self) -> State:
        return {
            "rows": None if not self._parts or self._remade else self._joined().state(),
            "left": list(self._left),
            "done": self._done,
            "stopped": self._stopped,
            "equal": self._equal,
        }

    def restore(self, state: State) -> None:
        shaped(state, _STATE, "the round: ")
        if state.get("batch") is not None:  # of an older version
            self._parts = [PackedRows(batch_from(state["batch"]))]
        else:
            self._parts = [] if state.get("rows") is None else [PackedRows.restored(state["rows"])]
        self._goes_on = self._remade and not self._parts and bool(state["done"])
        self._left, self._done, self._stopped = list(state["left"]), state["done"], state["stopped"]
        self._equal = state.get("equal", 0)
        pairs = {int(pair) for part in self._parts for pair in torch.unique(part.pairs)}
        if (self._parts and not set(self._left) <= pairs) or self._done > self._passes:
            raise Damaged(f"the round: .left and .done must be of its {len(pairs)} pairs and {self._passes} passes")


def batch_from(state: Mapping[str, Any]) -> Batch:
    """The batch that a checkpoint of an older version holds."""
    held = tuple(
        tuple(Constraint(start, tuple(tuple(reply) for reply in replies)) for start, replies in row)
        for row in state["constraints"]
    )
    reference = None if state["reference"] is None else Likelihoods(**state["reference"])
    return Batch(**{**state, "constraints": held, "reference": reference})
