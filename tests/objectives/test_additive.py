import re
from dataclasses import replace

import pytest
import torch

from redqueen.objectives import policy_gradient
from redqueen.objectives.additive import Sum, log_ratios, measured, own_tokens, silent_without_advantage, weighted_sum
from redqueen.objectives.policy_gradient import Cispo, ClippedRatio, Gmpo, Gspo, Reinforce, Sapo
from redqueen.objectives.regularizers import EntropyBonus, ExactKL, KLPenalty, k2
from redqueen.types import Batch, Likelihoods


def named(each):
    """What it is, without where it lies in memory: workers must agree on the names of tests."""
    return re.sub(r" at 0x\w+", "", repr(each))


WEIGHTS = torch.tensor([[0.25, 0.0], [0.5, 0.25]], dtype=torch.float64)
GARBAGE = torch.tensor([[2.0, float("inf")], [4.0, 8.0]], dtype=torch.float64)


def batch():
    return Batch(
        tokens=torch.zeros(2, 2, dtype=torch.int64),
        loss_weights=WEIGHTS,
        sampled_logprobs=torch.full((2, 2), -1.0, dtype=torch.float64),
        advantages=torch.zeros(2, 2, dtype=torch.float64),
        versions=torch.zeros(2, 2, dtype=torch.int64),
        recited=torch.zeros_like(torch.zeros(2, 2, dtype=torch.int64), dtype=torch.bool),
        lengths=torch.tensor([1, 2]),
        trajectory=torch.arange(len(((), ()))),
        constraints=((), ()),
    )


def test_own_words_are_those_with_weight():
    assert own_tokens(batch()).tolist() == [[True, False], [True, True]]


def test_a_weighted_sum_does_not_read_what_stands_elsewhere():
    assert float(weighted_sum(batch(), GARBAGE)) == 0.25 * 2 + 0.5 * 4 + 0.25 * 8
    assert measured(batch(), GARBAGE) == 4.5


def test_log_ratios_are_zero_elsewhere():
    ratios = log_ratios(Likelihoods(GARBAGE, GARBAGE), batch())
    assert ratios.tolist() == [[3.0, 0.0], [5.0, 9.0]]


def test_a_sum_of_nothing_is_refused():
    with pytest.raises(AssertionError, match="at least one"):
        Sum()


CLIPPED = [ClippedRatio(), ClippedRatio(0.2, 0.28, dual=3.0), Cispo(above_one=0.28)]
SILENT = [Reinforce(), *CLIPPED, Gspo(), Sapo(), Gmpo()]


@pytest.mark.parametrize("objective", [*SILENT, Sum(*SILENT[:1])], ids=named)
def test_an_objective_that_says_so_is_silent_without_advantage(objective):
    assert silent_without_advantage(objective)
    now = torch.tensor([[-0.5, 0.0], [-3.0, -0.75]], dtype=torch.float64).requires_grad_()
    entropies = torch.ones(2, 2, dtype=torch.float64).requires_grad_()
    loss, _ = objective(Likelihoods(now, entropies), batch())
    assert float(loss.detach()) == 0.0
    for gradient in torch.autograd.grad(loss, (now, entropies), allow_unused=True):
        assert gradient is None or not gradient.any()
    speaking = replace(batch(), advantages=torch.ones(2, 2, dtype=torch.float64))
    (gradient,) = torch.autograd.grad(objective(Likelihoods(now, entropies), speaking)[0], now)
    assert gradient.any()


def test_every_shipped_objective_that_says_so_is_among_these():
    shipped = vars(policy_gradient).values()
    assert {each for each in shipped if getattr(each, "silent_without_advantage", False) is True} == {
        type(objective) for objective in SILENT
    }


@pytest.mark.parametrize("other", [KLPenalty(0.1, k2), ExactKL(0.1), EntropyBonus(0.01)], ids=named)
def test_what_speaks_everywhere_makes_a_sum_speak_everywhere(other):
    assert not silent_without_advantage(other)
    assert not silent_without_advantage(Sum(Reinforce(), other))
    assert not silent_without_advantage(Sum(other, ClippedRatio()))
    assert silent_without_advantage(Sum(Reinforce(), Sum(Gspo())))
    assert not silent_without_advantage(Sum(Reinforce(), Sum(Gspo(), other)))


def test_an_objective_that_says_nothing_is_taken_to_speak():
    assert not silent_without_advantage(lambda likelihoods, batch: (likelihoods.logprobs.sum(), {}))
