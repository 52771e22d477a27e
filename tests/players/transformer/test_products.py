import pytest
import torch
from torch import nn
from torch.nn.functional import linear

from redqueen.players.transformer import layers, products, sampling
from redqueen.players.transformer.forward import Forward
from redqueen.players.transformer.key_values import KeyValueStore
from redqueen.players.transformer.products import FEW, Products, mixed
from redqueen.players.transformer.sampling import Manner, attended, attended_step_by_step, joined, sample

PROMPTS = [(1, 2, 3, 4, 5), (7,), (1, 2, 3, 4, 5), (9, 8)]


def some(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_packed_weight_gives_the_plain_product_for_any_number_of_rows(dtype):
    weight = some(48, 32).to(dtype)
    product = products.packed(weight)
    if product is None:
        pytest.skip("this machine packs no weights of this precision")
    for count in (1, FEW, FEW + 1, 7, 33, 200):
        given = some(count, 32, seed=count).to(dtype)
        torch.testing.assert_close(product(given), linear(given, weight))


@pytest.fixture
def held():
    """A module with a bias, what computes it, and whether the last product was of its packed weight."""
    module, found = nn.Linear(32, 48), Products()
    with torch.no_grad():
        module.weight.copy_(some(48, 32))
        found.pack([(module,)])

    def packed_product():
        with torch.no_grad():
            given = some(5, 32, seed=1)
            torch.testing.assert_close(found(module, given), linear(given, module.weight, module.bias))
            before, module.forward = module.forward, lambda given: torch.full((len(given), 48), torch.nan)
            try:
                return not found(module, given).isnan().any()
            finally:
                module.forward = before

    if not packed_product():
        pytest.skip("this machine packs no weights")
    return module, found, packed_product


def test_a_weight_that_changed_is_not_read_as_it_was(held):
    module, found, packed_product = held
    with torch.no_grad():
        module.weight.mul_(2.0)
    assert not packed_product()
    found.pack([(module,)])
    assert packed_product()


def test_the_weights_of_a_frozen_copy_are_not_taken_for_the_learners(held):
    module, found, _ = held
    own = {"weight": some(48, 32, seed=2)}
    given = some(5, 32, seed=1)
    with torch.no_grad():
        answer = torch.func.functional_call(Wearer(module, found), {"module.weight": own["weight"]}, (given,))
    torch.testing.assert_close(answer, linear(given, own["weight"], module.bias))


class Wearer(nn.Module):
    def __init__(self, module, product):
        super().__init__()
        self.module, self.product = module, product

    def forward(self, given):
        return self.product(self.module, given)


def test_gradients_and_few_rows_are_computed_by_the_module(held):
    module, found, _ = held
    given = some(5, 32, seed=1).requires_grad_()
    found(module, given).sum().backward()
    assert module.weight.grad is not None
    with torch.no_grad():
        module.forward = lambda given: torch.zeros(len(given), 48)
        assert not found(module, some(FEW, 32)).any()


def test_even_one_row_of_bfloat16_takes_the_packed_weight():
    module, found = nn.Linear(32, 48).bfloat16(), Products()
    given = some(1, 32).bfloat16()
    with torch.no_grad():
        expected = module(given)
        found.pack([(module,)])
        if not found._packed:
            pytest.skip("this machine packs no weights of bfloat16")
        module.forward = lambda given: torch.full((len(given), 48), torch.nan)
        torch.testing.assert_close(found(module, given), expected, atol=2e-3, rtol=0.016)


def test_what_was_unpacked_is_gone(held):
    _, found, packed_product = held
    found.unpack()
    assert not packed_product()


def test_more_weights_than_the_limit_are_not_packed(held, monkeypatch):
    module, _, _ = held
    monkeypatch.setattr(products, "MOST", module.weight.nbytes - 1)
    found = Products()
    found.pack([(module,)])
    assert not found._packed


@pytest.mark.parametrize("rank", [0, 4])
@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3", "mistral"])
def test_replies_are_the_same_with_packed_weights(made, monkeypatch, family, rank):
    model = made(family, rank=rank).model
    said = {}
    for patience in (1, 10**9):
        monkeypatch.setattr(sampling, "PATIENCE", patience)
        forward = Forward(model)
        said[patience] = sample(forward, KeyValueStore(forward, 1000), PROMPTS, range(4), Manner(frozenset(), 12, 1.0))
        groups = {len(group) for group in forward._products._packed}
        assert groups == ({1, 2, 3} if patience == 1 else set())  # queries, keys and values; gates; the others
    for one, other in zip(*said.values(), strict=True):
        assert one.tokens == other.tokens
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-5)


def test_layers_that_would_differ_from_the_models_own_are_not_used(made, monkeypatch):
    model = made("llama").model
    assert Forward(model)._short
    right = layers.hidden
    monkeypatch.setattr(layers, "hidden", lambda *given: right(*given) + 1.0)
    assert not Forward(model)._short


@pytest.mark.parametrize("attend", [attended, attended_step_by_step])
def test_attention_to_two_sets_of_keys_is_that_to_both(attend):
    query = some(3, 2, 4, 8)
    keys, values = some(3, 2, 10, 8, seed=1), some(3, 2, 10, 8, seed=2)
    mask = torch.zeros(3, 1, 1, 10)
    mask[1, ..., :6] = mask[2, ..., 8:] = torch.finfo(torch.float32).min  # of one row the first set is out of sight
    whole = ((query * 0.3) @ keys.transpose(2, 3) + mask).softmax(dim=3) @ values
    parts = (slice(0, 6), slice(6, 10))
    one, other = (attend(query, keys[:, :, each], values[:, :, each], mask[..., each], 0.3) for each in parts)
    torch.testing.assert_close(joined(one, other), whole)


def test_products_of_mixed_precision_are_near_those_of_float32(made):
    loaded = made("qwen2", rank=4)
    exact = {name: module for name, module in loaded.model.named_modules() if hasattr(module, "lora_A")}
    given = {name: torch.randn(7, module.in_features) for name, module in exact.items()}
    expected = {name: module(given[name]).detach() for name, module in exact.items()}
    assert all(torch.equal(mixed(module, given[name]), expected[name]) for name, module in exact.items())  # of float32
    for module in exact.values():
        module.base_layer.to(torch.bfloat16)
    for name, module in exact.items():
        found = mixed(module, given[name].bfloat16())
        assert found.dtype == torch.bfloat16
        torch.testing.assert_close(found.float(), expected[name], atol=0.05, rtol=0.05)
        found.float().square().sum().backward()
        adapter = next(iter(module.lora_A))
        for part in (module.lora_A, module.lora_B):
            gradient = part[adapter].weight.grad
            assert gradient.dtype == torch.float32 and gradient.abs().max() > 0.0
