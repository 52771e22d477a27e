"""Finished work as files: each is used again as long as the modules that it imported, and what it read, are unchanged.

What a recipe imports and reads is known only after it ran (question sets, games and oracles are found by name), so a
finished piece of work says which modules its process had loaded and which data files it had opened, with a digest of
each; what is installed does not count. It is looked up by what it was asked to do, and counts only if all these digests
hold where it is asked for: work of another checkout counts if its modules have the same text. The weights that lie
beside a model's config.json that was read count by their size and time. What other processes read is not seen.
"""

from __future__ import annotations

import hashlib
import json
import os
import site
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from redqueen.players.transformer.loading import cache_folder
from redqueen.trust.no_links import write_whole

BEGAN = time.time()
PACKAGE = Path(__file__).parents[1]
DATA = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".txt", ".efg")
WEIGHTS = (".safetensors", ".bin")
_READ: dict[str, bool] = {}  # by path of what was read: whether it was there before this process, which writes too


def place_of(kind: str, facts: Sequence[Any]) -> Path:
    """Where in the cache something of this kind lies that depends on these facts. Functions count by their names."""
    text = json.dumps(facts, sort_keys=True, default=_named)
    return cache_folder() / kind / hashlib.sha1(text.encode()).hexdigest()[:16]


def note_reads() -> None:
    """From now on the data files that are opened in this process are noted; `keep` names them."""
    sys.addaudithook(_note)


def _note(event: str, given: tuple[Any, ...]) -> None:
    if event == "open" and isinstance(given[0], str) and given[0].endswith(DATA):
        path = os.path.abspath(given[0])
        if given[2] & os.O_ACCMODE == os.O_RDONLY and path not in _READ:
            _READ[path] = _was_there(path)
            if os.path.basename(path) == "config.json":  # libraries read the weights, past Python's own open
                with suppress(OSError):
                    beside = [each for each in Path(path).parent.iterdir() if each.suffix in WEIGHTS]
                    _READ.update((str(each), _was_there(str(each))) for each in beside)


def _was_there(path: str) -> bool:
    return os.path.isfile(path) and os.path.getmtime(path) <= BEGAN


def texts(roots: Sequence[Path], modules: Mapping[str, ModuleType] = sys.modules) -> dict[str, str]:
    """A digest of each loaded module's file and of each data file that was read, without those of installed packages:
    by the number of the folder and the path within, "0/credit/pairs.py", or the whole path if it is in none."""
    loaded = (Path(getattr(module, "__file__", None) or "") for module in list(modules.values()))
    read = (Path(path) for path, before in list(_READ.items()) if before)
    found = (*(path for path in loaded if path.suffix == ".py"), *read)
    named = {_name(path, roots): path for path in found if _is_own(path, roots)}
    return {name: _digest(named[name]) for name in sorted(named)}


def _is_own(path: Path, roots: Sequence[Path]) -> bool:
    """Whether a file is not kept here, and lies in one of the folders or is not installed."""
    installed = (Path(sys.prefix), Path(sys.base_prefix), Path(site.getusersitepackages()))
    ours = any(map(path.is_relative_to, roots)) or not any(map(path.is_relative_to, installed))
    return ours and path.is_absolute() and path.is_file() and not path.is_relative_to(cache_folder())


def keep(path: Path, made: Mapping[str, Any], roots: Sequence[Path]) -> None:
    """Writes finished work to a file, with what this process has loaded and read; nothing if a file of it has changed
    since the process began, because it is not known which text made the work."""
    found = texts(roots)
    if any(_path(name, roots).stat().st_mtime > BEGAN for name in found):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path.parent, path.name, json.dumps({**made, "modules": found}) + "\n")


def kept(path: Path, roots: Sequence[Path]) -> dict[str, Any] | None:
    """Finished work, or None if there is none or a file that it loaded or read has another text below these folders."""
    if not path.exists():
        return None
    made: dict[str, Any] = json.loads(path.read_text())
    paths = {_path(name, roots): digest for name, digest in made["modules"].items()}
    return made if all(each.exists() and _digest(each) == digest for each, digest in paths.items()) else None


def all_texts(roots: Sequence[Path]) -> str:
    """One digest of all Python files below the folders; a run that was begun with another digest is not resumed."""
    paths = sorted({path for root in roots for path in root.rglob("*.py")})
    return hashlib.sha1("".join(_digest(path) for path in paths).encode()).hexdigest()


def _name(path: Path, roots: Sequence[Path]) -> str:
    number = next((n for n, root in enumerate(roots) if path.is_relative_to(root)), None)
    return path.as_posix() if number is None else f"{number}/{path.relative_to(roots[number]).as_posix()}"


def _path(name: str, roots: Sequence[Path]) -> Path:
    if Path(name).is_absolute():
        return Path(name)
    number, _, inner = name.partition("/")
    return roots[int(number)] / inner


def _digest(path: Path) -> str:
    if path.suffix in WEIGHTS:
        found = path.stat()
        return f"{found.st_size} bytes at {found.st_mtime_ns}"
    return hashlib.sha1(path.read_bytes()).hexdigest()


def _named(thing: Any) -> str:
    """A function or class by its name, anything else as it prints."""
    name = getattr(thing, "__qualname__", None)
    return f"{thing.__module__}.{name}" if name else repr(thing)
