"""Recipes by name: those shipped, found by folder, and the user's own."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import importlib.util
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType

from redqueen.trust.door import enter
from redqueen.types import RedQueenError
from redqueen.user_code import module_from_file

_RECIPES = Path(__file__).parents[1] / "recipes"
_ARXIV = re.compile(r"arXiv:\d{4}\.\d{4,5}")


@dataclass(frozen=True)
class Place:
    """The place of a shipped recipe, which is not imported."""

    family: str  # the folder below recipes/
    name: str
    path: Path  # the file with Config and train

    @property
    def module(self) -> str:
        """The dotted name of its module."""
        return ".".join(("redqueen", *self.path.relative_to(_RECIPES.parent).with_suffix("").parts))


@dataclass(frozen=True)
class About:
    """A recipe's purpose and paper, from its docstring."""

    purpose: str  # the first line without its paper
    paper: str  # "arXiv:2506.24119", else authors, year and journal, else "no paper"


def places(recipes: Path = _RECIPES) -> list[Place]:
    """The shipped recipes by family: a file `FAMILY/NAME.py`, or a folder `FAMILY/NAME/` with a `recipe.py`."""
    found = []
    for family in families(recipes):
        for path in sorted((recipes / family).iterdir()):
            if path.suffix == ".py" and path.stem != "__init__":
                found.append(Place(family, path.stem, path))
            elif (path / "recipe.py").is_file():
                found.append(Place(family, path.name, path / "recipe.py"))
    return found


def families(recipes: Path = _RECIPES) -> list[str]:
    """The names of the folders that hold the shipped recipes."""
    return sorted(path.parent.name for path in recipes.glob("*/__init__.py"))


def described_family(name: str, recipes: Path = _RECIPES) -> str:
    """The description of a family of recipes: the first line of its `__init__.py`."""
    tree = ast.parse((recipes / name / "__init__.py").read_text(encoding="utf-8"))
    return (ast.get_docstring(tree) or "").partition("\n")[0]


def unfinished(recipes: Path = _RECIPES) -> Iterator[Path]:
    """The folders of shipped recipes that hold Python files and no `recipe.py`."""
    for family in families(recipes):
        for path in sorted((recipes / family).iterdir()):
            if any(path.glob("*.py")) and not (path / "recipe.py").is_file():
                yield path


RECIPES: Mapping[str, str] = {place.name: place.module for place in places()}


def without_recipe(folder: Path) -> str:
    """The error message for a recipe's folder without a `recipe.py`."""
    return (
        f"the folder {folder} has no recipe.py: a recipe that is a folder keeps Config and train(config, run) there; "
        f"one that is a single file is {folder}.py"
    )


def about(place: Place) -> About:
    """Purpose and paper of a shipped recipe, read without running it."""
    return described_in(ast.get_docstring(ast.parse(place.path.read_text(encoding="utf-8"))) or "")


def described_in(docstring: str) -> About:
    """Purpose and paper from the docstring of a recipe."""
    first = docstring.partition("\n")[0].strip()
    cited = re.fullmatch(r"(.*?) \((.+)\)\.?", first)
    if "There is no paper" in docstring:
        return About(first.rstrip("."), "no paper")
    known = _ARXIV.search(first) or (None if cited else _ARXIV.search(docstring))
    paper = known[0] if known else cited[2] if cited else "no paper named"
    return About(cited[1] if cited else first.rstrip("."), paper)


def find_recipe(spec: str) -> ModuleType:
    """The module of a recipe: a shipped name, `path/to/file.py`, `path/to/folder` with a `recipe.py`, a dotted module,
    or an entry point of the group `redqueen.recipes`. It must have a dataclass `Config` and a function `train`."""
    if spec in RECIPES:
        module = importlib.import_module(RECIPES[spec])
    elif spec.endswith(".py"):
        module = module_from_file(Path(spec), said=f"the recipe {spec!r}")
    elif "/" in spec:
        module = _from_folder(Path(spec))
    else:
        module = _from_elsewhere(spec)
    for name in ("Config", "train"):
        if name not in vars(module):
            raise RedQueenError(
                f"the recipe {spec} has no {name}: a recipe is a module with Config and train(config, run)"
            )
    return module


def _from_folder(folder: Path) -> ModuleType:
    if not folder.is_dir():
        raise RedQueenError(f"there is no folder {folder}: name a recipe, its file or its folder")
    if not (folder / "recipe.py").is_file():
        raise RedQueenError(without_recipe(folder))
    return module_from_file(folder / "recipe.py", said=f"the recipe {str(folder)!r}")


def _from_elsewhere(spec: str) -> ModuleType:
    entries = {entry.name: entry.value for entry in importlib.metadata.entry_points(group="redqueen.recipes")}
    if spec in entries or ("." in spec and not Path(spec).is_dir()):
        enter(spec, "", f"the recipe {spec!r}")
        try:
            return importlib.import_module(entries.get(spec, spec))
        except ImportError as error:
            raise RedQueenError(f"the recipe {spec} cannot be imported: {error}") from error
    if spec and Path(spec).is_dir():
        return _from_folder(Path(spec))
    for folder in unfinished():
        if folder.name == spec:
            raise RedQueenError(without_recipe(folder))
    close = get_close_matches(spec, [*RECIPES, *entries], n=1)
    hint = f"did you mean {close[0]}?" if close else f"recipes are {', '.join([*RECIPES, *entries])}"
    raise RedQueenError(f"there is no recipe {spec!r}: {hint}")
