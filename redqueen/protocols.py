"""Every verb: what a game, a player, a policy and the parts of a training step must be able to do.

Anything with these methods fits. A class of the user's own inherits nothing and registers nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, TypeVar, runtime_checkable

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

P = TypeVar("P")
Play = Generator[list[Ask], list[Reply], Outcome]
State = Mapping[str, Any]  # nested dicts and lists of numbers, strings, arrays and tensors
Key = Callable[[Trajectory, int], Hashable]  # whose results a turn's are compared with


def has(thing: object, wanted: type[P]) -> TypeGuard[P]:
    """Whether `thing` has every attribute and method that the protocol `wanted` asks for: the one place where the
    package looks for what only some games, players, question sets or objectives can do."""
    return not lacking(thing, wanted)


def lacking(thing: object, wanted: type) -> list[str]:
    """The names that the protocol `wanted` asks for and `thing` does not have, in the order of the protocol."""
    return [name for name in members(wanted) if getattr(thing, name, None) is None]


def members(wanted: type) -> list[str]:
    """The names of all attributes and methods that a protocol asks for, those of the protocols it extends first."""
    parts = [each for each in reversed(wanted.__mro__) if each.__module__ not in ("typing", "builtins")]
    names = [name for each in parts for name in (*inspect.get_annotations(each), *vars(each))]
    return list(dict.fromkeys(name for name in names if not name.startswith("_")))


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


class StatesInformation(Game, Protocol):
    """A game that says whether every seat sees the whole position. One that does not say it hides something."""

    @property
    def perfect_information(self) -> bool: ...


class StatesZeroSum(Game, Protocol):
    """A game that says whether the scores of a match always sum to zero. One that does not say it promises nothing."""

    @property
    def zero_sum(self) -> bool: ...


class Player(Protocol):
    """Whoever can take a seat. All chance comes from `Ask.seed`: a reply does not depend on the
    company in which it was asked for.

    One whose replies are worth not waiting for is `AskedInThreads`: several calls of its
    `reply` may then run at once (`play/flow.py`)."""

    @property
    def name(self) -> str: ...
    def reply(self, asks: Sequence[Ask]) -> list[Reply]: ...


class AskedInThreads(Player, Protocol):
    """A player that says whether several calls of its `reply` may run at once, as those of an endpoint may."""

    @property
    def asked_in_threads(self) -> bool: ...


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


class MayBeClosed(Player, Protocol):
    """A player that says whether its probabilities can be read. One that does not say it can be read if it has any."""

    @property
    def open(self) -> bool: ...


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


class Questions(Protocol):
    """A set of questions: problems by level, and whether an answer to one is right.

    Everything goes by lists, so that checks which run elsewhere (a sandbox, a prover) run together.
    """

    @property
    def name(self) -> str: ...
    @property
    def levels(self) -> tuple[str, ...]:
        """The groups in which problems are dealt, from easy to hard where there is an order."""
        ...

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        """`count` tasks that no proposer wrote, with answers where these are known: for held-out tests, and for
        training with labels."""
        ...

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> Sequence[bool | None]:
        """For each answer whether it is right: False too for one that cannot be read, None where nobody knows."""
        ...


class Proposable(Questions, Protocol):
    """A question set to which tasks may be proposed: how a task is asked for, and how what was written is read."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """What a proposer may be asked for; the kind of every task that it writes."""
        ...

    def seeds(self) -> list[Task]:
        """The tasks from which proposing starts, at least one of each kind."""
        ...

    def sources(self, kind: str) -> tuple[str, ...]:
        """The kinds of tasks that may be shown to whoever proposes one of this kind."""
        ...

    def invite(self, kind: str, references: Sequence[Task], number: int) -> Task:
        """What a proposer of such a task is shown. `references` are tasks from which its own is to differ, or on
        which it is to build; `number` makes the id of the invitation its own."""
        ...

    def read(self, invitations: Sequence[Task], replies: Sequence[str]) -> list[Task | Refusal]:
        """For each reply the task that a proposer wrote, with its answer as far as the set knows it, or a refusal."""
        ...


class Demonstrator(Protocol):
    """A question set that shows how its roles are played, well or badly: what a model is warmed up on."""

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


class StatesSilence(Objective, Protocol):
    """An objective that says whether rows without an advantage add nothing to its loss and gradient. One that does
    not say it is computed everywhere."""

    @property
    def silent_without_advantage(self) -> bool: ...


class CountsSome(Objective, Protocol):
    """An objective whose figures are sums over some of the tokens alone."""

    def counted(self, batch: Batch) -> Batch:
        """The batch with the loss weights of these tokens."""
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
