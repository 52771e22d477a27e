"""Every verb: what a game, a player, a policy and the parts of a training step must be able to do.

Any object with these methods fits; a user's class inherits nothing and registers nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, TypeVar, runtime_checkable

import numpy as np

from redqueen.types import (
    Ask,
    Assessment,
    Basis,
    Batch,
    Continuation,
    Damaged,
    Demonstration,
    Episode,
    Group,
    Likelihoods,
    Metrics,
    Observation,
    Outcome,
    Refusal,
    Reply,
    Seat,
    Task,
    Trajectory,
    is_moderate,
    kind_named,
    shown,
)

if TYPE_CHECKING:
    from torch import Tensor

P = TypeVar("P")
Play = Generator[list[Ask], list[Reply], Outcome]
State = Mapping[str, Any]  # nested dicts and lists of numbers, strings, arrays and tensors
Heard = Callable[[int, Any], object]  # is told the place of what was asked for, and what came there
Key = Callable[[Trajectory, int], Hashable]  # turns with equal keys are compared with one another


def has(thing: object, wanted: type[P]) -> TypeGuard[P]:
    """Whether `thing` has every attribute and method of the protocol `wanted`: the one place where the package looks
    for optional abilities of games, players, question sets and objectives."""
    return not lacking(thing, wanted)


def lacking(thing: object, wanted: type) -> list[str]:
    """The names of the protocol `wanted` that `thing` does not have, in the order of the protocol."""
    return [name for name in members(wanted) if getattr(thing, name, None) is None]


def members(wanted: type) -> list[str]:
    """The names of all attributes and methods of the protocol `wanted`, those of the protocols it extends first."""
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
        """All tasks that can be dealt, with their weights; for games too large to list, a sample of them."""
        ...

    def play(self, task: Task, rng: Random) -> Play: ...


class StatesInformation(Game, Protocol):
    """A game that states whether every seat sees the whole position. A game without the attribute is taken to hide
    something."""

    @property
    def perfect_information(self) -> bool: ...


class StatesHearers(Game, Protocol):
    """A game of talk that states who hears what is said."""

    @property
    def heard_by(self) -> Mapping[str, Sequence[str]]:
        """By the role that speaks, the roles that hear it; none for what only the game is told. Roles that are left out
        make moves."""
        ...


class StatesZeroSum(Game, Protocol):
    """A game that states whether the scores of a match always sum to zero. A game without the attribute is taken not
    to be zero-sum."""

    @property
    def zero_sum(self) -> bool: ...


class GivesHints(Game, Protocol):
    """A game that can help a seat along."""

    def helped(self, task: Task, level: int) -> Task:
        """The task with a hint of this level, from 1: the same id, and the fact `hinted`, the level."""
        ...


class HoldsOut(Game, Protocol):
    """A game with tasks that are never trained on."""

    def held_out(self) -> Sequence[Task]: ...


class ShowsHow(Game, Protocol):
    """A game for one that can play its own tasks."""

    def expert(self, task: Task) -> tuple[str, ...]:
        """Replies, turn by turn, that score 1. Raises RedQueenError where none are known."""
        ...


class Tool(Protocol):
    @property
    def name(self) -> str:
        """The tag of a call: <name>...</name>."""
        ...

    @property
    def usage(self) -> str:
        """One line that shows a call and its output, for the prompt."""
        ...

    def __call__(self, text: str) -> str:
        """The output for `text`, the content of the tag. Raises ToolError for a faulty call, whose message the seat is
        shown; any other exception is a failure of the tool and ends the run."""
        ...


class Visit(Protocol):
    """One state of a world, in which one task is done. `close` ends it."""

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that act on this state; empty where acts are said and not called."""
        ...

    def look(self) -> Observation:
        """The first view, the same however often it is asked for."""
        ...

    def act(self, said: str) -> Observation:
        """What came of an act. One that makes no sense is answered in words; an exception is a failure of the world
        and ends the run."""
        ...

    def state(self) -> State:
        """The state as plain data in one order."""
        ...

    def assess(self, answer: str = "") -> Assessment:
        """How well the task is done in the state as it is now, which stays as it is. `answer` is read only where the
        task asks a question."""
        ...

    def close(self) -> None: ...


class World(Protocol):
    """A state that only its own rules change, and tasks that are judged by the final state alone.

    All chance comes from the task and the `seed`; nothing depends on a clock; no two visits share what changes."""

    @property
    def name(self) -> str: ...
    @property
    def repeatable(self) -> bool:
        """Whether the same task, seed and acts always show the same; if not, an episode replays from its record
        alone."""
        ...

    def tasks(self) -> Sequence[Task]:
        """Tasks to train on. What a seat must not be shown stands in the fact `hidden`."""
        ...

    def held_out(self) -> Sequence[Task]:
        """Tasks to measure on, none of which is among `tasks`."""
        ...

    def open(self, task: Task, seed: int) -> Visit: ...


class KnowsHow(World, Protocol):
    """A world that can do its own tasks."""

    def expert(self, task: Task) -> tuple[str, ...]:
        """Acts, in order, that do the task."""


class TakesGoals(World, Protocol):
    """A world in which a task can be set by doing it first."""

    def with_goal(self, task: Task, after: State, prompt: str) -> Task:
        """The task that begins as `task` does, is worded by `prompt`, and is done where the state has become `after`.
        Its id says where it begins and what has to change. Raises RedQueenError where nothing came of the acts that
        could be a goal, or what is held out."""
        ...

    def worded(self, task: Task, after: State) -> str:
        """What has to be done from the start of `task` to come to `after`, in words; "" if there are none for it."""
        ...


class Waits(Game, Protocol):
    """A game that may have nothing to ask yet, because a program that it runs is still at work: its `play` yields an
    empty list then, after a moment, and is sent one."""

    @property
    def waits(self) -> bool: ...


class ShowsLastTurns(Game, Protocol):
    """A game that shows a seat the last `window` of its turns alone, and says so in the prompt; 0 is all of them."""

    @property
    def window(self) -> int: ...


class HasHorizon(Game, Protocol):
    """A game whose matches can be held to a number of turns."""

    def within(self, turns: int) -> Game:
        """The same game with at most so many turns. A match that they end has the fact `cut`, True."""
        ...


class Player(Protocol):
    """Anything that can take a seat. All chance comes from `Ask.seed`: a reply does not depend on the other asks of
    the call.

    A slow player that may be called from several threads at once is `AskedInThreads` (`play/flow.py`)."""

    @property
    def name(self) -> str: ...
    def reply(self, asks: Sequence[Ask]) -> list[Reply]: ...


class AskedInThreads(Player, Protocol):
    """A player that states whether several calls of its `reply` may run at once, as those of an endpoint may."""

    @property
    def asked_in_threads(self) -> bool: ...


class Stream(Protocol):
    """Replies that are returned as they are finished."""

    def put(self, asks: Sequence[Ask]) -> list[int]:
        """Asks for replies to `asks`; returns the number of each, under which `get` returns its reply."""
        ...

    def get(self) -> list[tuple[int, Reply]]:
        """The next finished replies, each with its number; empty only if no ask is open."""
        ...


class StreamingPlayer(Player, Protocol):
    """A player that can answer some asks while others are still being answered."""

    def stream(self, rows: int) -> Stream:
        """A stream that generates at most `rows` replies at a time. It is valid until the player's next update."""
        ...


class OpenPlayer(Player, Protocol):
    """A player whose reply distribution can be read: exact probabilities wherever the legal replies are listed."""

    def probabilities(self, asks: Sequence[Ask]) -> list[np.ndarray]:
        """The probability of each of `Ask.choices`, [K] for each ask, summing to one."""
        ...


class MayBeClosed(Player, Protocol):
    """A player that states whether its probabilities can be read. Without the attribute, they can if it has the method
    `probabilities`."""

    @property
    def open(self) -> bool: ...


class MayNotRead(Player, Protocol):
    """A player that cannot read every prompt."""

    def unreadable(self, ask: Ask) -> str:
        """Why it cannot read what the ask shows, in a line; "" where it can."""


class Settles(Protocol):
    """A part of a run that may go on while the run does something else."""

    def settle(self) -> None:
        """Waits until nothing of it goes on."""
        ...


class Resumable(Protocol):
    """A part whose state belongs to a checkpoint: `restore` sets what `state` returned, bit for bit."""

    def state(self) -> State: ...
    def restore(self, state: State) -> None: ...


class StatesAlarms(Protocol):
    """A part or a measure that says what goes wrong: its messages stand in the line of the step."""

    def alarms(self) -> list[str]:
        """Messages of all firing alarms, "NAME: what is wrong"; empty if none fires."""
        ...


class Forgets(Player, Protocol):
    """A player with caches."""

    def forget(self) -> None:
        """Clears the caches of the player and of its frozen copies. Cached results are rounded differently with the
        batch they were computed in, so a step must not read those of earlier steps: a resumed run has none."""
        ...


class Trained(OpenPlayer, MayBeClosed, Protocol):
    """A player that has learned, made of one policy or of several."""

    @property
    def version(self) -> int:
        """How many updates it has made."""
        ...


class Policy(OpenPlayer, Forgets, Resumable, Protocol):
    """A player that learns. `learning_rate` may be set between updates."""

    learning_rate: float

    @property
    def version(self) -> int:
        """How many updates it has made."""
        ...

    @property
    def open(self) -> bool:
        """Whether its probabilities can be read where replies are listed; false for a policy that answers in free text
        even there, which can only be sampled."""
        ...

    def likelihoods(self, batch: Batch) -> Likelihoods:
        """Log-probabilities and entropies of the tokens of `batch` under this policy now, without gradients."""
        ...

    def update(self, batch: Batch, objective: Objective) -> Metrics:
        """Takes one optimiser step on `batch`. Raises `NonFiniteLoss`, with the weights unchanged, if the loss or a
        gradient is not finite."""
        ...

    def freeze(self) -> Policy:
        """A copy that no longer changes, named with its version: "learner@120"."""
        ...

    def save(self, folder: Path) -> None:
        """Writes the weights in the usual layout of their kind, and the optimiser's state, into `folder`."""
        ...

    def load(self, folder: Path) -> None:
        """Restores what `save` wrote into `folder`."""
        ...


class Paced(Policy, Protocol):
    """A policy whose learning rate may change over a run."""

    def pace_at(self, step: int, steps: int) -> None:
        """Sets the learning rate of all updates of a step, counted from 0, of a run of `steps`. Raises RedQueenError
        for a schedule that is longer than the run."""
        ...


class PlainModel(Protocol):
    """A language model on texts as they are, without roles and forms of answers: as others' tests ask it."""

    @property
    def tokenizer(self) -> Any: ...  # of transformers
    @property
    def context(self) -> int: ...  # the most tokens of a text

    def rate(self, rows: Sequence[tuple[tuple[int, ...], int]]) -> list[tuple[float, bool]]:
        """For each row, tokens and the place of the first to be rated (at least 1): the sum of the log-probabilities of
        the tokens from there on, at temperature 1, and whether each of them is the likeliest."""
        ...

    def go_on(self, prompts: Sequence[tuple[int, ...]], wanted: Sequence[Continuation]) -> list[tuple[int, ...]]:
        """The tokens that follow each prompt, up to and with the one that ended them."""
        ...


class SpeaksPlainly(Protocol):
    """A policy whose model can be asked without roles."""

    def verbatim(self) -> PlainModel:
        """Its model with its weights as they are now."""
        ...


class StatesFormat(Player, Protocol):
    """A player whose replies must mark their answers."""

    def asked_for(self, role: str) -> str:
        """The sentence that tells it in this role how to mark its answer; "" where all of a reply is taken."""
        ...


class AnswerFormat(Protocol):
    """How a player that thinks before it acts marks its action."""

    @property
    def instruction(self) -> str:
        """The sentence that tells the player about the format."""
        ...

    def parse(self, text: str, choices: Sequence[str]) -> tuple[str, str]:
        """The thought and the action in `text`; the action is "" if none is found."""
        ...

    def write(self, action: str) -> str:
        """A reply in the format from which `parse` takes this action, without the spaces around it. Raises
        RedQueenError for an action that the format cannot hold."""
        ...


class Verifier(Protocol):
    def __call__(self, task: Task, answer: str) -> bool: ...


class PreferenceOracle(Protocol):
    def __call__(self, tasks: Sequence[Task], first: Sequence[str], second: Sequence[str], rng: Random) -> np.ndarray:
        """[n] the probability that the first answer to each task is preferred to the second; NaN where there is no
        verdict."""
        ...


class Questions(Protocol):
    """A set of questions: problems by level, and whether an answer to one is right.

    Methods take lists, so that checks that run elsewhere (a sandbox, a prover) run as one batch.
    """

    @property
    def name(self) -> str: ...
    @property
    def levels(self) -> tuple[str, ...]:
        """The groups in which problems are dealt, from easy to hard where there is an order."""
        ...

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        """`count` tasks of the set's own, not written by a proposer, with answers where these are known: for held-out
        tests, and for training with labels."""
        ...

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> Sequence[bool | None]:
        """For each answer whether it is right: False also if it cannot be parsed, None if unknown."""
        ...


class Proposable(Questions, Protocol):
    """A question set to which tasks may be proposed: the prompt for a proposer, and the parser of its reply."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of tasks that a proposer may be asked for; every task it writes is of one of them."""
        ...

    def seeds(self) -> list[Task]:
        """The tasks from which proposing starts, at least one of each kind."""
        ...

    def sources(self, kind: str) -> tuple[str, ...]:
        """The kinds of tasks that may be shown as references to the proposer of a task of this `kind`."""
        ...

    def invite(self, kind: str, references: Sequence[Task], number: int) -> Task:
        """The task that is shown to a proposer of a task of this `kind`. `references` are tasks that the proposal is to
        differ from or build on; `number` makes the id of the invitation unique."""
        ...

    def read(self, invitations: Sequence[Task], replies: Sequence[str]) -> list[Task | Refusal]:
        """For each reply the task in it, with its answer if the set knows it, or a refusal."""
        ...


class ReadsAnswers(Questions, Protocol):
    """A question set that finds the answer in a reply of whatever form."""

    def extracted(self, tasks: Sequence[Task], replies: Sequence[str]) -> Sequence[str]:
        """The answer that is found in each reply, as it is compared; "" where there is none."""
        ...


class PaysInPart(Questions, Protocol):
    """A question set that pays answers in part, where being right is a matter of degree."""

    def paid(self, tasks: Sequence[Task], answers: Sequence[str]) -> Sequence[float | None]:
        """What each answer earns, 0 to 1; None if unknown."""
        ...


class Remarks(Questions, Protocol):
    """A question set that says more of a reply than whether its answer is right."""

    def remarks(self, tasks: Sequence[Task], replies: Sequence[str]) -> Sequence[Mapping[str, float | None]]:
        """Figures of each whole reply by name, from 0 to 1, None where unknown: measured, and no reward."""
        ...


class StatesNeeds(Questions, Protocol):
    """A question set whose abilities depend on its data."""

    def needs(self, wanted: type) -> str:
        """What the data lack for the protocol `wanted`, in one line; "" if nothing."""
        ...


class StatesNotes(Questions, Protocol):
    """A question set that says what it found in its data."""

    @property
    def notes(self) -> Sequence[str]:
        """What was found, a line each, to be read before the first step."""
        ...


class Demonstrator(Protocol):
    """A question set with example replies of its roles, good and bad ones, for warm starts."""

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]: ...


class ShowsProposals(Proposable, Protocol):
    """A question set that shows how its own tasks would have been proposed."""

    def proposals(self, count: int, rng: Random) -> list[Demonstration]:
        """`count` invitations with references, each with another task of the set's own, written as a proposal of it."""
        ...


class Reward(Protocol):
    def __call__(self, episode: Episode) -> dict[Seat, np.ndarray]:
        """[N] for every seat: the reward after each of its turns."""
        ...


@runtime_checkable
class GroupReward(Protocol):
    """A reward computed from all attempts at one task together."""

    def of_group(self, group: Group) -> Mapping[str, Mapping[Seat, np.ndarray]]:
        """The named parts that add up to the reward, each [G] for every learning seat: one number per attempt, NaN
        where there is no verdict."""
        ...


class AdvantageEstimator(Protocol):
    def __call__(self, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
        """[N] for each trajectory: how much better each turn was than expected; NaN where there is no verdict, which
        has no loss."""
        ...


class Critic(Resumable, Protocol):
    """Learns values: the expected sum of the rewards still to come, before each turn."""

    def values(self, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
        """[N] for each trajectory: the value before each turn."""
        ...

    def update(self, trajectories: Sequence[Trajectory], targets: Sequence[np.ndarray]) -> Metrics:
        """Takes one step towards `targets`, [N] for each trajectory, not whitened; returns what to log."""
        ...


class Objective(Protocol):
    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        """The loss, additive over rows, and what to log (weighted sums, additive as well)."""
        ...


class StatesSilence(Objective, Protocol):
    """An objective that states whether rows with advantage 0 add nothing to its loss and gradient. Without the
    attribute, all rows are computed."""

    @property
    def silent_without_advantage(self) -> bool: ...


class CountsSome(Objective, Protocol):
    """An objective whose metrics are sums over only some of the tokens."""

    def counted(self, batch: Batch) -> Batch:
        """The batch with nonzero loss weights on these tokens only."""
        ...


class Opponents(Protocol):
    """A distribution over opponents."""

    def draw(self, rng: Random) -> Player: ...


class OpponentPool(Opponents, Resumable, Protocol):
    def add(self, player: Policy) -> None: ...
    def observe(self, episodes: Sequence[Episode]) -> None: ...


class Curriculum(Protocol):
    def draw(self, count: int, rng: Random) -> list[Task]: ...
    def observe(self, episodes: Sequence[Episode]) -> None: ...


class Measure(Resumable, Protocol):
    """Figures about the policies of a run, measured between updates."""

    def __call__(self) -> Metrics: ...


class AttemptsProblems(Measure, Protocol):
    """A measure of how often attempts at held-out problems are right."""

    def sample(self, attempts: int) -> None:
        """From now on each problem is attempted `attempts` times, unless the recipe itself says how often."""
        ...


class LimitsReplies(Measure, Protocol):
    """A measure that can ask for fewer replies."""

    def limit(self, replies: int) -> None:
        """From now on it samples about `replies` replies of a player at most (0: no limit). Its run says so once,
        before a policy takes back what a checkpoint holds: a measure that needs replies of the start asks for them
        here."""
        ...


class ShowsReplies(Measure, Protocol):
    """A measure with replies to show; its run prints them before the first step."""

    def first_replies(self) -> str:
        """Replies of the first measurement, as text to be read; "" if there are none."""
        ...

    def latest_replies(self) -> Sequence[Mapping[str, Any]]:
        """A few replies of the latest measurement as plain data, each time to the same questions."""
        ...


class StatesBasis(Measure, Protocol):
    """A measure that states what its figures rest on; its run writes it to `measures.json`."""

    def basis(self) -> Mapping[str, Basis]: ...  # by the name of the figure


# --- what a state must look like when it comes back from a file ------------------------------


@dataclass(frozen=True)
class Value:
    """The shape of what `holds` accepts; `said` says in words what that is."""

    said: str
    holds: Callable[[Any], bool]


@dataclass(frozen=True)
class Row:
    """The shape of a list or tuple with as many values as there are `shapes`, one of each."""

    shapes: tuple[Any, ...]

    def __init__(self, *shapes: Any) -> None:
        object.__setattr__(self, "shapes", shapes)


@dataclass(frozen=True)
class Maybe:
    """The shape of null, or of what has this `shape`."""

    shape: Any


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and is_moderate(value)


COUNT = Value(
    "a whole number from 0 to 2^53", lambda value: _is_number(value) and isinstance(value, int) and 0 <= value <= 2**53
)
FINITE = Value("a finite number", lambda value: _is_number(value) and isfinite(value))
AMOUNT = Value("a finite number of at least 0", lambda value: _is_number(value) and isfinite(value) and value >= 0)
SHARE = Value("a number from 0 to 1", lambda value: _is_number(value) and 0 <= value <= 1)


def shaped(value: Any, shape: Any, place: str) -> Any:
    """`value`, which must have a shape as this one, else Damaged with the place: a type or a tuple of types, [shape of
    each], {"name": shape}; "name?" need not be there; {...: shape} is that of every value, whose keys are texts. See
    also `Value`, `Row` and `Maybe`."""
    if isinstance(shape, Value):
        if not shape.holds(value):
            raise Damaged(f"{place} must be {shape.said}, not {shown(value)}")
    elif isinstance(shape, Maybe):
        return value if value is None else shaped(value, shape.shape, place)
    elif isinstance(shape, Row):
        _kind(value, (list, tuple), place)
        if len(value) != len(shape.shapes):
            raise Damaged(f"{place} must have {len(shape.shapes)} parts, not {len(value)}")
        for number, (each, inner) in enumerate(zip(value, shape.shapes, strict=True)):
            shaped(each, inner, f"{place}[{number}]")
    elif isinstance(shape, list):
        _kind(value, (list, tuple), place)
        for number, each in enumerate(value):
            shaped(each, shape[0], f"{place}[{number}]")
    elif isinstance(shape, dict):
        _kind(value, dict, place)
        for name, inner in shape.items():
            if name is ...:
                for key, each in value.items():
                    _kind(key, str, f"{place}: a name")
                    shaped(each, inner, f"{place}.{key[:40]}")
            elif name.removesuffix("?") in value:
                shaped(value[name.removesuffix("?")], inner, f"{place}.{name.removesuffix('?')}")
            elif not name.endswith("?"):
                raise Damaged(f"{place} has no {name!r}")
    else:
        _kind(value, shape, place)
        if isinstance(value, int) and not is_moderate(value):
            raise Damaged(f"{place} must be a number that a float can hold, not {str(value)[:20]}...")
    return value


def _kind(value: Any, kind: Any, place: str) -> None:
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds and object not in kinds):
        raise Damaged(f"{place} must be {kind_named(kind)}, not {shown(value)}")
