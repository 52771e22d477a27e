"""What every objective keeps, and a user's own should: give it to `OBJECTIVES` and run this file.

Additive over rows, however the batch is cut; no gradient where the weight is zero, whatever stands
there; blind to the width of the padding.
"""

import re
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from redqueen.objectives.additive import Sum
from redqueen.objectives.batch import take, take_likelihoods
from redqueen.objectives.policy_gradient import Cispo, ClippedRatio, Gspo, Reinforce
from redqueen.objectives.regularizers import EntropyBonus, ExactKL, KLPenalty, k1, k2, k3
from redqueen.types import Batch, Likelihoods


def named(each):
    """What it is, without where it lies in memory: workers must agree on the names of tests."""
    return re.sub(r" at 0x\w+", "", repr(each))


OBJECTIVES = [
    Reinforce(),
    ClippedRatio(),
    ClippedRatio(0.2, 0.28, dual=1.4),
    Cispo(above_one=0.28),
    Cispo(above_one=0.28, below_one=0.2),
    Gspo(),
    Gspo(0.2, 0.28),
    KLPenalty(0.3, k1, weigh_by_ratio=True),
    KLPenalty(0.3, k2),
    KLPenalty(0.3, k3),
    KLPenalty(0.3, k3, weigh_by_ratio=True),
    ExactKL(0.3),
    EntropyBonus(0.1),
    Sum(ClippedRatio(dual=3.0), ExactKL(0.2), EntropyBonus(0.1)),
]
ROWS, WIDTH, LEGAL = 7, 5, 4
every_objective = pytest.mark.parametrize("objective", OBJECTIVES, ids=named)


def rows(seed=0):
    """Seven rows of words held to lists of two to four replies, the last of them without any own words, and the
    logits [B, T, K] of a policy that has moved a little since."""
    generator = torch.Generator().manual_seed(seed)

    def noise(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    own = torch.rand(ROWS, WIDTH, generator=generator) < 0.7
    own[-1] = False
    own[:-1, 0] = True
    count = torch.randint(2, LEGAL + 1, (ROWS, WIDTH, 1), generator=generator)
    absent = torch.arange(LEGAL) >= count
    before = noise(ROWS, WIDTH, LEGAL)
    logits = before + 0.5 * noise(ROWS, WIDTH, LEGAL)
    said = (torch.rand(ROWS, WIDTH, 1, generator=generator) * count).long()
    batch = Batch(
        tokens=said.squeeze(-1),
        loss_weights=own / own.sum().to(torch.float64),
        sampled_logprobs=likelihoods(before, said, absent, own).logprobs,
        advantages=noise(ROWS, WIDTH) * own,
        versions=torch.zeros(ROWS, WIDTH, dtype=torch.int64),
        recited=torch.zeros_like(torch.zeros(ROWS, WIDTH, dtype=torch.int64), dtype=torch.bool),
        lengths=torch.full((ROWS,), WIDTH),
        trajectory=torch.arange(len(((),) * ROWS)),
        constraints=((),) * ROWS,
        reference=likelihoods(noise(ROWS, WIDTH, LEGAL), said, absent, own),
    )
    return batch, logits, lambda given: likelihoods(given, said, absent, own)


def likelihoods(logits, said, absent, own):
    legal = logits.masked_fill(absent, -torch.inf).log_softmax(-1)
    probable = torch.where(absent, 0.0, legal)
    entropies = -(legal.exp() * probable).sum(-1)
    return Likelihoods(
        torch.where(own, legal.gather(-1, said).squeeze(-1), 0.0), torch.where(own, entropies, 0.0), legal
    )


def measured(objective, batch, of, leaf):
    """Loss, gradient with respect to a leaf, metrics."""
    loss, metrics = objective(of, batch)
    (found,) = torch.autograd.grad(loss, leaf, retain_graph=True)
    return loss.detach(), found, metrics


@every_objective
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 999), part_of=st.lists(st.integers(0, 2), min_size=ROWS, max_size=ROWS))
def test_any_partition_has_the_same_loss_gradient_and_metrics(objective, seed, part_of):
    batch, logits, policy = rows(seed)
    logits.requires_grad_()
    of = policy(logits)
    whole = measured(objective, batch, of, logits)
    parts = []
    for part in sorted(set(part_of)):
        index = torch.tensor([row for row, name in enumerate(part_of) if name == part])
        parts.append(measured(objective, take(batch, index), take_likelihoods(of, index), logits))
    torch.testing.assert_close(sum(loss for loss, _, _ in parts), whole[0])
    torch.testing.assert_close(sum(found for _, found, _ in parts), whole[1])
    for name, value in whole[2].items():
        assert sum(metrics[name] for _, _, metrics in parts) == pytest.approx(value, abs=1e-9)


@every_objective
def test_metrics_are_plain_floats(objective):
    batch, logits, policy = rows()
    loss, metrics = objective(policy(logits), batch)
    assert loss.shape == ()
    assert metrics
    assert all(type(value) is float for value in metrics.values())


@every_objective
def test_there_is_a_gradient_on_own_words_and_none_elsewhere(objective):
    batch, logits, policy = rows(3)
    logits.requires_grad_()
    _, found, _ = measured(objective, batch, policy(logits), logits)
    own = batch.loss_weights != 0
    assert torch.isfinite(found).all()
    assert found[own].any()
    assert not found[~own].any()


@every_objective
@pytest.mark.parametrize("garbage", [-1e30, 1e30, 12345.0])
def test_what_stands_where_the_weight_is_zero_changes_nothing(objective, garbage):
    batch, logits, policy = rows(1)
    of = policy(logits)
    own = batch.loss_weights != 0

    def spoiled(given):
        return torch.where(own if given.dim() == 2 else own.unsqueeze(-1), given, garbage).requires_grad_()

    def spoil(rated):
        return Likelihoods(spoiled(rated.logprobs), spoiled(rated.entropies), spoiled(rated.legal_logprobs))

    dirty = spoil(of)
    dirty_batch = replace(
        batch,
        sampled_logprobs=spoiled(batch.sampled_logprobs).detach(),
        advantages=spoiled(batch.advantages).detach(),
        reference=spoil(batch.reference),
    )
    clean_loss, clean_metrics = objective(of, batch)
    loss, metrics = objective(dirty, dirty_batch)
    torch.testing.assert_close(loss.detach(), clean_loss)
    assert metrics == pytest.approx(clean_metrics)
    leaves = (dirty.logprobs, dirty.entropies, dirty.legal_logprobs)
    for found in torch.autograd.grad(loss, leaves, allow_unused=True):
        if found is not None:
            assert torch.isfinite(found).all()
            assert not found[~own].any()


@every_objective
@pytest.mark.parametrize("wider", [1, 4])
def test_the_width_of_the_padding_does_not_matter(objective, wider):
    batch, logits, policy = rows(2)
    of = policy(logits)

    def pad(given):
        return torch.cat([given, given.new_zeros(ROWS, wider, *given.shape[2:])], dim=1)

    def pad_all(rated):
        return Likelihoods(pad(rated.logprobs), pad(rated.entropies), pad(rated.legal_logprobs))

    wide = replace(
        batch,
        tokens=pad(batch.tokens),
        loss_weights=pad(batch.loss_weights),
        sampled_logprobs=pad(batch.sampled_logprobs),
        advantages=pad(batch.advantages),
        reference=pad_all(batch.reference),
    )
    torch.testing.assert_close(objective(pad_all(of), wide)[0], objective(of, batch)[0])


@every_objective
def test_more_places_in_the_lists_of_replies_do_not_matter(objective):
    batch, logits, policy = rows(4)
    of = policy(logits)

    def pad(rated):
        empty = rated.legal_logprobs.new_full((ROWS, WIDTH, 2), -torch.inf)
        return replace(rated, legal_logprobs=torch.cat([rated.legal_logprobs, empty], dim=-1))

    wide = replace(batch, reference=pad(batch.reference))
    torch.testing.assert_close(objective(pad(of), wide)[0], objective(of, batch)[0])


@every_objective
def test_a_batch_without_own_words_has_a_loss_of_zero_with_a_gradient(objective):
    batch, logits, policy = rows(5)
    logits.requires_grad_()
    loss, found, _ = measured(
        objective, replace(batch, loss_weights=torch.zeros_like(batch.loss_weights)), policy(logits), logits
    )
    assert float(loss) == 0.0
    assert torch.equal(found, torch.zeros_like(found))
