"""Writes docs/recipes.md, a page on every shipped recipe, from the docstring and the `Config` of each; and in
docs/update.md the table of the recipes that take the flags of an update.

Run it as `python docs/write_recipes.py` where redqueen is installed.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import groupby
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any, Literal, get_args, get_origin, get_type_hints

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this checkout, whatever else is installed

from redqueen.settings.finding import RECIPES, find_recipe  # noqa: E402
from redqueen.settings.learner import Learner  # noqa: E402
from redqueen.settings.optimization import Optimization  # noqa: E402
from redqueen.settings.oracles import JudgeSettings, SafetyJudge  # noqa: E402
from redqueen.settings.placement import PlayedAhead  # noqa: E402
from redqueen.settings.roles import Role  # noqa: E402
from redqueen.settings.speech import Speech  # noqa: E402
from redqueen.settings.update import Update, flags  # noqa: E402

PAGE = ROOT / "docs" / "recipes.md"
OF_THE_UPDATE = ROOT / "docs" / "update.md"
TABLE = "| recipe | as its paper has it | not taken, because |\n|---|---|---|\n"
RIGHT = "Who says what is right: "
HEAD = """# Recipes

Every shipped method by family: its paper, who says what is right, a command that runs it, its settings. Written by
`python docs/write_recipes.py` from the docstring and the `Config` of each; do not edit it by hand.

Each command runs as it stands, with what is shipped. Where the settings name a model the learner is that model,
elsewhere a table. A model that never says anything right learns nothing from a reward: `redqueen train cold_start`
makes a start for the recipes on questions, and `--model FOLDER` goes on from it ([proposers.md](proposers.md)).
`redqueen train NAME --help` also lists the settings that all recipes share.
"""

OPTIMIZATION = """
## Settings of training

How the weights of a language model are trained on this machine. A table has none of these, and a server of the Tinker
API sets its own.
"""

SPEECH = """
## Settings of a role

How each role speaks is set after its name, as in `--proposer.answer code` or `--solver.template enable_thinking=false`
([roles.md](roles.md)).
"""


def page() -> str:
    """The whole text of docs/recipes.md."""
    families = groupby(RECIPES.items(), key=lambda recipe: recipe[1].split(".")[2])
    sections = [part for family, recipes in families for part in _family(family, [name for name, _ in recipes])]
    return "\n".join([HEAD, *sections, *_of_the_learner()]) + "\n"


def _family(family: str, names: list[str]) -> Iterator[str]:
    purpose = (import_module(f"redqueen.recipes.{family}").__doc__ or "").strip()
    yield f"## {family.replace('_', ' ').capitalize()}\n\n{purpose}\n"
    for name in names:
        yield _recipe(name, find_recipe(name))


def _recipe(name: str, module: ModuleType) -> str:
    title, paper = cited((module.__doc__ or "").splitlines()[0])
    file = Path(inspect.getfile(module)).relative_to(ROOT)
    results = Path("experiments") / "results" / f"{name}.md"
    facts = {
        "Paper": paper,
        "Right": right(name),
        "File": f"[{file}](../{file})",
        "Results": f"[{results}](../{results})" if (ROOT / results).exists() else "",
    }
    listed = "\n".join(f"- {what}: {said}" for what, said in facts.items() if said)
    settings = "\n".join(_table(module.Config))
    return (
        f"### `{name}`\n\n{title}\n\n{listed}\n\n```\nredqueen train {name}\n```\n\n"
        f"<details><summary>Settings</summary>\n\n{settings}\n\n</details>\n"
    )


def right(name: str) -> str:
    """Who says what is right in a recipe, from the line of its docstring that says so; empty if no line does."""
    found = re.search(rf"^{RIGHT}(.*)\.$", find_recipe(name).__doc__ or "", re.M)
    return found[1] if found else ""


def cited(line: str) -> tuple[str, str]:
    """What the first line of a docstring says, and the paper in its closing parenthesis with a link."""
    found = re.fullmatch(r"(.*) \(([^()]*)\)\.", line)
    title, paper = (found[1] + ".", found[2]) if found else (line, "none")
    return title, re.sub(r"arXiv:(\d+\.\d+)", r"[arXiv:\1](https://arxiv.org/abs/\1)", paper)


def _table(config: type[Any]) -> Iterator[str]:
    yield "| setting | default | |\n|---|---|---|"
    for flag, default, comment in settings(config):
        yield f"| `{flag}` | {default} | {comment.replace('|', chr(92) + '|')} |"


def settings(config: type[Any]) -> Iterator[tuple[str, str, str]]:
    """Flag, default and comment of each setting; of the learner those alone that the recipe sets."""
    hints, comments = get_type_hints(config, include_extras=True), _comments(config)
    for field in dataclasses.fields(config):
        flag, default = "--" + field.name.replace("_", "-"), field.default
        if isinstance(default, Learner):
            yield from _of_a_learner(default)
        elif isinstance(default, Update):
            yield from _of_an_update(config.paper)
        elif isinstance(default, Role):
            yield flag, _shown(default.player), comments[field.name] or _comments(Role)["player"]
        elif isinstance(default, PlayedAhead):
            yield from settings(PlayedAhead)
        elif isinstance(default, Optimization):
            continue  # a table of its own
        elif isinstance(default, JudgeSettings | SafetyJudge):
            yield from (
                (flag if name == "--who" else f"{flag}.{name[2:]}", usual, said)
                for name, usual, said in settings(type(default))
                if "…" not in name
            )
        elif isinstance(default, Speech):
            yield f"{flag}.…", "none", f"{comments[field.name]}; see the last table"
        else:
            choices = _choices(hints[field.name])
            yield flag, _shown(default), "; ".join(filter(None, (choices, comments[field.name])))


def _of_a_learner(learner: Learner) -> Iterator[tuple[str, str, str]]:
    """The settings of a learner in which it differs from `Learner()`."""
    for field in dataclasses.fields(Learner):
        value = getattr(learner, field.name)
        if field.name != "optimization" and value != field.default:
            yield "--" + field.name.replace("_", "-"), _shown(value), "of the learner, see the last section"


def _of_an_update(paper: Update) -> Iterator[tuple[str, str, str]]:
    """The settings of the update that the recipe's paper has."""
    for field in dataclasses.fields(Update):
        value = getattr(paper, field.name)
        if value is not None:
            yield "--" + field.name.replace("_", "-"), _shown(value), "of the update, see [update.md](update.md)"


def of_the_update() -> str:
    """The text of docs/update.md with its table of recipes as it is now."""
    before, table, after = OF_THE_UPDATE.read_text().partition(TABLE)
    assert table, f"{OF_THE_UPDATE} has no table that begins with {TABLE!r}"
    rest = after[after.index("\n\n") :] if "\n\n" in after else "\n"
    return before + table + "\n".join(_takers()) + rest


def _takers() -> Iterator[str]:
    for name in RECIPES:
        config = find_recipe(name).Config
        if "paper" in vars(config):
            own = "" if config.paper.estimator else "an estimator of its own, "
            yield f"| `{name}` | {own}`{flags(config.paper)}` | {_not_taken(config)} |"


def _not_taken(config: type[Any]) -> str:
    if "drops_even_groups" in vars(config):
        return "`--even-groups`: it leaves them out before the update"
    return "" if "draws_anew" in vars(config) else "`--even-groups refill`: it draws its tasks once a step"


def _comments(kind: type[Any]) -> dict[str, str]:
    """What stands beside each field of a dataclass or in a string below it, in one line; empty where nothing does."""
    source = dedent(inspect.getsource(kind))
    lines, (body,) = (
        source.splitlines(),
        [each.body for each in ast.parse(source).body if isinstance(each, ast.ClassDef)],
    )
    comments = {}
    for node, below in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            beside = lines[(node.end_lineno or 0) - 1][node.end_col_offset :].strip().removeprefix("#").strip()
            text = below.value.value if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) else ""
            comments[node.target.id] = " ".join(f"{beside} {text}".split())
    return comments


def _choices(hint: Any) -> str:
    """The words that a setting may be, where they are listed in its type."""
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(map(str, get_args(hint)))
    return next(filter(None, map(_choices, get_args(hint))), "")


def _shown(default: object) -> str:
    if isinstance(default, tuple):
        return " ".join(map(_shown, default)) or "none"
    return "none" if default in (None, "") else f"`{default}`"


def _of_the_learner() -> Iterator[str]:
    yield "## Settings of the learner\n\nEvery recipe but `first_steps` takes these too.\n"
    yield from _table(Learner)
    yield OPTIMIZATION
    yield from _table(Optimization)
    yield SPEECH
    yield from _table(Speech)


if __name__ == "__main__":
    PAGE.write_text(page())
    OF_THE_UPDATE.write_text(of_the_update())
    print(f"wrote {PAGE.relative_to(ROOT)} and {OF_THE_UPDATE.relative_to(ROOT)}")
