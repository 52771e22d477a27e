"""Profiles: the sizes of a run that suit a kind of machine, each as the defaults that differ from a recipe's own.

redqueen train grpo --profile gpu --tasks 16           # a flag of one's own stands above the profile's

A pretrained model of more than `SMALL` bytes that learns on a CPU has the profile `laptop` unless another one is named,
so that its first step comes soon; `--profile own` takes the sizes of the recipe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

from redqueen.players.tinker.connection import is_on_server
from redqueen.players.transformer.loading import is_tiny
from redqueen.settings.learner import LONGEST_REPLY, TABULAR, Learner
from redqueen.types import RedQueenError

FLAG = "--profile"
PROFILES = ("laptop", "gpu", "own")
SMALL = 50_000_000  # bytes of weights, ten million parameters or so
REPLIES = 64  # of a laptop, about as many a step and a measurement
_LAPTOP: Mapping[str, int] = MappingProxyType(
    {"matches_per_step": 16, "pool": REPLIES, "proposals": 4, "test_replies": REPLIES}
)
"""Fields of recipes and of the schedule, where theirs is more (no limit is more)."""
_GPU: Mapping[str, int] = MappingProxyType(
    {
        "attempts": 16,
        "matches_per_step": 256,
        "pairs": 60_000,
        "pairs_per_update": 64,
        "problems": 256,
        "proposals": 64,
        "tasks": 64,
    }
)
"""Fields of recipes, where theirs is less."""
_GPU_LEARNER: Mapping[str, int | bool] = MappingProxyType(
    {"cache_gigabytes": 16, "gradient_checkpointing": True, "max_completion_length": 1024, "max_prompt_length": 4096}
)
_USUAL = {
    "cache_gigabytes": "a tenth of the GPU's",
    "max_completion_length": str(LONGEST_REPLY),
    "max_prompt_length": "no limit",
}


def profiled(words: Sequence[str], config: type[Any], gpu: bool = False) -> tuple[list[str], str]:
    """The words of a command line for a recipe's `config` with the flags of its profile in place of `--profile NAME`,
    but for those that it gives itself; and the defaults that differ, in one line ("" where none does and no profile
    is named). With `gpu` the run is for one, whatever this machine has. Raises RedQueenError for an unknown profile."""
    for place, word in enumerate(words):
        flag, equals, name = word.partition("=")
        if flag == FLAG:
            name = name if equals else "".join(words[place + 1 : place + 2])
            if name not in PROFILES:
                raise RedQueenError(f"unknown profile {name!r}: {', '.join(PROFILES[:-1])} or {PROFILES[-1]}")
            rest = [*words[:place], *words[place + (1 if equals else 2) :]]
            return _expanded(name, rest, config)
    liked = "--like" in {each.partition("=")[0] for each in words}
    if liked or gpu or _on_gpu(words, config) or not _writes(words, config):
        return list(words), ""
    found, said = _expanded("laptop", words, config)
    return found, f"{said}; --profile own takes the recipe's own" if found != list(words) else ""


def _expanded(name: str, words: Sequence[str], config: type[Any]) -> tuple[list[str], str]:
    given = {each.partition("=")[0].replace("_", "-") for each in words}
    found, told = list(words), list[str]()
    sizes = _of_gpu(words, config) if name == "gpu" else _of_laptop(words, config) if name == "laptop" else {}
    for field, (value, usual) in sizes.items():
        flag = "--" + field.replace("_", "-")
        if flag not in given:
            found += [flag] if value is True else [flag, str(value)]
            told.append(flag if value is True else f"{flag} {value} ({usual})")
    return found, f"profile {name}: {', '.join(told) or 'the defaults as they are'}"


def _on_gpu(words: Sequence[str], config: type[Any]) -> bool:
    learner = getattr(config(), "learner", None)
    device = _value("--device", words) or (learner.device if isinstance(learner, Learner) else "")
    return device != "cpu" if device else torch.cuda.is_available()


def _writes(words: Sequence[str], config: type[Any]) -> bool:
    """Whether a model that takes its time learns on this machine: no table, and none as small as a warm start."""
    learner = getattr(config(), "learner", None)
    if not isinstance(learner, Learner):
        return False
    model = _value("--model", words) or learner.model
    return model != TABULAR and not is_tiny(model) and not is_on_server(model) and not _is_small(Path(model))


def _is_small(folder: Path) -> bool:
    """Whether a folder holds a model, no adapter, of at most `SMALL` bytes."""
    if (folder / "adapter_config.json").exists():
        return False
    sizes = [each.stat().st_size for each in folder.glob("*.safetensors")]
    return 0 < sum(sizes) <= SMALL


def _of_laptop(words: Sequence[str], config: type[Any]) -> dict[str, tuple[int | bool, str]]:
    """By field what the profile sets and what it replaces. Games of a recipe without prompts keep their number: where
    replies are listed they cost one pass over their prompts, however many are played."""
    default = config()
    if not _writes(words, config):
        return {}
    given = _value("--attempts", words)
    attempts = int(given) if given.isdecimal() else getattr(default, "attempts", 1)
    sizes = {**_LAPTOP, "tasks": max(REPLIES // max(attempts, 1), 4)}
    if not hasattr(default, "prompts"):
        del sizes["matches_per_step"]
    most, found = sizes.pop("test_replies"), dict[str, tuple[int | bool, str]]()
    if hasattr(default, "problems") and not _value("--test-attempts", words) and not _value("--problems", words):
        found["test_replies"] = (most, "no limit")
    for name, value in sizes.items():
        usual = getattr(default, name, None)
        if type(usual) is int and usual > value:
            found[name] = (value, str(usual))
    return found


def _of_gpu(words: Sequence[str], config: type[Any]) -> dict[str, tuple[int | bool, str]]:
    """By field what the profile sets and what it replaces; a table has no settings of a model."""
    default = config()
    found: dict[str, tuple[int | bool, str]] = {}
    for name, value in _GPU.items():
        usual = getattr(default, name, None)
        if type(usual) is int and usual < value:
            found[name] = (value, str(usual))
    learner = next((getattr(default, each.name) for each in fields(config) if each.name == "learner"), None)
    if isinstance(learner, Learner) and (_value("--model", words) or learner.model) != TABULAR:
        found |= {name: (value, _USUAL.get(name, "off")) for name, value in _GPU_LEARNER.items()}
    return found


def _value(flag: str, words: Sequence[str]) -> str:
    """What a flag is given in the words; "" where it is not."""
    for place, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name.replace("_", "-") == flag:
            return value if equals else "".join(words[place + 1 : place + 2])
    return ""
