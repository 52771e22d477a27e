"""Imitation: the mean negative log-likelihood of the own words, whatever their advantages."""

import math

import pytest
import torch

from redqueen.objectives.imitation import Imitation
from redqueen.types import Batch, Likelihoods


def test_the_loss_is_the_mean_surprise_of_the_own_words():
    weights = torch.tensor([[0.0, 0.25, 0.25], [0.0, 0.5, 0.0]])
    logprobs = torch.log(torch.tensor([[1.0, 0.5, 0.25], [1.0, 0.125, 0.5]])).requires_grad_()
    batch = Batch(
        tokens=torch.zeros(2, 3, dtype=torch.int64),
        loss_weights=weights,
        sampled_logprobs=torch.zeros(2, 3),
        advantages=torch.tensor([[0.0, -7.0, 0.0], [0.0, 3.0, 0.0]]),
        versions=torch.zeros(2, 3, dtype=torch.int64),
        recited=torch.ones(2, 3, dtype=torch.bool),
        lengths=torch.tensor([3, 2]),
        trajectory=torch.arange(len(((), ()))),
        constraints=((), ()),
    )
    loss, metrics = Imitation()(Likelihoods(logprobs, torch.zeros(2, 3)), batch)
    assert loss.item() == pytest.approx(math.log(2) * (0.25 * 1 + 0.25 * 2 + 0.5 * 3))
    assert metrics["imitation_loss"] == pytest.approx(loss.item())
    loss.backward()
    assert torch.equal(logprobs.grad, -weights)
