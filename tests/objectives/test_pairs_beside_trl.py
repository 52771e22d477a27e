"""Losses and gradients of pairs without a reference with those of TRL's own trainers, on one batch.

TRL is no dependency: left out where it is missing (`pip install trl==1.16.0`).
"""

from types import SimpleNamespace

import pytest
import torch

from redqueen.objectives.preference import ChosenLikelihood, preference_loss
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
