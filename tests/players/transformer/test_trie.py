import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redqueen.players.transformer.trie import cut, merge

# the rows drawn in the module's docstring
THE, CARD, IS, J, Q, BET, PASS = range(7)
ROWS = [(THE, CARD, IS, J, BET), (THE, CARD, IS, J, PASS), (THE, CARD, IS, Q, BET)]

ANY_ROWS = st.lists(st.lists(st.integers(1, 3), min_size=2, max_size=6).map(tuple), min_size=1, max_size=6)


def test_the_trie_of_the_docstring():
    trie = merge(ROWS)
    assert trie.tokens.tolist() == [THE, CARD, IS, J, BET, PASS, Q, BET]
    assert trie.depths.tolist() == [0, 1, 2, 3, 4, 4, 3, 4]
    assert trie.parents == (-1, 0, 1, 2, 3, 3, 2, 6)
    assert trie.paths == ((0, 1, 2, 3, 4), (0, 1, 2, 3, 5), (0, 1, 2, 6, 7))


def test_a_node_sees_its_ancestors_and_itself():
    mask = merge(ROWS).mask(torch.float32)
    assert mask.shape == (1, 1, 8, 8)
    sees = [[column for column in range(8) if mask[0, 0, node, column] == 0] for node in range(8)]
    assert sees == [
        [0],
        [0, 1],
        [0, 1, 2],
        [0, 1, 2, 3],
        [0, 1, 2, 3, 4],
        [0, 1, 2, 3, 5],
        [0, 1, 2, 6],
        [0, 1, 2, 6, 7],
    ]
    assert set(mask.unique().tolist()) == {0.0, torch.finfo(torch.float32).min}


def test_equal_rows_and_beginnings_of_rows_add_no_nodes():
    trie = merge([(1, 2, 3), (1, 2), (1, 2, 3)])
    assert trie.tokens.tolist() == [1, 2, 3]
    assert trie.paths == ((0, 1, 2), (0, 1), (0, 1, 2))


@given(ANY_ROWS)
def test_every_row_is_a_path_and_every_node_another_prefix(rows):
    trie = merge(rows)
    assert [tuple(trie.tokens[list(path)].tolist()) for path in trie.paths] == rows
    assert len(trie.parents) == len({row[:end] for row in rows for end in range(1, len(row) + 1)})
    assert all(parent < node for node, parent in enumerate(trie.parents))


@given(ANY_ROWS, st.integers(1, 20))
def test_parts_hold_every_row_once_within_the_budget(rows, budget):
    parts = list(cut(rows, budget))
    assert sorted(number for part in parts for number in part) == list(range(len(rows)))
    for part in parts:
        assert len(merge([rows[number] for number in part]).parents) <= budget or len(part) == 1


def test_rows_that_begin_alike_share_a_part():
    rows = [(1, 1, 1, 1), (2, 2, 2, 2), (1, 1, 1, 3), (2, 2, 2, 3)]
    assert list(cut(rows, 5)) == [[0, 2], [1, 3]]
    assert list(cut(rows, 10)) == [[0, 2, 1, 3]]
    assert list(cut([], 10)) == []


def packed(model, rows):
    """[rows] log-probabilities [T - 1] of each next token, from one pass over the trie."""
    trie = merge(rows)
    logits = model(
        input_ids=trie.tokens[None],
        position_ids=trie.depths[None],
        attention_mask=trie.mask(torch.float32),
        use_cache=False,
    ).logits[0]
    before = [torch.tensor(path[:-1]) for path in trie.paths]
    return [_of(logits[nodes], row) for nodes, row in zip(before, rows, strict=True)]


def padded(model, rows):
    """The same from rows padded on the right."""
    width = max(len(row) for row in rows)
    tokens = torch.tensor([list(row) + [0] * (width - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
    logits = model(input_ids=tokens, attention_mask=mask, use_cache=False).logits
    return [_of(logits[number, : len(row) - 1], row) for number, row in enumerate(rows)]


def _of(logits, row):
    return logits.log_softmax(dim=1).gather(1, torch.tensor(row[1:])[:, None])[:, 0]


def gradients(model, logprobs):
    """Of a loss in which every word counts differently."""
    words = torch.cat(logprobs)
    trained = [value for value in model.parameters() if value.requires_grad]
    return torch.autograd.grad((words * torch.linspace(-1.0, 2.0, len(words))).sum() / len(words), trained)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ANY_ROWS)
def test_packed_words_and_gradients_equal_the_padded_ones(any_model, rows):
    model = any_model.model
    ours, theirs = packed(model, rows), padded(model, rows)
    torch.testing.assert_close(torch.cat(ours), torch.cat(theirs), atol=1e-5, rtol=1e-5)
    for one, other in zip(gradients(model, ours), gradients(model, theirs), strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)
