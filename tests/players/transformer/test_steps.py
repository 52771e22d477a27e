"""Whole layers of a decoding step in one compiled call, against the model's own modules."""

import os
import platform
import subprocess
import sys

import numpy as np
import pytest
import torch

from redqueen.players.transformer import layers, sampling
from redqueen.players.transformer.compiled import library, packing, steps
from redqueen.players.transformer.forward import Forward
from redqueen.players.transformer.key_values import KeyValueStore
from redqueen.players.transformer.sampling import Choir, Manner, Saying, sample

pytestmark = pytest.mark.skipif(bool(library.missing()), reason=library.missing())

SIZES = {"vocab_size": 80, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3}
HEADS = {"num_attention_heads": 8, "num_key_value_heads": 4, "initializer_range": 0.2}
PROMPTS = [(1, 2, 3, 4, 5), (7,), (1, 2, 3, 4, 5), (9, 8)]
CLOSE = {torch.float32: 2e-5, torch.bfloat16: 0.1}
BOTH = pytest.mark.parametrize("dtype", list(CLOSE), ids=str)


def some(*shape, seed=0, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def functions_or_skip(dtype):
    if packing.functions(dtype) is None:
        pytest.skip(f"this processor has no products of {dtype} of its own")


@BOTH
@pytest.mark.parametrize("shape", [(32, 32), (48, 70), (7, 5), (96, 1000)])
def test_a_product(dtype, shape):
    functions_or_skip(dtype)
    weight = (some(*shape, seed=1) / shape[1] ** 0.5).to(dtype)
    product = packing.product(weight)
    for count in (1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 47, 100):
        given = some(count, shape[1] + 3, seed=count, dtype=dtype)[:, : shape[1]]  # whose rows do not touch
        truth = given.double().numpy() @ weight.double().numpy().T
        np.testing.assert_allclose(
            product(given).double().numpy(), truth, rtol=CLOSE[dtype] / 10, atol=CLOSE[dtype] / 10
        )


@BOTH
def test_a_row_of_a_product_is_the_same_in_company_and_with_any_number_of_threads(dtype):
    functions_or_skip(dtype)
    product, given = packing.product(some(200, 300, dtype=dtype)), some(77, 300, seed=1, dtype=dtype)
    together, before = product(given), torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        alone = torch.cat([product(given[row : row + 1]) for row in range(len(given))])
    finally:
        torch.set_num_threads(before)
    assert torch.equal(together, alone)


def test_a_product_with_what_is_no_number_is_none():
    product = packing.product(some(40, 40))
    given = some(3, 40).index_fill(0, torch.tensor([1]), torch.nan)
    assert product(given).isnan().any(dim=1).tolist() == [False, True, False]


def built(family="llama", rank=0, dtype=torch.float32, **changes):
    """A model with random weights, its norms and biases too; with a rank, under LoRA that is not the identity."""
    import transformers

    from redqueen.players.transformer.loading import LoadedModel, add_lora, tiny_tokenizer

    of = {"llama": "Llama", "mistral": "Mistral", "qwen2": "Qwen2", "qwen3": "Qwen3"}[family]
    more = {"mistral": {"sliding_window": 8}, "qwen3": {"head_dim": 16}}.get(family, {})
    torch.manual_seed(0)
    model = getattr(transformers, f"{of}ForCausalLM")(
        getattr(transformers, f"{of}Config")(**{**SIZES, **HEADS, **more, **changes})
    ).eval()
    with torch.no_grad():
        for value in model.parameters():
            if value.dim() == 1:
                value += 0.3 * torch.randn_like(value)
    if rank:
        model = add_lora(LoadedModel(family, model, tiny_tokenizer()), rank, seed=0).model.eval()
        with torch.no_grad():
            for value in model.parameters():
                if value.requires_grad:
                    value += 0.1 * torch.randn_like(value)
    return model.to(dtype)


def replies(forward, count=14):
    return sample(forward, KeyValueStore(forward, 1000), PROMPTS, range(4), Manner(frozenset(), count, 1.0))


@pytest.fixture
def by_steps(monkeypatch):
    """How many steps were computed by compiled calls alone."""
    found, right = [], steps.Steps.hidden

    def hidden(self, *given):
        states = right(self, *given)
        found.append(states is not None)
        return states

    monkeypatch.setattr(steps.Steps, "hidden", hidden)
    monkeypatch.setattr(sampling, "PATIENCE", 1)
    return found


def by_modules(forward, monkeypatch, run):
    """What the layers give by torch's operations."""
    with monkeypatch.context() as patch:
        patch.setattr(sampling, "PATIENCE", 10**9)
        patch.setattr("redqueen.players.transformer.compiled.between._passes", lambda dtype: None)
        forward.unpack()
        return run(forward)


FAMILIES = pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3", "mistral"])
RANKS = pytest.mark.parametrize("rank", [0, 4, 40])


@RANKS
@FAMILIES
def test_replies_are_those_of_the_models_modules(by_steps, monkeypatch, family, rank):
    forward = Forward(built(family, rank))
    found = replies(forward)
    assert by_steps == [True] * 13
    for one, other in zip(found, by_modules(forward, monkeypatch, replies), strict=True):
        assert one.tokens == other.tokens
        np.testing.assert_allclose(one.logprobs, other.logprobs, atol=CLOSE[torch.float32])


def after_one_step(forward):
    """[4, H] the states after one step with given tokens."""
    sayings = [(prompt, number, Manner(frozenset(), 9, 1.0)) for number, prompt in enumerate(PROMPTS)]
    with torch.inference_mode():
        choir = Choir(forward, KeyValueStore(forward, 1000), [Saying(*each) for each in sayings])
        if sampling.PATIENCE == 1:
            forward.pack(len(PROMPTS))
        with library.stepping():
            return forward.hidden([11, 12, 13, 14], [len(prompt) for prompt in PROMPTS], choir._looking).double()


def as_near(ours, model, monkeypatch):
    """Asserts that states are about as near to those of float32 as the ones by the model's modules."""
    theirs = by_modules(Forward(model), monkeypatch, after_one_step)
    truth = by_modules(Forward(model.float()), monkeypatch, after_one_step)
    assert float((ours - truth).norm()) <= 1.3 * float((theirs - truth).norm())
    assert float((ours - truth).norm()) < 0.05 * float(truth.norm())


@RANKS
@FAMILIES
def test_bfloat16_is_as_near_to_float32_as_by_the_models_modules(by_steps, monkeypatch, family, rank):
    functions_or_skip(torch.bfloat16)
    model = built(family, rank, torch.bfloat16)
    ours = after_one_step(Forward(model))
    assert by_steps == [True]
    as_near(ours, model, monkeypatch)


@pytest.mark.parametrize("compiled", [True, False])
def test_an_adapter_of_float32_serves_beside_weights_of_bfloat16(by_steps, monkeypatch, compiled):
    """As peft makes them."""
    functions_or_skip(torch.bfloat16)
    if not compiled:
        monkeypatch.setattr("redqueen.players.transformer.forward.packable", lambda decoder: False)
    model = built(rank=4, dtype=torch.bfloat16)
    for name, value in model.named_parameters():
        if "lora" in name:
            value.data = value.data.float() * 1.001
    ours = after_one_step(Forward(model))
    assert by_steps == ([True] if compiled else [])
    as_near(ours, model, monkeypatch)


NARROW = {"num_attention_heads": 16, "num_key_value_heads": 8}  # heads of four numbers, to which torch attends


@pytest.mark.parametrize("changes", [{"mlp_bias": True}, {"attention_bias": True}, NARROW])
def test_biases_are_added_and_narrow_heads_left_to_torch(by_steps, monkeypatch, changes):
    forward = Forward(built("llama", **changes))
    found = replies(forward)
    assert all(by_steps)
    for one, other in zip(found, by_modules(forward, monkeypatch, replies), strict=True):
        assert one.tokens == other.tokens
        np.testing.assert_allclose(one.logprobs, other.logprobs, atol=CLOSE[torch.float32])


def test_weights_that_changed_are_packed_anew(by_steps, monkeypatch):
    model = built("qwen2")
    forward = Forward(model)
    replies(forward)
    for changed in (model.model.layers[1].mlp.up_proj.weight, model.model.layers[2].self_attn.k_proj.bias):
        with torch.no_grad():
            changed.mul_(-1.0)
        replies(forward)  # whose first token is drawn from logits of a head that is not packed yet
        found = replies(forward)
        assert found == replies(forward)
        truth = by_modules(forward, monkeypatch, replies)
        assert [one.tokens for one in found] == [other.tokens for other in truth]


def test_each_policy_samples_with_the_adapter_that_it_wears(by_steps, monkeypatch):
    model = built(rank=4)
    forward = Forward(model)
    own = {name: value for name, value in model.named_parameters() if "lora" in name}
    past = [{name: (times * value).detach() for name, value in own.items()} for times in (0.0, 0.5, 1.5, 2.0, 3.0)]

    def texts(worn):
        return [one.tokens for one in forward.wearing(worn, lambda: replies(forward))]

    found = [texts(worn) for worn in (None, *past, None, *past)]
    assert all(by_steps)
    assert found[: len(past) + 1] == found[len(past) + 1 :]
    truth = [by_modules(forward, monkeypatch, lambda _, worn=worn: texts(worn)) for worn in (None, *past)]
    assert found[: len(past) + 1] == truth
    assert len({str(each) for each in truth}) == len(truth)


def test_an_adapter_that_was_trained_is_read_anew(by_steps, monkeypatch):
    model = built(rank=4)
    forward = Forward(model)
    before = replies(forward)
    with torch.no_grad():
        for name, value in model.named_parameters():
            if "lora_B" in name:
                value.mul_(-3.0)
    found = replies(forward)
    assert all(by_steps)
    assert found != before
    truth = by_modules(forward, monkeypatch, replies)
    assert [one.tokens for one in found] == [other.tokens for other in truth]


def test_an_adapter_may_be_off(by_steps, monkeypatch):
    model = built(rank=4)
    forward = Forward(model)
    on = replies(forward)
    with model.disable_adapter():
        off = replies(forward)
        truth = by_modules(forward, monkeypatch, replies)
    assert all(by_steps)
    assert [one.tokens for one in off] == [other.tokens for other in truth]
    assert off != on
    assert replies(forward) == on


def test_a_reply_is_the_same_alone_and_in_company(by_steps):
    forward = Forward(built(dtype=torch.float32))
    together = replies(forward)
    for number, prompt in enumerate(PROMPTS):
        store = KeyValueStore(forward, 1000)
        (alone,) = sample(forward, store, [prompt], [number], Manner(frozenset(), 14, 1.0))
        assert alone.tokens == together[number].tokens


@pytest.mark.parametrize(
    "changes",
    [
        {"hidden_size": 48, "num_attention_heads": 6, "num_key_value_heads": 2},
        {"intermediate_size": 40},
        {"num_key_value_heads": 2},
    ],
)
def test_sizes_that_are_no_multiples_are_left_to_products(by_steps, changes):
    forward = Forward(built(**changes))
    replies(forward)
    assert not by_steps
    assert forward._products._packed


def test_what_is_no_plain_adapter_is_left_to_its_module():
    from peft import LoraConfig, get_peft_model

    plain = get_peft_model(built(), LoraConfig(r=4, target_modules=["q_proj"]))
    assert steps.packable(plain.get_base_model().get_decoder())
    weighed = get_peft_model(built(), LoraConfig(r=4, target_modules=["q_proj"], use_dora=True))
    assert not steps.packable(weighed.get_base_model().get_decoder())
    plain.add_adapter("second", LoraConfig(r=4, target_modules=["q_proj"]))
    plain.base_model.set_adapter(["default", "second"])
    assert not steps.packable(plain.get_base_model().get_decoder())


def test_more_weights_than_the_limit_are_not_packed(by_steps, monkeypatch):
    monkeypatch.setattr(steps, "MOST", 1000)
    replies(Forward(built()))
    assert not by_steps


def test_a_merged_adapter_is_not_added_twice(by_steps, monkeypatch):
    model = built(rank=4)
    forward = Forward(model)
    before = replies(forward)
    model.merge_adapter()
    merged = replies(forward)
    model.unmerge_adapter()
    assert [one.tokens for one in merged] == [one.tokens for one in before]
    assert by_steps[:13] == [True] * 13
    assert not any(by_steps[13:])


def test_layers_that_are_left_out_add_nothing(by_steps):
    """As a draft does: compiled calls compute all layers."""
    forward = Forward(built())
    with torch.inference_mode():
        choir = Choir(forward, KeyValueStore(forward, 1000), [Saying((1, 2, 3), 0, Manner(frozenset(), 9, 1.0))])
        choir.step()
        assert by_steps == [True]
        with forward.leaving_out(frozenset({(1, layers.GATES)})):
            choir.step()
    assert by_steps == [True]


def test_what_was_unpacked_is_gone(by_steps):
    forward = Forward(built())
    replies(forward)
    forward.unpack()
    assert forward._steps is None
    assert not forward._products._packed


CHECKED = """
import torch
from redqueen.players.transformer.compiled import between, library, packing
for dtype in (torch.float32, torch.bfloat16):
    made = packing.functions(dtype) is not None
    print(dtype, made)
    weight, given = torch.randn(64, 96).to(dtype) / 10, torch.randn(37, 96).to(dtype)
    if made:
        truth = given.double() @ weight.double().T
        assert float((packing.product(weight)(given) - truth).abs().max()) < 0.02
    query, kept = torch.randn(3, 2, 3, 64).to(dtype), torch.randn(3, 2, 9, 64).to(dtype)
    with torch.inference_mode(), library.stepping():
        new, zeros, lengths = kept[:, :, 8].contiguous(), torch.zeros(3, dtype=torch.int64), torch.full((3,), 8)
        answer, _ = between.attended(query, (new, new), (kept, kept), None, zeros, lengths, 8, 9, None, 0.125)
    truth = (query.double() @ kept.double().transpose(2, 3) * 0.125).softmax(dim=-1) @ kept.double()
    assert float((answer - truth).abs().max()) < 0.02
"""


@pytest.mark.slow
@pytest.mark.parametrize("flags", ["-mno-amx-tile -mno-amx-bf16", "-march=skylake-avx512", "-march=haswell"])
def test_other_processors_compute_the_same(tmp_path, flags):
    """Those without tiles, without products of bfloat16, and with narrower vectors, as this one stands in for them."""
    if platform.machine() != "x86_64":
        pytest.skip("these are processors of another kind")
    compiler = tmp_path / "as-if"
    compiler.write_text(f'#!/bin/sh\nexec g++ "$@" {flags}\n')
    compiler.chmod(0o755)
    env = {**os.environ, "CXX": str(compiler), "REDQUEEN_CACHE": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", CHECKED], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    assert "torch.float32 True" in done.stdout
    if "march" in flags:
        assert "torch.bfloat16 False" in done.stdout
