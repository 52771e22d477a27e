"""Loading a user's module from a file, with the modules in the same folder.

A file is run as a module of a package made for its folder, `redqueen_user_1a2b3c4d`, so that a file called json.py
replaces nothing and two folders may hold modules of one name. Its `import scores` finds scores.py in its own folder,
also when it is run later within a function, unless a module of that name is installed: an installed module comes first.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import sys
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Any

from redqueen.trust.door import enter
from redqueen.types import RedQueenError

PACKAGE = "redqueen_user_"  # and eight digits of the folder
_LOCK = RLock()


def module_from_file(path: Path, member: str = "", said: str = "") -> ModuleType:
    """The module of the Python file at `path`, run for its `member`, which `said` names ("the game 'own.py:MyGame'").
    Raises RedQueenError for a file that does not exist, is not Python, is not trusted where a folder names it, or
    fails."""
    if not path.is_file():
        raise RedQueenError(f"there is no file {path}")
    if path.suffix != ".py":
        raise RedQueenError(f"{path} is not a Python file (.py)")
    enter(path, member, said or repr(str(path)))
    folder = _folder(path.resolve().parent)
    plan = importlib.util.spec_from_file_location(f"{folder.package}.{path.stem.replace('.', '_')}", path)
    assert plan is not None, f"{path} can be loaded"
    try:
        return folder.run(plan)
    except Exception as error:
        reason = " ".join(str(error).split())
        raise RedQueenError(f"{path} cannot be imported: {type(error).__name__}: {reason}") from error


def places_loaded() -> dict[str, Path]:
    """Where the modules of users come from, for a process that may need them too: the folder of each package, and the
    file of each module that was run from one."""
    ours = {name: module for name, module in list(sys.modules.items()) if name.startswith(PACKAGE)}
    folders = {name: Path(module.__path__[0]) for name, module in ours.items() if "." not in name}
    files = {
        name: Path(module.__file__)
        for name, module in ours.items()
        if name.count(".") == 1 and module.__file__ is not None and not hasattr(module, "__path__")
    }
    return folders | files


def load_again(name: str, places: Mapping[str, Path]) -> None:
    """Loads a user's module by its full name from where `places_loaded` of another process says that it is. Does
    nothing for any other name."""
    package = name.partition(".")[0]
    if name in places and "." in name:
        module_from_file(places[name])
    elif package in places:
        _folder(places[package])._loaded(name)


@dataclass(frozen=True)
class _Folder:
    """A user's folder and the name of the package made for it."""

    path: Path
    package: str

    def run(self, plan: ModuleSpec) -> ModuleType:
        """The new module; its import statements go through `find`."""
        assert plan.loader is not None, f"{plan.name} can be loaded"
        module = importlib.util.module_from_spec(plan)
        vars(module)["__builtins__"] = {**vars(builtins), "__import__": self.find}
        sys.modules[plan.name] = module  # dataclasses look their module up by name
        try:
            plan.loader.exec_module(module)
        except BaseException:
            del sys.modules[plan.name]
            raise
        return module

    def find(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """The module for an import statement in a module of this folder; same arguments as `builtins.__import__`."""
        first = name.partition(".")[0]
        if level:
            full = importlib.util.resolve_name("." * level + name, str((globals or {}).get("__package__") or ""))
            ours = full.split(".")[0] == self.package
        else:
            full, ours = f"{self.package}.{name}", self._holds(first) and not _installed(first)
        if not ours:
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        with _LOCK:
            module = self._loaded(full)
            for each in fromlist or ():
                if hasattr(module, "__path__") and not hasattr(module, each) and _plan(module, each) is not None:
                    self._loaded(f"{full}.{each}")
        return module if fromlist else sys.modules[f"{self.package}.{first}"]

    def _holds(self, name: str) -> bool:
        return PathFinder.find_spec(name, [str(self.path)]) is not None

    def _loaded(self, full: str) -> ModuleType:
        """The module of this folder with the full name `full`, run if it has not been yet."""
        if full in sys.modules:
            return sys.modules[full]
        parent, _, name = full.rpartition(".")
        above = self._loaded(parent)
        plan = _plan(above, name) if hasattr(above, "__path__") else None
        if plan is None:
            shown = full.removeprefix(f"{self.package}.")
            raise ModuleNotFoundError(f"No module named {shown!r} in {self.path}", name=shown)
        module = self.run(plan) if plan.loader is not None else importlib.import_module(full)
        setattr(above, name, module)
        return module


def _folder(path: Path) -> _Folder:
    """The folder at `path`, its package registered."""
    package = f"{PACKAGE}{zlib.crc32(str(path).encode()):08x}"
    if package not in sys.modules:
        plan = ModuleSpec(package, None, is_package=True)
        plan.submodule_search_locations = [str(path)]
        sys.modules[package] = importlib.util.module_from_spec(plan)
    return _Folder(path, package)


def _plan(package: ModuleType, name: str) -> ModuleSpec | None:
    return PathFinder.find_spec(f"{package.__name__}.{name}", package.__path__)


def _installed(name: str) -> bool:
    """Whether a module is found outside of the user's folder. One that is found only because Python was started in its
    folder does not count as installed, except this package itself."""
    if name == __name__.partition(".")[0]:
        return True
    try:
        plan = importlib.util.find_spec(name)
    except ValueError:  # it is loaded without a spec, as __main__
        return True
    places = [Path(each) for each in (plan.submodule_search_locations or [plan.origin or ""])] if plan else []
    return plan is not None and Path.cwd() not in [place.parent for place in places]
