"""Writing and deleting below the folder of a run without following a link that lies in it, and refusing to read one
whose links lead out of it.

A folder that a stranger packed may hold a link where this library writes: at `report.html`, at `episodes/`. Each
function takes the folder, which the user named and which may be a link itself, and a name below it
(`episodes/step_000003.jsonl`); every part of that name is opened with O_NOFOLLOW, relative to the part above it. A link
is refused with one line (`Linked`), and so is a file that is no regular one. Files are written beside and renamed, so
that a reader sees a whole file, old or new.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EACCES
from pathlib import Path, PurePosixPath
from typing import IO, Any

from redqueen.trust.reading import DEEPEST
from redqueen.types import RedQueenError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
OF_TRACKERS = ("wandb", "tensorboard")  # folders of a run in which trackers write by themselves


class Linked(RedQueenError):
    """A link, or something else that is no file of its own, lies where a run is written."""


def write_whole(folder: Path, name: str, text: str | bytes, lasting: bool = False) -> None:
    """Writes `folder/name`, whole or not at all, and waits until it is on the disk if it is to be `lasting`; folders on
    the way are made. Raises Linked for a link on the way or in its place, and OSError if it cannot be written."""
    *above, last = _parts(name)
    with opened(folder, *above, make=True) as place:
        _check(place, last, folder / name)
        beside = f".{last}.writing"
        _check(place, beside, (folder / name).with_name(beside))
        with suppress(FileNotFoundError):
            os.unlink(beside, dir_fd=place)  # of a run that was killed
        try:
            with os.fdopen(os.open(beside, _NEW, 0o666, dir_fd=place), "wb") as file:
                file.write(text if isinstance(text, bytes) else text.encode(errors="backslashreplace"))
                file.flush()
                if lasting:
                    os.fsync(file.fileno())
            os.replace(beside, last, src_dir_fd=place, dst_dir_fd=place)
        except OSError:
            with suppress(OSError):
                os.unlink(beside, dir_fd=place)
            raise


def refuse_unwritable(path: Path) -> None:
    """Raises RedQueenError where `write_whole` would not write the file, before the work that is to stand in it."""
    if path.name in ("", ".."):
        raise RedQueenError(f"{path} names no file to write")
    try:
        with opened(path.parent) as place:
            for name in path.name, f".{path.name}.writing":
                _check(place, name, path.with_name(name))
            if not os.access(path.parent, os.W_OK):
                raise PermissionError(EACCES, os.strerror(EACCES))
    except OSError as error:
        raise RedQueenError(f"cannot write {path}: {error.strerror}") from None


def write_new(folder: Path, name: str, text: str = "") -> None:
    """Writes `folder/name`. Raises FileExistsError if there is anything of that name, and as `write_whole`."""
    *above, last = _parts(name)
    with (
        opened(folder, *above, make=True) as place,
        os.fdopen(os.open(last, _NEW, 0o666, dir_fd=place), "wb") as file,
    ):
        file.write(text.encode())


def appended(folder: Path, name: str) -> IO[Any]:
    """`folder/name`, open for text at its end. Raises as `write_whole`."""
    *above, last = _parts(name)
    with opened(folder, *above) as place:
        _check(place, last, folder / name)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        return os.fdopen(os.open(last, flags, 0o666, dir_fd=place), "a", encoding="utf-8")


def remove_file(folder: Path, name: str) -> None:
    """Removes `folder/name` if it is there. Raises Linked for a link on the way; a link of that name goes itself."""
    *above, last = _parts(name)
    try:
        with opened(folder, *above) as place:
            os.unlink(last, dir_fd=place)
    except FileNotFoundError:
        return
    except IsADirectoryError:
        raise Linked(f"cannot remove {folder / name}: it is no regular file; move it away") from None


def remove_tree(folder: Path, name: str) -> None:
    """Removes the folder `folder/name` with all that is in it, if it is there. Links in it are removed and not
    followed. Raises Linked for a link on the way or in its place."""
    *above, last = _parts(name)
    with suppress(FileNotFoundError), opened(folder, *above) as place:
        _check(place, last, folder / name, kind=stat.S_ISDIR)
        try:
            shutil.rmtree(last, dir_fd=place)
        except RecursionError:
            raise Linked(f"cannot remove {folder / name}: its folders are nested too deeply; move it away") from None


def rename(folder: Path, name: str, new: str) -> None:
    """Renames `folder/name` to `folder/new`, of the same folder. Raises Linked for a link on the way."""
    *above, last = _parts(name)
    with opened(folder, *above) as place:
        _check(place, last, folder / name, kind=stat.S_ISDIR)
        os.replace(last, _parts(new)[-1], src_dir_fd=place, dst_dir_fd=place)
        os.fsync(place)


def make_folder(folder: Path, name: str) -> Path:
    """The new folder `folder/name`. Raises FileExistsError if there is one, and Linked for a link on the way."""
    *above, last = _parts(name)
    with opened(folder, *above, make=True) as place:
        os.mkdir(last, dir_fd=place)
    return folder / name


def refuse_link(folder: Path, name: str) -> None:
    """Raises Linked if `folder/name` is a link or no folder: for a library that writes into it by itself."""
    *above, last = _parts(name)
    with opened(folder, *above) as place:
        _check(place, last, folder / name, kind=stat.S_ISDIR)


def refuse_foreign(folder: Path) -> None:
    """Raises Linked if something below the folder of a run, which may be a link itself, is a link that leads out of it,
    or a pipe or device: a report would show what a stranger cannot read, or wait for ever. What trackers write is left
    out, where wandb links to its own logs: nothing here reads it."""
    root, waiting = os.path.realpath(folder), [(os.fspath(folder), 0)]
    while waiting:
        place, depth = waiting.pop()
        with suppress(OSError), os.scandir(place) as entries:  # what cannot be listed is told as it is read
            for entry in entries:
                if entry.is_symlink():
                    if os.path.commonpath((root, os.path.realpath(entry.path))) != root:
                        raise Linked(
                            f"{entry.path} is a link that leads out of the run, which is not read: if the run is "
                            f"yours, copy it with what its links lead to (cp -rL {folder} NEW) and use that"
                        )
                elif entry.is_dir(follow_symlinks=False):
                    if depth < DEEPEST and (depth or entry.name not in OF_TRACKERS):
                        waiting.append((entry.path, depth + 1))
                elif not entry.is_file(follow_symlinks=False):
                    raise Linked(f"{entry.path} is no file, folder or link but a pipe or device: remove it")


def synchronise(folder: Path) -> None:
    """Waits until every file and folder in `folder` is on the disk."""
    for root, _, files in os.walk(folder):
        for path in (*(os.path.join(root, name) for name in files), root):
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


@contextmanager
def opened(folder: Path, *below: str, make: bool = False) -> Iterator[int]:
    """A descriptor of the folder `folder/below[0]/below[1]...`; with `make`, those that are missing are made. Raises
    Linked where one below `folder` is a link or no folder."""
    found = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for number, name in enumerate(below):
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=found)
            _check(found, name, folder.joinpath(*below[: number + 1]), kind=stat.S_ISDIR)
            inner = os.open(name, _FOLDER, dir_fd=found)
            os.close(found)
            found = inner
        yield found
    finally:
        os.close(found)


def _parts(name: str) -> tuple[str, ...]:
    parts = PurePosixPath(name).parts
    assert parts and not name.startswith("/") and ".." not in parts, f"{name!r} is a name below a folder"
    return parts


def _check(place: int, name: str, shown: Path, kind: Any = stat.S_ISREG) -> None:
    """Raises Linked where `name` is there and is not what is written there: a regular file of its own, or a folder."""
    try:
        found = os.lstat(name, dir_fd=place)
    except FileNotFoundError:
        return
    if stat.S_ISLNK(found.st_mode):
        raise Linked(f"{shown} is a link, which is not followed: remove it, and nothing outside of the folder is lost")
    if not kind(found.st_mode):
        raise Linked(
            f"cannot write {shown}: it is no {'folder' if kind is stat.S_ISDIR else 'regular file'}; move it away"
        )
    if kind is stat.S_ISREG and found.st_nlink > 1:
        raise Linked(f"{shown} has a second name elsewhere (a hard link), which would be written too: remove it")
