from random import Random

import numpy as np
import pytest
import torch

from redqueen.checks.votes import LabelTrust
from redqueen.credit.advantages.statistics import per_kind_or_group
from redqueen.credit.group_rewards import correct
from redqueen.credit.rewards import score
from redqueen.objectives.batch import take
from redqueen.objectives.policy_gradient import ClippedRatio
from redqueen.play.groups import attempts, with_facts
from redqueen.players.scripted import Constant
from redqueen.questions.asking import SOLVE
from redqueen.recipes.proposers.agent0.objective import ADPO, GroupClippedRatio
from redqueen.types import Batch, Likelihoods, RedQueenError, Task


def batch_of(advantages, trajectories=None):
    """One word a row, each of the same weight, written with probability 1."""
    rows = len(advantages)
    column = torch.tensor(advantages, dtype=torch.float64)[:, None]
    return Batch(
        tokens=torch.zeros(rows, 1, dtype=torch.int64),
        loss_weights=torch.full((rows, 1), 1.0 / rows, dtype=torch.float64),
        sampled_logprobs=torch.zeros(rows, 1, dtype=torch.float64),
        advantages=column,
        versions=torch.zeros(rows, 1, dtype=torch.int64),
        recited=torch.zeros_like(torch.zeros(rows, 1, dtype=torch.int64), dtype=torch.bool),
        lengths=torch.ones(rows, dtype=torch.int64),
        trajectory=torch.arange(rows) if trajectories is None else torch.tensor(trajectories),
        constraints=((),) * rows,
    )


def rated(ratios):
    logs = torch.tensor(ratios, dtype=torch.float64).log()[:, None].requires_grad_()
    return Likelihoods(logs, torch.zeros_like(logs))


def test_each_row_is_held_to_the_bound_of_its_trajectory():
    batch = batch_of([1.0, 1.0, 1.0, -1.0, -1.0], [0, 1, 0, 0, 1])
    likelihoods = rated([1.25, 1.25, 1.5, 1.5, 0.5])
    loss, metrics = GroupClippedRatio((0.2, 0.3))(likelihoods, batch)
    loss.backward()
    # ratios become 1.2 (clipped), 1.25 (within 1.3), 1.2 (clipped), 1.5 (leaving does not pay), 0.8 (clipped)
    assert loss.item() == pytest.approx((-1.2 - 1.25 - 1.2 + 1.5 + 0.8) / 5)
    gradient = likelihoods.logprobs.grad[:, 0].tolist()
    assert gradient == pytest.approx([0.0, -0.25, 0.0, 0.3, 0.0])
    assert metrics["clip_fraction"] == pytest.approx(3 / 5)


def test_with_one_bound_for_all_it_is_the_clipped_ratio():
    ratios, advantages = [0.5, 0.9, 1.1, 1.19, 1.4, 3.0], [1.0, -1.0, 2.0, -0.5, 1.0, -1.0]
    batch = batch_of(advantages, [2, 0, 1, 0, 2, 1])
    mine, own = GroupClippedRatio((0.28, 0.28, 0.28), low=0.1)(rated(ratios), batch)
    loss, metrics = ClippedRatio(0.1, 0.28)(rated(ratios), batch)
    assert mine.item() == pytest.approx(loss.item())
    assert own["clip_fraction"] == pytest.approx(metrics["clip_fraction"])


def test_losses_of_parts_add_up():
    batch = batch_of([1.0, -1.0, 0.5, 2.0], [0, 1, 1, 0])
    likelihoods = rated([1.5, 0.6, 1.25, 1.1])
    objective = GroupClippedRatio((0.1, 0.3))
    whole = objective(likelihoods, batch)[0].item()
    parts = 0.0
    for rows in (torch.tensor([3, 0]), torch.tensor([2, 1])):
        part = Likelihoods(likelihoods.logprobs[rows], likelihoods.entropies[rows])
        parts += objective(part, take(batch, rows))[0].item()
    assert parts == pytest.approx(whole)


def test_the_bounds_are_those_of_the_published_ramp():
    trust = LabelTrust()
    shares = (0.2, 0.3, 0.4, 0.55, 0.7, 0.8)
    assert [trust.scale(share) for share in shares] == pytest.approx([0.6, 0.6, 0.68, 0.8, 0.92, 1.0])
    assert [trust.upper_clip(share) for share in shares] == pytest.approx([0.3, 0.3, 0.28, 0.25, 0.22, 0.2])


def test_bounds_that_are_none_are_refused():
    for wrong in ({"highs": (0.0,)}, {"highs": (0.2,), "low": 0.0}):
        with pytest.raises(RedQueenError, match="0 < low <= 1"):
            GroupClippedRatio(**wrong)


def attempted(share, right):
    """The trajectories of four attempts at one task, whose label has this share of the vote (None: no label)."""
    task = Task("t", prompt="?", facts={} if share is None else {"share": share})
    groups = attempts(SOLVE, [task], Constant("2"), 4, Random(0))
    return score(with_facts(groups, [{"right": each} for each in right]), correct)


def test_advantages_are_scaled_by_the_trust_in_the_label():
    half = [True, False, True, False]
    plain = np.concatenate(per_kind_or_group(attempted(None, half)))
    assert np.concatenate(ADPO().estimate(attempted(None, half))).tolist() == plain.tolist()
    assert np.concatenate(ADPO().estimate(attempted(0.55, half))).tolist() == pytest.approx((0.8 * plain).tolist())


def test_a_batch_has_the_bounds_of_its_labels_and_one_without_labels_the_usual_ones():
    right = [True, False, False, False]
    both = ADPO().objective([*attempted(0.3, right), *attempted(0.8, right)])
    assert both.highs == pytest.approx((0.3,) * 4 + (0.2,) * 4)
    assert ADPO().objective(attempted(None, right)) == ClippedRatio()
