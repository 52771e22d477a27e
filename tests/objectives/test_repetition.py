"""Losses of repeats worked by hand."""

from dataclasses import replace
from math import log

import pytest
import torch

from redqueen.objectives.repetition import NEAREST, PseudoRepetition, Unlikelihood, repeats_marked
from redqueen.types import Batch, Likelihoods, RedQueenError


def batch_of(tokens, own, advantages=None):
    """Rows with weights that sum to one over own words."""
    own = torch.tensor(own, dtype=torch.bool)
    return Batch(
        tokens=torch.tensor(tokens),
        loss_weights=own / own.sum().clamp(min=1).double(),
        sampled_logprobs=torch.zeros(own.shape),
        advantages=torch.zeros(own.shape).double() if advantages is None else torch.tensor(advantages).double(),
        versions=torch.zeros(own.shape),
        recited=torch.zeros_like(torch.zeros(own.shape), dtype=torch.bool),
        lengths=torch.full((len(own),), own.shape[1]),
        trajectory=torch.arange(len(((),) * len(own))),
        constraints=((),) * len(own),
    )


def rated(chances):
    """Likelihoods of words of these probabilities."""
    logprobs = torch.tensor(chances, dtype=torch.float64).log().requires_grad_()
    return Likelihoods(logprobs, torch.full(logprobs.shape, 0.5)), logprobs


def test_unlikelihood_by_hand():
    batch = batch_of([[9, 1, 2, 1, 2]], [[0, 1, 1, 1, 1]], [[0, 0, 0, -1, -1]])
    likelihoods, logprobs = rated([[0.9, 0.7, 0.5, 0.25, 0.8]])
    loss, metrics = Unlikelihood(weight=2.0)(likelihoods, batch)
    plain = (-log(0.75) - log(0.2)) / 4  # a quarter of the weight each; the others have no loss
    assert loss.item() == pytest.approx(2.0 * plain)
    assert metrics["unlikelihood_loss"] == pytest.approx(plain)
    assert metrics["repeated_share"] == pytest.approx(0.5)
    assert metrics["entropy"] == pytest.approx(0.5)
    loss.backward()
    slope = [2.0 / 4 * p / (1.0 - p) for p in (0.25, 0.8)]  # of -log(1 - exp(l)) in l
    assert logprobs.grad[0].tolist() == pytest.approx([0.0, 0.0, 0.0, *slope])


def test_an_advantage_says_by_how_much_a_repeat_counts():
    batch = batch_of([[1, 1]], [[1, 1]], [[-2.0, -0.5]])
    loss, _ = Unlikelihood()(rated([[0.5, 0.5]])[0], batch)
    assert loss.item() == pytest.approx((2.0 + 0.5) * log(2) / 2)


def test_what_is_better_than_expected_is_not_made_unlikely():
    loss, metrics = Unlikelihood()(rated([[0.5]])[0], batch_of([[1]], [[1]], [[1.0]]))
    assert loss.item() == metrics["repeated_share"] == 0.0


def test_a_certain_repeat_has_a_finite_loss_and_still_pulls():
    batch = batch_of([[1, 1]], [[1, 1]], [[0, -1]])
    likelihoods, logprobs = rated([[1.0, 1.0]])
    loss, _ = Unlikelihood()(likelihoods, batch)
    assert loss.item() == pytest.approx(0.5 * (-log(NEAREST) + 1.0))  # one step of NEAREST beyond, at slope 1 / NEAREST
    loss.backward()
    assert logprobs.grad.tolist() == [[0.0, pytest.approx(0.5 / NEAREST)]]


def test_pseudo_repetition_by_hand():
    """A sentence of two words in three copies: probabilities .4 .2, then .6 .3, then .9 .1."""
    batch = batch_of([[9, 1, 2, 1, 2, 1, 2]], [[0, 1, 1, 1, 1, 1, 1]], [[0, 0, 0, -2, -2, -2, -2]])
    likelihoods, logprobs = rated([[0.5, 0.4, 0.2, 0.6, 0.3, 0.9, 0.1]])
    loss, metrics = PseudoRepetition(decay=0.5)(likelihoods, batch)
    gaps = (0.6 - 0.2, 0.3 - 0.1, 0.9 - 0.3, 0.1 - 0.15)
    assert loss.item() == pytest.approx(sum(-log(1.0 - abs(gap)) for gap in gaps) / 6)
    assert metrics["repetition_loss"] == pytest.approx(loss.item())
    assert metrics["repeat_gain"] == pytest.approx((0.2 + 0.1 + 0.3 - 0.2) / 6)
    loss.backward()
    # d/dl of -log(1 - |exp(l) - c|): p sign(p - c) / (1 - |p - c|); the copy before has no gradient from the one after
    slopes = [
        p * (1 if gap > 0 else -1) / (1 - abs(gap)) / 6 for p, gap in zip((0.6, 0.3, 0.9, 0.1), gaps, strict=True)
    ]
    assert logprobs.grad[0].tolist() == pytest.approx([0.0, 0.0, 0.0, *slopes])


@pytest.mark.parametrize("decay, second", [(1.0, 0.4), (0.5, 0.2), (0.0, 0.0)])
def test_the_loss_is_least_where_a_repeat_is_decay_times_as_likely(decay, second):
    batch = batch_of([[1, 1]], [[1, 1]], [[0, -1]])
    at = PseudoRepetition(decay)(rated([[0.4, second]])[0], batch)[0].item()
    above = PseudoRepetition(decay)(rated([[0.4, second + 0.05]])[0], batch)[0].item()
    assert at == pytest.approx(0.0, abs=1e-12)
    assert above == pytest.approx(-log(0.95) / 2)


def test_a_copy_that_is_not_in_the_row_is_refused():
    batch = batch_of([[9, 1, 1]], [[0, 1, 1]], [[0, 0, -2]])  # two places back stands the prompt
    with pytest.raises(AssertionError, match=r"make the rows with demonstrations\.loops"):
        PseudoRepetition()(rated([[0.5, 0.5, 0.5]])[0], batch)
    with pytest.raises(AssertionError, match="own tokens of the same row"):
        PseudoRepetition()(rated([[0.5]])[0], batch_of([[1]], [[1]], [[-3]]))


def test_settings_that_mean_nothing_are_refused():
    with pytest.raises(RedQueenError, match="from 0 to 1"):
        PseudoRepetition(decay=1.5)
    with pytest.raises(RedQueenError, match="at least one token"):
        repeats_marked(batch_of([[1]], [[1]]), run=0)


def test_repeats_are_marked_where_a_run_stands_a_second_time():
    """With runs of two: 1 2 3 1 2 4 holds "1 2" twice; the prompt's own "1 2" does not count."""
    tokens = [[1, 2, 1, 2, 3, 1, 2, 4], [0, 0, 5, 5, 5, 6, 0, 0]]
    own = [[0, 0, 1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1, 0, 0]]
    marked = repeats_marked(batch_of(tokens, own, [[7.0] * 8] * 2), run=2)
    assert marked.advantages.tolist() == [[0, 0, 0, 0, 0, -1, -1, 0], [0, 0, 0, -1, -1, 0, 0, 0]]
    assert repeats_marked(batch_of(tokens, own), run=4).advantages.abs().sum() == 0.0


def test_parts_of_a_batch_add_up():
    tokens, own = [[1, 1, 1], [2, 2, 0]], [[1, 1, 1], [1, 1, 0]]
    batch = batch_of(tokens, own, [[0, -1, -1], [0, -1, 0]])
    chances = torch.tensor([[0.2, 0.5, 0.7], [0.6, 0.3, 0.9]]).double()
    for objective in (Unlikelihood(), PseudoRepetition(0.9)):
        whole = objective(Likelihoods(chances.log(), chances), batch)[0]
        parts = []
        for row in (0, 1):
            rows = {name: getattr(batch, name)[row : row + 1] for name in ("tokens", "loss_weights", "advantages")}
            part = replace(batch, **rows, constraints=((),))
            parts.append(objective(Likelihoods(chances[row : row + 1].log(), chances[row : row + 1]), part)[0])
        assert sum(parts).item() == pytest.approx(whole.item())
