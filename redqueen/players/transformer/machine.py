"""What this machine has: memory that is left, and how long its products take."""

from __future__ import annotations

import os
import re
import time
from math import floor
from pathlib import Path

import torch

from redqueen.types import RedQueenError

MEMORY = Path("/proc/meminfo")  # of Linux
WIDTH, REPEATS = 768, 5  # of the product that is timed


def available(device: str = "") -> float:
    """Bytes of memory that a device has left: of "", this machine or its first CUDA device. What holds copies of files
    counts as left: Linux gives it to whoever asks."""
    if device.startswith("cuda") or (not device and torch.cuda.device_count()):
        return float(torch.cuda.mem_get_info(device or None)[0])
    if MEMORY.exists() and (found := re.search(r"^MemAvailable:\s*(\d+) kB", MEMORY.read_text(), re.MULTILINE)):
        return 1024.0 * int(found[1])
    return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


def check_cache(gigabytes: float, device: str) -> None:
    """Raises RedQueenError for keys and values that the device has no room for."""
    left = available(device) / 2**30
    if gigabytes > left:
        raise RedQueenError(
            f"--cache-gigabytes {gigabytes:g} does not fit: {device} has {left:.1f} left beside the model; set at most "
            f"{floor(10 * left) / 10:g}"
        )


def slowdown(dtype: torch.dtype, device: str) -> float:
    """How many times as long products take in this type as in float32."""
    took = {kind: min(_product(kind, device) for _ in range(REPEATS)) for kind in (dtype, torch.float32)}
    return took[dtype] / took[torch.float32]


@torch.inference_mode()
def _product(dtype: torch.dtype, device: str) -> float:
    one = torch.ones(WIDTH, WIDTH, dtype=dtype, device=device)
    began = time.perf_counter()
    float((one @ one)[0, 0])
    return time.perf_counter() - began
