"""A run's checkpoints: each appears whole, under its own name, or not at all.

`checkpoints/step_N/` is the state after N updates, `checkpoints/best_N/` that of the best measurement, for runs that
keep it. Each holds a folder a policy, `parts.pt` with the states of everything else, and a manifest with the digests of
all files.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError

from redqueen.players.archives import read_archive
from redqueen.protocols import Policy, Resumable, State, shaped
from redqueen.trust.disks import told
from redqueen.trust.no_links import make_folder, remove_tree, rename, synchronise, write_whole
from redqueen.trust.reading import files_below, is_hollow, read_json, within
from redqueen.types import Damaged, Mean, RedQueenError

MANIFEST = {
    "step": int,
    "digests?": {...: str},
    "collapse?": dict,
    "signal?": dict,
    "settings?": str,
    "files?": {...: str},
}
_BACK = "the checkpoint cannot be taken back: "
_ARRAYS: list[Any] = [  # what pickled numpy arrays and numbers are made of
    bytes,
    np.ndarray,
    np.dtype,
    np.array(0).__reduce__()[0],
    np.float64(0).__reduce__()[0],
    *(type(np.dtype(kind)) for kind in "bBhHiIlLefd?"),
]


def write_checkpoint(
    done: Path, policies: Sequence[Policy], parts: Sequence[Resumable], facts: Mapping[str, Any]
) -> None:
    """Facts go into the manifest."""
    folder, name, beside = done.parent.parent, f"checkpoints/{done.name}", f"checkpoints/.writing_{done.name}"
    with saving(done, remove=(folder, beside)):
        remove_tree(folder, beside)
        writing = make_folder(folder, beside)
        for policy in policies:
            policy.save(writing / policy.name)
        torch.save(in_one_form([part.state() for part in parts]), writing / "parts.pt")
        files = sorted(path for path in writing.rglob("*") if path.is_file())
        digests = {str(path.relative_to(writing)): _digest(path) for path in files}
        write_whole(writing, "manifest.json", json.dumps({**facts, "digests": digests}))
        synchronise(writing)
        if done.exists():
            remove([done])
        rename(folder, beside, name)


def read_checkpoint(path: Path, policies: Sequence[Policy], parts: Sequence[Resumable]) -> dict[str, Any]:
    """Gives everyone back what the checkpoint holds, policies before parts, and returns the manifest. Raises
    RedQueenError where they are not those that wrote it."""
    with fitting(path):
        for policy in policies:
            name = policy.name
            with within(f"{_BACK}{path}/"):
                policy.load(path / name)
            if policy.name != name:  # it is saved under its name, which must not lead out of the folder
                raise Damaged(f"{path / name} holds a policy of another name, {policy.name[:40]!r}")
        states = read_parts(path)
        if len(states) != len(parts):
            raise RedQueenError(
                f"the checkpoint {path} holds {len(states)} parts, but this recipe has "
                f"{len(parts)}: resume it with the recipe and the settings that wrote it"
            )
        for number, (part, state) in enumerate(zip(parts, states, strict=True)):
            with within(f"{_BACK}{path}/parts.pt: part {number}, "):
                part.restore(shaped(state, dict, "it"))
    return facts_of(path)


def in_one_form(value: Any) -> Any:
    """An equal value whose bytes, once saved, depend on its contents alone: a pickle tells which equal texts and lists
    are one object, so here equal texts are one, and no two lists, tuples, mappings or arrays are."""
    if type(value) is str:
        return sys.intern(value)
    if type(value) is dict:
        return {in_one_form(key): in_one_form(each) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)([in_one_form(each) for each in value])
    if type(value) is Mean:
        return float(value)
    return value.copy() if type(value) is np.ndarray else value


def read_parts(path: Path) -> list[State]:
    """The states of the parts of a run, in the order in which `run.steps` names them. Raises RedQueenError for a
    checkpoint of an earlier version."""
    if not (path / "parts.pt").exists():
        raise RedQueenError(f"the checkpoint {path} is of an earlier version of redqueen: begin the run anew")
    with fitting(path):
        return list(shaped(read_archive(path / "parts.pt", _ARRAYS), [object], str(path / "parts.pt")))


@contextmanager
def fitting(checkpoint: Path) -> Iterator[None]:
    """What goes wrong as a whole checkpoint is taken back has one cause: other settings than those that wrote it, or
    values that somebody changed."""
    try:
        yield
    except Damaged as error:
        if not str(error).startswith(_BACK):
            raise
        raise Damaged(f"{error}; it fits only the recipe and the settings that wrote it") from error
    except RedQueenError:
        raise
    except Exception as error:  # each kind of model and part has its own way to fail
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise RedQueenError(
            f"the checkpoint {checkpoint} fits only the recipe and the settings that wrote it, not these: {said[:300]}"
        ) from error


def remove(paths: Sequence[Path]) -> None:
    """A checkpoint goes whole too, so that what has a name is complete."""
    for path in paths:
        folder, leaving = path.parent.parent, f"checkpoints/.leaving_{path.name}"
        remove_tree(folder, leaving)
        rename(folder, f"checkpoints/{path.name}", leaving)
        remove_tree(folder, leaving)


def clear(folder: Path) -> None:
    """Removes what a run that was killed while it saved has left half-done."""
    for name in (".writing_*", ".leaving_*"):
        for leftover in (folder / "checkpoints").glob(name):
            remove_tree(folder, f"checkpoints/{leftover.name}")


def checkpoints(folder: Path) -> list[Path]:
    """Finished checkpoints of a run, oldest first."""
    return _numbered(folder, "step")


def best_checkpoints(folder: Path) -> list[Path]:
    """Those of best measurements, oldest first: the last is the best so far."""
    return _numbered(folder, "best")


def _numbered(folder: Path, word: str) -> list[Path]:
    """The folders `checkpoints/WORD_NUMBER` by their numbers; what has another name is none of them."""
    found = [(path.name.removeprefix(f"{word}_"), path) for path in (folder / "checkpoints").glob(f"{word}_*")]
    return [path for _, path in sorted((int(number), path) for number, path in found if is_number(number))]


def is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 16


def best_name(step: int | None) -> str:
    """What the checkpoint of the best measurement is called; "" where nothing was measured."""
    return "" if step is None else f"best_{step:06d}"


@contextmanager
def _told_as_broken(checkpoint: Path) -> Iterator[None]:
    """Raises RedQueenError that says from which checkpoint to go on, in place of what is wrong with this one."""
    try:
        yield
    except (OSError, ValueError, Damaged) as error:
        others = [other for other in checkpoints(checkpoint.parent.parent) if other != checkpoint]
        advice = f"; delete it to go on from {others[-1].name}" if others else "; there is no older one"
        raise RedQueenError(f"the checkpoint {checkpoint} is broken: {error}{advice}") from error


def facts_of(checkpoint: Path) -> dict[str, Any]:
    """What its manifest says. Raises RedQueenError where it cannot be read."""
    with _told_as_broken(checkpoint):
        return dict(shaped(read_json(checkpoint / "manifest.json"), MANIFEST, str(checkpoint / "manifest.json")))


def changed_files(facts: Mapping[str, Any], now: Mapping[str, str]) -> list[str]:
    """The files that a run names whose digests `now` are not those among the facts of a checkpoint; one of which either
    knows nothing is left out."""
    return [name for name, digest in facts.get("files", {}).items() if now.get(name, digest) != digest]


def check(checkpoint: Path) -> int:
    """The number of updates a checkpoint holds. Raises RedQueenError if a file is missing, cut or changed."""
    with _told_as_broken(checkpoint):
        manifest = facts_of(checkpoint)
        digests = manifest.get("digests", {})  # older ones have sizes
        present = {*files_below(checkpoint)}
        for name in sorted(set(digests) ^ (present - {"manifest.json"}) if digests else ()):
            raise Damaged(f"{name} {'is missing' if name in digests else 'is not in its manifest'}")
        for name, digest in digests.items():
            if _digest(checkpoint / name) != digest:
                raise Damaged(f"{name} was cut or changed")
        if manifest["step"] != int(checkpoint.name.rpartition("_")[2]):
            raise Damaged(f"its manifest is of step {manifest['step']}")
        return int(manifest["step"])


def _digest(path: Path) -> str:
    if not path.is_file() or path.is_symlink():
        raise Damaged(f"{path.name} is no regular file")
    if is_hollow(path.stat()):
        raise Damaged(f"{path.name} has {path.stat().st_size} bytes, nearly all of which are holes")
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class saving:
    """Turns a full disk or a forbidden folder into one line, and leaves nothing half-written."""

    def __init__(self, path: Path, remove: tuple[Path, str] | None = None) -> None:
        self._path = path
        self._remove = remove

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        reason = "" if error is None else told(error)
        if isinstance(error, OSError | SafetensorError):
            reason = reason or " ".join(str(error).split())
        if not reason:
            return
        if self._remove is not None:
            with suppress(OSError, RedQueenError):
                remove_tree(*self._remove)
        near = (self._path, *self._path.parents[:2])  # the folder of the run is among them
        kept = "; earlier checkpoints are intact" if any(map(checkpoints, near)) else ""
        raise RedQueenError(f"cannot write {self._path}: {reason}{kept}") from error
