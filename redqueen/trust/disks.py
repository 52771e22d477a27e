"""How a disk that is full, a quota, or a folder that may not be written is told, by whichever library wrote."""

from __future__ import annotations

import errno
import os
import re
import traceback
from pathlib import Path

from redqueen.types import RedQueenError

OF_THE_DISK = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EFBIG, errno.EIO),
    *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR),
)
_OF_RUST = re.compile(r"\(os error (\d+)\)")


def told(error: BaseException) -> str:
    """Why a file could not be written, in the system's words; "" for an error of another kind. Libraries in Rust
    (tokenizers, safetensors) raise an Exception of their own for it, torch a RuntimeError of its archive."""
    if isinstance(error, OSError):
        return (error.strerror or str(error)) if error.errno in OF_THE_DISK else ""
    if not isinstance(error, RedQueenError) and (found := _OF_RUST.search(str(error))) and int(found[1]) in OF_THE_DISK:
        return os.strerror(int(found[1]))
    if isinstance(error, RuntimeError) and _last_frame(error).endswith("torch/serialization.py"):
        return f"a file was cut short, perhaps by a full disk ({' '.join(str(error).split())[:100]})"
    return ""


def _last_frame(error: BaseException) -> str:
    """The file in which an error was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    return Path(frames[-1].filename).as_posix() if frames else ""
