"""The program that a jail runs for a repository: an importer of modules held in memory, one test, one call.

This text is sent as the source of a `Program` and its files as arguments; nothing is written to disk and nothing of the
repository is pasted into it. The repository imports its own modules and what the jail offers.

A test shares its process with the code that it tests. What makes it harder for the code to lie: the test's module is
not in `sys.modules` (what stands there shows what the test has of typing, for `dataclasses`), every module has builtins
of its own, every import of `pytest` makes another stand-in, and only the last line of the test function knows the token
that stands for a pass.
"""

from __future__ import annotations

import ast
import builtins
import sys
import types
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

_SPACE = globals()  # the jail checks what is imported in the name of this module
_BUILTINS = dict(vars(builtins))
_IMPORT: Callable[..., Any] = builtins.__import__
_SPEC: Any = type(types.__spec__)


def _shown(name: str, space: dict[str, Any]) -> types.ModuleType:
    """What stands for a test's module: dataclasses whose annotations are texts look there for ClassVar and InitVar."""

    class Shown(types.ModuleType):
        @property
        def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
            return {key: value for key, value in space.items() if _of_typing(value)}

    return Shown(name)


def _of_typing(value: object) -> bool:
    name = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    return name in ("typing", "dataclasses")


class _Modules:
    """The repository's modules, as a finder and loader of Python."""

    def __init__(self, files: Mapping[str, str], stand_in: str) -> None:
        self.files = files
        self.stand_in = stand_in  # the text of the module `pytest`
        self.own = {path.partition("/")[0].removesuffix(".py") for path in files}

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        stem = name.replace(".", "/")
        found: ModuleSpec | None = None
        if f"{stem}.py" in self.files:
            found = _SPEC(name, self, origin=f"{stem}.py")
        elif any(each.startswith(f"{stem}/") for each in self.files):
            found = _SPEC(name, self, origin=f"{stem}/__init__.py", is_package=True)
        return found

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        spec = module.__spec__
        assert spec is not None and spec.origin is not None, "it was found here"
        self.fill(vars(module), self.files.get(spec.origin, ""), spec.origin)

    def fill(self, space: dict[str, Any], source: str | ast.Module, path: str) -> None:
        """Runs a module's text in its namespace."""
        space["__builtins__"] = {**_BUILTINS, "__import__": self.imported}
        exec(compile(source, path, "exec", dont_inherit=True), space)

    def imported(
        self,
        name: str,
        globals: dict[str, Any] | None = None,
        locals: dict[str, Any] | None = None,
        fromlist: tuple[str, ...] = (),
        level: int = 0,
    ) -> Any:
        if name == "pytest" and level == 0:
            module = types.ModuleType(name)
            self.fill(vars(module), self.stand_in, name)
            return module
        own = level > 0 or name.partition(".")[0] in self.own
        return _IMPORT(name, globals if own else _SPACE, locals, fromlist, level)


def test(files: dict[str, str], stand_in: str, path: str, name: str, token: str) -> object:
    """What a test returns once its last line was given the token to return."""
    modules = _Modules(files, stand_in)
    sys.meta_path.insert(0, modules)
    tree = ast.parse(files[path], path)
    function = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name][-1]
    function.body.append(ast.Return(ast.Constant(token)))
    module = path.removesuffix(".py").replace("/", ".")
    space = {"__name__": module, "__package__": module.rpartition(".")[0], "__file__": path}
    sys.modules[module] = _shown(module, space)
    modules.fill(space, ast.fix_missing_locations(tree), path)
    return space[name]()  # type: ignore[operator]


def call(files: dict[str, str], stand_in: str, module: str, name: str, arguments: tuple[Any, ...]) -> object:
    """What a function of the repository returns."""
    modules = _Modules(files, stand_in)
    sys.meta_path.insert(0, modules)
    modules.imported(module)
    found: Any = sys.modules[module]
    for part in name.split("."):
        found = getattr(found, part)
    return found(*arguments)
