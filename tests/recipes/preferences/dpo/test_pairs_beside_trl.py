"""Losses and gradients of `dpo --loss` with those of TRL's own trainers, on one batch.

TRL is no dependency: left out where it is missing (`pip install trl==1.16.0`).
"""

from collections import defaultdict
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from redqueen.objectives.preference import ChosenLikelihood, preference_loss
from redqueen.recipes.preferences.dpo.objective import Kto
from redqueen.types import Batch, Likelihoods

LENGTHS, WIDTH = (3, 7, 5, 2), 7  # of chosen and rejected, by turns
OWN = torch.arange(WIDTH) < torch.tensor(LENGTHS)[:, None]


def case():
    chance = torch.Generator().manual_seed(5)
    logprobs = -torch.rand(4, WIDTH, generator=chance, dtype=torch.float64) * 3.0 - 0.05
    weights = OWN.double() / OWN.sum(dim=1, keepdim=True) / 4.0
    batch = Batch(
        tokens=torch.zeros(4, WIDTH, dtype=torch.int64),
        loss_weights=weights,
        sampled_logprobs=torch.zeros(4, WIDTH),
        advantages=torch.tensor([1.0, -1.0, 1.0, -1.0])[:, None].expand(4, WIDTH),
        versions=torch.zeros(4, WIDTH),
        recited=torch.ones(4, WIDTH, dtype=torch.bool),
        trajectory=torch.arange(4),
        lengths=torch.tensor(LENGTHS),
        constraints=((),) * 4,
        pairs=torch.tensor([0, 0, 1, 1]),
    )
    return batch, logprobs.requires_grad_()


def means(logprobs):
    """[2] each: the mean log-probability of the chosen and of the rejected replies, as TRL takes them."""
    found = (logprobs * OWN).sum(dim=1) / OWN.sum(dim=1)
    return found[0::2], found[1::2]


def here(objective):
    batch, logprobs = case()
    loss, _ = objective(Likelihoods(logprobs, torch.zeros(4, WIDTH)), batch)
    return loss.item(), torch.autograd.grad(loss, logprobs)[0]


def stand_in(**settings):
    return SimpleNamespace(accelerator=SimpleNamespace(device="cpu"), label_smoothing=0.0, **settings)


@pytest.mark.parametrize(("beta", "gamma"), [(2.0, 1.0), (10.0, 3.0), (2.5, 0.0)])
def test_simpo_is_that_of_trl(beta, gamma):
    trainer = pytest.importorskip("trl.experimental.cpo").CPOTrainer
    _, logprobs = case()
    held = stand_in(loss_type="simpo", beta=beta, simpo_gamma=gamma, alpha=0.0)
    loss = trainer.cpo_loss(held, *means(logprobs))[0].mean()
    ours, gradient = here(preference_loss("simpo", beta, gamma=gamma))
    assert ours == pytest.approx(loss.item(), abs=1e-9)
    torch.testing.assert_close(gradient, torch.autograd.grad(loss, logprobs)[0], atol=1e-9, rtol=0.0)


@pytest.mark.parametrize("weight", [0.1, 1.0])
def test_the_odds_ratio_of_orpo_is_that_of_trl(weight):
    """TRL takes the likelihood of the chosen reply over its prompt too, and the paper over the reply alone; the rest of
    the loss is one."""
    trainer = pytest.importorskip("trl.experimental.orpo").ORPOTrainer
    _, logprobs = case()
    ratio = -trainer.odds_ratio_loss(stand_in(beta=weight), *means(logprobs))[0].mean()
    ours, gradient = here(preference_loss("orpo", weight))
    imitated, pull = here(ChosenLikelihood(1.0))
    assert ours - imitated == pytest.approx(ratio.item(), abs=1e-6)  # in 32 bits there
    torch.testing.assert_close(gradient - pull, torch.autograd.grad(ratio, logprobs)[0], atol=1e-6, rtol=0.0)


def reference():
    return -torch.rand(4, WIDTH, generator=torch.Generator().manual_seed(6), dtype=torch.float64) * 3.0 - 0.05


class Rates:
    """A model of TRL, and a policy of ours, that rates tokens as `logprobs` [B, WIDTH] say, each in its own place; TRL
    drops the first of WIDTH + 1 places, at which nobody says anything."""

    training = True

    def __init__(self, logprobs, mismatched):
        self.logprobs, self.mismatched = logprobs, mismatched

    def __call__(self, input_ids, labels, **_):
        rated = self.mismatched if int(input_ids[0, 0]) else self.logprobs
        found = torch.where(labels[:, 1:] != -100, rated, 0.0)
        nothing = torch.zeros_like(found)
        return SimpleNamespace(log_probs=found, entropy=nothing, mean_logits=nothing, is_top1=nothing.bool())

    def likelihoods(self, batch):
        rows = torch.zeros(4, batch.tokens.shape[1], dtype=torch.float64)
        rows[:, :] = self.mismatched[:, : rows.shape[1]]
        return Likelihoods(rows, torch.zeros_like(rows))


def places(own):
    """[4, WIDTH + 1] int: own tokens after one token of the prompt."""
    return torch.cat([torch.zeros(4, 1, dtype=torch.bool), own], dim=1).long()


def by_trl(trainer, loss_type, order, logprobs, mismatched, **settings):
    """The loss of TRL's method, on a trainer of which only the attributes are there; `order` are the rows as it takes
    them."""
    same = lambda value, **_: value  # noqa: E731
    held = SimpleNamespace(
        model=torch.nn.Identity(),
        ref_model=Rates(reference()[order], mismatched[1]),
        accelerator=SimpleNamespace(device="cpu", gather=same, gather_for_metrics=same),
        args=SimpleNamespace(gradient_checkpointing_kwargs=None),
        aux_loss_enabled=False,
        precompute_ref_logps=False,
        _metrics={"train": defaultdict(list)},
        _total_train_tokens=0,
        _tp_size=1,
        loss_types=[loss_type],
        loss_weights=[1.0],
        loss_type=loss_type,
        label_smoothing=0.0,
        ld_alpha=None,
        f_divergence_type="reverse_kl",
        use_weighting=False,
        calculate_KL=True,
        **settings,
    )
    held._compute_kl_logps = lambda model, batch: trainer._compute_kl_logps(held, model, batch)
    held.model.is_gradient_checkpointing = False
    own = places(OWN)[order]
    batch = {"input_ids": torch.zeros_like(own), "attention_mask": torch.ones_like(own), "completion_mask": own}
    if loss_type == "kto":
        other = places(MISMATCHED)
        batch |= {"KL_input_ids": torch.ones_like(own), "KL_attention_mask": own, "KL_completion_mask": other}
        batch |= {"label": torch.tensor([True, False, True, False])}
    return trainer._compute_loss(held, Rates(logprobs[order], mismatched[0]), batch, False)


@pytest.mark.parametrize(
    ("shape", "by_token", "loss_type"),
    [
        ("logistic", False, "sigmoid"),
        ("logistic", True, "sigmoid_norm"),
        ("hinge", False, "hinge"),
        ("squared", True, "ipo"),
    ],
)
@pytest.mark.parametrize("beta", [0.1, 0.7])
def test_losses_of_pairs_with_a_reference_are_those_of_trl(shape, by_token, loss_type, beta):
    trainer = pytest.importorskip("trl").DPOTrainer
    batch, logprobs = case()
    nothing = torch.zeros(2, 4, WIDTH)
    loss = by_trl(trainer, loss_type, [0, 2, 1, 3], logprobs, nothing, beta=beta)
    batch = replace(batch, reference=Likelihoods(reference(), torch.zeros(4, WIDTH)))
    ours, _ = preference_loss(shape, beta, by_token=by_token)(Likelihoods(logprobs, torch.zeros(4, WIDTH)), batch)
    gradients = [torch.autograd.grad(each, logprobs)[0] for each in (ours, loss)]
    assert ours.item() == pytest.approx(loss.item(), abs=1e-9)
    torch.testing.assert_close(*gradients, atol=1e-9, rtol=0.0)


MISMATCHED = torch.arange(WIDTH) < torch.tensor([LENGTHS[row] for row in (1, 2, 3, 0)])[:, None]


@pytest.mark.parametrize("beta", [0.1, 0.7])
@pytest.mark.parametrize("far", [0.5, -0.5])  # learner above or below its reference on mismatched replies
def test_kto_is_that_of_trl(beta, far):
    """The rows of TRL's batch have one prompt each, and its mismatched replies are given as ours are: `far` nats a
    token from the reference."""
    trainer = pytest.importorskip("trl").KTOTrainer
    batch, logprobs = case()
    mismatched = torch.stack([torch.full((4, WIDTH), far), torch.zeros(4, WIDTH)]).double()
    weights = {"desirable_weight": 1.33, "undesirable_weight": 0.9}
    loss = by_trl(trainer, "kto", [0, 1, 2, 3], logprobs, mismatched, beta=beta, **weights)
    batch = replace(
        batch,
        tokens=torch.where(OWN, 5, 0),
        pairs=torch.arange(4),
        reference=Likelihoods(reference(), torch.zeros(4, WIDTH)),
    )
    objective = Kto(Rates(None, mismatched[1]), beta, **weights).given(Rates(None, mismatched[0]), batch)
    assert objective.zero == pytest.approx(max(0.0, far * sum(LENGTHS) / 4))
    ours, _ = objective(Likelihoods(logprobs, torch.zeros(4, WIDTH)), batch)
    gradients = [torch.autograd.grad(each, logprobs)[0] for each in (ours, loss)]
    assert ours.item() == pytest.approx(loss.item(), abs=1e-9)
    torch.testing.assert_close(*gradients, atol=1e-9, rtol=0.0)
