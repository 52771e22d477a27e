import types
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redqueen.players.transformer import attention
from redqueen.players.transformer.attention import NAME, flashes, in_one_order, install, pattern
from redqueen.players.transformer.trie import Run, merge
from redqueen.types import RedQueenError

CPU = torch.device("cpu")
ANY_ROWS = st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=7).map(tuple), min_size=1, max_size=7)
LONG_ROWS = st.lists(st.lists(st.integers(1, 2), min_size=1, max_size=90).map(tuple), min_size=1, max_size=5)
BLOCKS = st.sampled_from([1, 2, 3, 8, 64])


@pytest.fixture
def small_blocks(monkeypatch):
    return lambda size: monkeypatch.setattr(attention, "BLOCK", size)


def sizes_and_keys(found):
    """Of each block, its number of queries and the keys that some query of it looks at."""
    blocks = []
    for part in found.blocks[0]:
        for keys, distances in zip(part.keys, part.distances, strict=True):
            blocks.append((len(distances), sorted(keys[(distances >= 0).any(dim=0)].tolist())))
    return sorted(blocks, key=lambda block: block[1])


def test_the_blocks_of_the_docstring(small_blocks):
    small_blocks(4)
    prompt = (1, 2, 3, 4, 5, 6)
    _, runs = merge([(*prompt, 7, 7), (*prompt, 8, 8), (*prompt, 9, 9)])
    found = pattern(runs, CPU)
    assert sorted(sizes_and_keys(found), key=lambda block: block[1][-1]) == [
        (4, [0, 1, 2, 3]),
        (4, [0, 1, 2, 3, 4, 5, 6, 7]),
        (4, [0, 1, 2, 3, 4, 5, 8, 9, 10, 11]),
    ]


def looked_at(found, count):
    """For each query, how far back lies each key that it sees."""
    blocks, places = found.blocks
    flat = [
        {int(key): int(distance) for key, distance in zip(keys, row, strict=True) if distance >= 0}
        for part in blocks
        for keys, distances in zip(part.keys, part.distances, strict=True)
        for row in distances
    ]
    assert len(places) == count
    # the place of an answer is the place of its query
    asked = torch.cat([part.queries.flatten() for part in blocks])
    assert asked[places].tolist() == list(range(count))
    return [flat[place] for place in places.tolist()]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ANY_ROWS | LONG_ROWS, size=BLOCKS)
def test_a_node_sees_its_ancestors_and_itself(small_blocks, rows, size):
    small_blocks(size)
    trie, runs = merge(rows)
    sees = looked_at(pattern(runs, CPU), len(trie))
    for run in runs:
        for end in range(1, len(run.path) + 1):
            node = int(run.path[end - 1])
            assert sees[node] == {int(key): end - 1 - place for place, key in enumerate(run.path[:end])}


def test_queries_that_are_no_whole_trie_see_their_own_paths(small_blocks):
    # a store asks for the ends of paths whose beginnings it holds, numbered as it likes
    for size in (1, 2, 64):
        small_blocks(size)
        runs = [Run(np.array([3, 5, 9]), 2, 3), Run(np.array([3, 6, 7, 11, 12]), 2, 5), Run(np.array([4]), 0, 1)]
        assert looked_at(pattern(runs, CPU), 5) == [
            {3: 2, 5: 1, 9: 0},
            {3: 2, 6: 1, 7: 0},
            {3: 3, 6: 2, 7: 1, 11: 0},
            {3: 4, 6: 3, 7: 2, 11: 1, 12: 0},
            {4: 0},
        ]


def plain(query, keys, values, scale, window, runs):
    """Masked attention over everything, a key head copied for each query head that shares it."""
    shared = query.shape[1] // keys.shape[1]
    keys, values = keys.repeat_interleave(shared, dim=1), values.repeat_interleave(shared, dim=1)
    mask = torch.full((len(query), len(keys)), -torch.inf, dtype=query.dtype)
    for run in runs:
        for end in range(1, len(run.path) + 1):
            first = 0 if window is None else max(0, end - window)
            mask[run.path[end - 1], run.path[first:end]] = 0.0
    scores = torch.einsum("qhd,khd->hqk", query, keys) * scale + mask
    return torch.einsum("hqk,khd->qhd", scores.softmax(dim=2), values)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=ANY_ROWS | LONG_ROWS,
    size=BLOCKS,
    heads=st.sampled_from([(1, 1), (4, 4), (4, 2), (6, 2), (3, 1)]),
    window=st.sampled_from([None, 1, 2, 5]),
)
def test_attention_over_blocks_is_attention_under_a_mask(small_blocks, rows, size, heads, window):
    small_blocks(size)
    trie, runs = merge(rows)
    generator = torch.Generator().manual_seed(len(trie))
    tensors = [
        torch.randn(len(trie), count, 3, dtype=torch.float64, generator=generator).requires_grad_()
        for count in (heads[0], heads[1], heads[1])
    ]
    speaks = torch.randn(len(trie), heads[0], 3, dtype=torch.float64, generator=generator)
    found = pattern(runs, CPU)
    ours, theirs = found.attend(*tensors, 0.7, window), plain(*tensors, 0.7, window, runs)
    torch.testing.assert_close(ours, theirs, atol=1e-12, rtol=1e-12)
    gradients = [torch.autograd.grad((answer * speaks).sum(), tensors) for answer in (ours, theirs)]
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, atol=1e-12, rtol=1e-12)


def test_one_pattern_serves_layers_with_a_window_and_without():
    _, runs = merge([(1, 2, 3, 4, 5), (1, 2, 6)])
    query, keys, values = torch.randn(3, 6, 2, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found = pattern(runs, CPU)
    for window in (None, 2, None, 3, 2):
        torch.testing.assert_close(
            found.attend(query, keys, values, 0.5, window),
            plain(query, keys, values, 0.5, window, runs),
            atol=1e-12,
            rtol=1e-12,
        )


@pytest.mark.parametrize("family", ["llama", "qwen3", "gpt2", "mistral"])
def test_ordinary_use_of_the_model_goes_on(made, family):
    ours, theirs = made(family).model, made(family).model
    install(ours)
    assert (ours.config._attn_implementation, theirs.config._attn_implementation) == (NAME, "sdpa")
    tokens = torch.randint(1, 90, (3, 12), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(tokens)
    mask[0, 9:] = 0  # padded on the right
    mask[1, :4] = 0  # and on the left
    with torch.no_grad():
        one, other = (model(input_ids=tokens, attention_mask=mask).logits for model in (ours, theirs))
    assert torch.equal(one[mask == 1], other[mask == 1])
    said = [
        model.generate(
            input_ids=tokens[1:], attention_mask=mask[1:], do_sample=False, max_new_tokens=6, eos_token_id=None
        ).tolist()
        for model in (ours, theirs)
    ]
    assert said[0] == said[1]


def test_a_model_that_chooses_its_attention_itself_is_refused():
    from transformers import BloomConfig, BloomForCausalLM

    model = BloomForCausalLM(BloomConfig(vocab_size=50, hidden_size=16, n_layer=1, n_head=2))
    with pytest.raises(RedQueenError, match="BloomForCausalLM does not let its attention be chosen") as error:
        install(model)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("layers", "named"), [(["full_attention", "conv"], "the kind conv:"), (["conv", "conv"], "the kind conv:")]
)
def test_a_model_whose_tokens_meet_outside_its_attention_is_refused(layers, named):
    from transformers import Lfm2Config, Lfm2ForCausalLM

    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2, "num_key_value_heads": 2}
    model = Lfm2ForCausalLM(Lfm2Config(vocab_size=50, num_hidden_layers=2, layer_types=layers, **sizes))
    with pytest.raises(RedQueenError, match=named):
        install(model)


@pytest.mark.parametrize("name", ["softcap", "s_aux", "position_bias"])
def test_attention_that_is_more_than_products_and_a_softmax_is_refused(name):
    layer = types.SimpleNamespace(layer_idx=0)
    states = torch.zeros(1, 2, 3, 4)
    with pytest.raises(RedQueenError, match=f"has a {name}, which is not supported here$") as error:
        attention._attention(layer, states, states, states, None, attend=never, **{name: 30.0})
    assert "\n" not in str(error.value)


def never(*_):
    raise AssertionError("asked all the same")


def test_a_layer_hands_on_heads_scale_and_window():
    layer = types.SimpleNamespace(layer_idx=3)
    query, key, value = torch.randn(1, 4, 5, 8), torch.randn(1, 2, 5, 8), torch.randn(1, 2, 5, 8)
    seen = []

    def attend(number, asked, keys, values, scale, window):
        seen.append((number, scale, window))
        assert torch.equal(asked[1, 3], query[0, 3, 1])
        assert torch.equal(keys[1, 0], key[0, 0, 1])
        assert torch.equal(values[4, 1], value[0, 1, 4])
        return asked * 2.0

    answer, weights = attention._attention(layer, query, key, value, None, attend=attend)
    assert weights is None
    assert torch.equal(answer, 2.0 * query.transpose(1, 2))
    attention._attention(layer, query, key, value, None, scaling=0.3, attend=attend, sliding_window=7, softcap=None)
    assert seen == [(3, pytest.approx(8**-0.5), None), (3, 0.3, 7)]


def by_hand(query, keys, values, lines, scale, window):
    """What flash attention computes of rows of different lengths, run by run."""
    found = []
    for (start, end), (first, last) in zip(
        pairwise(lines.queries.tolist()), pairwise(lines.keys.tolist()), strict=True
    ):
        count, length = end - start, last - first
        back = torch.arange(length - count, length)[:, None] - torch.arange(length)
        sees = (back >= 0) & (back < (window or length))
        asked = query[start:end].transpose(0, 1)
        told, said = (each[first:last].transpose(0, 1).repeat_interleave(2, dim=0) for each in (keys, values))
        scores = (asked @ told.transpose(1, 2) * scale).masked_fill(~sees, -torch.inf)
        found.append((scores.softmax(dim=2) @ said).transpose(0, 1))
    assert lines.most_queries == lines.queries.diff().max() and lines.most_keys == lines.keys.diff().max()
    return torch.cat(found)


@pytest.mark.parametrize("window", [None, 3])
def test_runs_in_lines_look_at_what_they_look_at_in_blocks(window):
    torch.manual_seed(0)
    rows = [tuple(range(n, n + 90)) for n in (1, 1, 5)] + [(*range(1, 60), *range(200, 300)), (1, 2, 3), (7,)]
    trie, runs = merge(rows)
    found = pattern(runs, CPU)
    query, keys, values = (torch.randn(len(trie), heads, 8) for heads in (4, 2, 2))
    lines = found.lines
    expected = found.attend(query, keys, values, 0.3, window)
    read = (each.index_select(0, lines.paths) for each in (keys, values))
    torch.testing.assert_close(by_hand(query, *read, lines, 0.3, window), expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("repeatable", [True, False])
def test_an_attention_is_strictly_repeatable_in_its_own_backward_pass_alone(repeatable):
    strict = []

    class Watched(torch.autograd.Function):
        @staticmethod
        def forward(_, given):
            return given * 2.0

        @staticmethod
        def backward(_, slope):
            enabled = torch.are_deterministic_algorithms_enabled()
            strict.append(enabled and not torch.is_deterministic_algorithms_warn_only_enabled())
            return slope * 2.0

    given = torch.ones(3, requires_grad=True)
    torch.use_deterministic_algorithms(repeatable, warn_only=True)
    try:
        before = Watched.apply(given)
        Watched.apply(in_one_order(Watched.apply(before))).sum().backward()
        assert torch.are_deterministic_algorithms_enabled() == repeatable
        assert torch.is_deterministic_algorithms_warn_only_enabled() == repeatable or not repeatable
    finally:
        torch.use_deterministic_algorithms(False)
    assert strict == [False, repeatable, False]
    assert given.grad.tolist() == [8.0] * 3


@pytest.mark.parametrize(
    ("dtype", "width", "built", "capability", "expected"),
    [
        (torch.bfloat16, 128, True, (9, 0), True),
        (torch.bfloat16, 128, True, (8, 0), True),
        (torch.float32, 128, True, (9, 0), False),
        (torch.bfloat16, 100, True, (9, 0), False),
        (torch.bfloat16, 512, True, (9, 0), False),
        (torch.bfloat16, 128, False, (9, 0), False),
        (torch.bfloat16, 128, True, (7, 5), False),  # a T4
    ],
)
def test_flash_attention_is_left_to_gpus_that_have_it(monkeypatch, dtype, width, built, capability, expected):
    monkeypatch.setattr(torch.backends.cuda, "is_flash_attention_available", lambda: built)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    assert flashes.__wrapped__(dtype, width, torch.device("cuda:0")) is expected
