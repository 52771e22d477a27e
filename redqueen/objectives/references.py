"""The reference of a policy: its start, its last iterate, or a moving average of itself.

The reference of a preference loss and the policy that an iteration starts from are separate settings. With LoRA the
model without its adapter is the base model, not the last iterate: here a reference is a frozen copy with its own
weights.

The moving average of weights in fewer bits is kept in float32, and only its policy is rounded:
steps of a twentieth would be lost in bfloat16.

A reference is restored after its learner: its policy is a frozen copy of the learner with the reference's state.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from redqueen.objectives.batch import beside
from redqueen.protocols import Policy, State, shaped
from redqueen.types import Batch, Likelihoods, RedQueenError

INITIAL, LAST, AVERAGE = "initial", "last", "average"


class Reference:
    """A frozen copy of a learner that `refresh` updates as `follows` says: "initial" keeps the first copy, "last"
    copies the learner as it is now, "average" becomes `decay` times itself plus 1 - `decay` times the learner.
    Raises RedQueenError for another `follows`, a `decay` outside [0, 1), and an average of weights on a server or of a
    LoRA adapter, whose weights are products of two matrices: the product of their averages is not their average."""

    def __init__(self, learner: Policy, follows: str = LAST, decay: float = 0.95) -> None:
        if follows not in (INITIAL, LAST, AVERAGE):
            raise RedQueenError(f"a reference follows {INITIAL}, {LAST} or {AVERAGE}, not {follows!r}")
        if not 0.0 <= decay < 1.0:
            raise RedQueenError(f"the decay of a moving average is at least 0 and below 1, not {decay:g}")
        self._learner = learner
        self._follows = follows
        self._decay = decay
        self.policy: Policy = learner.freeze()
        self._masters: dict[str, Tensor] = {}  # weights of the average that the policy holds rounded
        if follows == AVERAGE and "path" in self.policy.state():
            raise RedQueenError(
                f"the weights of {learner.name} lie on a server, which takes no averages: let the reference follow "
                f"{INITIAL} or {LAST}"
            )
        if follows == AVERAGE and any("lora_" in key for key in self.policy.state().get("weights", {})):
            raise RedQueenError(
                f"{learner.name} trains a LoRA adapter, whose two factors have no average of their own: train all "
                f"weights (--lora-rank 0), or let the reference follow {INITIAL} or {LAST}"
            )

    def refresh(self) -> None:
        """Updates the reference; called at the start of an iteration."""
        if self._follows == LAST:
            self.policy = self._learner.freeze()
        elif self._follows == AVERAGE:
            now = self._learner.freeze()
            average = blended(self._exact(), now.state(), self._decay)
            now.restore(average)
            self.policy, self._masters = now, _rounded(average, now)

    def likelihoods(self, batch: Batch) -> Likelihoods:
        """The reference's likelihoods of the batch; computed once per iteration."""
        return self.policy.likelihoods(batch)

    def rated(self, batch: Batch) -> Batch:
        """The batch with the reference's likelihoods. Before the learner's first update both are one policy:
        raises RedQueenError if their log-probabilities differ (`check_start`)."""
        found = beside(batch, self.likelihoods(batch))
        if self._learner.version == 0:
            check_start(self._learner, found)
        return found

    def state(self) -> State:
        return {"policy": self._exact()}

    def restore(self, state: State) -> None:
        shaped(state, {"policy": dict}, "the reference: ")
        self.policy = self._learner.freeze()
        self.policy.restore(state["policy"])
        self._masters = _rounded(state["policy"], self.policy)

    def _exact(self) -> State:
        """The policy's state with the weights as they were before they were rounded."""
        state = self.policy.state()
        return {**state, "weights": {**state["weights"], **self._masters}} if self._masters else state


def _rounded(state: State, policy: Policy) -> dict[str, Tensor]:
    """The weights of a state that the policy holds in fewer bits."""
    held = policy.state().get("weights", {})
    return {key: value for key, value in state.get("weights", {}).items() if value.dtype != held[key].dtype}


def blended(one: Any, other: Any, share: float) -> Any:
    """Two states of equal structure with their real numbers mixed: `share` of `one`, the rest of `other`. Integers
    and strings are those of `other`. Tensors of fewer bits are mixed, and stay, in float32."""
    if isinstance(other, dict):
        return {key: blended(one[key], value, share) for key, value in other.items()}
    if isinstance(other, list):
        assert len(one) == len(other), "states of one build"
        return [blended(first, second, share) for first, second in zip(one, other, strict=True)]
    if isinstance(other, Tensor) and other.is_floating_point():
        wide = torch.promote_types(other.dtype, torch.float32)
        return share * one.to(wide) + (1.0 - share) * other.to(wide)
    real = isinstance(other, float)
    real |= isinstance(other, np.ndarray) and np.issubdtype(other.dtype, np.floating)
    return share * one + (1.0 - share) * other if real else other


def of_mixture(one: Likelihoods, other: Likelihoods, share: float) -> Likelihoods:
    """Likelihoods of the unnormalised mixture `share` log one + (1 - share) log other, the divergence from which is
    that mixture of the divergences from both (KL-Convex of ReMix, arXiv:2507.06892). Its entropies are not the
    mixture's, but those of `one`."""
    if share in (0.0, 1.0):
        return one if share else other
    legal = None
    if one.legal_logprobs is not None and other.legal_logprobs is not None:
        legal = share * one.legal_logprobs + (1.0 - share) * other.legal_logprobs
    return Likelihoods(share * one.logprobs + (1.0 - share) * other.logprobs, one.entropies, legal)


def check_start(learner: Policy, batch: Batch, tolerance: float = 1e-3) -> None:
    """Raises RedQueenError if `learner` and the batch's reference differ by more than `tolerance` nats per token.
    Before the first update of an iteration that starts from its reference both are one policy, so that the loss has
    a known start (log 2 for `Dpo`). Causes: dropout, another precision, another template, another model."""
    if batch.reference is None or not len(batch):
        return
    own = batch.loss_weights != 0
    gaps = (learner.likelihoods(batch).logprobs - batch.reference.logprobs)[own].abs()
    if not float(gaps.mean()) <= tolerance:
        raise RedQueenError(
            f"{learner.name} and its reference should be one policy at the start, but rate a token "
            f"{float(gaps.mean()):.3g} nats apart (up to {float(gaps.max()):.3g}): their weights are not the same"
        )
