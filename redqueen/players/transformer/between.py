"""What a decoding step does between its products with weights, on a CPU and without gradients, in one pass each: norms,
rotations, gates, and the attention of rows to their own keys.

By torch's operations a norm of a few rows is nine of them, and attention reads its keys at a third of the memory's
speed. `between.cpp` is compiled by the machine's own compiler, once, in some seconds, and kept in the cache
folder. Where there is none, or it fails, torch's operations are used as before, and `missing` says why.

Rounding is another than that of torch's operations. So these functions serve within `stepping` alone: what a policy and
its reference compute of the same tokens, with and without gradients, stays equal to the last bit.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import stat
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from redqueen.players.transformer.loading import cache_folder

SOURCE = Path(__file__).with_suffix(".cpp")
FLAGS = (
    *("-O3", "-march=native", "-mprefer-vector-width=512", "-fopenmp", "-fPIC", "-shared", "-std=c++17"),
    *("-fno-math-errno", "-fno-trapping-math"),
)
DTYPES = {torch.float32: "float32", torch.bfloat16: "bfloat16"}
LANES, WIDEST, MOST_HEADS = 8, 256, 16  # what the attention of the source is made for
PATIENCE = 120  # seconds for the compiler
SLOWER = "1.1 to 1.3"  # times as long sampling takes without, measured with SmolLM2 (docs/speed.md)

_POINTER, _COUNT, _NUMBER = ctypes.c_void_p, ctypes.c_long, ctypes.c_float


class _Thread(threading.local):
    steps = False  # whether a decoding step is being computed


_THREAD = _Thread()


@contextmanager
def stepping() -> Iterator[None]:
    """A decoding step: in this thread the compiled functions are used meanwhile."""
    before, _THREAD.steps = _THREAD.steps, True
    try:
        yield
    finally:
        _THREAD.steps = before


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
    lengths: Tensor,
    start: int,
    length: int,
    window: int | None,
    scale: float,
) -> tuple[Tensor, Tensor] | None:
    """The attention of `query` [r, Hkv, g, d] to keys and values `kept` for each row, [r, Hkv, room, d], after the
    `newest` of these, [r, Hkv, d], were written at place `length` - 1. A row looks at its first `lengths`, [r] int, of
    the `start` places before its own, and at its own, from `start` to `length`: with a window at the last of them only.

    Returns the answers, [r, Hkv, g, d], and the logarithms of what the shares were divided by, [r, Hkv, g, 1] float32.
    """
    passes = _serving(query, *newest, *kept)
    rows, key_heads, heads, width = query.shape
    if passes is None or width % LANES or width > WIDEST or heads > MOST_HEADS:
        return None
    (key, value), (keys, values) = newest, kept
    contiguous = query.is_contiguous() and keys.is_contiguous() and values.is_contiguous()
    if not contiguous or key.stride(1) != width or value.stride(1) != width:
        return None
    answer, sums = torch.empty_like(query), torch.empty(rows, key_heads, heads, 1)
    pointers = (each.data_ptr() for each in (query, key, value, keys, values, lengths, answer, sums))
    counts = (rows, key_heads, heads, width, keys.shape[2], start, length, window or 0, key.stride(0), value.stride(0))
    passes.attend(*pointers, *counts, scale)
    return answer, sums


def missing() -> str:
    """Why there are no compiled functions, in one line; empty where there are."""
    found = _library()
    return found if isinstance(found, str) else ""


def _serving(*tensors: Tensor) -> Passes | None:
    """The functions for these tensors, if they can be used. Where torch's operations are taken over, as by the check of
    a model in float32, a tensor may say that it is what it is not."""
    if not _THREAD.steps or torch.is_grad_enabled() or torch._C._len_torch_function_stack():
        return None
    dtype = tensors[0].dtype
    for each in tensors:
        if not each.is_cpu or each.dtype != dtype or each.stride(-1) != 1:
            return None
    return _passes().get(dtype)


def _shape(given: Tensor) -> tuple[int, int, int, int]:
    """n, m and width of [n, m, width] or [n, width], and how far apart the n are."""
    if given.dim() == 2:
        return given.shape[0], 1, given.shape[1], given.stride(0)
    assert given.stride(1) == given.shape[2], "the heads of a row are to stand side by side"
    return (*given.shape, given.stride(0))


@cache
def _passes() -> dict[torch.dtype, Passes]:
    library = _library()
    return {} if isinstance(library, str) else {dtype: _typed(library, name) for dtype, name in DTYPES.items()}


def _typed(library: ctypes.CDLL, name: str) -> Passes:
    takes: dict[str, list[Any]] = {
        "norm": [*3 * [_POINTER], *4 * [_COUNT], _NUMBER],
        "rotate": [*4 * [_POINTER], *4 * [_COUNT]],
        "gate": [*3 * [_POINTER], *3 * [_COUNT]],
        "attend": [*8 * [_POINTER], *10 * [_COUNT], _NUMBER],
    }
    for function, kinds in takes.items():
        getattr(library, f"{function}_{name}").argtypes = kinds
        getattr(library, f"{function}_{name}").restype = None
    return Passes(*(getattr(library, f"{function}_{name}") for function in takes))


@cache
def _library() -> ctypes.CDLL | str:
    """The compiled source, or in one line why there is none."""
    compiler = os.environ.get("CXX", "g++")
    try:
        version = subprocess.run([compiler, "--version"], capture_output=True, text=True, timeout=PATIENCE).stdout
        named = "\n".join((SOURCE.read_text(), *FLAGS, version, _processor()))
        kept = cache_folder() / "compiled" / f"{hashlib.sha256(named.encode()).hexdigest()[:20]}.so"
        if not kept.exists():
            _compile(compiler, kept)
        if not (_is_ours(kept.parent) and _is_ours(kept)):
            return f"{kept} can be written by others"
        return ctypes.CDLL(str(kept))
    except FileNotFoundError:
        return f"there is no compiler {compiler}"
    except subprocess.CalledProcessError as failed:
        return f"{compiler} failed: {next(iter(failed.stderr.strip().splitlines()), 'it says nothing')}"
    except (OSError, subprocess.SubprocessError) as error:
        return f"{compiler} was of no use: {' '.join(str(error).split())}"


def _compile(compiler: str, kept: Path) -> None:
    """Writes the library; another process that does the same at the same time takes nothing from it."""
    kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
        made = Path(folder) / "made.so"
        command = [compiler, *FLAGS, "-o", str(made), str(SOURCE)]
        subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
        made.chmod(0o500)
        made.replace(kept)


def _is_ours(path: Path) -> bool:
    """Whether nobody else can have put it there: what is loaded runs."""
    found = path.stat()
    return found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _processor() -> str:
    """What the processor can do: a folder may be shared by machines, and the code is made for one of them."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(errors="replace").splitlines() if info.exists() else []
    return "\n".join(sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))}))
