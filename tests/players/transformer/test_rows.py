from dataclasses import replace

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from redqueen.players.transformer.rows import hand_out, parts_of
from redqueen.players.transformer.scoring import Rating, Target
from redqueen.types import Batch, Constraint

THE, CARD, IS, J, Q, BET, PASS, END = range(8)
ROWS = st.lists(st.lists(st.integers(1, 3), min_size=2, max_size=5).map(tuple), min_size=1, max_size=9)


def batch_of(rows, own, constraints=None):
    """Rows of tokens, and for each the places of its own words."""
    width = max(map(len, rows))
    tokens = torch.tensor([list(row) + [0] * (width - len(row)) for row in rows])
    weights = torch.zeros(len(rows), width, dtype=torch.float64)
    for number, places in enumerate(own):
        weights[number, list(places)] = 0.1
    zeros = torch.zeros_like(weights)
    lengths = torch.tensor([len(row) for row in rows])
    held = constraints or [()] * len(rows)
    nobody, each = torch.zeros_like(weights, dtype=torch.bool), torch.arange(len(rows))
    return Batch(tokens, weights, zeros, zeros, zeros, nobody, each, lengths, tuple(held))


def test_the_batch_of_the_docstring():
    legal = Constraint(4, ((BET, END), (PASS, END)))
    rows = [(THE, CARD, IS, J, BET, END)] * 2 + [(THE, CARD, IS, Q, PASS, END)]
    (part,) = parts_of(batch_of(rows, [(4,)] * 3, [(legal,)] * 3), 100)
    assert [query.tokens for query in part.queries] == [rows[0], rows[2]]
    assert [query.targets for query in part.queries] == [(Target(4, (BET, PASS)),)] * 2
    assert [query.needed for query in part.queries] == [rows[0][:4], rows[2][:4]]  # what was forced is not read
    assert part.copies.tolist() == [0, 0, 1]
    assert part.rows.tolist() == [0, 1, 2]


def test_rows_that_learn_from_other_places_are_other_queries():
    rows = [(1, 2, 3, 4)] * 3
    (part,) = parts_of(batch_of(rows, [(2,), (2, 3), (2,)]), 100)
    assert part.copies.tolist() == [0, 1, 0]
    assert [[target.at for target in query.targets] for query in part.queries] == [[2], [2, 3]]


@settings(deadline=None)
@given(
    st.lists(st.lists(st.integers(1, 3), min_size=2, max_size=5).map(tuple), min_size=1, max_size=9), st.integers(1, 30)
)
def test_parts_hold_every_row_once_with_its_own_question(rows, budget):
    parts = parts_of(batch_of(rows, [(len(row) - 1,) for row in rows]), budget)
    assert sorted(number for part in parts for number in part.rows.tolist()) == list(range(len(rows)))
    for part in parts:
        for number, copy in zip(part.rows.tolist(), part.copies.tolist(), strict=True):
            assert part.queries[copy].tokens == rows[number]
        assert len({query.tokens for query in part.queries}) == len(part.queries)
        nodes = {query.needed[:end] for query in part.queries for end in range(1, len(query.needed) + 1)}
        assert len(nodes) <= budget or len(part.queries) == 1


def test_answers_go_to_the_columns_of_their_rows():
    rows = [(1, 2, 3, 4), (1, 2, 5), (1, 2, 3, 4)]
    (part,) = parts_of(batch_of(rows, [(2, 3), (2,), (2, 3)]), 100)
    rating = Rating(torch.tensor([-1.0, -2.0, -3.0]), torch.tensor([0.1, 0.2, 0.3]), torch.zeros(3, 0))
    found = hand_out(rating, part, 1, 4)
    assert found.logprobs.tolist() == [[0.0, -1.0, -2.0], [0.0, -3.0, 0.0], [0.0, -1.0, -2.0]]
    assert torch.allclose(found.entropies, torch.tensor([[0.0, 0.1, 0.2], [0.0, 0.3, 0.0], [0.0, 0.1, 0.2]]))
    assert found.legal_logprobs is None


@settings(deadline=None)
@given(ROWS, st.integers(1, 30), st.data())
def test_parts_keep_the_rows_of_a_pair_together(rows, budget, data):
    pairs = data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    batch = replace(batch_of(rows, [(len(row) - 1,) for row in rows]), pairs=torch.tensor(pairs))
    parts = parts_of(batch, budget)
    assert sorted(number for part in parts for number in part.rows.tolist()) == list(range(len(rows)))
    of_parts = [{pairs[number] for number in part.rows.tolist()} for part in parts]
    assert sum(map(len, of_parts)) == len(set(pairs)), "a pair is in one part"
    for part, within in zip(parts, of_parts, strict=True):
        for number, copy in zip(part.rows.tolist(), part.copies.tolist(), strict=True):
            assert part.queries[copy].tokens == rows[number]
        nodes = {query.needed[:end] for query in part.queries for end in range(1, len(query.needed) + 1)}
        assert len(nodes) <= budget or len(within) == 1 or len(part.queries) == 1


def test_the_parts_of_pairs_by_hand():
    rows = [(1, 1, 1, 9), (2, 2, 2, 9), (1, 1, 1, 8), (2, 2, 2, 8)]
    batch = replace(batch_of(rows, [(3,)] * 4), pairs=torch.tensor([5, 4, 5, 4]))
    assert [part.rows.tolist() for part in parts_of(batch, 3)] == [[0, 2], [1, 3]]  # three prompt tokens each
    apart = replace(batch, pairs=torch.tensor([5, 5, 4, 4]))
    assert [part.rows.tolist() for part in parts_of(apart, 3)] == [[0, 1], [2, 3]]
    assert [part.rows.tolist() for part in parts_of(apart, 6)] == [[0, 1, 2, 3]]
    rows = [(n, n, n, 9 - side) for n in range(1, 5) for side in (0, 1)]
    four = replace(batch_of(rows, [(3,)] * 8), pairs=torch.arange(8) // 2)
    assert [part.rows.tolist() for part in parts_of(four, 6)] == [[0, 1, 2, 3], [4, 5, 6, 7]]  # each part is filled
