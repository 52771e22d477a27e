"""Settings of how a step is played: when, and in which process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import tyro

from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.protocols import Player, Policy
from redqueen.settings.learner import Learner, checked_device
from redqueen.settings.limits import AnyCount, Within, unset
from redqueen.types import RedQueenError


@tyro.conf.configure(tyro.conf.arg(name=""))  # its flags stand among the recipe's own
@dataclass(frozen=True)
class PlayedAhead:
    """When and where a step is played."""

    staleness: AnyCount = 0
    """updates between the weights that play a step and those that learn from it: 0 plays a step when it is its turn, 1
    while the one before is learned from (one step off)"""
    placement: Literal["here", "process"] = "here"
    """process has a copy of the model reply in a process of its own, with --staleness while this one learns; the
    weights are handed over for each step"""
    sampler_device: Annotated[str | None, unset("STR")] = None
    """of that process, such as cuda:1; the learner's by default"""
    actors: Annotated[int, Within(0, 256)] = 0
    """processes that step the games, for games whose step is slow; where there are more cores than these, half of them
    while the other half is answered; with 0 they are stepped in the process that learns"""

    def check(self, config: Any) -> None:
        """Raises RedQueenError for what has no effect, or goes wrong, with the other settings of `config`."""
        if self.sampler_device is not None:
            if self.placement == "here":
                raise RedQueenError("--sampler-device has no effect without --placement process: leave it out")
            checked_device(self.sampler_device)
        learner: Learner = config.learner
        if self.placement == "process" and not learner.is_here:
            raise RedQueenError(
                f"--placement process has no effect on --model {learner.model}, which is no language model of this "
                "machine: leave it out"
            )
        if self.placement == "process" and learner.sampler == "vllm":
            raise RedQueenError("--placement process samples with transformers: leave it or --sampler vllm out")
        if not self.staleness:
            return
        found = config.update.over(type(config).paper)
        if found.loss == "reinforce" and found.correct in (None, "none"):
            raise RedQueenError(
                f"--staleness {self.staleness} learns from what older weights said, and --loss {found.loss} takes that "
                "for its own: add --correct tis, or --loss ppo or cispo"
            )
        if found.even_groups in ("refill", "hint"):
            raise RedQueenError(
                f"--staleness plays whole steps before it is known which groups are even, and --even-groups "
                f"{found.even_groups} plays more of them then: drop, or --staleness 0"
            )

    def apart(self, learner: Policy) -> Callable[[], Player] | None:
        """What makes a player of the learner as it is now in a process of its own; None where it plays here."""
        if self.placement == "here":
            return None
        assert isinstance(learner, TransformerPolicy), "a language model of this machine"
        return learner.apart(self.sampler_device or "").now
