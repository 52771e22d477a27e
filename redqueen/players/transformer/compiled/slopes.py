"""The gradient of attention in bfloat16 by a processor's tiles (AMX), for which torch's takes three times as long."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor

from redqueen.players.transformer.compiled.library import COUNT, NUMBER, POINTER, fits, library
from redqueen.players.transformer.compiled.packing import SIDE, filled

Slopes = tuple[Tensor, Tensor, Tensor]  # of queries, keys and values, each like what it is of


def who_looks(bias: Tensor) -> Tensor:
    """[b, W, M] uint8, 1 where a query looks at a key and `bias` [b, 1, m, w] is 0; w and m filled up with zeros to
    multiples of 32."""
    blocks, _, rows, places = bias.shape
    seen = torch.zeros(blocks, filled(places), filled(rows), dtype=torch.uint8)
    seen[:, :places, :rows] = (bias[:, 0] == 0).transpose(1, 2)
    return seen


def attended_back(
    slope: Tensor,
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    seen: Callable[[], Tensor],
    answer: Tensor,
    sums: Tensor,
    scale: float,
) -> Slopes | None:
    """The gradients of `query` [b, h, m, d], `keys` and `values` [b, h, w, d] from those of the `answer`, `slope`
    [b, h, m, d]; `sums` [b, h, m] float32 are the logarithms of what the shares were divided by, and `seen` gives
    `who_looks`. None where torch's operation is to be used."""
    width = query.shape[3]
    slope = slope.contiguous()
    compute = _function() if query.dtype == torch.bfloat16 and fits(query, keys, values, answer, slope) else None
    if compute is None or width % SIDE:
        return None
    given = [each.contiguous() for each in (query, keys.transpose(1, 2), values.transpose(1, 2))]
    looks, rest = seen(), [slope, answer.contiguous(), sums.contiguous()]
    found = [torch.empty_like(each) for each in given]
    (blocks, heads, rows, _), places = query.shape, keys.shape[2]
    pointers = [each.data_ptr() for each in (*given, looks, *rest, *found)]
    compute(*pointers, blocks, heads, rows, places, width, scale)
    return found[0], found[1].transpose(1, 2), found[2].transpose(1, 2)


@cache
def _function() -> Callable[..., None] | None:
    """The compiled function; None where it is not compiled, or the processor has no tiles."""
    made = library()
    if isinstance(made, str) or not made.multiplies_in_tiles():
        return None
    function = made.attend_back
    function.argtypes, function.restype = [*10 * [POINTER], *5 * [COUNT], NUMBER], None
    compute: Callable[..., None] = function
    return compute
