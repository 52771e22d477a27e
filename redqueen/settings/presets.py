"""Presets: published combinations of the settings of an update, each as the flags that it sets.

redqueen train grpo --preset dapo --clip-high 0.3      # a flag of one's own stands above the preset's
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import TypeVar

from redqueen.settings.limits import _flag
from redqueen.settings.update import Update
from redqueen.types import RedQueenError

FLAG = "--preset"
T = TypeVar("T")


@dataclass(frozen=True)
class Preset:
    """The flags of a published method, and its paper."""

    flags: str
    paper: str


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "cispo": Preset(
            "--estimator group --scale group --loss cispo --clip-high 4 --aggregate token --minibatches 4",
            "CISPO of MiniMax-M1, arXiv:2506.13585; its bound as TRL has it",
        ),
        "dapo": Preset(
            "--estimator group --scale group --loss ppo --clip-low 0.2 --clip-high 0.28 --dual-clip 10 "
            "--aggregate token --truncated-loss price --even-groups refill --minibatches 16",
            "DAPO, arXiv:2503.14476",
        ),
        "dr-grpo": Preset(
            "--estimator group --scale none --aggregate constant --loss ppo", "Dr. GRPO, arXiv:2503.20783"
        ),
        "gspo": Preset(
            "--estimator group --scale group --loss gspo --clip-low 0.0003 --clip-high 0.0004 --aggregate row "
            "--minibatches 4",
            "GSPO, arXiv:2507.18071",
        ),
        "lite-ppo": Preset(
            "--estimator group --scale batch --loss ppo --clip-low 0.2 --clip-high 0.2 --aggregate token "
            "--minibatches 4",
            "Lite PPO of Tricks or Traps, arXiv:2508.08221",
        ),
        "ppo": Preset(
            "--estimator gae --scale batch --loss ppo --clip-low 0.2 --clip-high 0.2 --aggregate token --minibatches 4",
            "PPO with a critic, arXiv:1707.06347",
        ),
        "rapo": Preset(
            "--estimator group --scale group --loss ppo --clip-low 0.2 --clip-high 0.2 --aggregate token "
            "--even-groups replay --amplify 4 --minibatches 2",
            "RAPO of Fathom-DeepResearch, arXiv:2509.24107; its factor at most 4, nothing pruned",
        ),
        "reinforce++": Preset(
            "--estimator batch --scale batch --loss ppo --clip-low 0.2 --clip-high 0.2 --aggregate token --kl 0.01 "
            "--kl-in reward --minibatches 4",
            "REINFORCE++, arXiv:2501.03262; the divergence of a turn as a whole, there token by token",
        ),
        "rloo": Preset(
            "--estimator leave-one-out --scale none --kl 0.05 --kl-in reward --aggregate sum --loss reinforce",
            "RLOO, arXiv:2402.14740, and TRL for the coefficient",
        ),
    }
)


def shown() -> list[str]:
    """A line for each preset: its name, its flags, its paper."""
    return [f"{name:14} {preset.flags}   ({preset.paper})" for name, preset in PRESETS.items()]


@dataclass(frozen=True)
class Chosen:
    """The preset of a command line, with what it sets: flags and their values."""

    name: str
    flags: Mapping[str, str]

    def __str__(self) -> str:
        return f"preset {self.name}: {' '.join(f'{flag} {value}' for flag, value in self.flags.items())}"

    def fitted(self, config: T) -> tuple[T, list[str]]:
        """The config without those of the flags that change nothing in its recipe, and a line for the preset and for
        each of these that is not the recipe's own. Raises RedQueenError for one of the flags with a wrong value."""
        update: Update = vars(config)["update"]
        own = vars(vars(type(config))["paper"])
        left: dict[str, str] = {}
        while useless := {
            name: why for name, why in update.without_effect(config).items() if _flag(name) in self.flags
        }:
            left |= {name: why for name, why in useless.items() if getattr(update, name) != own[name]}
            update = replace(update, **dict.fromkeys(useless))
            config = replace(config, update=update)  # type: ignore[type-var]  # a Config is a dataclass
        for name, why in update.wrong(config).items():
            if _flag(name) in self.flags:
                raise RedQueenError(
                    f"{_flag(name)}, which --preset {self.name} sets: {why}; give your own {_flag(name)}"
                )
        return config, [str(self), *(f"left out: {_flag(name)} {why}" for name, why in left.items())]


def expanded(words: Sequence[str]) -> tuple[list[str], Chosen | None]:
    """The words of a command line with the flags of its preset in place of `--preset NAME`, but for those that it gives
    itself; and the preset, where it has one. Raises RedQueenError for an unknown preset."""
    found, chosen = list(words), None
    for place, word in enumerate(words):
        flag, equals, name = word.partition("=")
        if flag == FLAG:
            name = name if equals else "".join(words[place + 1 : place + 2])
            rest = [*words[:place], *words[place + (1 if equals else 2) :]]
            given = {each.partition("=")[0].replace("_", "-") for each in rest}
            flags = _preset(name).flags.split()
            pairs = [pair for pair in zip(flags[::2], flags[1::2], strict=True) if pair[0] not in given]
            found = [*rest, *(part for pair in pairs for part in pair)]
            chosen = Chosen(name, dict(pairs))
    return found, chosen


def _preset(name: str) -> Preset:
    if name not in PRESETS:
        close = get_close_matches(name.lower(), list(PRESETS), n=1, cutoff=0.5)
        hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(PRESETS)}"
        raise RedQueenError(f"unknown preset {name!r}: {hint} (redqueen list presets)")
    return PRESETS[name]
