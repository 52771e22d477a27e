"""Settings of how a language model's weights are trained: optimiser, schedule, adapter, memory."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Literal

from redqueen.schedules import Pace
from redqueen.settings.limits import Amount, AnyCount, Positive, Within, unset
from redqueen.types import RedQueenError


@dataclass(frozen=True)
class Optimization:
    """How the weights of a language model are trained on this machine."""

    schedule: Literal["constant", "linear", "cosine"] = "constant"
    """of the learning rate over the steps of the run, from all of it towards 0"""
    warm_up: AnyCount = 0
    """steps of the run over which the learning rate rises to all of it; fewer than the run has"""
    betas: tuple[float, float] = (0.9, 0.999)
    """of AdamW: memory of its gradients and of their squares"""
    weight_decay: Amount = 0.0
    """of AdamW, times the learning rate"""
    max_grad_norm: Positive = 1.0
    """the gradient of an update is scaled down to this norm"""
    optimizer: Literal["adamw", "adamw-8bit", "natural"] = "adamw"
    """adamw-8bit keeps its moments in 8 bits and needs bitsandbytes; natural takes the natural gradient of replies that
    are chosen from lists, with a learning rate of 1 by default (docs/update.md)"""
    gradient_checkpointing: bool = False
    """runs the layers again in the backward pass in place of keeping their states: less memory, a third more time"""
    micro_batch_tokens: Annotated[int | None, Within(1), unset("INT")] = None
    """distinct tokens in one forward and backward pass, on which the memory of an update rests; 2048 on a CPU, 8192 on
    CUDA"""
    lora_alpha: Annotated[int | None, Within(1), unset("INT")] = None
    """the adapter is scaled by alpha / rank; twice the rank by default"""
    lora_dropout: Annotated[float, Within(0.0, 0.99)] = 0.0
    """of the adapter's input, in updates only: what was sampled in a step of play was sampled without"""
    lora_targets: Annotated[tuple[str, ...], unset("NAME...")] = ()
    """parts of a layer with an adapter, such as q_proj v_proj; all linear ones by default"""
    lora_layers: Annotated[int | None, Within(1), unset("INT")] = None
    """the adapter is in this many layers, the last ones, and the backward pass ends there; in all by default"""

    def __post_init__(self) -> None:
        if len(self.betas) != 2 or not all(0.0 <= beta < 1.0 for beta in self.betas):
            raise RedQueenError(f"--betas are two numbers from 0 to below 1, not {' '.join(map(str, self.betas))}")

        if self.optimizer == "natural":
            plain = Optimization()
            for name in ("betas", "weight_decay", "max_grad_norm"):
                if getattr(self, name) != getattr(plain, name):
                    raise RedQueenError(
                        f"--{name.replace('_', '-')} has no effect with --optimizer natural: leave it out"
                    )

    @property
    def given(self) -> tuple[str, ...]:
        """The names of the settings that are not at their defaults."""
        return tuple(field.name for field in fields(self) if getattr(self, field.name) != field.default)

    def tokens_of_a_pass(self, device: str) -> int:
        """Distinct tokens in one forward and backward pass on a device such as cpu or cuda:0."""
        return self.micro_batch_tokens or (8192 if device.startswith("cuda") else 2048)

    @property
    def pace(self) -> Pace:
        """The schedule of the learning rate."""
        return Pace(self.schedule, self.warm_up)
