"""Profiles: the sizes of a run that suit a kind of machine, each as the defaults that differ from a recipe's own.

redqueen train grpo --profile gpu --tasks 16           # a flag of one's own stands above the profile's

The recipes' own defaults are for a laptop: replies of 64 tokens, a few dozen attempts a step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType
from typing import Any

from redqueen.settings.learner import LONGEST_REPLY, TABULAR, Learner
from redqueen.types import RedQueenError

FLAG = "--profile"
PROFILES = ("laptop", "gpu")
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
_USUAL = {"cache_gigabytes": "1", "max_completion_length": str(LONGEST_REPLY), "max_prompt_length": "no limit"}


def profiled(words: Sequence[str], config: type[Any]) -> tuple[list[str], str]:
    """The words of a command line for a recipe's `config` with the flags of its profile in place of `--profile NAME`,
    but for those that it gives itself; and the defaults that differ, in one line ("" without a profile). Raises
    RedQueenError for an unknown profile."""
    for place, word in enumerate(words):
        flag, equals, name = word.partition("=")
        if flag == FLAG:
            name = name if equals else "".join(words[place + 1 : place + 2])
            if name not in PROFILES:
                raise RedQueenError(f"unknown profile {name!r}: {' or '.join(PROFILES)}")
            rest = [*words[:place], *words[place + (1 if equals else 2) :]]
            return _expanded(name, rest, config)
    return list(words), ""


def _expanded(name: str, words: Sequence[str], config: type[Any]) -> tuple[list[str], str]:
    given = {each.partition("=")[0].replace("_", "-") for each in words}
    found, told = list(words), list[str]()
    for field, (value, usual) in (_of_gpu(words, config) if name == "gpu" else {}).items():
        flag = "--" + field.replace("_", "-")
        if flag not in given:
            found += [flag] if value is True else [flag, str(value)]
            told.append(flag if value is True else f"{flag} {value} ({usual})")
    return found, f"profile {name}: {', '.join(told) or 'the defaults as they are'}"


def _of_gpu(words: Sequence[str], config: type[Any]) -> dict[str, tuple[int | bool, str]]:
    """By field what the profile sets and what it replaces; a table has no settings of a model."""
    default = config()
    found: dict[str, tuple[int | bool, str]] = {}
    for name, value in _GPU.items():
        usual = getattr(default, name, None)
        if type(usual) is int and usual < value:
            found[name] = (value, str(usual))
    learner = next((getattr(default, each.name) for each in fields(config) if each.name == "learner"), None)
    if isinstance(learner, Learner) and _model(words, learner) != TABULAR:
        found |= {name: (value, _USUAL.get(name, "off")) for name, value in _GPU_LEARNER.items()}
    return found


def _model(words: Sequence[str], learner: Learner) -> str:
    for place, word in enumerate(words):
        flag, equals, name = word.partition("=")
        if flag == "--model":
            return name if equals else "".join(words[place + 1 : place + 2])
    return learner.model
