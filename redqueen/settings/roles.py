"""The players of a recipe's roles, and which of them learn.

@dataclass(frozen=True)
class Config:
    learner: Flat = Learner(model="smollm2-135m")
    proposer: Role = Role()                                # --proposer frozen
    judge: Helper = Role(FROZEN)                           # a role that learns nothing
    novelty: Annotated[Amount, PaidTo("proposer")] = 0.0   # refused if the proposer does not learn

cast = Cast(config, run)
solver, proposer = cast.learner, cast["proposer"]
step = cast.learning_step(by_kind_or_group)                # of all that learn, as config.update says
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar, get_type_hints

import tyro

from redqueen.credit.rewards import spoken_by
from redqueen.players.endpoint import Server
from redqueen.players.language.answers import Plain
from redqueen.players.language.thoughts import marks_named
from redqueen.players.language.writing import Writer, language_model
from redqueen.players.tabular import TabularPolicy
from redqueen.players.tinker.policy import TinkerPolicy
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.protocols import AdvantageEstimator, AnswerFormat, Key, Player, Policy
from redqueen.schedules import Phases
from redqueen.settings.learner import LONGEST_REPLY, Learner
from redqueen.settings.learning_step import LearningStep
from redqueen.settings.limits import Within, refuse_unused, unset
from redqueen.settings.speech import ANSWERS, Speech, template_arguments
from redqueen.texts import THINK
from redqueen.types import SOLVER, RedQueenError, Trajectory

JUDGEMENT = 512  # tokens of a judgement by an endpoint
PATIENCE = 8  # retries of an endpoint that plays a role, two minutes in all
SHARED, ADAPTER, SEPARATE, FROZEN = "shared", "adapter", "separate", "frozen"
_BINDINGS = (SHARED, ADAPTER, SEPARATE, FROZEN)
_BOUND = f"It is {', '.join(_BINDINGS)}, a model folder or name, or http://HOST/v1#MODEL"


@dataclass(frozen=True)
class Role:
    """The player of a role, and how it speaks: `--proposer frozen`, `--proposer.answer code`."""

    player: Annotated[str, tyro.conf.arg(name="")] = SHARED
    """shared, adapter, separate, frozen, a model folder, or http://HOST/v1#MODEL"""
    learning_rate: Annotated[float | None, Within(0.0, 1e30), unset("FLOAT")] = None
    """of an adapter or a model of its own; the learner's by default"""
    speech: Annotated[Speech, tyro.conf.arg(name="")] = Speech()


@dataclass(frozen=True)
class Plays:
    """The annotation of a `Role` whose `seat` has another name than the field, or which speaks `as_learner`, in the
    answer format of the learner: `labeller: Annotated[Role, Plays("solver", as_learner=True)]`."""

    seat: str = ""
    as_learner: bool = False


Peer = Annotated[Role, Plays(as_learner=True)]
"""A role that makes moves or answers questions as the learner does, in the same answer format."""


@dataclass(frozen=True)
class Still:
    """The annotation of a `Role` that does not learn; `words` name further players, made by the recipe."""

    words: tuple[str, ...] = ()


Helper = Annotated[Role, Still()]

Refiner = Annotated[Role, Plays("critic")]
"""Who criticises answers as the critic, and mends them as the solver."""

Labeller = Annotated[Role, Still(), Plays(SOLVER, as_learner=True)]
"""Who solves tasks so that its majority labels them; it does not learn by it."""


@dataclass(frozen=True)
class PaidTo:
    """The annotation of a setting of the reward of `role`: refused unless the role learns."""

    role: str


T = TypeVar("T")
ForProposer = Annotated[T, PaidTo("proposer")]  # of a setting without effect where the proposer does not learn


def seat_of(config: type, role: str) -> str:
    """The role of the seats in which the player of the field `role` of a config speaks."""
    marks = getattr(get_type_hints(config, include_extras=True)[role], "__metadata__", ())
    return next((mark.seat for mark in marks if isinstance(mark, Plays) and mark.seat), role)


class Seeds(Protocol):
    """The source of seeds for weights, such as a `Run`."""

    def derived(self, *path: int | str) -> int: ...


class Cast:
    """The players of a recipe: the one that learns, made as `config.learner` says, and one for each field of the config
    that is a `Role`, by the name of the field. `learner` is it as a language model. With `table_learning_rate`, the
    recipe's default for a table, it may be a table too, and `policy` is it whatever it is.

    Raises RedQueenError for a player that cannot be had, for an adapter or a model of its own in a role that learns
    nothing (`Still`), and for a setting of what a role is paid (`PaidTo`) where that role does not learn.
    """

    def __init__(self, config: Any, run: Seeds, table_learning_rate: float | None = None) -> None:
        self._settings = config
        self._config: Learner = config.learner
        self._run = run
        self.policy: Policy = (
            self._config.build_model(run.derived("learner"))
            if table_learning_rate is None
            else self._config.build(run.derived("learner"), table_learning_rate)
        )
        self._players: dict[str, Player] = {}
        hints = get_type_hints(type(config), include_extras=True)
        marks = {name: getattr(hint, "__metadata__", ()) for name, hint in hints.items()}
        for name, role in vars(config).items():
            if isinstance(role, Role):
                still = [mark for mark in marks[name] if isinstance(mark, Still)]
                if not any(role.player in mark.words for mark in still):
                    self._players[name] = self._seat(name, role, marks[name])
                elif role.speech.given:
                    raise RedQueenError(
                        f"{_spoken_flag(name, role)} has no effect with --{name} {role.player}: leave it out"
                    )
        for name, found in marks.items():
            for mark in found:
                if isinstance(mark, PaidTo):
                    self._refuse_unpaid(config, name, mark.role)

    def __getitem__(self, role: str) -> Player:
        return self._players[role]

    def seated(self, *roles: str) -> list[Policy]:
        """The players of these roles that learn, each once, in their order; also where the learner is a table."""
        if isinstance(self.policy, TabularPolicy):
            return [self.policy] if any(self._players[role] is self.policy for role in roles) else []
        return [*learning([self._players[role] for role in roles])]

    def trained(self, role: str) -> Writer:
        """The player of a role that has to learn. Raises RedQueenError if it does not."""
        found = learning([self._players[role]])
        if not found:
            raise RedQueenError(f"the {role} is trained: --{role} must be separate, shared or adapter")
        return found[0]

    def phases(self, steps: Mapping[str, int]) -> Phases:
        """Phases in which one player learns at a time, with the `steps` of each in a round; a role whose player does
        not learn has no phase. Warns where the run ends before one has its turn."""
        still = [role for role, player in self._players.items() if not learning([player])]
        learned = {name: count for name, count in steps.items() if count and name not in still}
        for (name, count), end in zip(learned.items(), accumulate(learned.values()), strict=True):
            if end - count >= self._settings.steps:
                warnings.warn(
                    f"--steps {self._settings.steps} ends before the {name} learns, which begins after {end - count}: "
                    f"a whole round takes {sum(learned.values())}",
                    stacklevel=2,
                )
        return Phases({name: learned.get(name, 0) for name in steps})

    def spoken(self, trajectories: Sequence[Trajectory]) -> list[tuple[Writer, list[Trajectory]]]:
        """The players that learn, each with the trajectories that it spoke."""
        return [(player, spoken_by(player, trajectories)) for player in self.learning]

    def learning_step(
        self, key: Key, estimate: AdvantageEstimator | None = None, imitation: float | None = None
    ) -> LearningStep:
        """The `LearningStep` of the players that learn, which compares results with an equal `key`."""
        return LearningStep(self._settings, self.learning, key=key, estimate=estimate, imitation=imitation)

    @property
    def learner(self) -> Writer:
        return language_model(self.policy)

    def _seat(self, name: str, role: Role, marks: Sequence[Any]) -> Player:
        """The player of a role, speaking there as it should, and learning at a rate of its own where it has one."""
        player = self._player(name, role, marks)
        if role.learning_rate is not None:
            if player is self.policy or not learning([player]):
                raise RedQueenError(
                    f"--{name}.learning-rate has no effect with --{name} {role.player}, which has no weights of "
                    "its own that learn: leave it out"
                )
            learning([player])[0].learning_rate = role.learning_rate
        return player

    def _player(self, name: str, role: Role, marks: Sequence[Any]) -> Player:
        still = [mark for mark in marks if isinstance(mark, Still)]
        plays = next((mark for mark in marks if isinstance(mark, Plays)), Plays())
        seat = plays.seat or name
        if isinstance(self.policy, TabularPolicy) and not still:
            if role.speech.given:
                raise RedQueenError(f"{_spoken_flag(name, role)} has no effect on a table: leave it out")
            return self._tabular(name, role.player)
        if role.player == SHARED and seat == SOLVER:
            if role.speech.given:
                raise RedQueenError(
                    f"the {name} is the learner, which solves as the solver does: {_spoken_flag(SOLVER, role)} sets "
                    f"that, or give it another --{name}"
                )
            return self.learner
        words = still[0].words if still else ()
        return bind(
            name,
            role.player,
            self._config,
            self.learner,
            self._run.derived(name),
            learns=not still,
            besides=words,
            speech=role.speech,
            plays=replace(plays, seat=seat),
        )

    def _tabular(self, role: str, player: str) -> Player:
        """Who plays a role where the learner is a table: itself, or as it is now for ever."""
        if player not in (SHARED, FROZEN):
            raise RedQueenError(f"a tabular {role} is {SHARED} or {FROZEN}, not {player!r}")
        return self.policy if player == SHARED else self.policy.freeze()

    def judge(self, player: str, speech: Speech = Speech()) -> Player:
        """The player of a judge, named as a `Role` is: the `seat` of `find_oracle`."""
        return judge_of(self._config, self.learner, self._run, player, speech)

    @property
    def learning(self) -> list[Writer]:
        """The language models that learn, each once, `learner` first."""
        return learning([self.policy, *self._players.values()])

    def _refuse_unpaid(self, config: Any, name: str, role: str) -> None:
        if role not in self._players:
            raise RedQueenError(f"the rule PaidTo({role!r}) of {name} names no role of {type(config).__name__}")
        if not learning([self._players[role]]):
            refuse_unused(config, [name], f"--{role} {getattr(config, role).player}")


def bind(
    role: str,
    binding: str,
    config: Learner,
    learner: Writer,
    seed: int,
    learns: bool = True,
    besides: Sequence[str] = (),
    speech: Speech = Speech(),
    plays: Plays | None = None,
) -> Player:
    """Who plays a role, by one word: `shared` (the learner itself), `adapter` (a LoRA adapter of its own on the
    learner's model), `separate` (a model of its own, made as the learner's was), `frozen` (the learner as it is
    now, for ever), `http://HOST/v1#MODEL` (an endpoint, which must be up and does not learn), or a model folder or name
    (frozen). It speaks as the learner does (prompt, temperature, maximum length), but for what `speech` says otherwise;
    an answer format it has of its own alone, unless it `plays` as the learner does. `besides` are words that a recipe
    knows itself.

    What learns under a name of its own is called as its role. Raises RedQueenError for what cannot be had, and for an
    adapter or a model of its own where the role `learns` nothing.
    """
    if not learns and binding in (ADAPTER, SEPARATE):
        raise RedQueenError(
            f"the {role} does not learn: {binding} would stay what it was made as; say frozen or shared"
        )
    plays = plays or Plays(role)
    if binding == SHARED:
        return _speaking(learner, speech, plays)
    if binding == ADAPTER:
        return _speaking(learner.sibling(role), speech, plays)
    if binding == SEPARATE:
        warmth = config.temperature if speech.temperature is None else speech.temperature
        return _speaking(replace(config, temperature=warmth).build_model(seed, role), speech, plays)
    if binding == FROZEN:
        return _speaking(learner.freeze(), speech, plays)
    if binding.startswith(("http://", "https://")):
        url, _, model = binding.partition("#")
        if not model:
            raise RedQueenError(f"name the model of the endpoint after a #: {binding}#MODEL")
        arguments = template_arguments(config.template)
        answer: AnswerFormat = Plain("")  # as what it is asked says
        if plays.as_learner:
            answer = ANSWERS[config.answer]() if config.answer else Plain()
        usual = Server(
            model,
            url,
            answer=answer,
            system=config.system_prompt or "",
            temperature=1.0 if config.temperature is None else config.temperature,
            max_tokens=config.max_completion_length or LONGEST_REPLY,
            retries=PATIENCE,
            extra={"chat_template_kwargs": arguments} if arguments else {},
            thoughts=THINK if config.thoughts is None else marks_named(config.thoughts),
            label=role,
        )
        if speech.history:
            raise RedQueenError(f"an endpoint renders its own prompts: leave --{role}.history out")
        return speech.served(usual).check()
    meant = get_close_matches(binding.lower(), (*_BINDINGS, *besides), cutoff=0.75)
    if meant and not Path(binding).exists():
        raise RedQueenError(f"the {role} cannot be {binding!r}: did you mean {meant[0]}? {_BOUND}")
    if re.match(r"\w+://", binding):
        raise RedQueenError(f"the {role} cannot be {binding!r}. {_BOUND}")
    other = replace(config, model=binding).build_model(seed, role, learns=False)
    if isinstance(other, TransformerPolicy) and isinstance(learner, TransformerPolicy):
        return _speaking(other.timed_by(learner), speech, plays)
    if isinstance(other, TinkerPolicy) and isinstance(learner, TinkerPolicy):
        return _speaking(other.timed_by(learner), speech, plays)
    raise RedQueenError(f"{role} and the learner are both on this machine or both on a server: not {binding!r} here")


def judge_of(config: Learner, learner: Writer, run: Seeds, player: str, speech: Speech = Speech()) -> Player:
    """The player of a judge next to the learner. An endpoint has room for prose, unless `speech` says how long a reply
    may be."""
    if player.startswith(("http://", "https://")) and speech.max_completion_length is None:
        speech = replace(speech, max_completion_length=JUDGEMENT)
    return bind("judge", player, config, learner, run.derived("judge"), speech=speech)


def _speaking(player: Writer, speech: Speech, plays: Plays) -> Writer:
    """The player, which speaks in its seat as it should."""
    if speech.given or (player.usual.answer is not None and not plays.as_learner):
        player.speaks(plays.seat, speech.spoken(player.usual, plays.as_learner))
    return player


def without_format(learner: Writer, roles: Sequence[str]) -> Writer:
    """The learner, whose replies in these roles are read whole, as those of a `Role` without settings are: its answer
    format is for solving."""
    for role in roles:
        _speaking(learner, Speech(), Plays(role))
    return learner


def _spoken_flag(name: str, role: Role) -> str:
    return f"--{name}.{role.speech.given[0].replace('_', '-')}"


def learning(players: Sequence[Player]) -> list[Writer]:
    """The players that learn, each once, in order."""
    distinct = {id(player): player for player in players}.values()
    return [player for player in distinct if isinstance(player, Writer) and player.learns]
