"""Tokens without an advantage: which they are, by hand."""

from dataclasses import replace
from random import Random

import pytest
import torch

from redqueen.objectives.batch import token_mean
from redqueen.objectives.muted import covariances, top_entropy, without_covariance
from redqueen.types import Batch, Likelihoods


def rows(advantages):
    """One row of a prompt token and one own token for each advantage."""
    count = len(advantages)
    own = torch.tensor([[False] + [True] * count])
    return Batch(
        tokens=torch.zeros(1, count + 1, dtype=torch.int64),
        loss_weights=torch.from_numpy(token_mean(own.numpy())),
        sampled_logprobs=torch.zeros(1, count + 1, dtype=torch.float64),
        advantages=torch.tensor([[0.0, *advantages]], dtype=torch.float64),
        versions=torch.zeros(1, count + 1, dtype=torch.int64),
        recited=torch.zeros(1, count + 1, dtype=torch.bool),
        trajectory=torch.zeros(1, dtype=torch.int64),
        lengths=torch.tensor([count + 1]),
        constraints=((),),
    )


def rated(logprobs, entropies=None):
    values = torch.tensor([[-9.0, *logprobs]], dtype=torch.float64)
    return Likelihoods(values, torch.tensor([[9.0, *(entropies or [0.0] * len(logprobs))]], dtype=torch.float64))


# SPEAR's example, credit_and_curricula.md 2.2
ADVANTAGES = [1.0, 1.0, 1.0, -0.5, -0.5, -0.5, -0.5, -0.5]
LOGPROBS = [-0.05, -2.5, -0.3, -6.0, -0.1, -4.0, -0.2, -1.0]


def test_covariances_are_those_of_the_card():
    found = covariances(rows(ADVANTAGES), rated(LOGPROBS))[0, 1:]
    expected = [1.611328, -0.685547, 1.376953, 2.380078, -0.938672, 1.255078, -0.882422, -0.432422]
    assert found.tolist() == pytest.approx(expected, abs=1e-6)


def test_one_of_the_tokens_in_the_band_is_muted():
    muted = set()
    for seed in range(40):
        after = without_covariance(rows(ADVANTAGES), rated(LOGPROBS), 0.02, Random(seed)).advantages[0, 1:]
        (place,) = (after == 0).nonzero()[:, 0].tolist()
        muted.add(place)
    assert muted == {0, 2, 3, 5}


def test_where_all_advantages_are_equal_nothing_is_muted():
    batch = rows([1.0] * 8)
    assert torch.equal(without_covariance(batch, rated(LOGPROBS), 0.5, Random(0)).advantages, batch.advantages)


def test_the_share_with_the_most_entropy_keeps_its_advantage():
    entropies = [0.1, 2.0, 0.5, 1.5, 0.2, 0.3, 0.1, 0.05, 0.4, 0.6]
    batch = rows([1.0] * 10)
    after = top_entropy(batch, rated([-1.0] * 10, entropies), 0.2)
    assert after.advantages[0, 1:].nonzero()[:, 0].tolist() == [1, 3]
    assert torch.equal(after.loss_weights, batch.loss_weights), "what is muted keeps its share of the loss"
    one = top_entropy(batch, rated([-1.0] * 10, entropies), 0.01)
    assert one.advantages[0, 1:].nonzero()[:, 0].tolist() == [1]


def test_an_empty_batch_stays_empty():
    empty = rows([])
    assert len(top_entropy(empty, rated([]), 0.2)) == 1
    assert without_covariance(empty, rated([]), 0.2, Random(0)) is empty


def shown_beside(advantages):
    """The first half of the tokens is sampled, the second demonstrated."""
    batch = rows(advantages)
    half = len(advantages) // 2
    recited = torch.tensor([[False] * (half + 1) + [True] * half])
    return replace(batch, recited=recited)


def test_demonstrations_are_not_among_the_tokens_with_the_most_entropy():
    """Of five sampled tokens one keeps its advantage, although each demonstrated one has more entropy."""
    batch = shown_beside([1.0] * 10)
    after = top_entropy(batch, rated([-1.0] * 10, [0.5, 0.5, 1.0, 0.5, 0.5, *[2.0] * 5]), 0.2)
    assert after.advantages[0, 1:].tolist() == [0, 0, 1, 0, 0, 1, 1, 1, 1, 1]


def test_demonstrations_are_in_no_covariance():
    """The eight tokens of the card, and eight demonstrated ones with a log-probability and an advantage far from
    theirs: the candidates are those of the card, and one is muted, a fifth of eight."""
    batch, muted = shown_beside([*ADVANTAGES, *[50.0] * 8]), set()
    for seed in range(40):
        after = without_covariance(batch, rated([*LOGPROBS, *[-50.0] * 8]), 0.2, Random(seed)).advantages[0, 1:]
        (place,) = (after == 0).nonzero()[:, 0].tolist()
        muted.add(place)
    assert muted == {0, 2, 3, 5}
