"""Every verb: what a game, a player, a policy and the parts of a training step must be able to do.

Anything with these methods fits. A class of the user's own inherits nothing and registers nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from redqueen.types import (
    Ask,
    Batch,
    Demonstration,
    Episode,
    Group,
    Likelihoods,
    Metrics,
    Outcome,
    Refusal,
    Reply,
    Seat,
    Task,
    Trajectory,
)

if TYPE_CHECKING:
    from torch import Tensor

Play = Generator[list[Ask], list[Reply], Outcome]
State = Mapping[str, Any]  # nested dicts and lists of numbers, strings, arrays and tensors
Key = Callable[[Trajectory, int], Hashable]  # whose results a turn's are compared with


class Game(Protocol):
    """The rules: a generator that yields who must speak and receives what they said.

    The asks yielded together are answered together (simultaneous moves); one ask is a list of one.
    The same task, seed and replies always give the same asks and outcome.
    """

    @property
    def name(self) -> str: ...
    @property
    def roles(self) -> tuple[str, ...]: ...
    def tasks(self) -> Sequence[Task]:
        """Every task chance may deal, weighted; for games too large to list, a sample of them."""
        ...

    def play(self, task: Task, rng: Random) -> Play: ...


class Player(Protocol):
    """Whoever can take a seat. All chance comes from `Ask.seed`: a reply does not depend on the
    company in which it was asked for.

    One whose replies are worth not waiting for says so with an attribute `asked_in_threads = True`: several calls of
    its `reply` may then run at once (`play/flow.py`)."""

    @property
    def name(self) -> str: ...
    def reply(self, asks: Sequence[Ask]) -> list[Reply]: ...


class Stream(Protocol):
    """Replies that come as they are finished."""

    def put(self, asks: Sequence[Ask]) -> list[int]:
        """The numbers under which the replies will come."""
        ...

    def get(self) -> list[tuple[int, Reply]]:
        """The next replies, each with its number; none only if nothing is asked."""
        ...


class StreamingPlayer(Player, Protocol):
    """A player that can answer some asks while others are still being answered."""

    def stream(self, rows: int) -> Stream:
        """With at most so many replies growing at a time. It holds until the player's next update."""
        ...


class OpenPlayer(Player, Protocol):
    """A player whose mind can be read: exact probabilities wherever the legal replies are listed."""

    def probabilities(self, asks: Sequence[Ask]) -> list[np.ndarray]:
        """The probability of each of `Ask.choices`, [K] for each ask, summing to one."""
        ...


class Resumable(Protocol):
    """A part whose state belongs to a checkpoint. What `state` returns, `restore` takes back, bit for bit."""

    def state(self) -> State: ...
    def restore(self, state: State) -> None: ...


class Policy(OpenPlayer, Resumable, Protocol):
    """A player that learns. `learning_rate` may be set between updates."""

    learning_rate: float

    @property
    def version(self) -> int:
        """How many updates it has made."""
        ...

    @property
    def open(self) -> bool:
        """Whether its probabilities can be read where replies are listed; a policy that answers in free text
        even there can only be sampled."""
        ...

    def likelihoods(self, batch: Batch) -> Likelihoods:
        """The batch's own words as this policy rates them now, without gradients."""
        ...

    def update(self, batch: Batch, objective: Objective) -> Metrics:
        """Takes one optimiser step. A loss or gradient that is not finite raises `NonFiniteLoss`
        and leaves the weights as they were."""
        ...

    def forget(self) -> None:
        """Lets go of what it and its frozen copies have computed and keep at hand. What is computed in company is
        rounded in company, so nothing may depend on what was asked in an earlier step: a resumed run did not ask it."""
        ...

    def freeze(self) -> Policy:
        """A copy that stays as it is, under another name: "learner@120"."""
        ...

    def save(self, folder: Path) -> None:
        """Writes weights in the usual layout of their kind, and the optimiser beside them."""
        ...

    def load(self, folder: Path) -> None:
        """Takes back all that `save` wrote."""
        ...


class AnswerFormat(Protocol):
    """How a player that thinks aloud marks its action."""

    @property
    def instruction(self) -> str:
        """What the player is told about the format."""
        ...

    def parse(self, text: str, choices: Sequence[str]) -> tuple[str, str]:
        """The thought and the action; no action found is the empty string."""
        ...


class Verifier(Protocol):
    def __call__(self, task: Task, answer: str) -> bool: ...


class PreferenceOracle(Protocol):
    def __call__(self, tasks: Sequence[Task], first: Sequence[str], second: Sequence[str], rng: Random) -> np.ndarray:
        """[n] the probability that the first answer to a task is preferred to the second; NaN where there is no
        verdict, which is not a half."""
        ...


class Domain(Protocol):
    """A field of questions that a model may ask and answer: how a question is asked for, read, posed and checked.

    Everything goes by lists, so that checks which run elsewhere (a sandbox, a prover) run together.
    """

    @property
    def name(self) -> str: ...
    @property
    def kinds(self) -> tuple[str, ...]:
        """What a proposer may be asked for; the kind of every task that it writes."""
        ...

    @property
    def levels(self) -> tuple[str, ...]:
        """The groups in which problems are dealt, from easy to hard where there is an order."""
        ...

    def seeds(self) -> list[Task]:
        """The tasks from which proposing starts, at least one of each kind."""
        ...

    def sources(self, kind: str) -> tuple[str, ...]:
        """The kinds of tasks that may be shown to whoever proposes one of this kind."""
        ...

    def invite(self, kind: str, references: Sequence[Task], number: int) -> Task:
        """What a proposer of such a task is shown. The references are tasks from which its own is to differ, or on
        which it is to build; the number makes the id of the invitation its own."""
        ...

    def read(self, invitations: Sequence[Task], replies: Sequence[str]) -> list[Task | Refusal]:
        """The tasks that a proposer wrote, checked and with their answers as far as the domain knows them."""
        ...

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        """Which answers are right; an answer that cannot be read is not."""
        ...

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        """Tasks with answers that no proposer wrote: for tests that are held out, and for training with labels."""
        ...


class Demonstrator(Protocol):
    """Shows how the roles of a domain are played, well or badly: what a model is warmed up on before self-play."""

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]: ...


class Reward(Protocol):
    def __call__(self, episode: Episode) -> dict[Seat, np.ndarray]:
        """[N] for every seat: the reward that followed each of its turns."""
        ...


@runtime_checkable
class GroupReward(Protocol):
    """A reward for which the attempts at one task are looked at together."""

    def of_group(self, group: Group) -> Mapping[str, Mapping[Seat, np.ndarray]]:
        """[G] for each learning seat, one number for each attempt, NaN where there is no verdict; by the names of the
        parts that add up to the reward."""
        ...


class AdvantageEstimator(Protocol):
    def __call__(self, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
        """[N] for each trajectory: how much better each turn was than expected; NaN, which carries no loss, where
        there is no verdict."""
        ...


class Critic(Resumable, Protocol):
    """Learns what to expect: the sum of rewards still to come, before each turn is spoken."""

    def values(self, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
        """[N] for each trajectory."""
        ...

    def update(self, trajectories: Sequence[Trajectory], targets: Sequence[np.ndarray]) -> Metrics:
        """One step towards the targets, [N] for each trajectory, not whitened."""
        ...


class Objective(Protocol):
    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        """The loss, additive over rows, and what to log (weighted sums, additive as well)."""
        ...


class Opponents(Protocol):
    """Whom someone may meet."""

    def draw(self, rng: Random) -> Player: ...


class OpponentPool(Opponents, Resumable, Protocol):
    def add(self, player: Policy) -> None: ...
    def observe(self, episodes: Sequence[Episode]) -> None: ...


class Curriculum(Protocol):
    def draw(self, count: int, rng: Random) -> list[Task]: ...
    def observe(self, episodes: Sequence[Episode]) -> None: ...


class Measure(Resumable, Protocol):
    """Something worth knowing about the policies of a run, measured between updates."""

    def __call__(self) -> Metrics: ...
