"""The environments of guests: one virtual environment each, under the user's data folder.

    $XDG_DATA_HOME/redqueen/guests/NAME      (~/.local/share where that is not set)

`uv` builds them where it is on the path, else `venv` and `pip`. What is installed is the user's own choice, and runs
with the user's rights.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from redqueen.types import RedQueenError

_ABOUT = "guest.json"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


@dataclass(frozen=True)
class Environment:
    """A virtual environment for guests."""

    name: str
    folder: Path
    packages: tuple[str, ...]  # as they were asked for

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"


def environments_folder() -> Path:
    """The folder of the environments; it need not be there."""
    return Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser() / "redqueen" / "guests"


def environments() -> list[Environment]:
    """All that were added, by name."""
    folders = sorted(environments_folder().glob(f"*/{_ABOUT}"))
    return [found for folder in folders if (found := _read(folder.parent)) is not None]


def environment(name: str) -> Environment | None:
    """The environment of this name; None where there is none."""
    return _read(environments_folder() / name) if _NAME.fullmatch(name) else None


def _read(folder: Path) -> Environment | None:
    try:
        about = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
        found = Environment(folder.name, folder, tuple(map(str, about["packages"])))
    except (OSError, ValueError, KeyError, TypeError):
        return None  # half built, or nobody's
    return found if found.python.exists() else None


def add_environment(name: str, packages: Sequence[str], python: str = sys.executable) -> Environment:
    """Builds an environment with these packages, in place of one of the same name. Raises RedQueenError with what the
    installer said where it fails; then all is as before."""
    if not _NAME.fullmatch(name):
        raise RedQueenError(f"a guest is named in small letters, digits, - and _, not {name!r}")
    if not packages:
        raise RedQueenError(f"say which packages the guest {name} needs: redqueen guest add {name} PACKAGE...")
    if odd := [each for each in packages if each.startswith("-")]:
        raise RedQueenError(f"{odd[0]!r} is no package; flags of the installer go into its own settings")
    folder = environments_folder() / name
    before = folder.with_name(f".{name}.{os.getpid()}")  # kept until the new one is whole
    folder.parent.mkdir(parents=True, exist_ok=True)
    if folder.is_dir():
        folder.rename(before)
    try:
        if uv := shutil.which("uv"):
            _run([uv, "venv", "--quiet", "--python", python, str(folder)], name)
            _run([uv, "pip", "install", "--quiet", "--python", str(folder / "bin" / "python"), *packages], name)
        elif find_spec("pip"):  # ours installs for the other, which then needs none of its own
            _run([python, "-m", "venv", "--without-pip", str(folder)], name)
            theirs = str(folder / "bin" / "python")
            _run([sys.executable, "-m", "pip", "--python", theirs, "install", "--quiet", *packages], name)
        else:
            _run([python, "-m", "venv", str(folder)], name)
            _run([str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", *packages], name)
        (folder / _ABOUT).write_text(json.dumps({"packages": list(packages)}), encoding="utf-8")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        if before.is_dir():
            before.rename(folder)
        raise
    shutil.rmtree(before, ignore_errors=True)
    found = environment(name)
    if found is None:
        raise RedQueenError(f"the guest {name} was built, but its Python is not there: {folder}")
    return found


def remove_environment(name: str) -> bool:
    """Removes an environment; whether there was one."""
    folder = environments_folder() / name
    if not _NAME.fullmatch(name) or not folder.is_dir():
        return False
    shutil.rmtree(folder)
    return True


def _run(command: Sequence[str], name: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    except OSError as error:
        raise RedQueenError(f"the guest {name} cannot be built: {command[0]}: {error.strerror}") from error
    if done.returncode:
        words = (done.stderr or done.stdout).strip()
        said = " ".join(words.split())[-400:] or f"exit status {done.returncode}"
        raise RedQueenError(f"the guest {name} cannot be built: {said}")
