"""Modules of the user's own, loaded from a file."""

from __future__ import annotations

import importlib.util
import sys
import zlib
from pathlib import Path
from types import ModuleType

from redqueen.types import RedQueenError


def module_from_file(path: Path) -> ModuleType:
    """Runs a Python file as a module under a name of its own, so that a file called json.py replaces
    nothing. Raises RedQueenError for a file that is not there, is not Python, or fails."""
    if not path.is_file():
        raise RedQueenError(f"there is no file {path}")
    if path.suffix != ".py":
        raise RedQueenError(f"{path} is not a Python file (.py)")
    title = f"redqueen_user_{path.stem}_{zlib.crc32(str(path.resolve()).encode()):08x}"
    plan = importlib.util.spec_from_file_location(title, path)
    assert plan is not None and plan.loader is not None, f"{path} can be loaded"
    module = importlib.util.module_from_spec(plan)
    sys.modules[title] = module  # dataclasses look their module up by name
    try:
        plan.loader.exec_module(module)
    except Exception as error:
        del sys.modules[title]
        reason = " ".join(str(error).split())
        raise RedQueenError(f"{path} cannot be imported: {type(error).__name__}: {reason}") from error
    return module
