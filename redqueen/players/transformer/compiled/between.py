"""What a decoding step does between its products with weights, on a CPU and without gradients, in one pass each: norms,
rotations, gates, and the attention of rows to their own keys.

By torch's operations a norm of a few rows is nine of them, and attention reads its keys at a third of the memory's
speed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

from redqueen.players.transformer.compiled.library import COUNT, NUMBER, POINTER, bound, serves

LANES, WIDEST, MOST_HEADS = 8, 256, 16  # what the attention of the source is made for
TAKES: dict[str, list[Any]] = {
    "norm": [*3 * [POINTER], *4 * [COUNT], NUMBER],
    "rotate": [*4 * [POINTER], *4 * [COUNT]],
    "gate": [*3 * [POINTER], *3 * [COUNT]],
    "attend": [*11 * [POINTER], *11 * [COUNT], NUMBER],
}


@dataclass(frozen=True)
class Passes:
    """The compiled functions for one precision."""

    norm: Callable[..., None]
    rotate: Callable[..., None]
    gate: Callable[..., None]
    attend: Callable[..., None]


def normed(given: Tensor, weight: Tensor, epsilon: float) -> Tensor | None:
    """Of the shape of `given`, [n, width] or [n, m, width]: divided by the root of the mean square of its last numbers,
    and weighted by [width]. None where torch's operations are to be used, as of all functions here."""
    passes = _serving(given, weight)
    if passes is None:
        return None
    found = torch.empty(given.shape, dtype=given.dtype)
    passes.norm(given.data_ptr(), weight.data_ptr(), found.data_ptr(), *_shape(given), epsilon)
    return found


def rotated(heads: Tensor, cosines: Tensor, sines: Tensor) -> Tensor | None:
    """[n, m, width], whose two halves are the coordinates of points, turned by the angles of a row: `cosines` and
    `sines` [n, 1, width], the sines negative in their first half."""
    passes = _serving(heads, cosines, sines)
    if passes is None or not (cosines.is_contiguous() and sines.is_contiguous()):
        return None
    found = torch.empty(heads.shape, dtype=heads.dtype)
    passes.rotate(heads.data_ptr(), cosines.data_ptr(), sines.data_ptr(), found.data_ptr(), *_shape(heads))
    return found


def gated(gate: Tensor, up: Tensor) -> Tensor | None:
    """silu(gate) * up, of [n, width] each."""
    passes = _serving(gate, up)
    if passes is None or gate.stride() != up.stride():
        return None
    found = torch.empty(gate.shape, dtype=gate.dtype)
    (n, width), stride = gate.shape, gate.stride(0)
    passes.gate(gate.data_ptr(), up.data_ptr(), found.data_ptr(), n, width, stride)
    return found


def attended(
    query: Tensor,
    newest: tuple[Tensor, Tensor],
    kept: tuple[Tensor, Tensor],
    paths: tuple[Tensor, Tensor] | None,
    groups: Tensor,
    lengths: Tensor,
    start: int,
    length: int,
    window: int | None,
    scale: float,
) -> tuple[Tensor, Tensor] | None:
    """The attention of `query` [r, Hkv, g, d] to keys and values `kept` for each row, [r, Hkv, room, d], after the
    `newest` of these, [r, Hkv, d], were written at place `length` - 1. A row looks at its first `lengths`, [r] int, of
    the `start` places before its own, and at its own, from `start` to `length`: with a window at the last of them only.
    Where rows share `paths`, [G, Hkv, P, d], `start` is 0 and the first places are those of its path, `groups` [r] int.

    Returns the answers, [r, Hkv, g, d], and the logarithms of what the shares were divided by, [r, Hkv, g, 1] float32.
    """
    shared = paths or ()
    passes = _serving(query, *newest, *kept, *shared)
    rows, key_heads, heads, width = query.shape
    if passes is None or width % LANES or width > WIDEST or heads > MOST_HEADS:
        return None
    (key, value), (keys, values) = newest, kept
    contiguous = all(each.is_contiguous() for each in (query, *kept, *shared))
    if not contiguous or key.stride(1) != width or value.stride(1) != width:
        return None
    answer, sums = torch.empty_like(query), torch.empty(rows, key_heads, heads, 1)
    given = [each.data_ptr() for each in (query, key, value, keys, values)]
    of_paths = [each.data_ptr() for each in shared]
    pointers = (
        *given,
        *(of_paths or (None, None)),
        groups.data_ptr(),
        lengths.data_ptr(),
        answer.data_ptr(),
        sums.data_ptr(),
    )
    sizes = rows, key_heads, heads, width, keys.shape[2], paths[0].shape[2] if paths else 0
    passes.attend(*pointers, *sizes, start, length, window or 0, key.stride(0), value.stride(0), scale)
    return answer, sums


def _serving(*tensors: Tensor) -> Passes | None:
    """The functions for these tensors, if they can be used."""
    return _passes(tensors[0].dtype) if serves(*tensors) else None


def _shape(given: Tensor) -> tuple[int, int, int, int]:
    """n, m and width of [n, m, width] or [n, width], and how far apart the n are."""
    if given.dim() == 2:
        return given.shape[0], 1, given.shape[1], given.stride(0)
    assert given.stride(1) == given.shape[2], "the heads of a row are to stand side by side"
    return (*given.shape, given.stride(0))


@cache
def _passes(dtype: torch.dtype) -> Passes | None:
    found = bound(TAKES, dtype)
    return Passes(*found) if found else None
