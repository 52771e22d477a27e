import pytest
import torch

from redqueen.objectives.additive import measured
from redqueen.objectives.batch import EachRow, token_mean
from redqueen.objectives.demonstrations import BesideDemonstrations, in_parts
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.players.language.updating import Mismatch, with_signal
from redqueen.types import Batch, Likelihoods


def test_words_are_measured_where_the_present_weights_said_them_also_inside_a_row():
    """The first row was begun by an older self, the second one is no older than its second word."""
    sampled = torch.tensor([[0.0, -1.0, -1.0], [-1.0, -1.0, -1.0]])
    batch = Batch(
        tokens=torch.zeros(2, 3, dtype=torch.int64),
        loss_weights=torch.tensor([[0.0, 0.25, 0.25], [0.0, 0.25, 0.25]]),
        sampled_logprobs=sampled,
        advantages=torch.ones(2, 3),
        versions=torch.tensor([[0, 4, 5], [0, 5, 5]]),
        recited=torch.zeros_like(torch.tensor([[0, 4, 5], [0, 5, 5]]), dtype=torch.bool),
        lengths=torch.tensor([3, 3]),
        trajectory=torch.arange(len(((), ()))),
        constraints=((), ()),
    )
    now = torch.tensor([[9.0, 9.0, -1.5], [9.0, -1.25, -1.0]])
    mismatch = Mismatch()
    mismatch.observe(Likelihoods(now, torch.zeros(2, 3)), batch, version=5)
    assert mismatch.metrics() == {
        "sampler_mismatch_mean": pytest.approx(0.25),
        "sampler_mismatch_max": pytest.approx(0.5),
    }


def test_recited_words_are_not_measured_whatever_version_recited_them():
    row = torch.tensor([[0.0, -1.0, 0.0]])
    batch = Batch(
        tokens=torch.zeros(1, 3, dtype=torch.int64),
        loss_weights=torch.tensor([[0.0, 0.5, 0.5]]),
        sampled_logprobs=row,
        advantages=torch.ones(1, 3),
        versions=torch.full((1, 3), 5),
        recited=torch.tensor([[False, False, True]]),
        trajectory=torch.arange(1),
        lengths=torch.tensor([3]),
        constraints=((),),
    )
    mismatch = Mismatch()
    mismatch.observe(Likelihoods(row - 2.0, torch.zeros(1, 3)), batch, version=5)
    assert mismatch.metrics() == {"sampler_mismatch_mean": 2.0, "sampler_mismatch_max": 2.0}
    assert mismatch._count == 1


@pytest.mark.parametrize("coefficient", [0.0, 0.15, 1.0])
def test_figures_of_sampled_words_are_means_over_these_whatever_is_recited_beside_them(coefficient):
    batch = Batch(
        tokens=torch.zeros(3, 3, dtype=torch.int64),
        loss_weights=torch.tensor([[0.0, 0.1, 0.2]] * 3),
        sampled_logprobs=torch.zeros(3, 3),
        advantages=torch.ones(3, 3),
        versions=torch.zeros(3, 3, dtype=torch.int64),
        recited=torch.tensor([[False] * 3, [False] * 3, [True] * 3]),
        lengths=torch.tensor([3] * 3),
        trajectory=torch.arange(len(((),) * 3)),
        constraints=((),) * 3,
    )
    objective = BesideDemonstrations(Reinforce())
    kept, weight, _ = with_signal(in_parts(batch, EachRow(token_mean), coefficient), objective)
    rated = Likelihoods(torch.full((3, 3), -1.0), torch.full((3, 3), 2.5))
    assert objective(rated, kept)[1]["entropy"] / weight == pytest.approx(2.5)


@pytest.mark.parametrize("advantages", [[1.0, 1.0], [1.0, 0.0]])
def test_means_are_over_words_whatever_the_weights_sum_to(advantages):
    """Dr. GRPO's weights sum to the mean length over the longest: 2 / 16."""
    batch = Batch(
        tokens=torch.zeros(2, 3, dtype=torch.int64),
        loss_weights=torch.tensor([[0.0, 1 / 32, 1 / 32], [0.0, 1 / 32, 1 / 32]]),
        sampled_logprobs=torch.zeros(2, 3),
        advantages=torch.tensor(advantages)[:, None].expand(2, 3).contiguous(),
        versions=torch.zeros(2, 3, dtype=torch.int64),
        recited=torch.zeros_like(torch.zeros(2, 3, dtype=torch.int64), dtype=torch.bool),
        lengths=torch.tensor([3, 3]),
        trajectory=torch.arange(len(((), ()))),
        constraints=((), ()),
    )
    kept, weight, _ = with_signal(batch, Reinforce())
    assert len(kept) == sum(map(bool, advantages))
    assert measured(kept, torch.full((len(kept), 3), 2.5)) / weight == pytest.approx(2.5)
