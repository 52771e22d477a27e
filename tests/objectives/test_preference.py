"""Losses of pairs worked by hand."""

from dataclasses import replace
from math import exp, log

import pytest
import torch

from redqueen.objectives.preference import Dpo, Ipo, SimPo
from redqueen.types import Batch, Likelihoods, RedQueenError

OWN = torch.tensor([[0, 1, 1, 1], [0, 1, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0]], dtype=torch.bool)
SIGNS = torch.tensor([1.0, -1.0, -1.0, 1.0])  # pair 7 is rows 0 and 1; of pair 3 the rejected row comes first


def pairs():
    """Policy minus reference: 0.6 and -0.3 in pair 7, 0.5 (rejected) and -0.2 in pair 3."""
    policy = torch.zeros(4, 4, dtype=torch.float64)
    policy[OWN] = torch.tensor([-1.0, -2.0, -3.0, -0.5, -1.5, -0.25, -0.75], dtype=torch.float64)
    shift = torch.zeros(4, 4, dtype=torch.float64)
    shift[OWN] = torch.tensor([0.1, 0.2, 0.3, -0.3, 0.5, -0.4, 0.2], dtype=torch.float64)
    weights = torch.where(OWN, 1.0, 0.0).to(torch.float64)
    weights = weights / weights.sum(dim=1, keepdim=True) / 4
    batch = Batch(
        tokens=torch.zeros(4, 4, dtype=torch.int64),
        loss_weights=weights,
        sampled_logprobs=policy,
        advantages=torch.where(OWN, SIGNS[:, None], 0.0),
        versions=torch.zeros(4),
        lengths=torch.tensor([4, 2, 2, 3]),
        constraints=((),) * 4,
        pairs=torch.tensor([7, 7, 3, 3]),
        reference=Likelihoods(policy - shift, torch.zeros(4, 4)),
    )
    return batch, policy.clone().requires_grad_()


def likelihoods(logprobs):
    return Likelihoods(logprobs, torch.full((4, 4), 0.5))


def softplus(value):
    return log(1.0 + exp(value))


def test_dpo_by_hand():
    batch, logprobs = pairs()
    loss, metrics = Dpo(beta=2.0)(likelihoods(logprobs), batch)
    margins = (0.6 + 0.3, -0.2 - 0.5)
    assert loss.item() == pytest.approx(sum(softplus(-2.0 * margin) for margin in margins) / 2)
    assert metrics["preference_margin"] == pytest.approx((0.9 - 0.7) / 2)
    assert metrics["preference_accuracy"] == pytest.approx(0.5)
    assert metrics["entropy"] == pytest.approx(0.5)
    assert metrics["preference_loss"] == pytest.approx(loss.item())


def test_the_gradient_of_dpo_by_hand():
    batch, logprobs = pairs()
    Dpo(beta=2.0)(likelihoods(logprobs), batch)[0].backward()
    pull = [2.0 / (1.0 + exp(2.0 * margin)) / 2 for margin in (0.9, -0.7)]  # beta sigmoid(-beta m), half the loss each
    expected = torch.tensor([-pull[0], pull[0], pull[1], -pull[1]], dtype=torch.float64)
    assert torch.allclose(logprobs.grad, torch.where(OWN, expected[:, None], 0.0))


def test_without_a_margin_the_loss_is_log_two():
    batch, logprobs = pairs()
    same = replace(batch, reference=likelihoods(logprobs.detach()))
    assert Dpo(0.1)(likelihoods(logprobs), same)[0].item() == pytest.approx(log(2))
    assert Ipo(0.1)(likelihoods(logprobs), same)[0].item() == pytest.approx(25.0)


def test_ipo_by_hand():
    batch, logprobs = pairs()
    loss, _ = Ipo(beta=0.5)(likelihoods(logprobs), batch)
    assert loss.item() == pytest.approx(((0.9 - 1.0) ** 2 + (-0.7 - 1.0) ** 2) / 2)


def test_simpo_by_hand():
    batch, logprobs = pairs()
    loss, metrics = SimPo(beta=2.0, gamma=1.0)(likelihoods(logprobs), replace(batch, reference=None))
    margins = (-2.0 + 0.5, -0.5 + 1.5)  # means over words, chosen minus rejected
    assert loss.item() == pytest.approx(sum(softplus(1.0 - 2.0 * margin) for margin in margins) / 2)
    assert metrics["preference_margin"] == pytest.approx(sum(margins) / 2)


def test_a_certain_preference_has_a_finite_loss():
    batch, logprobs = pairs()
    far = replace(batch, reference=Likelihoods(batch.reference.logprobs - 1e6 * SIGNS[:, None], torch.zeros(4, 4)))
    loss, _ = Dpo(1.0)(likelihoods(logprobs), far)
    assert loss.item() == 0.0


@pytest.mark.parametrize("kept", [[0], [0, 1, 2], [1, 3]])
def test_half_a_pair_is_refused(kept):
    from redqueen.batch import take, take_likelihoods

    batch, logprobs = pairs()
    rows = torch.tensor(kept)
    with pytest.raises(AssertionError, match="one chosen and one rejected"):
        Dpo()(take_likelihoods(likelihoods(logprobs), rows), take(batch, rows))


def test_two_chosen_replies_are_no_pair():
    batch, logprobs = pairs()
    with pytest.raises(AssertionError, match="one chosen and one rejected"):
        Dpo()(likelihoods(logprobs), replace(batch, advantages=batch.advantages.abs()))


def test_what_is_missing_is_named():
    batch, logprobs = pairs()
    with pytest.raises(RedQueenError, match="pack_pairs"):
        SimPo()(likelihoods(logprobs), replace(batch, pairs=None))
    for objective in (Dpo(), Ipo()):
        with pytest.raises(RedQueenError, match="needs a reference"):
            objective(likelihoods(logprobs), replace(batch, reference=None))
    for objective in (Dpo, Ipo, SimPo):
        with pytest.raises(RedQueenError, match="above 0"):
            objective(0.0)
