"""A data set in epochs: every task once in each epoch, in a new order."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from redqueen.chance import derive
from redqueen.protocols import COUNT, State, shaped
from redqueen.types import Episode, RedQueenError, Task


class Epochs:
    """Draws every task once per epoch. The order depends on `seed` and the number of the epoch only, not on the `rng`
    of a draw. Raises RedQueenError without tasks."""

    def __init__(self, tasks: Sequence[Task], seed: int = 0) -> None:
        if not tasks:
            raise RedQueenError("a data set needs at least one task")
        self.tasks = tuple(tasks)
        self.seed = seed
        self._drawn = 0  # ever
        self._kept: tuple[int, list[Task]] = (-1, [])  # the epoch drawn from last, and its order

    @property
    def ended(self) -> int:
        """The number of completed epochs."""
        return self._drawn // len(self.tasks)

    @property
    def begun(self) -> int:
        """The number of tasks drawn in the current epoch."""
        return self._drawn % len(self.tasks)

    def draw(self, count: int, rng: Random) -> list[Task]:
        """The next `count` tasks, continued into the next epoch if this one has fewer left."""
        drawn = [self._at(self._drawn + place) for place in range(count)]
        self._drawn += count
        return drawn

    def _at(self, place: int) -> Task:
        epoch, within = divmod(place, len(self.tasks))
        return self._order(epoch)[within]

    def _order(self, epoch: int) -> list[Task]:
        if self._kept[0] != epoch:
            shuffled = list(self.tasks)
            Random(derive(self.seed, "epoch", epoch)).shuffle(shuffled)
            self._kept = (epoch, shuffled)
        return self._kept[1]

    def observe(self, episodes: Sequence[Episode]) -> None:
        """Does nothing: draws do not depend on results."""

    def state(self) -> State:
        return {"drawn": self._drawn}

    def restore(self, state: State) -> None:
        self._drawn = shaped(state, {"drawn": COUNT}, "the epochs: ")["drawn"]
