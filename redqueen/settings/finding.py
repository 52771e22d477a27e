"""Recipes by name: those shipped, found by folder, and the user's own."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType

from redqueen.types import RedQueenError
from redqueen.user_code import module_from_file


def shipped_recipes() -> dict[str, str]:
    """The dotted module of each shipped recipe by its name: a file `recipes/FAMILY/NAME.py`, or a folder
    `recipes/FAMILY/NAME/` with a `recipe.py`. Nothing is imported."""
    found = {}
    for family in sorted(each for each in _RECIPES.iterdir() if (each / "__init__.py").exists()):
        for path in sorted(family.iterdir()):
            if path.suffix == ".py" and path.stem != "__init__":
                found[path.stem] = f"redqueen.recipes.{family.name}.{path.stem}"
            elif (path / "recipe.py").exists():
                found[path.name] = f"redqueen.recipes.{family.name}.{path.name}.recipe"
    return found


_RECIPES = Path(__file__).parents[1] / "recipes"
RECIPES: Mapping[str, str] = shipped_recipes()


def find_recipe(spec: str) -> ModuleType:
    """The module of a recipe: a shipped name, `path/to/file.py`, a dotted module, or an entry point of
    the group `redqueen.recipes`. It must have a dataclass `Config` and a function `train`."""
    if spec in RECIPES:
        module = importlib.import_module(RECIPES[spec])
    elif spec.endswith(".py"):
        module = module_from_file(Path(spec))
    else:
        module = _from_elsewhere(spec)
    for name in ("Config", "train"):
        if name not in vars(module):
            raise RedQueenError(
                f"the recipe {spec} has no {name}: a recipe is a module with Config and train(config, run)"
            )
    return module


def _from_elsewhere(spec: str) -> ModuleType:
    entries = {entry.name: entry.value for entry in importlib.metadata.entry_points(group="redqueen.recipes")}
    if spec in entries or "." in spec:
        try:
            return importlib.import_module(entries.get(spec, spec))
        except ImportError as error:
            raise RedQueenError(f"the recipe {spec} cannot be imported: {error}") from error
    close = get_close_matches(spec, [*RECIPES, *entries], n=1)
    hint = f"did you mean {close[0]}?" if close else f"recipes are {', '.join([*RECIPES, *entries])}"
    raise RedQueenError(f"there is no recipe {spec!r}: {hint}")
