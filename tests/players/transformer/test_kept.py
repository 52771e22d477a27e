"""What a pass keeps for its gradient: keys and values once for each block of queries, and no attention matrix."""

import pytest
import torch

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


@pytest.mark.parametrize(("count", "length", "expected"), [(1, 1024, 39.2), (8, 128, 22.5)])
def test_a_pass_keeps_keys_and_values_of_each_block_and_no_matrix(count, length, expected):
    rows = [tuple((31 * row + place) % 200 + 5 for place in range(length)) for row in range(count)]
    numbers, shapes = kept(rows)
    print(f"\n{count} rows of {length} tokens: {numbers:.1f} numbers of the width a token and layer")
    looked_at = sum(range(BLOCK, length + 1, BLOCK)) / length  # keys a query gathers: those of its block, over 64
    assert numbers > 16 + 2 * looked_at  # keys and values, without the padding of blocks
    assert numbers == pytest.approx(expected, rel=0.05)
    assert not any(shape[-3:] == (HEADS, BLOCK, length) for shape in shapes)  # of heads by queries by keys
