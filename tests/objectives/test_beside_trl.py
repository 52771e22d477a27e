"""Losses and gradients of the update's flags with those of TRL's own trainers, on one batch: equal to 1e-5 where both
define the same.

`python tests/objectives/test_beside_trl.py` prints the table of docs/update.md. TRL is no dependency: the tests are
left out where it is missing (`pip install trl==1.16.0`).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from redqueen.objectives.batch import beside, reweighed
from redqueen.objectives.mismatch import TokenMasked, TokenTruncated, Weigh, corrected
from redqueen.settings.learning_step import objective_of, shares_of
from redqueen.settings.update import Update
from redqueen.types import Batch, Likelihoods

GRPO = Update(estimator="group", scale="group", loss="ppo", clip_low=0.2, clip_high=0.2, aggregate="token")
LENGTHS, WIDTH, WORDS = (10, 28, 18, 24), 28, 11  # tokens of each reply, the longest, and the vocabulary
LONGEST = 40  # max_completion_length


@dataclass(frozen=True)
class Pair:
    """Settings here and TRL's of the same meaning; `same` says what of both is equal, `why` the rest."""

    here: Update
    there: dict[str, Any] = field(default_factory=dict)  # of GRPOConfig, by the names of its trainer's attributes
    same: str = "loss and gradient"
    why: str = ""
    weigh: Weigh | None = None  # weights of tokens that another engine sampled
    trainer: str = "GRPOTrainer"
    fresh: bool = False  # every ratio is 1


PAIRS = {
    "--loss ppo --aggregate token": Pair(Update(), {"loss_type": "dapo"}),
    "--aggregate row": Pair(Update(aggregate="row"), {"loss_type": "grpo"}),
    "--aggregate constant": Pair(Update(aggregate="constant"), {"loss_type": "dr_grpo"}),
    "--clip-high 0.5": Pair(Update(clip_high=0.5), {"loss_type": "dapo", "epsilon_high": 0.5}),
    "--clip-low 0.1": Pair(Update(clip_low=0.1), {"loss_type": "dapo", "epsilon_low": 0.1}),
    "--dual-clip 1.5": Pair(Update(dual_clip=1.5), {"loss_type": "dapo", "delta": 1.5}),
    "--loss cispo --clip-high 0.3": Pair(
        Update(loss="cispo", clip_high=0.3), {"loss_type": "cispo", "epsilon_high": 1.3}, why="TRL states 1 + high"
    ),
    "--loss gspo --clip-low 0.1 --clip-high 0.2": Pair(
        Update(loss="gspo", clip_low=0.1, clip_high=0.2),
        {"loss_type": "grpo", "importance_sampling_level": "sequence", "epsilon_low": 0.1},
    ),
    "--loss sapo --aggregate row": Pair(Update(loss="sapo", aggregate="row"), {"loss_type": "sapo"}),
    "--kl 0.1": Pair(Update(kl=0.1), {"loss_type": "dapo", "beta": 0.1}),
    "--entropy 0.05": Pair(
        Update(entropy=0.05), {"loss_type": "dapo", "_entropy_bonus_enabled": True, "entropy_coef": 0.05}
    ),
    "--entropy 0.05 --aggregate row": Pair(
        Update(entropy=0.05, aggregate="row"),
        {"loss_type": "grpo", "_entropy_bonus_enabled": True, "entropy_coef": 0.05},
        same="",
        why="TRL's bonus is a mean over tokens whatever the loss is a mean over; here both have the same weights",
    ),
    "--correct tis": Pair(Update(correct="tis"), {"loss_type": "dapo", "use_vllm": True}, weigh=TokenTruncated(2.0)),
    "--correct mask": Pair(
        Update(correct="mask"), {"loss_type": "dapo", "use_vllm": True}, weigh=TokenMasked(0.5, 2.0)
    ),
    "--loss reinforce": Pair(
        Update(loss="reinforce"),
        {"loss_type": "dapo"},
        same="gradient",
        why="on fresh tokens; the value is -A log policy here, -A r there",
        fresh=True,
    ),
    "--aggregate sum": Pair(
        Update(aggregate="sum"),
        {},
        same="gradient",
        why="RLOOTrainer, on fresh tokens: its ratio is that of the whole reply, whose value counts once",
        trainer="RLOOTrainer",
        fresh=True,
    ),
}


@dataclass(frozen=True)
class Case:
    """One batch: logits with a gradient, and what else a loss reads. All [B, T] but the logits, [B, T, V]."""

    logits: Tensor
    tokens: Tensor
    own: Tensor
    old: Tensor  # log-probabilities at the start of the update
    writer: Tensor  # under the engine that sampled
    start: Tensor  # under the reference
    advantages: Tensor  # [B]


def case(fresh: bool = False) -> Case:
    chance = torch.Generator().manual_seed(3)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=chance, dtype=torch.float64)

    logits = normal(len(LENGTHS), WIDTH, WORDS)
    tokens = torch.randint(WORDS, (len(LENGTHS), WIDTH), generator=chance)
    own = torch.arange(WIDTH) < torch.tensor(LENGTHS)[:, None]
    now = rated(logits, tokens)[0]
    old = now if fresh else now + 0.35 * normal(*now.shape)
    writer, start = old + 0.5 * normal(*now.shape), now + 0.2 * normal(*now.shape)
    return Case(logits.requires_grad_(), tokens, own, old, writer, start, torch.tensor([1.2, -0.8, 0.5, -0.9]).double())


def rated(logits: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Log-probabilities of the tokens and entropies, [B, T] each."""
    every = logits.log_softmax(dim=-1)
    return every.gather(-1, tokens[..., None])[..., 0], -(every.exp() * every).sum(dim=-1)


def here(pair: Pair, given: Case) -> tuple[float, Tensor]:
    """Loss and gradient ([B, T, V]) by the parts that the settings name."""
    chosen = pair.here.over(GRPO)
    rows = len(LENGTHS)
    logprobs, entropies = rated(given.logits, given.tokens)
    batch = Batch(
        tokens=given.tokens,
        loss_weights=given.own.double(),
        sampled_logprobs=given.writer if pair.weigh else given.old,
        advantages=given.advantages[:, None].expand(rows, WIDTH),
        versions=torch.zeros_like(given.tokens),
        recited=torch.zeros_like(given.own),
        trajectory=torch.arange(rows),
        lengths=torch.full((rows,), WIDTH),
        constraints=((),) * rows,
    )
    batch = reweighed(batch, shares_of(chosen, LONGEST))
    batch = beside(batch, Likelihoods(given.start, torch.zeros_like(given.start)))
    if pair.weigh is not None:
        batch = corrected(batch, Likelihoods(given.old, entropies.detach()), pair.weigh)
    loss, _ = objective_of(chosen)(Likelihoods(logprobs, entropies), batch)
    return loss.item(), torch.autograd.grad(loss, given.logits)[0]


class Attributes(SimpleNamespace):
    """What TRL's method reads of its trainer."""


def there(pair: Pair, given: Case) -> tuple[float, Tensor]:
    """Loss and gradient by the method of TRL's trainer, on a trainer of which only the attributes are there."""
    import trl

    trainer = getattr(trl, pair.trainer)
    logprobs, entropies = rated(given.logits, given.tokens)
    same = lambda value, **_: value  # noqa: E731
    usual = {
        "_get_per_token_logps_and_entropies": lambda *_, **__: (logprobs, entropies, None),
        "accelerator": Attributes(num_processes=1, gather=same, reduce=same, sync_gradients=True),
        "args": Attributes(
            delta=pair.there.get("delta"),
            use_bias_correction_kl=False,
            sapo_temperature_pos=1.0,
            sapo_temperature_neg=1.05,
            steps_per_generation=1,
        ),
        "current_gradient_accumulation_steps": 1,
        "max_completion_length": LONGEST,
        "importance_sampling_level": "token",
        "epsilon_low": 0.2,
        "epsilon_high": 0.2,
        "beta": 0.0,
        "top_entropy_quantile": 1.0,
        "off_policy_mask_threshold": None,
        "use_vllm": False,
        "vllm_importance_sampling_correction": True,
        "_entropy_bonus_enabled": False,
        "use_adaptive_entropy": False,
        "entropy_coef": 0.0,
        "aux_loss_enabled": False,
        "model": Attributes(training=True),
        "_metrics": {"train": defaultdict(list)},
    }
    mask = given.own.long()
    log_weights = torch.where(given.own, given.old - given.writer, 0.0)
    inputs = {
        "prompt_ids": given.tokens[:, :1],
        "prompt_mask": mask[:, :1],
        "completion_ids": given.tokens,
        "completion_mask": mask,
        "advantages": given.advantages,
        "old_per_token_logps": given.old.detach(),
        "old_logps": (given.old * mask).sum(dim=1).detach(),
        "ref_per_token_logps": given.start.detach(),
        "num_items_in_batch": mask.sum(),
        "importance_sampling_ratio": pair.weigh(log_weights, given.own).detach() if pair.weigh else None,
    }
    loss = trainer._compute_loss(Attributes(**(usual | pair.there)), None, inputs)
    return loss.item(), torch.autograd.grad(loss, given.logits)[0]


def apart(pair: Pair) -> tuple[float, float]:
    """How far the losses are apart, and the largest difference of the gradients."""
    given = case(pair.fresh)
    (one, first), (other, second) = here(pair, given), there(pair, given)
    return abs(one - other), (first - second).abs().max().item()


@pytest.mark.parametrize("name", PAIRS)
def test_losses_and_gradients_are_those_of_trl(name: str) -> None:
    pytest.importorskip("trl")
    pair = PAIRS[name]
    loss, gradient = apart(pair)
    assert (loss < 1e-5) == ("loss" in pair.same)
    assert (gradient < 1e-5) == ("gradient" in pair.same)


def test_the_batch_tells_the_settings_apart() -> None:
    """Each setting but those on fresh tokens has a gradient of its own, so that no two rows of the table hold by
    chance; and clips, corrections and aggregates all act on the batch."""
    found = [here(pair, case())[1] for pair in PAIRS.values() if not pair.fresh]
    alike = [(a, b) for a in range(len(found)) for b in range(a) if torch.allclose(found[a], found[b], atol=1e-9)]
    assert alike == []


def table() -> str:
    lines = ["| here | equal in TRL 1.16.0 | loss apart | gradient apart | why |", "|---|---|---|---|---|"]
    for name, pair in PAIRS.items():
        loss, gradient = apart(pair)
        lines.append(f"| `{name}` | {pair.same or 'no'} | {loss:.0e} | {gradient:.0e} | {pair.why} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
