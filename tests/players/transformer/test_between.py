import math
import os
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
import torch

from redqueen.players.transformer import sampling
from redqueen.players.transformer.compiled import between, library
from redqueen.players.transformer.forward import Forward
from redqueen.players.transformer.key_values import KeyValueStore
from redqueen.players.transformer.sampling import Manner, sample

CLOSE = {torch.float32: 2e-6, torch.bfloat16: 1e-2}  # of the largest number
BOTH = pytest.mark.parametrize("dtype", list(CLOSE), ids=str)


def some(*shape, seed=0, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


@pytest.fixture
def available():
    if library.missing():
        pytest.skip(library.missing())


@pytest.fixture
def compiled(available):
    with library.stepping():
        yield


def agree(found, truth, dtype):
    truth = np.asarray(truth)
    assert found.dtype == dtype
    assert np.abs(found.double().numpy() - truth).max() <= CLOSE[dtype] * (1.0 + np.abs(truth).max())


def wide(tensor):
    return tensor.double().numpy()


@BOTH
@pytest.mark.parametrize("shape", [(3, 7), (40, 576), (5, 3, 16)])
@torch.inference_mode()
def test_a_norm(compiled, dtype, shape):
    size = math.prod(shape[1:])  # heads of a row stand side by side, rows do not
    given, weight = some(shape[0], size + 9, dtype=dtype)[:, :size].view(shape), some(shape[-1], seed=1, dtype=dtype)
    truth = wide(given) / np.sqrt((wide(given) ** 2).mean(axis=-1, keepdims=True) + 0.1) * wide(weight)
    agree(between.normed(given, weight, 0.1), truth, dtype)


@BOTH
@pytest.mark.parametrize("shape", [(1, 1, 2), (33, 9, 64)])
@torch.inference_mode()
def test_a_rotation(compiled, dtype, shape):
    rows, _, width = shape
    heads, angles = some(*shape, dtype=dtype), np.linspace(0.0, 6.0, rows * width // 2).reshape(rows, 1, width // 2)
    cosines = np.concatenate([np.cos(angles), np.cos(angles)], axis=2)
    sines = np.concatenate([-np.sin(angles), np.sin(angles)], axis=2)
    first, second = np.split(wide(heads), 2, axis=2)
    turned = (first + 1j * second) * np.exp(1j * angles)  # points of the plane
    found = between.rotated(heads, torch.tensor(cosines).to(dtype), torch.tensor(sines).to(dtype))
    agree(found, np.concatenate([turned.real, turned.imag], axis=2), dtype)


@BOTH
@pytest.mark.parametrize("shape", [(1, 5), (70, 300)])
@torch.inference_mode()
def test_a_gate(compiled, dtype, shape):
    both = 30.0 * some(shape[0], 2 * shape[1], dtype=dtype)
    gate, up = both.chunk(2, dim=1)
    with np.errstate(over="ignore"):
        truth = wide(gate) / (1.0 + np.exp(-wide(gate))) * wide(up)
    agree(between.gated(gate, up), truth, dtype)


@BOTH
@pytest.mark.parametrize("width, heads", [(8, 1), (64, 3), (72, 5), (128, 4), (256, 9)])
@pytest.mark.parametrize("window", [None, 4, 150])
@pytest.mark.parametrize("shared", [False, True])
@torch.inference_mode()
def test_attention(compiled, dtype, width, heads, window, shared):
    rows, key_heads, room, length = 5, 2, 400, 300
    start = 0 if shared else 290
    lengths = torch.tensor([290, 7, 1, 130, 256])
    query = some(rows, key_heads, heads, width, dtype=dtype)
    both = some(rows, 2 * key_heads * width, seed=1, dtype=dtype)
    key, value = (each.view(rows, key_heads, width) for each in both.chunk(2, dim=1))
    keys, values = (some(rows, key_heads, room, width, seed=seed, dtype=dtype) for seed in (2, 3))
    kept = keys.clone(), values.clone()
    keys[:, :, length - 1], values[:, :, length - 1] = key, value
    groups = torch.tensor([1, 0, 1, 2, 2])
    paths = tuple(some(3, key_heads, 290, width, seed=seed, dtype=dtype) for seed in (4, 5)) if shared else None
    answer, sums = between.attended(query, (key, value), kept, paths, groups, lengths, start, length, window, 0.3)
    assert torch.equal(kept[0], keys)
    assert torch.equal(kept[1], values)
    truth, logs = np.zeros(query.shape), np.zeros((rows, key_heads, heads, 1))
    for row in range(rows):
        before = int(lengths[row])
        if paths is None:
            seen = [wide(each[row][:, [*range(before), *range(start, length)]]) for each in (keys, values)]
        else:
            of_group = [wide(each[groups[row]][:, :before]) for each in paths]
            own = [wide(each[row][:, :length]) for each in (keys, values)]
            seen = [np.concatenate(pair, axis=1) for pair in zip(of_group, own, strict=True)]
        newest = slice(-window if window else None, None)  # places stand in the order of their depths
        scores = 0.3 * np.einsum("hgd,hpd->hgp", wide(query[row]), seen[0][:, newest])
        logs[row, ..., 0] = np.log(np.exp(scores).sum(axis=2))
        truth[row] = np.einsum("hgp,hpd->hgd", np.exp(scores - logs[row]), seen[1][:, newest])
    agree(answer, truth, dtype)
    agree(sums, logs, torch.float32)


@BOTH
@torch.inference_mode()
def test_a_row_is_the_same_in_company_and_with_any_number_of_threads(compiled, dtype):
    query, new = some(40, 3, 3, 64, dtype=dtype), some(40, 3, 64, seed=1, dtype=dtype)
    kept = some(40, 3, 96, 64, seed=2, dtype=dtype)
    weight, lengths = some(64, seed=3, dtype=dtype), torch.arange(40) + 1

    def found(rows):
        keys, values = kept[rows].clone(), kept[rows].clone()
        own, groups = (keys, values), torch.zeros(len(keys), dtype=torch.int64)
        pair = between.attended(
            query[rows], (new[rows], new[rows]), own, None, groups, lengths[rows], 41, 60, None, 0.1
        )
        return [*pair, between.normed(new[rows], weight, 1e-5)]

    together = found(slice(None))
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        alone = [torch.cat(each) for each in zip(*(found(slice(row, row + 1)) for row in range(40)), strict=True)]
    finally:
        torch.set_num_threads(before)
    for one, other in zip(together, alone, strict=True):
        assert torch.equal(one, other)


@torch.inference_mode()
def test_what_is_no_number_stays_none(compiled):
    nan = some(2, 8).index_fill(1, torch.tensor([3]), math.nan)
    assert between.normed(nan, torch.ones(8), 0.0).isnan().all()
    assert between.gated(nan, torch.ones(2, 8))[:, 3].isnan().all()


@torch.inference_mode()
def test_torch_computes_what_the_passes_are_not_made_for(compiled):
    given, weight = some(4, 8), torch.ones(8)
    assert between.normed(given, weight, 0.0) is not None
    assert between.normed(given.double(), weight.double(), 0.0) is None
    assert between.normed(given, weight.bfloat16(), 0.0) is None
    assert between.normed(given.t().contiguous().t(), weight, 0.0) is None
    assert between.normed(given.to("meta"), weight.to("meta"), 0.0) is None
    for width, heads in ((12, 1), (264, 1), (8, 17)):
        kept = torch.zeros(1, 1, 2, width)
        new = kept[:, :, 0]
        query = torch.zeros(1, 1, heads, width)
        none = torch.tensor([0])
        assert between.attended(query, (new, new), (kept, kept), None, none, none, 0, 1, None, 1.0) is None


def plain_norm(given, weight):
    return given / (given.square().mean(dim=-1, keepdim=True) + 0.1).sqrt() * weight


def plain_turn(heads, cosines, sines):
    return heads * cosines + heads.roll(heads.shape[-1] // 2, dims=-1) * sines


def plain_gate(gate, up):
    return gate * gate.sigmoid() * up


def gradients(function, given, slope):
    """Of the sum of what is found, weighed by `slope`, with respect to each that is given."""
    leaves = [each.detach().requires_grad_() for each in given]
    (function(*leaves) * slope).sum().backward()
    return [leaf.grad for leaf in leaves]


@BOTH
@pytest.mark.parametrize("shape", [(3, 7), (150, 576), (50, 3, 16)])
def test_the_gradient_of_a_norm(available, dtype, shape):
    size = math.prod(shape[1:])
    given, weight = some(shape[0], size + 9, dtype=dtype)[:, :size].view(shape), some(shape[-1], seed=1, dtype=dtype)
    slope = some(*shape, seed=2, dtype=dtype)
    truth = gradients(plain_norm, [given.double(), weight.double()], slope.double())
    for one, true in zip(gradients(partial(between.normed, epsilon=0.1), [given, weight], slope), truth, strict=True):
        agree(one, true, dtype)
    frozen = given.detach().requires_grad_()
    found = between.normed(frozen, weight, 0.1)  # of a weight that does not learn
    assert torch.equal(torch.autograd.grad(found, frozen, slope)[0], gradients(*of_norm(given, weight, slope))[0])


def of_norm(given, weight, slope):
    return partial(between.normed, epsilon=0.1), [given, weight], slope


@BOTH
def test_the_gradient_of_a_rotation(available, dtype):
    heads, slope = some(33, 9, 64, dtype=dtype), some(33, 9, 64, seed=1, dtype=dtype)
    angles = torch.linspace(0.0, 6.0, 33 * 32).reshape(33, 1, 32)
    cosines = torch.cat([angles.cos(), angles.cos()], dim=2).to(dtype)
    sines = torch.cat([-angles.sin(), angles.sin()], dim=2).to(dtype)
    (found,) = gradients(lambda each: between.rotated(each, cosines, sines), [heads], slope)
    wide_angles = cosines.double(), sines.double()
    (truth,) = gradients(lambda each: plain_turn(each, *wide_angles), [heads.double()], slope.double())
    agree(found, truth, dtype)


@BOTH
def test_the_gradient_of_a_gate(available, dtype):
    gate, up = (10.0 * some(70, 600, dtype=dtype)).chunk(2, dim=1)
    slope = some(70, 300, seed=1, dtype=dtype)
    truth = gradients(plain_gate, [gate.double(), up.double()], slope.double())
    with torch.enable_grad():
        leaf = torch.cat([gate, up], dim=1).requires_grad_()  # rows that are not side by side
        (between.gated(*leaf.chunk(2, dim=1)) * slope).sum().backward()
    agree(leaf.grad, torch.cat(truth, dim=1), dtype)


def test_a_gradient_is_the_same_with_any_number_of_threads(available):
    given, weight, slope = some(900, 64), some(64, seed=1), some(900, 64, seed=2)
    before = torch.get_num_threads()
    several = gradients(*of_norm(given, weight, slope))
    torch.set_num_threads(1)
    try:
        one = gradients(*of_norm(given, weight, slope))
    finally:
        torch.set_num_threads(before)
    assert all(map(torch.equal, several, one))


def test_what_is_found_is_the_same_with_and_without_a_gradient(available):
    given, weight = some(40, 64), some(64, seed=1)
    with torch.no_grad():
        without = between.normed(given, weight, 0.1), between.gated(given, -given)
    assert torch.equal(between.normed(given.requires_grad_(), weight, 0.1), without[0])
    assert torch.equal(between.gated(given, -given), without[1])


@torch.inference_mode()
def test_only_decoding_steps_attend_so(available):
    kept = torch.zeros(1, 1, 2, 8)
    new, none = torch.zeros(1, 1, 8), torch.tensor([0])
    given = torch.zeros(1, 1, 1, 8), (new, new), (kept, kept), None, none, none, 0, 1, None, 1.0
    assert between.attended(*given) is None
    with library.stepping():
        assert between.attended(*given) is not None


@pytest.mark.parametrize("window", [None, 3])
def test_texts_are_those_of_torchs_operations(available, window, monkeypatch):
    from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM

    sizes = {"vocab_size": 80, "hidden_size": 64, "intermediate_size": 40, "num_hidden_layers": 3}
    heads = {"num_attention_heads": 8, "num_key_value_heads": 2, "initializer_range": 0.3}
    torch.manual_seed(0)
    if window is None:
        model = LlamaForCausalLM(LlamaConfig(**sizes, **heads)).eval()
    else:
        model = MistralForCausalLM(MistralConfig(**sizes, **heads, sliding_window=window)).eval()

    def texts(rows):
        forward = Forward(model)
        with torch.inference_mode():
            found = sample(
                forward, KeyValueStore(forward, 10_000), rows, range(len(rows)), Manner(frozenset(), 40, 1.0)
            )
        return [each.tokens for each in found], np.array([each.logprobs for each in found])

    own, shared = [(1, 2, 3, 4, 5), (7,), (9, 8)], [(1, 2, 3)] * 3 + [(4, 5)]
    for rows, short in ((own, 256), (shared, 256), (shared, 2)):  # prompts of their own, shared ones, shared long ones
        with monkeypatch.context() as patch:
            patch.setattr(sampling, "SHORT", short)
            ours, called = between.attended, []

            def counted(*given, ours=ours, called=called):
                called.append(given)
                return ours(*given)

            patch.setattr(between, "attended", counted)
            tokens, logprobs = texts(rows)
            assert called
            patch.setattr(between, "_passes", lambda dtype: None)
            by_torch, theirs = texts(rows)
        assert tokens == by_torch
        np.testing.assert_allclose(logprobs, theirs, atol=1e-4)


@pytest.fixture
def compiling(monkeypatch, tmp_path):
    """Compiles anew, by a program of the user's."""

    def anew(compiler):
        monkeypatch.setenv("REDQUEEN_CACHE", str(tmp_path / "cache"))
        monkeypatch.setenv("CXX", str(compiler))
        return library.library.__wrapped__()

    return anew


def script(path, *lines):
    path.write_text("\n".join(["#!/bin/sh", *lines]))
    path.chmod(0o755)
    return path


def test_without_a_compiler_it_says_so(compiling):
    assert compiling("no-such-compiler") == "there is no compiler no-such-compiler"


def test_a_compiler_that_fails_is_quoted(compiling, tmp_path):
    failing = script(tmp_path / "failing", '[ "$1" = --version ] || { echo "unknown option -fopenmp" >&2; exit 1; }')
    assert compiling(failing) == f"{failing} failed: unknown option -fopenmp"
    assert not list((tmp_path / "cache" / "compiled").iterdir())


def test_a_compiler_that_writes_nothing_of_use_is_refused(compiling, tmp_path):
    useless = script(tmp_path / "useless", 'while [ $# -gt 1 ]; do [ "$1" = -o ] && echo none > "$2"; shift; done')
    assert str(compiling(useless)).startswith(f"{useless} was of no use: ")


def test_it_is_compiled_once(available, compiling, tmp_path):
    counting = script(tmp_path / "counting", f'echo "$1" >> {tmp_path / "calls"}', 'exec g++ "$@"')
    for _ in range(2):
        assert not isinstance(compiling(counting), str)
    assert (tmp_path / "calls").read_text().split() == ["--version", "-O3", "--version"]


def test_what_others_can_write_is_not_loaded(available, compiling, tmp_path):
    assert not isinstance(compiling("g++"), str)
    folder = tmp_path / "cache" / "compiled"
    (kept,) = folder.iterdir()
    for path in (kept, folder):
        before = path.stat().st_mode
        path.chmod(0o777)
        assert compiling("g++") == f"{kept} can be written by others"
        path.chmod(before)
    assert not isinstance(compiling("g++"), str)


def test_a_policy_says_that_sampling_is_slow_without(tmp_path):
    code = (
        "import warnings\nfrom redqueen.players.transformer.compiled import library\n"
        "library.library = lambda: 'there is no compiler g++'\n"
        "from redqueen.settings.learner import Learner\n"
        "with warnings.catch_warnings(record=True) as said:\n"
        "    warnings.simplefilter('always')\n"
        "    Learner(model='smollm2-135m').build_model(0)\n"
        "print(*(each.message for each in said), sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=True)
    assert "there is no compiler g++: sampling takes torch's own operations" in done.stdout
