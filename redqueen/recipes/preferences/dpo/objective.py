"""The loss of each `--loss`; KTO's, of replies that are called good or bad one by one (Ethayarajh et al. 2024,
arXiv:2402.01306, equations 7 and 8).

With h(y) = log policy(y | x) - log reference(y | x), summed over the tokens of a reply, and z the zero point,

    good   w_good (1 - sigmoid(beta (h - z)))
    bad    w_bad  (1 - sigmoid(beta (z - h)))
    z      max(0, mean of h(y' | x)), y' the reply to another prompt of the minibatch; it has no gradient
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from redqueen.objectives.additive import measured, own_tokens
from redqueen.objectives.preference import PairLoss, preference_loss
from redqueen.objectives.references import Reference
from redqueen.objectives.rounds import Given
from redqueen.protocols import Objective, Policy
from redqueen.types import Batch, Likelihoods, Metrics, RedQueenError

Loss = Literal[PairLoss, "kto"]
KTO = "kto"


@dataclass(frozen=True)
class KtoLoss:
    """The loss at a zero point, of a batch by `pack_samples` whose values are above 0 for good replies and below for
    bad ones; `good` is the fraction of the whole batch's loss weight that good replies have.

    Metrics: `preference_loss`; `preference_accuracy`, the share of replies on their side of the zero point;
    `chosen_ratio`, `rejected_ratio`, `chosen_length` and `rejected_length`, the means of h and of the tokens of good
    and of bad replies; where there are both, `preference_margin` and `margin_a_token`, the differences of the means of
    h and of h a token; `zero_point`; `entropy`."""

    zero: float
    good: float
    beta: float = 0.1
    desirable_weight: float = 1.0
    undesirable_weight: float = 1.0

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        if batch.reference is None:
            raise RedQueenError("KtoLoss needs a reference in its batch: beside(batch, reference.likelihoods(batch))")
        own = own_tokens(batch)
        ratios = torch.where(own, likelihoods.logprobs - batch.reference.logprobs, 0.0).sum(dim=1)  # [B]
        lengths, weights = own.sum(dim=1), batch.loss_weights.sum(dim=1)
        good = (batch.advantages * own).sum(dim=1) > 0
        toward = torch.where(good, 1.0, -1.0) * (ratios - self.zero)
        paid = torch.where(good, weights.new_tensor(self.desirable_weight), weights.new_tensor(self.undesirable_weight))
        loss = (weights * paid * torch.sigmoid(-self.beta * toward)).sum()

        held, found = ratios.detach(), dict[str, float]()
        for side, which, share in (("chosen", good, self.good), ("rejected", ~good, 1.0 - self.good)):
            if share > 0.0:
                of_side = torch.where(which, weights, 0.0) / share
                found[f"{side}_ratio"] = float((of_side * held).sum())
                found[f"{side}_length"] = float((of_side * lengths).sum())
                found[f"{side}_a_token"] = float((of_side * held / lengths.clamp(min=1)).sum())
        a_token = [found.pop(f"{side}_a_token", None) for side in ("chosen", "rejected")]
        if a_token[0] is not None and a_token[1] is not None:
            found["preference_margin"] = found["chosen_ratio"] - found["rejected_ratio"]
            found["margin_a_token"] = a_token[0] - a_token[1]
        return loss, found | {
            "preference_loss": float(loss.detach()),
            "preference_accuracy": float((weights * (toward.detach() > 0)).sum()),
            "zero_point": self.zero * float(weights.sum()),
            "entropy": measured(batch, likelihoods.entropies),
        }


@dataclass(frozen=True)
class Kto:
    """`KtoLoss` at the zero point of each minibatch, which the learner and the reference rate once more: each prompt
    with the reply to another one."""

    reference: Reference
    beta: float = 0.1
    desirable_weight: float = 1.0
    undesirable_weight: float = 1.0

    def given(self, learner: Policy, batch: Batch) -> KtoLoss:
        other = mismatched(batch)
        gaps = learner.likelihoods(other).logprobs - self.reference.likelihoods(other).logprobs
        mean = float(torch.where(own_tokens(other), gaps, 0.0).sum()) / len(other)
        good = float((batch.loss_weights * (batch.advantages > 0)).sum())
        return KtoLoss(max(0.0, mean), good, self.beta, self.desirable_weight, self.undesirable_weight)


def mismatched(batch: Batch) -> Batch:
    """The batch, of one row a reply, with each prompt followed by the reply of the next row that has another prompt,
    in a circle; of the next row where all prompts are one."""
    own, lengths = own_tokens(batch), batch.lengths.tolist()
    starts: list[int] = own.to(torch.int8).argmax(dim=1).tolist()  # the opening of each row is its prompt
    prompts = [batch.tokens[row, :start] for row, start in enumerate(starts)]
    replies = [batch.tokens[row, start:end] for row, (start, end) in enumerate(zip(starts, lengths, strict=True))]
    count = len(prompts)
    nexts = [[(row + far) % count for far in range(1, count)] or [row] for row in range(count)]
    taken = [
        next((each for each in others if not torch.equal(prompts[each], prompts[row])), others[0])
        for row, others in enumerate(nexts)
    ]
    rows = [torch.cat([prompts[row], replies[other]]) for row, other in enumerate(taken)]
    sizes = torch.tensor([len(row) for row in rows], dtype=torch.int64)
    at = torch.arange(int(sizes.max()))[None]
    inside = at < sizes[:, None]
    said = (inside & (at >= torch.tensor(starts)[:, None])).to(torch.float64)
    zeros = torch.zeros_like(said)
    return replace(
        batch,
        tokens=torch.nn.utils.rnn.pad_sequence(rows, batch_first=True),
        loss_weights=said / said.sum(),
        sampled_logprobs=zeros,
        advantages=zeros,
        versions=torch.zeros_like(said, dtype=torch.int64),
        recited=said > 0.0,
        lengths=sizes,
        reference=None,
    )


def objective_of(
    loss: Loss,
    reference: Reference,
    beta: float | None,
    weights: tuple[float, float] = (1.0, 1.0),
    chosen_weight: float = 0.0,
    label_smoothing: float = 0.0,
    by_token: bool = False,
    gamma: float = 1.0,
    alpha: float = 1.0,
) -> Objective | Given:
    """`preference_loss`, or for "kto" `Kto` with the `weights` of good and of bad replies."""
    if loss == "kto":
        return Kto(reference, 0.1 if beta is None else beta, *weights)
    return preference_loss(loss, beta, chosen_weight, label_smoothing, by_token, gamma, alpha)
