"""The numbers are example 5 of the algorithm cards: words sampled by another engine than the trainer's."""

from dataclasses import replace

import pytest
import torch

from redqueen.objectives.mismatch import (
    RowMasked,
    RowTruncated,
    RowWithin,
    TokenMasked,
    TokenTruncated,
    Vetoed,
    corrected,
    figures,
)
from redqueen.objectives.policy_gradient import Cispo, ClippedRatio
from redqueen.objectives.regularizers import KLPenalty, k2
from redqueen.types import Batch, Likelihoods


def tensor(rows):
    return torch.tensor(rows, dtype=torch.float64)


MASK = tensor([[1, 1, 0, 0], [1, 1, 1, 1], [1, 1, 1, 0]])
START = tensor([[-1.0, -0.5, 0, 0], [-2.0, -1.0, -0.7, -2.3], [-0.4, -1.2, -3.0, 0]])
NOW = tensor([[-0.7, -0.6, 0, 0], [-2.4, -0.75, -0.7, -0.8], [-0.35, -1.8, -2.9, 0]])
SAMPLER = tensor([[-1.1, -0.3, 0, 0], [-2.9, -0.95, -0.7, -2.7], [-0.1, -1.4, -2.0, 0]])
TM, STM = MASK / 9, MASK / MASK.sum(dim=1, keepdim=True) / 3
CAPPED, PLAIN = ClippedRatio(0.2, 0.28, dual=3.0), ClippedRatio(0.2, 0.2)


def batch(weights=TM):
    return Batch(
        tokens=torch.zeros(3, 4, dtype=torch.int64),
        loss_weights=weights,
        sampled_logprobs=SAMPLER,
        advantages=tensor([[1.0], [-0.5], [0.25]]).expand(3, 4),
        versions=torch.zeros(3, 4, dtype=torch.int64),
        recited=torch.zeros_like(torch.zeros(3, 4, dtype=torch.int64), dtype=torch.bool),
        lengths=torch.tensor([2, 4, 3]),
        trajectory=torch.arange(len(((),) * 3)),
        constraints=((),) * 3,
        reference=rated(START),
    )


def rated(logprobs):
    return Likelihoods(logprobs, torch.zeros_like(logprobs))


def one_if_kept(log_weights, own):
    """A mask without weights, as a user might write it."""
    weights = log_weights.exp()
    return ((weights >= 0.5) & (weights <= 2.0)).to(weights.dtype)


@pytest.mark.parametrize(
    ("objective", "weigh", "by_token", "by_row"),
    [
        (CAPPED, TokenTruncated(2.0), 0.169898, -0.065083),
        (CAPPED, RowTruncated(2.0), 0.431331, 0.152501),
        (CAPPED, TokenMasked(0.5, 2.0), 0.092302, -0.120456),
        (CAPPED, one_if_kept, 0.006351, None),
        (PLAIN, TokenMasked(0.0, 5.0), 0.322949, None),
        (PLAIN, TokenMasked(0.0, 2.0), 0.213634, None),
        (PLAIN, TokenTruncated(2.0), 0.302523, None),
        (PLAIN, RowMasked(0.5, 1.2), -0.274544, None),
    ],
    ids=["TIS", "row TIS", "IcePop", "mask alone", "AReaL 5", "AReaL 2", "AReaL clamped", "AReaL rows"],
)
def test_corrections_have_the_worked_numbers(objective, weigh, by_token, by_row):
    loss, _ = objective(rated(NOW), corrected(batch(), rated(START), weigh))
    assert float(loss) == pytest.approx(by_token, abs=1e-6)
    if by_row is not None:
        loss, _ = objective(rated(NOW), corrected(batch(STM), rated(START), weigh))
        assert float(loss) == pytest.approx(by_row, abs=1e-6)


@pytest.mark.parametrize(
    ("objective", "by_token", "by_row"),
    [(CAPPED, 0.105591, -0.102095), (Cispo(above_one=1.0), -0.159241, 0.023093)],
    ids=["PPO", "REINFORCE, weight at most 2"],
)
def test_a_ratio_taken_to_the_sampler_needs_no_correction(objective, by_token, by_row):
    assert float(objective(rated(NOW), batch())[0]) == pytest.approx(by_token, abs=1e-6)
    assert float(objective(rated(NOW), batch(STM))[0]) == pytest.approx(by_row, abs=1e-6)


def test_rejecting_nothing_changes_nothing_when_the_sampler_is_the_start():
    same = corrected(batch(), rated(SAMPLER), TokenMasked())
    torch.testing.assert_close(CAPPED(rated(NOW), same)[0], CAPPED(rated(NOW), batch())[0])


def test_rejecting_everything_leaves_a_loss_of_zero_with_a_gradient():
    now = NOW.clone().requires_grad_()
    loss, _ = CAPPED(rated(now), corrected(batch(), rated(START), TokenMasked(100.0, 200.0)))
    (found,) = torch.autograd.grad(loss, now)
    assert float(loss.detach()) == 0.0
    assert torch.equal(found, torch.zeros_like(found))


def test_a_penalty_does_not_feel_the_correction():
    kept, _ = KLPenalty(1.0, k2)(rated(NOW), corrected(batch(), rated(START), TokenTruncated(0.1)))
    torch.testing.assert_close(kept, KLPenalty(1.0, k2)(rated(NOW), batch())[0])


def test_words_that_are_not_own_do_not_weigh_on_their_row():
    filled = torch.where(MASK == 0, 1e6, START)
    for weigh in (RowTruncated(2.0), RowMasked(0.5, 1.2)):
        ours, _ = PLAIN(rated(NOW), corrected(batch(), rated(filled), weigh))
        torch.testing.assert_close(ours, PLAIN(rated(NOW), corrected(batch(), rated(START), weigh))[0])


WEIGHTS = tensor([[1.5, 3.0, 1.0], [0.4, 0.9, 1.2]])  # of the card on the toolbox, vector (c)
OWN = torch.tensor([[True, True, False], [True, True, True]])


def test_rows_are_rejected_without_being_weighed():
    kept = RowWithin(0.5, 2.0)(WEIGHTS.log(), OWN)
    assert torch.where(OWN, kept, 0.0).tolist() == [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]


def test_a_row_with_a_word_that_its_writer_hardly_knew_is_vetoed():
    kept = Vetoed(TokenTruncated(2.0), 0.5)(WEIGHTS.log(), OWN)
    assert torch.where(OWN, kept, 0.0)[0, :2].tolist() == pytest.approx([1.5, 2.0])
    assert kept[1].tolist() == [0.0, 0.0, 0.0]


def test_figures_of_weights_are_the_worked_ones():
    weights = torch.where(OWN, WEIGHTS, 1.0)
    given = batch()
    sized = type(given)(
        **{
            **vars(given),
            "loss_weights": OWN.double() / 5,
            "sampled_logprobs": torch.zeros(2, 3, dtype=torch.float64),
        }
    )
    found = figures(sized, rated(weights.log()))
    assert found["weight_mean"] == pytest.approx(1.4)
    assert found["weight_ess"] == pytest.approx(0.717423, abs=1e-6)
    assert found["weight_chi2"] == pytest.approx(1.732)
    assert found["weight_k3"] == pytest.approx(0.267051, abs=1e-6)


def test_k3_of_weights_is_the_divergence_of_the_writer_from_the_start():
    """Nine tokens in ten of the action that the writer takes with .9, where the start takes both with .5:
    .9 log(.9 / .5) + .1 log(.1 / .5) = .368064."""
    writer = tensor([[0.9] * 9 + [0.1]]).log()
    given = replace(
        batch(),
        **{name: getattr(batch(), name)[:1, :1].expand(1, 10) for name in ("tokens", "advantages", "versions")},
        recited=torch.zeros(1, 10, dtype=torch.bool),
        loss_weights=torch.full((1, 10), 0.1, dtype=torch.float64),
        sampled_logprobs=writer,
    )
    found = figures(given, rated(torch.full_like(writer, 0.5).log()))
    assert found["weight_k3"] == pytest.approx(0.368064, abs=1e-6)


def test_figures_of_example_5():
    found = figures(batch(), rated(START))
    assert found["weight_mean"] == pytest.approx(1.128518, abs=1e-6)
    assert found["weight_chi2"] == pytest.approx(0.583080, abs=2e-6)
    assert found["weight_ess"] == pytest.approx(0.804477, abs=1e-6)
