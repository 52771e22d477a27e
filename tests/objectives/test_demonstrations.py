"""Demonstrations beside sampled words: each part has its own loss and its own weight."""

import numpy as np
import pytest
import torch

from redqueen.objectives.batch import ConstantMean, EachRow, pack, token_mean
from redqueen.objectives.demonstrations import BesideDemonstrations, in_parts
from redqueen.objectives.policy_gradient import ClippedRatio, Gspo
from redqueen.types import Ask, Batch, Episode, Likelihoods, Outcome, Reply, Seat, Task, Trajectory, Turn


def batch(recited, sampled, advantages, weights):
    rows = len(recited)
    return Batch(
        tokens=torch.zeros(rows, 2, dtype=torch.int64),
        loss_weights=torch.tensor(weights, dtype=torch.float64),
        sampled_logprobs=torch.tensor(sampled, dtype=torch.float64),
        advantages=torch.tensor(advantages, dtype=torch.float64),
        versions=torch.zeros(rows, 2, dtype=torch.int64),
        recited=torch.tensor(recited)[:, None].expand(rows, 2),
        lengths=torch.full((rows,), 2),
        trajectory=torch.arange(len(((),) * rows)),
        constraints=((),) * rows,
    )


def likelihoods(logprobs):
    values = torch.tensor(logprobs, dtype=torch.float64, requires_grad=True)
    return Likelihoods(values, torch.zeros_like(values))


TWO = batch([False, True], [[-1.0, -1.0], [0.0, 0.0]], [[2.0, 2.0], [1.0, 1.0]], [[0.25, 0.25], [0.25, 0.25]])


ALIKE = EachRow(token_mean)


def test_parts_weigh_one_and_the_coefficient():
    weights = in_parts(TWO, ALIKE, 0.15).loss_weights
    assert weights.tolist() == [[0.5, 0.5], [0.075, 0.075]]


def test_a_part_that_is_not_there_weighs_nothing():
    alone = batch([False], [[-1.0, -1.0]], [[2.0, 2.0]], [[0.5, 0.5]])
    assert in_parts(alone, ALIKE, 1.0).loss_weights.tolist() == [[0.5, 0.5]]
    shown = batch([True], [[0.0, 0.0]], [[1.0, 1.0]], [[0.5, 0.5]])
    assert in_parts(shown, ALIKE, 2.0).loss_weights.tolist() == [[1.0, 1.0]]
    assert in_parts(shown, ALIKE, 0.0).loss_weights.tolist() == [[0.0, 0.0]]


def test_each_row_has_its_own_loss():
    rated = likelihoods([[-1.0, -1.0], [-0.5, -1.5]])
    loss, metrics = BesideDemonstrations(ClippedRatio())(rated, in_parts(TWO, ALIKE, 0.5))
    # sampled: ratio 1, -2 for each word; shown: half of the mean of 0.5 and 1.5
    assert loss.item() == pytest.approx(-2.0 + 0.5)
    assert metrics["policy_loss"] == pytest.approx(-2.0)
    assert metrics["imitation_loss"] == pytest.approx(0.5)
    (gradient,) = torch.autograd.grad(loss, rated.logprobs)
    assert gradient.tolist() == [[-1.0, -1.0], [-0.25, -0.25]]


def test_the_loss_of_the_parts_of_a_batch_adds_up():
    rated = likelihoods([[-1.2, -0.7], [-0.5, -1.5]])
    objective, whole = BesideDemonstrations(ClippedRatio()), in_parts(TWO, ALIKE, 0.5)
    loss, _ = objective(rated, whole)
    halves = []
    for row in (0, 1):
        part = batch(
            [whole.recited[row, 0].item()],
            whole.sampled_logprobs[row : row + 1].tolist(),
            whole.advantages[row : row + 1].tolist(),
            whole.loss_weights[row : row + 1].tolist(),
        )
        halves.append(objective(likelihoods(rated.logprobs[row : row + 1].tolist()), part)[0].item())
    assert loss.item() == pytest.approx(sum(halves))


@pytest.mark.parametrize(
    ("difference", "reward", "loss"),
    [(0.0, 1.0, -1.0), (0.5, 1.0, -1.2), (0.1, 1.0, -np.exp(0.1)), (-0.5, -1.0, 0.8), (0.5, -1.0, np.exp(0.5))],
)
def test_the_ratio_of_a_reply_is_that_of_spc(difference, reward, loss):
    """-min(R rho, R clip(rho, .8, 1.2)) with rho = exp(mean log pi - mean log reference)."""
    row = batch([False], [[-1.0, -2.0]], [[reward, reward]], [[0.5, 0.5]])
    found, _ = BesideDemonstrations(Gspo(0.2, 0.2))(likelihoods([[-1.0 + 2 * difference, -2.0]]), row)
    assert found.item() == pytest.approx(loss)


def test_demonstrations_are_packed_below_what_was_sampled_and_weigh_the_coefficient_together():
    def said(words, recited):
        seat = Seat("defender")
        reply = Reply("", "learner", tokens=np.arange(words), logprobs=np.full(words, -0.5), recited=recited)
        turns = (Turn(Ask(seat, ()), reply),)
        return Trajectory(Episode("talk", Task("t"), 0, turns, Outcome({seat: 0.0}), (seat,)), seat, turns, np.zeros(1))

    whole = pack([said(2, False), said(1, True), said(1, True)], [np.array([3.0]), np.ones(1), np.ones(1)])
    packed = in_parts(whole, ALIKE, 0.5)
    assert packed.recited.any(dim=1).tolist() == [False, True, True]
    assert packed.loss_weights.sum(dim=1).tolist() == [1.0, 0.25, 0.25]
    assert packed.advantages.tolist() == [[3.0, 3.0], [1.0, 0.0], [1.0, 0.0]]
    by_constant = in_parts(whole, EachRow(ConstantMean(4)), 0.5)  # 2 of 4 tokens, whatever else is in the batch
    assert by_constant.loss_weights.sum(dim=1).tolist() == [0.5, 0.25, 0.25]
