import pytest
import torch

from redqueen.players.updating import Mismatch
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
        lengths=torch.tensor([3, 3]),
        constraints=((), ()),
    )
    now = torch.tensor([[9.0, 9.0, -1.5], [9.0, -1.25, -1.0]])
    mismatch = Mismatch()
    mismatch.observe(Likelihoods(now, torch.zeros(2, 3)), batch, version=5)
    assert mismatch.metrics() == {
        "sampler_mismatch_mean": pytest.approx(0.25),
        "sampler_mismatch_max": pytest.approx(0.5),
    }
