"""AdamW over weights of any precision: for weights below float32, steps are taken on float32 masters.

A step of size 1e-4 on a weight near 1 is lost in bfloat16, whose numbers are 1/128 apart there, and so
are small gradients added to a large sum. Gradients of micro-batches are summed in float32, the masters
are updated, and the weights are the masters rounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor

from redqueen.objectives.tensors import alike, check_adamw
from redqueen.protocols import State, shaped
from redqueen.types import RedQueenError


class Optimizer:
    """AdamW (Loshchilov and Hutter, 2019) with clipping of the global gradient norm."""

    def __init__(
        self,
        weights: Mapping[str, Tensor],
        betas: tuple[float, float],
        weight_decay: float,
        max_grad_norm: float,
        eight_bit: bool = False,
    ) -> None:
        """With `eight_bit` the moments are held in 8 bits by bitsandbytes (Dettmers et al., 2022). Raises RedQueenError
        where it is not installed."""
        self._weights, self._eight_bit = weights, eight_bit
        self._betas, self._weight_decay, self._max_grad_norm = betas, weight_decay, max_grad_norm
        self._masters = {
            key: value.detach().float().requires_grad_()
            for key, value in weights.items()
            if value.dtype != torch.float32
        }
        moving = [self._masters.get(key, value) for key, value in weights.items()]
        self._adamw: torch.optim.Optimizer
        if eight_bit:
            self._adamw = _in_eight_bits()(moving, lr=0.0, betas=betas, weight_decay=weight_decay)
        else:
            self._adamw = torch.optim.AdamW(moving, lr=0.0, betas=betas, weight_decay=weight_decay, fused=True)

    def over(self, weights: Mapping[str, Tensor]) -> Optimizer:
        """A new optimizer with the same settings for other weights."""
        return Optimizer(weights, self._betas, self._weight_decay, self._max_grad_norm, self._eight_bit)

    def collect(self) -> None:
        """Adds the gradients of a micro-batch to those collected before."""
        for key, master in self._masters.items():
            weight = self._weights[key]
            if weight.grad is not None:
                gradient = weight.grad.float()
                master.grad = gradient if master.grad is None else master.grad.add_(gradient)
                weight.grad = None

    def step(self, learning_rate: float) -> float:
        """Takes a step with the collected gradient and clears it; returns its norm before clipping. If the norm is not
        finite, no weight changes."""
        (group,) = self._adamw.param_groups
        for weight in group["params"]:
            if weight.grad is None:  # without a gradient: the moments still decay and their step is taken
                weight.grad = torch.zeros_like(weight)
        norm = torch.nn.utils.clip_grad_norm_(group["params"], self._max_grad_norm)
        if torch.isfinite(norm):
            group["lr"] = learning_rate
            self._adamw.step()
            self._round()
        self.clear()
        return float(norm)

    def clear(self) -> None:
        """Clears the gradients."""
        self._adamw.zero_grad(set_to_none=True)
        for weight in self._weights.values():
            weight.grad = None

    def state(self) -> State:
        return deepcopy(self.held())

    def held(self) -> State:
        """What `state` gives, but the tensors themselves, which the next step changes: to be written at once, without
        the memory of a copy."""
        masters = {key: value.detach() for key, value in self._masters.items()}
        return {"adamw": self._adamw.state_dict(), "masters": masters}

    def restore(self, state: State) -> None:
        """Restores the moments and the masters; the weights are set from the masters."""
        shaped(state, {"adamw": dict, "masters": alike(self._masters)}, "the optimiser: ")
        if not self._eight_bit:
            check_adamw(state["adamw"], self._adamw, "the optimiser: .adamw")
        self._adamw.load_state_dict(deepcopy(dict(state["adamw"])))  # it would keep the very tensors
        with torch.no_grad():
            for key, master in self._masters.items():
                master.copy_(state["masters"][key])
        self._round()

    @torch.no_grad()
    def _round(self) -> None:
        for key, master in self._masters.items():
            self._weights[key].copy_(master)


def _in_eight_bits() -> Any:
    """AdamW of bitsandbytes with its moments in 8 bits."""
    try:
        from bitsandbytes.optim import AdamW8bit
    except ImportError:
        raise RedQueenError(
            "--optimizer adamw-8bit needs bitsandbytes: pip install 'redqueen[eight-bit]', or leave --optimizer out"
        ) from None
    return AdamW8bit
