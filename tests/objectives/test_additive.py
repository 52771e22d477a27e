import pytest
import torch

from redqueen.objectives.additive import Sum, log_ratios, measured, own_words, weighted_sum
from redqueen.types import Batch, Likelihoods

WEIGHTS = torch.tensor([[0.25, 0.0], [0.5, 0.25]], dtype=torch.float64)
GARBAGE = torch.tensor([[2.0, float("inf")], [4.0, 8.0]], dtype=torch.float64)


def batch():
    return Batch(
        tokens=torch.zeros(2, 2, dtype=torch.int64),
        loss_weights=WEIGHTS,
        sampled_logprobs=torch.full((2, 2), -1.0, dtype=torch.float64),
        advantages=torch.zeros(2, 2, dtype=torch.float64),
        versions=torch.zeros(2, dtype=torch.int64),
        lengths=torch.tensor([1, 2]),
        constraints=((), ()),
    )


def test_own_words_are_those_with_weight():
    assert own_words(batch()).tolist() == [[True, False], [True, True]]


def test_a_weighted_sum_does_not_read_what_stands_elsewhere():
    assert float(weighted_sum(batch(), GARBAGE)) == 0.25 * 2 + 0.5 * 4 + 0.25 * 8
    assert measured(batch(), GARBAGE) == 4.5


def test_log_ratios_are_zero_elsewhere():
    ratios = log_ratios(Likelihoods(GARBAGE, GARBAGE), batch())
    assert ratios.tolist() == [[3.0, 0.0], [5.0, 9.0]]


def test_a_sum_of_nothing_is_refused():
    with pytest.raises(AssertionError, match="at least one"):
        Sum()
