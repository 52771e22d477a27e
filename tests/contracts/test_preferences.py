"""What every objective of pairs keeps, and a user's own should: give it to `OBJECTIVES` and run this file.

Additive over pairs, however the batch is cut between them; no gradient where the weight is zero, whatever stands
there; blind to the width of the padding, to the order of the rows and to how often a pair is cut off from others.
"""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from redqueen.objectives.additive import Sum
from redqueen.objectives.batch import take, take_likelihoods
from redqueen.objectives.preference import ChosenLikelihood, Dpo, Hinge, Ipo, SimPo, Sppo, StepApo
from redqueen.types import Batch, Likelihoods

OBJECTIVES = [
    Dpo(),
    Dpo(2.0),
    Dpo(label_smoothing=0.1),
    Dpo(by_word=True),
    Hinge(),
    Ipo(0.5),
    Ipo(by_word=True),
    StepApo(),
    SimPo(),
    Sum(Dpo(), ChosenLikelihood(0.2)),
]
SAMPLES = [Sppo(), Sppo(1000.0)]  # of single replies, each with a number of its own
PAIRS, WIDTH = 4, 5
every_objective = pytest.mark.parametrize("objective", [*OBJECTIVES, *SAMPLES], ids=repr)


def batch_for(objective, seed=0):
    """Four pairs in random order, one of them with two rows on a side, and what a policy says of their words; or the
    same eight replies one by one."""
    generator = torch.Generator().manual_seed(seed)
    sides = torch.tensor([0, 0, *range(1, 2 * PAIRS)])  # chosen and rejected of pair 0, of pair 1, ...
    sides = sides[torch.randperm(len(sides), generator=generator)]
    own = torch.rand(len(sides), WIDTH, generator=generator) < 0.6
    own[:, 1] = True
    words = torch.zeros(2 * PAIRS).index_add(0, sides, own.sum(dim=1).float()).double()
    noise = [torch.randn(len(sides), WIDTH, generator=generator, dtype=torch.float64) for _ in range(2)]
    better = 1.0 - 2.0 * (sides % 2)
    batch = Batch(
        tokens=torch.zeros(len(sides), WIDTH, dtype=torch.int64),
        loss_weights=own / words[sides][:, None] / (2 * PAIRS),
        sampled_logprobs=torch.zeros(len(sides), WIDTH),
        advantages=torch.where(own, (better * (1.0 + 0.1 * (sides // 2)))[:, None], 0.0),
        versions=torch.zeros(len(sides), WIDTH),
        recited=torch.zeros_like(torch.zeros(len(sides), WIDTH), dtype=torch.bool),
        lengths=torch.full((len(sides),), WIDTH),
        trajectory=torch.arange(len(((),) * len(sides))),
        constraints=((),) * len(sides),
        pairs=sides if objective in SAMPLES else sides // 2,
        reference=Likelihoods(torch.where(own, noise[0], 0.0), torch.zeros(len(sides), WIDTH)),
    )
    return batch, torch.where(own, noise[1], 0.0)


def said(logprobs):
    return Likelihoods(logprobs, logprobs.detach().abs())


def measured(objective, batch, of, leaf):
    """Loss, gradient with respect to a leaf, metrics."""
    loss, metrics = objective(of, batch)
    (found,) = torch.autograd.grad(loss, leaf, retain_graph=True)
    return loss.detach(), found, metrics


@every_objective
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 999), part_of=st.lists(st.integers(0, 2), min_size=PAIRS, max_size=PAIRS))
def test_any_partition_of_the_pairs_has_the_same_loss_gradient_and_metrics(objective, seed, part_of):
    batch, logprobs = batch_for(objective, seed)
    logprobs.requires_grad_()
    whole = measured(objective, batch, said(logprobs), logprobs)
    parts = []
    for part in sorted(set(part_of)):
        index = torch.tensor([row for row, pair in enumerate(batch.pairs.tolist()) if part_of[pair % PAIRS] == part])
        parts.append(measured(objective, take(batch, index), take_likelihoods(said(logprobs), index), logprobs))
    torch.testing.assert_close(sum(loss for loss, _, _ in parts), whole[0])
    torch.testing.assert_close(sum(found for _, found, _ in parts), whole[1])
    for name, value in whole[2].items():
        assert sum(metrics[name] for _, _, metrics in parts) == pytest.approx(value, abs=1e-9)


@every_objective
def test_metrics_are_plain_floats(objective):
    batch, logprobs = batch_for(objective)
    loss, metrics = objective(said(logprobs), batch)
    assert loss.shape == ()
    assert all(type(value) is float for value in metrics.values())


@every_objective
@pytest.mark.parametrize("garbage", [-1e30, 1e30, 12345.0])
def test_what_stands_where_the_weight_is_zero_changes_nothing(objective, garbage):
    batch, logprobs = batch_for(objective, 1)
    own = batch.loss_weights != 0

    def spoiled(given):
        return torch.where(own, given, garbage)

    dirty = spoiled(logprobs).requires_grad_()
    dirty_batch = replace(
        batch,
        sampled_logprobs=spoiled(batch.sampled_logprobs),
        advantages=spoiled(batch.advantages),
        reference=Likelihoods(spoiled(batch.reference.logprobs), batch.reference.entropies),
    )
    clean = logprobs.clone().requires_grad_()
    loss, found, _ = measured(objective, dirty_batch, said(dirty), dirty)
    clean_loss, clean_found, _ = measured(objective, batch, said(clean), clean)
    torch.testing.assert_close(loss, clean_loss)
    torch.testing.assert_close(found, clean_found)
    assert found[own].any()
    assert not found[~own].any()


@every_objective
def test_padding_and_the_order_of_the_rows_do_not_matter(objective):
    batch, logprobs = batch_for(objective, 2)
    order = torch.tensor([4, 0, 8, 2, 6, 1, 3, 5, 7])
    shuffled = objective(take_likelihoods(said(logprobs), order), take(batch, order))[0]
    torch.testing.assert_close(shuffled, objective(said(logprobs), batch)[0])

    def pad(given):
        return torch.cat([given, given.new_zeros(len(given), 3)], dim=1)

    wide = replace(
        batch,
        tokens=pad(batch.tokens),
        loss_weights=pad(batch.loss_weights),
        sampled_logprobs=pad(batch.sampled_logprobs),
        advantages=pad(batch.advantages),
        reference=Likelihoods(pad(batch.reference.logprobs), pad(batch.reference.entropies)),
    )
    torch.testing.assert_close(objective(said(pad(logprobs)), wide)[0], objective(said(logprobs), batch)[0])


@every_objective
def test_a_batch_without_own_words_has_a_loss_of_zero_with_a_gradient(objective):
    batch, logprobs = batch_for(objective, 5)
    logprobs.requires_grad_()
    silent = replace(batch, loss_weights=torch.zeros_like(batch.loss_weights))
    loss, found, _ = measured(objective, silent, said(logprobs), logprobs)
    assert loss.item() == 0.0
    assert torch.equal(found, torch.zeros_like(found))
