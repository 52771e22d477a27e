"""Presets: published combinations of the settings of an update, each as the flags that it sets.

redqueen train grpo --preset dapo --clip-high 0.3      # a flag of one's own stands above the preset's
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType

from redqueen.types import RedQueenError

FLAG = "--preset"


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
        "dr-grpo": Preset("--estimator group --scale none --aggregate constant", "Dr. GRPO, arXiv:2503.20783"),
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
        "reinforce++": Preset(
            "--estimator batch --scale batch --loss ppo --clip-low 0.2 --clip-high 0.2 --aggregate token --kl 0.01 "
            "--kl-in reward --minibatches 4",
            "REINFORCE++, arXiv:2501.03262",
        ),
        "rloo": Preset(
            "--estimator leave-one-out --scale none --kl 0.05 --kl-in reward --aggregate sum",
            "RLOO, arXiv:2402.14740, and TRL for the coefficient",
        ),
    }
)


def shown() -> list[str]:
    """A line for each preset: its name, its flags, its paper."""
    return [f"{name:14} {preset.flags}   ({preset.paper})" for name, preset in PRESETS.items()]


def expanded(words: Sequence[str]) -> tuple[list[str], str]:
    """The words of a command line with the flags of its preset in place of `--preset NAME`, but for those that it gives
    itself; and what the preset sets, in one line ("" without one). Raises RedQueenError for an unknown preset."""
    found, said = list(words), ""
    for place, word in enumerate(words):
        flag, equals, name = word.partition("=")
        if flag == FLAG:
            name = name if equals else "".join(words[place + 1 : place + 2])
            rest = [*words[:place], *words[place + (1 if equals else 2) :]]
            given = {each.partition("=")[0].replace("_", "-") for each in rest}
            flags = _preset(name).flags.split()
            pairs = [pair for pair in zip(flags[::2], flags[1::2], strict=True) if pair[0] not in given]
            found = [*rest, *(part for pair in pairs for part in pair)]
            said = f"preset {name}: {' '.join(part for pair in pairs for part in pair)}"
    return found, said


def _preset(name: str) -> Preset:
    if name not in PRESETS:
        close = get_close_matches(name.lower(), list(PRESETS), n=1, cutoff=0.5)
        hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(PRESETS)}"
        raise RedQueenError(f"unknown preset {name!r}: {hint} (redqueen list presets)")
    return PRESETS[name]
