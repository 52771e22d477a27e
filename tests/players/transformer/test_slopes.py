import pytest
import torch

from redqueen.players.transformer import attention
from redqueen.players.transformer.compiled import library
from redqueen.players.transformer.compiled.slopes import attended_back, who_looks
from redqueen.players.transformer.forward import Forward
from redqueen.players.transformer.loading import tiny_model

FLASH = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
FLASH_BACK = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
NEVER = torch.finfo(torch.bfloat16).min


def some(*shape, seed):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).bfloat16()


def case(blocks, heads, rows, places, width):
    query, slope = some(blocks, heads, rows, width, seed=0), some(blocks, heads, rows, width, seed=1)
    keys, values = (some(blocks, places, heads, width, seed=seed).transpose(1, 2) for seed in (2, 3))
    seen = torch.rand(blocks, 1, rows, places, generator=torch.Generator().manual_seed(4)) < 0.6
    seen[..., 0] = True
    return query, keys, values, slope, torch.zeros(seen.shape, dtype=torch.bfloat16).masked_fill(~seen, NEVER)


def by_hand(query, keys, values, slope, bias, scale):
    given = [each.double().requires_grad_() for each in (query, keys, values)]
    scores = (given[0] @ given[1].transpose(2, 3) * scale).masked_fill(bias != 0, -torch.inf)
    return torch.autograd.grad(scores.softmax(dim=-1) @ given[2], given, slope.double())


def apart(found, truth):
    return [float((one.double() - other).norm() / other.norm()) for one, other in zip(found, truth, strict=True)]


@pytest.mark.parametrize(
    "sizes",
    [(13, 3, 192, 242, 64), (2, 2, 7, 5, 64), (2, 1, 33, 300, 128), (1, 2, 70, 777, 96), (1, 1, 2, 32, 32)],
    ids=str,
)
def test_no_further_from_the_truth_than_torch(sizes):
    query, keys, values, slope, bias = case(*sizes)
    scale = 0.7 * sizes[-1] ** -0.5
    answer, sums = FLASH(query, keys, values, attn_mask=bias, scale=scale)
    found = attended_back(slope, query, keys, values, lambda: who_looks(bias), answer, sums, scale)
    if found is None:
        pytest.skip(library.missing() or "this processor has no tiles")
    truth = by_hand(query, keys, values, slope, bias, scale)
    theirs = FLASH_BACK(slope, query, keys, values, answer, sums, 0.0, False, attn_mask=bias, scale=scale)
    assert [each.shape for each in found] == [each.shape for each in truth]
    for mine, other in zip(apart(found, truth), apart(theirs, truth), strict=True):
        assert mine < max(1.1 * other, 0.003)


def test_a_key_that_nobody_sees_has_no_gradient():
    query, keys, values, slope, bias = case(2, 2, 40, 70, 64)
    bias[..., 50] = NEVER
    answer, sums = FLASH(query, keys, values, attn_mask=bias, scale=0.1)
    found = attended_back(slope, query, keys, values, lambda: who_looks(bias), answer, sums, 0.1)
    if found is None:
        pytest.skip(library.missing() or "this processor has no tiles")
    assert not found[1][:, :, 50].any()
    assert not found[2][:, :, 50].any()
    assert found[1][:, :, 49].any()


@pytest.mark.parametrize(("width", "dtype"), [(40, torch.bfloat16), (64, torch.float32)], ids=str)
def test_other_heads_are_left_to_torch(width, dtype):
    query, keys, values, slope, bias = (each.to(dtype) for each in case(1, 1, 4, 4, width))
    answer, sums = FLASH(query, keys, values, attn_mask=bias, scale=0.1)
    assert attended_back(slope, query, keys, values, lambda: who_looks(bias), answer, sums, 0.1) is None


def test_who_looks_at_whom():
    bias = torch.tensor([[[[0.0, NEVER, 0.0], [0.0, 0.0, NEVER]]]])
    seen = who_looks(bias)
    assert seen.shape == (1, 32, 32)
    assert seen[0, :3, :2].tolist() == [[1, 1], [0, 1], [1, 0]]
    assert int(seen.sum()) == 4


def test_a_model_learns_what_it_learns_by_torch(monkeypatch):
    loaded = tiny_model(0, hidden=64, layers=2, heads=2)  # heads of 32
    loaded.model.to(torch.bfloat16)
    rows = [tuple((31 * row + place) % 200 + 5 for place in range(90)) for row in range(3)]
    computed = []

    def counted(*given):
        computed.append(attended_back(*given))
        return computed[-1]

    def slopes(way):
        monkeypatch.setattr(attention, "attended_back", way)
        found = Forward(loaded.model).over(rows, [range(len(row)) for row in rows])
        found.hidden.float().square().sum().backward()
        grads = [each.grad.clone() for each in loaded.model.parameters() if each.grad is not None]
        loaded.model.zero_grad()
        return torch.cat([each.flatten() for each in grads])

    ours, theirs = slopes(counted), slopes(lambda *given: None)
    if None in computed:
        pytest.skip(library.missing() or "this processor has no tiles")
    assert computed
    assert apart([ours], [theirs.double()])[0] < 0.02
