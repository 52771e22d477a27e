"""What a pass keeps for its gradient: no attention matrix, and of long rows no keys and values of each block. The mask,
which all layers share, is counted where each layer keeps it, and not where blocks gather again."""

import pytest
import torch

from redqueen.players.transformer import attention
from redqueen.players.transformer.compiled import between, library
from redqueen.players.transformer.forward import Forward
from redqueen.players.transformer.loading import tiny_model

LAYERS, WIDTH, HEADS, BLOCK = 2, 256, 4, 64


def kept(rows):
    """Numbers of the width, a token and layer, and the shapes of what is kept."""
    model = tiny_model(0, hidden=WIDTH, layers=LAYERS, heads=HEADS).model
    own = {each.untyped_storage().data_ptr() for each in model.parameters()}
    held = {}  # the tensors themselves, so that no place is used twice

    def keep(tensor):
        if tensor.untyped_storage().data_ptr() not in own:
            held[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    forward = Forward(model)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        forward.over(rows, [range(len(row)) for row in rows])
    size = sum(each.untyped_storage().nbytes() for each in held.values()) / 4
    return size / sum(map(len, rows)) / LAYERS / WIDTH, {tuple(each.shape) for each in held.values()}


@pytest.mark.parametrize("compiled", [False, True], ids=["torch", "compiled"])
@pytest.mark.parametrize(
    ("count", "length", "by_torch", "by_ours"), [(1, 1024, 19.3, 14.8), (4, 512, 19.9, 15.4), (8, 128, 22.5, 18.0)]
)
def test_a_pass_keeps_keys_and_values_of_each_block_of_short_rows_alone_and_no_matrix(
    count, length, by_torch, by_ours, compiled, monkeypatch
):
    if compiled and library.missing():
        pytest.skip(library.missing())
    if not compiled:
        monkeypatch.setattr(between, "fits", lambda *tensors: False)
    numbers, shapes = kept(rows_of(count, length))
    expected = by_ours if compiled else by_torch
    print(f"\n{count} rows of {length} tokens: {numbers:.1f} numbers of the width a token and layer")
    assert numbers == pytest.approx(expected, rel=0.05)
    assert not any(shape[-3:] == (HEADS, BLOCK, length) for shape in shapes)  # of heads by queries by keys


def rows_of(count, length):
    return [tuple((31 * row + place) % 200 + 5 for place in range(length)) for row in range(count)]


def test_gradients_are_the_same_whether_blocks_gather_once_or_again(monkeypatch):
    found = []
    monkeypatch.setattr(attention, "FEW", 0)
    for most in (2.0, 100.0):
        monkeypatch.setattr(attention, "MOST_KEPT", most)
        model = tiny_model(0, hidden=64, layers=2, heads=4).model
        rows = rows_of(2, 400)
        result = Forward(model).over(rows, [range(len(row)) for row in rows])
        result.hidden.square().sum().backward()
        found.append(torch.cat([each.grad.flatten() for each in model.parameters() if each.grad is not None]))
    assert found[0].abs().max() > 0
    assert torch.equal(found[0], found[1])
