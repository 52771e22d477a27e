"""What is done between the products with weights, on a CPU, in one pass over the numbers each: norms, rotations and
gates with their gradients, and the attention of the rows of a decoding step to their own keys.

By torch's operations a norm of a few rows is nine of them, which keep more than its input for the gradient, and
attention reads its keys at a third of the memory's speed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from redqueen.players.transformer.compiled.library import COUNT, NUMBER, POINTER, bound, fits, serves

LANES, WIDEST, MOST_HEADS = 8, 256, 16  # what the attention of the source is made for
CHUNK = 64  # rows whose share of a weight's gradient is added up first
TAKES: dict[str, list[Any]] = {
    "norm": [*3 * [POINTER], *4 * [COUNT], NUMBER],
    "norm_back": [*5 * [POINTER], *5 * [COUNT], NUMBER],
    "rotate": [*4 * [POINTER], *4 * [COUNT]],
    "gate": [*3 * [POINTER], *3 * [COUNT]],
    "gate_back": [*5 * [POINTER], *3 * [COUNT]],
    "attend": [*11 * [POINTER], *11 * [COUNT], NUMBER],
}


@dataclass(frozen=True)
class Passes:
    """The compiled functions for one precision."""

    norm: Callable[..., None]
    norm_back: Callable[..., None]
    rotate: Callable[..., None]
    gate: Callable[..., None]
    gate_back: Callable[..., None]
    attend: Callable[..., None]


def normed(given: Tensor, weight: Tensor, epsilon: float) -> Tensor | None:
    """Of the shape of `given`, [n, width] or [n, m, width]: divided by the root of the mean square of its last numbers,
    and weighted by [width]. None where torch's operations are to be used, as of all functions here."""
    passes = _fitting(given, weight)
    if passes is None:
        return None
    return _Norm.apply(passes, given, weight, epsilon)  # type: ignore[no-any-return, no-untyped-call]


def rotated(heads: Tensor, cosines: Tensor, sines: Tensor) -> Tensor | None:
    """[n, m, width], whose two halves are the coordinates of points, turned by the angles of a row: `cosines` and
    `sines` [n, 1, width], the sines negative in their first half."""
    passes = _fitting(heads, cosines, sines)
    if passes is None or not (cosines.is_contiguous() and sines.is_contiguous()):
        return None
    return _Rotation.apply(passes, heads, cosines, sines)  # type: ignore[no-any-return, no-untyped-call]


def gated(gate: Tensor, up: Tensor) -> Tensor | None:
    """silu(gate) * up, of [n, width] each."""
    passes = _fitting(gate, up)
    if passes is None or gate.stride() != up.stride():
        return None
    return _Gate.apply(passes, gate, up)  # type: ignore[no-any-return, no-untyped-call]


class _Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, passes: Passes, given: Tensor, weight: Tensor, epsilon: float) -> Tensor:
        ctx.save_for_backward(given, weight)
        ctx.passes, ctx.epsilon = passes, epsilon
        found = torch.empty(given.shape, dtype=given.dtype)
        passes.norm(given.data_ptr(), weight.data_ptr(), found.data_ptr(), *_shape(given), epsilon)
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[None, Tensor, Tensor | None, None]:
        given, weight = ctx.saved_tensors
        slope, found = slope.contiguous(), torch.empty(given.shape, dtype=given.dtype)
        rows, width = given.numel() // given.shape[-1], given.shape[-1]
        of_weight = torch.zeros(-(-rows // CHUNK), width) if ctx.needs_input_grad[1] else None
        pointers = [each.data_ptr() for each in (given, weight, slope, found)]
        kept = None if of_weight is None else of_weight.data_ptr()
        ctx.passes.norm_back(*pointers, kept, *_shape(given), CHUNK, ctx.epsilon)
        return None, found, None if of_weight is None else of_weight.sum(dim=0).to(weight.dtype), None


class _Rotation(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, passes: Passes, heads: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
        ctx.save_for_backward(cosines, sines)
        ctx.passes = passes
        return _turned(passes, heads, cosines, sines)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[None, Tensor, None, None]:
        cosines, sines = ctx.saved_tensors
        return None, _turned(ctx.passes, slope.contiguous(), cosines, -sines), None, None


class _Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, passes: Passes, gate: Tensor, up: Tensor) -> Tensor:
        ctx.save_for_backward(gate, up)
        ctx.passes = passes
        found = torch.empty(gate.shape, dtype=gate.dtype)
        passes.gate(gate.data_ptr(), up.data_ptr(), found.data_ptr(), *gate.shape, gate.stride(0))
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[None, Tensor, Tensor]:
        gate, up = ctx.saved_tensors
        slope = slope.contiguous()
        found = torch.empty(gate.shape, dtype=gate.dtype), torch.empty(gate.shape, dtype=gate.dtype)
        pointers = [each.data_ptr() for each in (gate, up, slope, *found)]
        ctx.passes.gate_back(*pointers, *gate.shape, gate.stride(0))
        return None, *found


def _turned(passes: Passes, heads: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    found = torch.empty(heads.shape, dtype=heads.dtype)
    pointers = [each.data_ptr() for each in (heads, cosines, sines, found)]
    passes.rotate(*pointers, *_shape(heads))
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
    passes = _passes(query.dtype) if serves(query, *newest, *kept, *shared) else None
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


def _fitting(*tensors: Tensor) -> Passes | None:
    """The functions for these tensors, if they can be used."""
    return _passes(tensors[0].dtype) if fits(*tensors) else None


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
