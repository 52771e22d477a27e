"""Archives of torch in a folder that may be made to do damage: they are loaded without running anything, and hold in
memory no more than their file holds."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from redqueen.types import Damaged


def read_archive(path: Path, allowed: Sequence[Any] = ()) -> Any:
    """The values and tensors that `torch.save` wrote, on the CPU; of other types only those `allowed`. Raises Damaged
    for an archive whose parts are packed, for one value that stands in itself or in so many places that there are more
    values than bytes, and for a tensor of more numbers than are stored; whatever torch raises for other faults."""
    size = path.stat().st_size
    _refuse_packed(path, size)
    with torch.serialization.safe_globals(list(allowed)):
        found = torch.load(path, map_location="cpu", weights_only=True)
    _refuse_unfolding(found, size, path)
    return found


def _refuse_packed(path: Path, size: int) -> None:
    """torch writes its parts as they are, and would unpack a few kilobytes into as many gigabytes."""
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise Damaged(f"{path} is no archive of torch: {' '.join(str(error).split())[:100]}") from None
    if any(part.compress_type != zipfile.ZIP_STORED for part in parts) or sum(part.file_size for part in parts) > size:
        raise Damaged(f"{path} must hold its parts as they are, not packed")


def _refuse_unfolding(found: Any, most: int, path: Path) -> None:
    """Every value of an honest file takes a byte of it at least."""
    left, waiting = most, [found]
    while waiting:
        value = waiting.pop()
        if isinstance(value, torch.Tensor):
            if value.numel() * value.element_size() > value.untyped_storage().nbytes():
                raise Damaged(f"{path} has a tensor of {value.numel()} numbers, more than it stores")
        elif isinstance(value, Mapping | list | tuple | set | frozenset):
            left -= len(value)
            if left < 0:
                raise Damaged(f"{path} has a list that stands in itself or in too many places")
            waiting.extend(value.values() if isinstance(value, Mapping) else value)
