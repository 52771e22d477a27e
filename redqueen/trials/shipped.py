"""The experiments of a file by name, and the names of those that are shipped."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from redqueen.trials.experiment import Experiment, Table
from redqueen.types import RedQueenError
from redqueen.user_code import module_from_file

SHIPPED = "experiments"  # the folder at the root of a checkout


def experiments_of(spec: str) -> Mapping[str, Experiment | Table]:
    """The experiments and tables of a file by their names there, in lower case: `path/to/file.py`, or the name of a
    shipped one such as `absolute_zero` or `speed/sampling`. Raises RedQueenError, one line, for a file without any."""
    module = _module(spec)
    found = {name.lower(): value for name, value in vars(module).items() if isinstance(value, Experiment | Table)}
    if not found:
        raise RedQueenError(
            f"{spec} has no Experiment: it needs NAME = Experiment(title=..., config=..., variants=..., ...)"
        )
    for each in found.values():
        each.check()
    return found


def folder_of(spec: str) -> Path:
    """The folder of an experiment's file; a shipped one's is that of all shipped ones."""
    return Path(spec).resolve().parent if spec.endswith(".py") else _shipped()


def shipped() -> list[str]:
    """The names of the shipped experiments; none where there is no checkout."""
    if importlib.util.find_spec(SHIPPED) is None:
        return []
    paths = sorted(_shipped().glob("*.py")) + sorted(_shipped().glob("speed/*.py"))
    names = [path.relative_to(_shipped()).with_suffix("").as_posix() for path in paths]
    return [name for name in names if not name.rpartition("/")[2].startswith("_")]


def _shipped() -> Path:
    return Path(importlib.import_module(SHIPPED).__path__[0])


def _module(spec: str) -> ModuleType:
    return module_from_file(Path(spec)) if spec.endswith(".py") else importlib.import_module(_dotted(spec))


def _dotted(spec: str) -> str:
    return f"{SHIPPED}.{spec.replace('/', '.')}"
