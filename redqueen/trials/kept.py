"""Finished work as files: each is used again as long as the modules that it imported are unchanged.

What a recipe imports is known only after it ran (question sets, games and oracles are found by name), so a finished
piece of work says which of our modules, and which data files beside them, its process had loaded, with a digest of
each. It is looked up by what it was asked to do, and counts only if all these digests hold where it is asked for: work
of another checkout counts if its modules have the same text.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from redqueen.players.transformer.loading import cache_folder
from redqueen.trust.no_links import write_whole

BEGAN = time.time()
PACKAGE = Path(__file__).parents[1]
DATA = (".jsonl", ".txt")  # read by the modules of their folder


def place_of(kind: str, facts: Sequence[Any]) -> Path:
    """Where in the cache something of this kind lies that depends on these facts. Functions count by their names."""
    text = json.dumps(facts, sort_keys=True, default=_named)
    return cache_folder() / kind / hashlib.sha1(text.encode()).hexdigest()[:16]


def texts(roots: Sequence[Path], modules: Mapping[str, ModuleType] = sys.modules) -> dict[str, str]:
    """A digest of each loaded module's file below one of the folders, and of the data beside it, by the number of the
    folder and the path within: "0/credit/pairs.py"."""
    found = {}
    for module in list(modules.values()):
        path = Path(getattr(module, "__file__", None) or "")
        number = next((n for n, root in enumerate(roots) if path.is_relative_to(root)), None)
        if path.suffix == ".py" and number is not None:
            for each in (path, *(each for each in path.parent.iterdir() if each.suffix in DATA)):
                found[f"{number}/{each.relative_to(roots[number]).as_posix()}"] = _digest(each)
    return dict(sorted(found.items()))


def keep(path: Path, made: Mapping[str, Any], roots: Sequence[Path]) -> None:
    """Writes finished work to a file, with the modules that this process has loaded; nothing if one has changed since
    the process began, because it is not known which text made the work."""
    found = texts(roots)
    if any(_path(name, roots).stat().st_mtime > BEGAN for name in found):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path.parent, path.name, json.dumps({**made, "modules": found}) + "\n")


def kept(path: Path, roots: Sequence[Path]) -> dict[str, Any] | None:
    """Finished work, or None if there is none or a module that it imported has another text below these folders."""
    if not path.exists():
        return None
    made: dict[str, Any] = json.loads(path.read_text())
    paths = {_path(name, roots): digest for name, digest in made["modules"].items()}
    return made if all(each.exists() and _digest(each) == digest for each, digest in paths.items()) else None


def all_texts(roots: Sequence[Path]) -> str:
    """One digest of all Python files below the folders; a run that was begun with another digest is not resumed."""
    paths = sorted({path for root in roots for path in root.rglob("*.py")})
    return hashlib.sha1("".join(_digest(path) for path in paths).encode()).hexdigest()


def _path(name: str, roots: Sequence[Path]) -> Path:
    number, _, inner = name.partition("/")
    return roots[int(number)] / inner


def _digest(path: Path) -> str:
    return hashlib.sha1(path.read_bytes()).hexdigest()


def _named(thing: Any) -> str:
    """A function or class by its name, anything else as it prints."""
    name = getattr(thing, "__qualname__", None)
    return f"{thing.__module__}.{name}" if name else repr(thing)
