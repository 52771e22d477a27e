"""Objectives on the first turn of a conversation alone."""

from dataclasses import replace

import pytest
import torch

from redqueen.objectives.additive import Sum
from redqueen.objectives.imitation import Imitation
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.objectives.regularizers import KLPenalty, k2
from redqueen.recipes.self_training.score.objective import OnOpening, opening_divergence, opening_tokens
from redqueen.types import Batch, Likelihoods, RedQueenError


def conversation():
    """Two rows: a prompt of two tokens, a reply of two, a request, a reply; and one reply alone, padded."""
    own = torch.tensor([[0, 0, 1, 1, 0, 1], [0, 1, 1, 1, 0, 0]], dtype=torch.bool)
    weights = own.double() / 6
    sampled = torch.tensor([[0, 0, -1.0, -2.0, 0, -4.0], [0, -0.5, -0.5, -0.5, 0, 0]], dtype=torch.float64)
    reference = torch.tensor([[9, 9, -1.5, -2.0, 9, -1.0], [9, -0.5, -1.0, -0.5, 9, 9]], dtype=torch.float64)
    nothing = torch.zeros(2, 6, dtype=torch.float64)
    batch = Batch(
        torch.zeros(2, 6, dtype=torch.int64),
        weights,
        sampled,
        own.double(),
        torch.zeros(2, 6, dtype=torch.int64),
        torch.zeros(2, 6, dtype=torch.bool),
        torch.arange(2),
        torch.tensor([6, 4]),
        ((), ()),
    )
    return replace(batch, reference=Likelihoods(reference, nothing)), Likelihoods(
        sampled.clone().requires_grad_(), nothing
    )


def test_the_opening_is_the_first_unbroken_run_of_own_words():
    batch, _ = conversation()
    assert opening_tokens(batch).int().tolist() == [[0, 0, 1, 1, 0, 0], [0, 1, 1, 1, 0, 0]]


def test_a_row_without_own_words_has_no_opening():
    batch, _ = conversation()
    assert not opening_tokens(replace(batch, loss_weights=torch.zeros(2, 6))).any()


def test_two_answers_in_rows_of_their_own_are_refused():
    batch, _ = conversation()
    with pytest.raises(RedQueenError, match="and here each has its own: leave --history strip out"):
        opening_tokens(replace(batch, trajectory=torch.zeros(2, dtype=torch.int64)))


def test_the_penalty_is_that_of_the_opening_at_the_weights_of_the_batch():
    batch, likelihoods = conversation()
    loss, metrics = OnOpening(KLPenalty(0.3, k2))(likelihoods, batch)
    # d = .5, 0 in the first row; 0, .5, 0 in the second: .3 x (2 x .125) / 6
    assert loss.item() == pytest.approx(0.3 * 0.25 / 6)
    assert metrics["opening_reference_kl"] == pytest.approx(0.25 / 6)
    (gradient,) = torch.autograd.grad(loss, likelihoods.logprobs)
    assert gradient[0, 5].item() == 0.0
    assert gradient[0, 2].item() == pytest.approx(0.3 * 0.5 / 6)


def test_it_stands_beside_the_same_penalty_on_all_words():
    batch, likelihoods = conversation()
    both = Sum(Reinforce(), KLPenalty(0.1, k2), OnOpening(KLPenalty(0.3, k2)))
    _, metrics = both(likelihoods, batch)
    assert {"reference_kl", "opening_reference_kl"} <= metrics.keys()


def test_it_is_additive_over_rows():
    batch, likelihoods = conversation()
    whole, _ = OnOpening(Imitation())(likelihoods, batch)
    # words of the openings: 1 + 2 and .5 + .5 + .5, over six words in all
    assert whole.item() == pytest.approx(4.5 / 6)


def test_the_divergence_of_a_first_turn_is_in_nats_a_row():
    batch, _ = conversation()
    assert opening_divergence(batch) == pytest.approx((0.5 + 0.5) / 2)
    empty = replace(
        batch, **{name: getattr(batch, name)[:0] for name in ("tokens", "loss_weights", "sampled_logprobs")}
    )
    assert opening_divergence(empty) == 0.0
