"""From what a user writes to what a recipe is made of: the learner, the game, the recipe by name."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Literal, get_type_hints

import torch
import tyro

from redqueen.chance import derive
from redqueen.players.answers import Boxed, Bracketed, Plain
from redqueen.players.server import Server
from redqueen.players.tabular import TabularPolicy
from redqueen.players.tinker.connection import base_and_url, connect, is_on_server
from redqueen.players.tinker.policy import TinkerPolicy
from redqueen.players.transformer.loading import add_lora, is_tiny, load_model
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.players.writing import Writer
from redqueen.protocols import AnswerFormat, Player, Policy
from redqueen.types import RedQueenError
from redqueen.user_code import module_from_file

RECIPES: Mapping[str, str] = {
    "first_steps": "redqueen.recipes.first_steps",
    "spiral": "redqueen.recipes.spiral",
    "mars": "redqueen.recipes.mars",
    "fictitious_self_play": "redqueen.recipes.fictitious_self_play",
    "magnetic": "redqueen.recipes.magnetic",
    "league": "redqueen.recipes.league",
    "cold_start": "redqueen.recipes.cold_start",
    "absolute_zero": "redqueen.recipes.absolute_zero",
    "r_zero": "redqueen.recipes.r_zero",
    "agent0": "redqueen.recipes.agent0",
    "search_self_play": "redqueen.recipes.search_self_play",
    "svs": "redqueen.recipes.svs",
    "eva": "redqueen.recipes.eva",
    "spell": "redqueen.recipes.spell",
    "pasodoble": "redqueen.recipes.pasodoble",
    "promptcot2": "redqueen.recipes.promptcot2",
    "sec": "redqueen.recipes.sec",
    "sws": "redqueen.recipes.sws",
    "multi_agent_evolve": "redqueen.recipes.multi_agent_evolve",
    "spin": "redqueen.recipes.spin",
    "sppo": "redqueen.recipes.sppo",
    "spo": "redqueen.recipes.spo",
    "nash_md": "redqueen.recipes.nash_md",
    "iterative_dpo": "redqueen.recipes.iterative_dpo",
    "dpo": "redqueen.recipes.dpo",
    "self_rewarding": "redqueen.recipes.self_rewarding",
    "self_redteam": "redqueen.recipes.self_redteam",
    "spc": "redqueen.recipes.spc",
    "advantage_alignment": "redqueen.recipes.advantage_alignment",
    "score": "redqueen.recipes.score",
    "rise": "redqueen.recipes.rise",
}
TABULAR = "tabular"
PATIENCE = 8  # retries of an endpoint that plays a role, two minutes in all
LONGEST_REPLY = 64  # tokens of a free-text reply, unless the user says otherwise


@dataclass(frozen=True)
class Within:
    """The values that a setting may take; it stands beside the type of the field."""

    least: float
    most: float = math.inf
    above: bool = False  # the least value itself is refused too

    def __str__(self) -> str:
        lower = f"above {self.least:g}" if self.above else f"at least {self.least:g}"
        return lower if math.isinf(self.most) else f"{lower} and at most {self.most:g}"

    def __contains__(self, value: float) -> bool:
        return self.least <= value <= self.most and not (self.above and value == self.least)


@dataclass(frozen=True)
class Rising:
    """Two shares, the lower one first; it stands beside the type of the field."""

    def __str__(self) -> str:
        return "two shares from 0 to 1, the lower one first"

    def __contains__(self, value: tuple[float, float]) -> bool:
        return 0.0 <= value[0] <= value[1] <= 1.0


@dataclass(frozen=True)
class PartOf:
    """A share of as many as another setting says, and not so small that it comes to none; it stands beside the type of
    the field."""

    other: str

    def __str__(self) -> str:
        return "at least 0 and at most 1"

    def __contains__(self, value: float) -> bool:
        return 0.0 <= value <= 1.0

    def check(self, flag: str, value: float, whole: int) -> None:
        """Raises RedQueenError for a share above 0 of which nothing is left in whole numbers."""
        if value > 0.0 and not round(value * whole):
            raise RedQueenError(
                f"{flag} {value:g} of {_flag(self.other)} {whole} is none: set it to 0, or to {1 / whole:.3g} or more"
            )


Count = Annotated[int, Within(1)]
Amount = Annotated[float, Within(0.0)]
Positive = Annotated[float, Within(0.0, above=True)]
Share = Annotated[float, Within(0.0, 1.0)]
Between = Annotated[tuple[float, float], Rising()]


def unset(metavar: str) -> Any:
    """A flag that has no value unless given: its help says in words what happens then."""
    return tyro.conf.arg(metavar=metavar, help_behavior_hint="")


@dataclass(frozen=True)
class Learner:
    """What learns, and how it speaks. A field left out takes the default of the kind of model; a field
    that would have no effect is refused."""

    model: str = TABULAR
    """tabular, tiny (tiny:hidden=96,layers=3), smollm2-135m, a folder, a name on the Hugging Face hub, or
    tinker:BASE@URL, a model on a server (docs/scale.md)"""
    learning_rate: Annotated[float | None, Within(0.0, 1e30), unset("FLOAT")] = None
    """tabular 2.0 or the recipe's own (gradient descent); tiny 1e-3, LoRA 1e-4, full weights 1e-5 (AdamW)"""
    lora_rank: Annotated[int | None, Within(0), unset("INT")] = None
    """rank of the LoRA adapter, 16 for pretrained models; 0 trains all weights"""
    dtype: Annotated[Literal["float32", "bfloat16"] | None, unset("{float32,bfloat16}")] = None
    """precision of the weights, float32 by default"""
    device: Annotated[str | None, unset("STR")] = None
    """cpu, cuda or cuda:N; cuda where there is one"""
    temperature: Annotated[float | None, Within(0.0), unset("FLOAT")] = None
    """of sampling and of all log-probabilities, 1.0 by default"""
    answer: Annotated[Literal["boxed", "brackets", "plain"] | None, unset("{boxed,brackets,plain}")] = None
    """think, then act in this format; left out, replies are held to the legal ones wherever these are listed"""
    max_completion_length: Annotated[int | None, Within(1), unset("INT")] = None
    """tokens of one free-text reply, 64 by default"""
    cache_gigabytes: Annotated[float | None, Within(0.0, above=True), unset("FLOAT")] = None
    """memory for the keys and values that later turns of a step go on from, 1 by default"""
    system_prompt: Annotated[str | None, unset("STR")] = None
    """said to the model before the game speaks; nothing by default"""
    raw_prompt: Annotated[bool | None, unset("{True,False}")] = None
    """plain text instead of the chat template (always so for tiny)"""

    def longest_reply(self, listed: bool) -> int:
        """Tokens of the longest reply (L_max of Dr. GRPO and SPIRAL) in a game whose legal replies are `listed` or not:
        1 where a reply is a choice from a list."""
        return 1 if listed and not self.answer else self.max_completion_length or LONGEST_REPLY

    def build(self, seed: int, table_learning_rate: float = 2.0, name: str = "learner") -> Policy:
        """The policy; `table_learning_rate` is the recipe's default for a tabular one. Raises RedQueenError
        for a model that cannot be had, a field without effect or a value out of its range."""
        check_settings(self)
        if self.model == TABULAR:
            self._refuse_unused({"model", "learning_rate"}, "a tabular policy")
            return TabularPolicy(table_learning_rate if self.learning_rate is None else self.learning_rate, name)
        return self.build_model(seed, name)

    def build_beside(self, learner: Policy, seed: int, name: str) -> Policy:
        """Another policy that learns: an adapter of its own on the learner's model where that one trains an adapter,
        else weights of its own, made as the learner's were."""
        if isinstance(learner, Writer) and learner.has_adapter:
            return learner.sibling(name)
        return self.build(seed, learner.learning_rate, name)

    def build_model(self, seed: int, name: str = "learner") -> Writer:
        """The same for recipes of free text, in which a table has nothing to choose from."""
        check_settings(self)
        if self.model == TABULAR:
            raise RedQueenError("a tabular policy cannot write: choose a --model such as tiny or smollm2-135m")
        if is_on_server(self.model):
            return self._build_on_server(seed, name)
        if self.temperature is not None and self.temperature <= 0:
            raise RedQueenError(f"the temperature must be positive, not {self.temperature:g}: a learner explores")
        loaded = load_model(self.model, getattr(torch, self.dtype or "float32"), _checked_device(self.device), seed)
        rank = self.lora_rank if self.lora_rank is not None else 0 if is_tiny(self.model) else 16
        if rank:
            loaded = add_lora(loaded, rank, seed)
        usual = 1e-4 if rank else 1e-3 if is_tiny(self.model) else 1e-5
        return TransformerPolicy(
            loaded,
            learning_rate=usual if self.learning_rate is None else self.learning_rate,
            temperature=1.0 if self.temperature is None else self.temperature,
            max_completion_length=LONGEST_REPLY if self.max_completion_length is None else self.max_completion_length,
            answer=_ANSWERS[self.answer]() if self.answer else None,
            system=self.system_prompt or "",
            raw=bool(self.raw_prompt),
            constrain=self.answer is None,
            cache_gigabytes=1.0 if self.cache_gigabytes is None else self.cache_gigabytes,
            token_budget=8192 if loaded.model.device.type == "cuda" else 1024,  # what keeps the machine busy
            name=name,
        )

    def _build_on_server(self, seed: int, name: str) -> TinkerPolicy:
        """The seed is that of the adapter, where the server keeps to one."""
        used = {field for field in vars(self) if field not in ("dtype", "device", "cache_gigabytes")}
        self._refuse_unused(used, "a model on a server")
        rank = 16 if self.lora_rank is None else self.lora_rank
        if not rank:
            raise RedQueenError("a model on a server is trained through a LoRA adapter: set --lora-rank to 1 or more")
        connection = connect(*base_and_url(self.model))
        adapter = connection.create(rank, derive(seed, "adapter") & 0x7FFF_FFFF)
        return TinkerPolicy(
            adapter,
            connection.tokenizer(adapter),
            learning_rate=1e-4 if self.learning_rate is None else self.learning_rate,
            temperature=1.0 if self.temperature is None else self.temperature,
            max_completion_length=LONGEST_REPLY if self.max_completion_length is None else self.max_completion_length,
            answer=_ANSWERS[self.answer]() if self.answer else None,
            system=self.system_prompt or "",
            raw=bool(self.raw_prompt),
            constrain=self.answer is None,
            name=name,
        )

    def _refuse_unused(self, used: set[str], what: str) -> None:
        for name, value in asdict(self).items():
            if name not in used and value is not None:
                raise RedQueenError(f"{_flag(name)} has no effect on {what}: leave it out, or choose another --model")


SHARED, ADAPTER, SEPARATE, FROZEN = "shared", "adapter", "separate", "frozen"


_BINDINGS = (SHARED, ADAPTER, SEPARATE, FROZEN)
_BOUND = f"It is {', '.join(_BINDINGS)}, a model folder or name, or http://HOST/v1#MODEL"


def bind(
    role: str,
    binding: str,
    config: Learner,
    learner: Writer,
    seed: int,
    learns: bool = True,
    besides: Sequence[str] = (),
) -> Player:
    """Who plays a role, by one word: `shared` (the learner itself), `adapter` (a LoRA adapter of its own on the
    learner's model), `separate` (a model of its own, made as the learner's was), `frozen` (the learner as it is
    now, for ever), `http://HOST/v1#MODEL` (an endpoint, which must be up and does not learn), or a model folder or name
    (frozen). Whoever plays it speaks as the config says: at its temperature, in its format, at most so long. `besides`
    are words that a recipe knows itself.

    What learns under a name of its own is called as its role. Raises RedQueenError for what cannot be had, and for an
    adapter or a model of its own where the role `learns` nothing.
    """
    if not learns and binding in (ADAPTER, SEPARATE):
        raise RedQueenError(
            f"the {role} does not learn: {binding} would stay what it was made as; say frozen or shared"
        )
    if binding == SHARED:
        return learner
    if binding == ADAPTER:
        return learner.sibling(role)
    if binding == SEPARATE:
        return config.build_model(seed, role)
    if binding == FROZEN:
        return learner.freeze()
    if binding.startswith(("http://", "https://")):
        url, _, model = binding.partition("#")
        if not model:
            raise RedQueenError(f"name the model of the endpoint after a #: {binding}#MODEL")
        return Server(
            model,
            url,
            answer=_ANSWERS[config.answer]() if config.answer else Plain(),
            system=config.system_prompt or "",
            temperature=1.0 if config.temperature is None else config.temperature,
            max_tokens=config.max_completion_length or LONGEST_REPLY,
            retries=PATIENCE,
            label=role,
        ).check()
    meant = get_close_matches(binding.lower(), (*_BINDINGS, *besides), cutoff=0.75)
    if meant and not Path(binding).exists():
        raise RedQueenError(f"the {role} cannot be {binding!r}: did you mean {meant[0]}? {_BOUND}")
    if re.match(r"\w+://", binding):
        raise RedQueenError(f"the {role} cannot be {binding!r}. {_BOUND}")
    other = replace(config, model=binding).build_model(seed, role).freeze()
    if isinstance(other, TransformerPolicy) and isinstance(learner, TransformerPolicy):
        return other.timed_by(learner)
    if isinstance(other, TinkerPolicy) and isinstance(learner, TinkerPolicy):
        return other.timed_by(learner)
    raise RedQueenError(f"{role} and the learner are both on this machine or both on a server: not {binding!r} here")


def learning(players: Sequence[Player]) -> list[Writer]:
    """Those of the players that learn, each once, in their order."""
    distinct = {id(player): player for player in players}.values()
    return [player for player in distinct if isinstance(player, Writer) and player.learns]


def _checked_device(name: str | None) -> str:
    """The device that a name means; with none, the first CUDA device where there is one."""
    count = torch.cuda.device_count()
    if name is None:
        return "cuda" if count else "cpu"
    kind, _, number = name.partition(":")
    if name != "cpu" and (kind != "cuda" or not (name == "cuda" or number.isdecimal())):
        raise RedQueenError(f"there is no device {name!r}: write cpu, cuda or cuda:N")
    if kind == "cuda" and int(number or 0) >= count:
        raise RedQueenError(f"device {name!r} is not available here, where there are {count} CUDA devices")
    return name


_ANSWERS: Mapping[str, type[AnswerFormat]] = {"boxed": Boxed, "brackets": Bracketed, "plain": Plain}


def find_recipe(spec: str) -> ModuleType:
    """The module of a recipe: a shipped name, `path/to/file.py`, a dotted module, or an entry point of
    the group `redqueen.recipes`. It must have a dataclass `Config` and a function `train`."""
    if spec in RECIPES:
        module = importlib.import_module(RECIPES[spec])
    elif spec.endswith(".py"):
        module = module_from_file(Path(spec))
    else:
        module = _from_elsewhere(spec)
    for name in ("Config", "train"):
        if name not in vars(module):
            raise RedQueenError(
                f"the recipe {spec} has no {name}: a recipe is a module with Config and train(config, run)"
            )
    return module


def _from_elsewhere(spec: str) -> ModuleType:
    entries = {entry.name: entry.value for entry in importlib.metadata.entry_points(group="redqueen.recipes")}
    if spec in entries or "." in spec:
        try:
            return importlib.import_module(entries.get(spec, spec))
        except ImportError as error:
            raise RedQueenError(f"the recipe {spec} cannot be imported: {error}") from error
    close = get_close_matches(spec, [*RECIPES, *entries], n=1)
    hint = f"did you mean {close[0]}?" if close else f"recipes are {', '.join([*RECIPES, *entries])}"
    raise RedQueenError(f"there is no recipe {spec!r}: {hint}")


def check_settings(settings: Any) -> None:
    """Raises RedQueenError for a number that is not finite, or outside what its field allows, also in the
    dataclasses within."""
    hints = get_type_hints(type(settings), include_extras=True)
    for name, value in vars(settings).items():
        if is_dataclass(value):
            check_settings(value)
        flag = _flag(name)
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, float) and not math.isfinite(number):
                raise RedQueenError(f"{flag} must be a finite number, not {number}")
        for limit in getattr(hints[name], "__metadata__", ()):
            if isinstance(limit, Within | Rising | PartOf) and value is not None and value not in limit:
                raise RedQueenError(f"{flag} must be {limit}, not {value}")
            if isinstance(limit, PartOf):
                limit.check(flag, value, getattr(settings, limit.other))


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def refuse_format(learner: Learner) -> None:
    """Raises RedQueenError for an answer format where written replies are learned from word for word: they are not
    written in it, so nothing would be found in them."""
    if learner.answer not in (None, "plain"):
        raise RedQueenError(
            f"written replies are learned from as they stand, and not in the format --answer {learner.answer}: leave "
            "it out"
        )


def refuse_unused(settings: Any, names: Sequence[str], beside: str) -> None:
    """Raises RedQueenError where one of these settings, which have no effect beside another, is not at its default."""
    usual = type(settings)()
    for name in names:
        if getattr(settings, name) != getattr(usual, name):
            raise RedQueenError(f"{_flag(name)} has no effect beside {beside}: leave it out")


def refuse_unpaid(settings: Any, names: Sequence[str], role: str, player: Player) -> None:
    """The same of settings that say what a role is paid, where whoever plays it does not learn."""
    if not learning([player]):
        refuse_unused(settings, names, f"--{role} {getattr(settings, role)}")


def anneal(start: float, end: float, fraction: float) -> float:
    """From start to end by equal factors as the fraction goes from 0 to 1. Raises RedQueenError where no
    factors lead from one to the other."""
    if start == end:
        return start
    if start <= 0.0 or end <= 0.0:
        raise RedQueenError(f"nothing falls by equal factors from {start:g} to {end:g}: both must be above 0, or equal")
    return float(start * (end / start) ** min(max(fraction, 0.0), 1.0))
