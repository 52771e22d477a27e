"""Weights in the order in which products with few rows read them, and such a product."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

from redqueen.players.transformer.compiled.library import COUNT, NUMBER, POINTER, bound, library

SIDE = 32  # numbers: both sides of a packed weight are multiples of it
TAKES: dict[str, list[Any]] = {
    "pack": [*2 * [POINTER], *4 * [COUNT], NUMBER],
    "product": [*3 * [POINTER], *4 * [COUNT]],
    "cross": [*9 * [POINTER], COUNT],
    "step": [*7 * [POINTER], *6 * [COUNT]],
}


@dataclass(frozen=True)
class Functions:
    """The compiled functions for one precision."""

    pack: Callable[..., None]
    product: Callable[..., None]
    cross: Callable[..., None]
    step: Callable[..., None]


@cache
def functions(dtype: torch.dtype) -> Functions | None:
    """Those for a precision; None where there are none, or this processor does not multiply it."""
    made = library()
    if isinstance(made, str) or (dtype == torch.bfloat16 and not made.has_bfloat16()):
        return None
    found = bound(TAKES, dtype)
    return Functions(*found) if found else None


def packed(weight: Tensor, factor: float = 1.0) -> Tensor:
    """A weight [out, in] times `factor`, as products read it; both sides are filled up to multiples of 32."""
    made = functions(weight.dtype)
    assert made is not None, f"there are no compiled functions for {weight.dtype}"
    out, width = weight.shape
    found = torch.empty(filled(out) * filled(width), dtype=weight.dtype)
    made.pack(weight.data_ptr(), found.data_ptr(), out, width, *weight.stride(), factor)
    return found


def product(weight: Tensor) -> Callable[[Tensor], Tensor]:
    """The product of rows [n, in] with a weight [out, in]."""
    made, kept, (out, width) = functions(weight.dtype), packed(weight), weight.shape
    assert made is not None

    def multiplied(given: Tensor) -> Tensor:
        given = given if given.stride(-1) == 1 else given.contiguous()
        found = torch.empty(len(given), out, dtype=given.dtype)
        made.product(given.data_ptr(), kept.data_ptr(), found.data_ptr(), len(given), out, width, given.stride(0))
        return found

    return multiplied


def filled(size: int) -> int:
    """The next multiple of 32."""
    return -(-size // SIDE) * SIDE
