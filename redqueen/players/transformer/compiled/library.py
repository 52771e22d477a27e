"""C++ for passes on a CPU, compiled by the machine's own compiler, once, in some seconds, and kept in the cache folder.
Where there is no compiler, or it fails, torch's operations are used, and `missing` says why.

Rounding is another than that of torch's operations. So what has a gradient here serves in all passes, and what has none
within `stepping` alone: what a policy and its reference compute of the same tokens, with and without gradients, stays
equal to the last bit.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import stat
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from redqueen.players.transformer.loading import cache_folder

HERE = Path(__file__).parent
SOURCES = tuple(HERE / name for name in ("between.cpp", "steps.cpp", "slopes.cpp"))
HEADERS = tuple(HERE / name for name in ("numbers.h", "tiles.h", "attention.h"))
FLAGS = (
    *("-O3", "-march=native", "-mprefer-vector-width=512", "-fopenmp", "-fPIC", "-shared", "-std=c++17"),
    *("-fno-math-errno", "-fno-trapping-math"),
)
DTYPES = {torch.float32: "float32", torch.bfloat16: "bfloat16"}
PATIENCE = 120  # seconds for the compiler
SLOWER = "1.2 to 3.3"  # times as long a step of sampling takes without (experiments/results/speed/roofline.md)

POINTER, COUNT, NUMBER = ctypes.c_void_p, ctypes.c_long, ctypes.c_float


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


def in_step() -> bool:
    """Whether a decoding step is being computed, without gradients, and no torch operation is taken over."""
    return _THREAD.steps and not torch.is_grad_enabled() and not _taken_over()


def _taken_over() -> bool:
    """Whether torch's operations are others now, as by the check of a model in float32: then a tensor may say that it
    is what it is not."""
    return bool(torch._C._len_torch_function_stack())


def missing() -> str:
    """Why there are no compiled functions, in one line; empty where there are."""
    found = library()
    return found if isinstance(found, str) else ""


def serves(*tensors: Tensor) -> bool:
    """Whether these tensors can be given to compiled functions of a decoding step now."""
    return in_step() and fits(*tensors)


def fits(*tensors: Tensor) -> bool:
    """Whether these tensors can be given to compiled functions of any pass now."""
    if _taken_over():
        return False
    dtype = tensors[0].dtype
    return dtype in DTYPES and all(each.is_cpu and each.dtype == dtype and each.stride(-1) == 1 for each in tensors)


def bound(takes: Mapping[str, Sequence[Any]], dtype: torch.dtype) -> list[Callable[..., None]] | None:
    """The compiled functions of these names, which take numbers of these kinds, for a precision; None where there are
    none."""
    made, precision = library(), DTYPES.get(dtype)
    if isinstance(made, str) or precision is None:
        return None
    found = [getattr(made, f"{name}_{precision}") for name in takes]
    for function, kinds in zip(found, takes.values(), strict=True):
        function.argtypes, function.restype = list(kinds), None
    return found


@cache
def library() -> ctypes.CDLL | str:
    """The compiled functions, or in one line why there is none."""
    compiler = os.environ.get("CXX", "g++")
    try:
        version = subprocess.run([compiler, "--version"], capture_output=True, text=True, timeout=PATIENCE).stdout
        named = "\n".join((*(each.read_text() for each in (*SOURCES, *HEADERS)), *FLAGS, version, _processor()))
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
        command = [compiler, *FLAGS, "-o", str(made), *map(str, SOURCES)]
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
