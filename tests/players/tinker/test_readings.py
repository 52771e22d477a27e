"""Which rows a server reads, and what comes of its answers."""

import math

import torch

from redqueen.players.tinker.readings import rated, reading_of
from redqueen.players.transformer.scoring import Query, Target


def test_no_row_begins_another_and_equal_ones_are_read_once():
    queries = [
        Query((1, 2, 3), (Target(2, (3, 4)),)),
        Query((1, 2, 4), (Target(2, (3, 4)),)),
        Query((1, 2, 3, 9), (Target(2), Target(3))),
        Query((1, 2), ()),
    ]
    reading = reading_of(queries)
    assert reading.rows == ((1, 2, 3, 9), (1, 2, 4))
    assert reading.lengths == [3, 2]
    assert reading.places.tolist() == [[1, 4], [1, 4], [1, 5], [2, 5]]
    assert reading.said.tolist() == [0, 1, 0, 0]
    assert reading.free.tolist() == [False, False, True, True]


def test_listed_tokens_are_renormalised_at_the_temperature():
    reading = reading_of([Query((1, 2), (Target(1, (2, 3, 4)),))])
    line = torch.tensor([0.1, 0.2, 0.4]).log()
    rating = rated(reading, line, 0.5)
    chances = [0.01 / 0.21, 0.04 / 0.21, 0.16 / 0.21]  # squares
    torch.testing.assert_close(rating.legal_logprobs[0].exp(), torch.tensor(chances))
    assert math.isclose(float(rating.logprobs[0].exp()), chances[0], rel_tol=1e-5)
    assert math.isclose(float(rating.entropies[0]), -sum(p * math.log(p) for p in chances), rel_tol=1e-5)


def test_the_gradient_of_a_listed_token_is_what_the_others_lose():
    reading = reading_of([Query((1, 2), (Target(1, (2, 3)),))])
    line = torch.tensor([0.3, 0.1]).log().requires_grad_()
    rated(reading, line, 1.0).logprobs[0].backward()
    torch.testing.assert_close(line.grad, torch.tensor([0.25, -0.25]))  # 1 - p and -(1 - p) with p = 3/4


def test_free_words_stand_as_they_are_beside_listed_ones():
    reading = reading_of([Query((1, 2), (Target(1, (2, 3)),)), Query((5, 6), (Target(1),))])
    line = torch.full((3,), 0.25).log().requires_grad_()
    rating = rated(reading, line, 1.0)
    torch.testing.assert_close(rating.logprobs.exp(), torch.tensor([0.5, 0.25]))
    assert rating.legal_logprobs[1].tolist() == [-math.inf, -math.inf]
    assert not rating.entropies.requires_grad  # one of them is an estimate
    rating.logprobs.sum().backward()
    assert bool(torch.isfinite(line.grad).all())
