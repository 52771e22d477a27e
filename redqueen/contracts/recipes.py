"""What every recipe must satisfy. `check_recipe(module)` returns one line that says all is well, or raises an
AssertionError with one line that says what is wrong and what would be right.

    paper       the docstring names its paper, or says "There is no paper"; its first line stands alone in a list
    Config      a frozen dataclass whose fields all have defaults that are allowed
    in view     at most 25 statements in the loop, at most 25 imported names, no number of a paper outside Config
    seed        the same seed trains the same, and another does not
    resume      what is killed and begun again ends as if nothing had happened, bit for bit

`python -m redqueen.contracts.recipes` prints the figures of every shipped recipe.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib.util
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np
import torch

from redqueen.runs.checkpoints import facts_of
from redqueen.runs.folder import stored_episodes
from redqueen.runs.run import Line, Run, Schedule, Watcher, read_metrics
from redqueen.settings.finding import places
from redqueen.settings.learner import TABULAR, Learner
from redqueen.settings.limits import check_settings
from redqueen.settings.roles import Role
from redqueen.types import RedQueenError

MOST_STATEMENTS, MOST_NAMES = 25, 25
LONGEST_FIRST_LINE = 120
NO_PAPER = "There is no paper"
# numbers that say how something is counted, not how a paper sets it
PLAIN = (0, 1, 2, 0.5)
# a recipe's defaults, but few matches and steps: fields of these names and types
SMALL: Mapping[str, Any] = MappingProxyType(
    {
        "steps": 2,
        "matches_per_step": 6,
        "matches_per_game": 4,
        "snapshot_every": 2,
        "pool_size": 2,
        "magnet_every": 2,
        "games": ("kuhn_poker", "iterated_dilemma:rounds=2"),
        "largest_scores": (2.0, 10.0),
        "demonstrations_per_step": 6,
        "proposals": 2,
        "tries": 2,
        "attempts": 2,
        "problems": 2,
        "proposer_steps": 1,
        "solver_steps": 1,
        "votes": 2,
        "tasks": 2,
        "pool": 4,
        "responses": 2,
        "variants": 2,
        "labelled": 4,
        "seeds": 2,
        "prompts": 2,
        "evolved": 2,
        "clusters": 1,
        "passages": 2,
        "phase": 1,
        "corpus": 2,
        "candidates": 2,
        "preliminary": 2,
        "synthesis": 2,
        "data": 4,
        "planted": 2,
        "natural": 2,
        "round": 1,
        "updates": 1,
        "updates_per_batch": 1,
        "rivals": 2,
        "pairs": 4,
        "pairs_per_update": 2,
        "first_stage": 1,
        "hard_attempts": 2,
        "verifications": 2,
        "development": 2,
        "explanations": 1,
        "continuations": 1,
        "supervised": 1,
        "literal": 2,
        "rounds": 2,
        "members": 2,
        "measured": 12,
        "drill_steps": 0,
        "strategy_steps": 1,
    }
)
CLOCKED = frozenset(("time", "queue/waited", "queue/dealt", "queue/ready"))  # figures that the machine's speed decides
TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=4)


@dataclass(frozen=True)
class InView:
    """How much there is to read in a recipe."""

    statements: int  # in its loop
    names: int  # that it imports, attributes of imported modules counted
    numbers: tuple[str, ...]  # outside Config, as they are written

    @property
    def faults(self) -> frozenset[str]:
        """Of "statements", "names" and "numbers" what is too many."""
        found = {
            "statements": self.statements > MOST_STATEMENTS,
            "names": self.names > MOST_NAMES,
            "numbers": bool(self.numbers),
        }
        return frozenset(name for name, fault in found.items() if fault)


def check_recipe(recipe: ModuleType, config: Any = None) -> str:
    """One line that says all is well. `config` is what the recipe is run with: its defaults, but few matches and steps,
    where it is left out. Raises AssertionError at the first fault."""
    name = named(recipe)
    check_paper(recipe)
    check_config(recipe)
    check_in_view(recipe)
    settings = small(recipe) if config is None else config
    check_seed(recipe, settings)
    check_resume(recipe, settings)
    view = in_view(recipe)
    return (
        f"{name} keeps the contract of recipes: {view.statements} statements in its loop, {view.names} imported names, "
        "the same seed trains the same, resumed bit for bit"
    )


def named(recipe: ModuleType) -> str:
    """What the recipe is called: its file, or its folder."""
    path = Path(recipe.__file__ or recipe.__name__)
    return path.parent.name if path.stem == "recipe" else path.stem


def check_paper(recipe: ModuleType) -> None:
    """The docstring names a paper or says that there is none; its first line is a short sentence."""
    doc, name = recipe.__doc__ or "", named(recipe)
    assert doc, f"the recipe {name} has no docstring: begin it with what it is, its paper and its equations"
    cited = re.search(r"arXiv:\d{4}\.\d{4,5}|et al\.,? \d{4}|\d{4}\)", doc)
    assert cited or NO_PAPER in doc, (
        f"the docstring of the recipe {name} names no paper: write it as (Liu et al. 2025, arXiv:2506.24119), or "
        f'"{NO_PAPER}"'
    )
    first = doc.splitlines()[0]
    assert first.endswith("."), f"the first line of the recipe {name} must be one sentence: it stands alone in a list"
    assert len(first) < LONGEST_FIRST_LINE, (
        f"the first line of the recipe {name} has {len(first)} characters: at most {LONGEST_FIRST_LINE - 1} fit"
    )


def check_config(recipe: ModuleType) -> None:
    """A frozen dataclass with defaults that are allowed, and a function `train(config, run)`."""
    name = named(recipe)
    for part in ("Config", "train"):
        assert part in vars(recipe), f"the recipe {name} has no {part}: a recipe has Config and train(config, run)"
    config = recipe.Config
    assert isinstance(config, type) and dataclasses.is_dataclass(config), (
        f"Config of the recipe {name} must be a frozen dataclass: put @dataclass(frozen=True) above it"
    )
    assert vars(config)["__dataclass_params__"].frozen, (
        f"Config of the recipe {name} can be changed: write @dataclass(frozen=True)"
    )
    without = [
        field.name
        for field in dataclasses.fields(config)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]
    assert not without, f"{without[0]} in Config of the recipe {name} needs a default: the paper's, where it has one"
    try:
        check_settings(config())
    except RedQueenError as error:
        raise AssertionError(f"the defaults of the recipe {name} are refused: {error}") from error


def check_in_view(recipe: ModuleType) -> None:
    """A loop and a list of imports that can be read at once, and the numbers of the paper in Config."""
    view, name = in_view(recipe), named(recipe)
    assert view.statements <= MOST_STATEMENTS, (
        f"the loop of the recipe {name} has {view.statements} statements, more than {MOST_STATEMENTS}: give what takes "
        "several a name, in steps.py next to it"
    )
    assert view.names <= MOST_NAMES, (
        f"the recipe {name} imports {view.names} names, more than {MOST_NAMES}: what belongs together has one name"
    )
    assert not view.numbers, (
        f"the recipe {name} has {', '.join(view.numbers)} outside Config: make each a field with a name and a default"
    )


def in_view(recipe: ModuleType) -> InView:
    """What there is to read in the file of a recipe."""
    return in_view_of(Path(recipe.__file__ or "").read_text(encoding="utf-8"))


def in_view_of(source: str) -> InView:
    """What there is to read in the source of a recipe."""
    tree = ast.parse(source)
    return InView(_statements(tree), len(_imported(tree)), tuple(_numbers(tree)))


def _statements(tree: ast.Module) -> int:
    """The statements of the loops in `train` over the steps of a run, without docstrings and imports."""
    train = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "train"]
    loops = [node for each in train for node in each.body if isinstance(node, ast.For | ast.While)]
    return sum(_counts(node) for loop in loops for node in ast.walk(loop) if node is not loop)


def _counts(node: ast.AST) -> bool:
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return isinstance(node, ast.stmt) and not text and not isinstance(node, ast.Import | ast.ImportFrom)


def _imported(tree: ast.Module) -> set[str]:
    """The names that a module imports; of a module that it imports, the attributes that it uses."""
    names: set[str] = set()
    modules: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {(each.asname or each.name).partition(".")[0] for each in node.names}
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            for each in node.names:
                kind = modules if _is_module(f"{node.module}.{each.name}") else names
                kind.add(each.asname or each.name)
    used = {
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules
    }
    return names | used


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):  # its parent is a module and no package
        return False


def _numbers(tree: ast.Module) -> list[str]:
    """The numbers outside `Config` that are not `PLAIN`, as they are written."""
    rest = [node for node in tree.body if not (isinstance(node, ast.ClassDef) and node.name == "Config")]
    constants = [node for part in rest for node in ast.walk(part) if isinstance(node, ast.Constant)]
    return [
        ast.unparse(node)
        for node in constants
        if isinstance(node.value, int | float) and not isinstance(node.value, bool) and node.value not in PLAIN
    ]


def small(recipe: ModuleType, **changes: Any) -> Any:
    """The recipe's defaults, but few matches and steps, and a tiny language model where it plays no game. Of the
    changes those count that are fields of its Config."""
    config = recipe.Config()
    settings = {} if plays_games(config) else {"learner": TINY}
    fields = {field.name for field in dataclasses.fields(config)}
    return shrunk(config, **{key: value for key, value in (settings | changes).items() if key in fields})


def shrunk(config: Any, **changes: Any) -> Any:
    """The settings, but few matches and steps, and with the changes."""
    fitting = {
        key: value for key, value in SMALL.items() if key in vars(config) and type(getattr(config, key)) is type(value)
    }
    return dataclasses.replace(config, **(fitting | changes))


def roles_of(config: type[Any]) -> list[str]:
    """The names of the fields of a Config that are roles."""
    return [field.name for field in dataclasses.fields(config) if isinstance(field.default, Role)]


def plays_games(config: Any) -> bool:
    """Whether a config names a game, in which the learner may be a table: by default it is one."""
    settings = vars(config)
    tabular = "learner" not in settings or settings["learner"].model == TABULAR
    return tabular and any(settings.get(name) for name in ("game", "games"))


def with_steps(config: Any, steps: int) -> Any:
    """The settings with `steps` steps, where they have such a field."""
    has_steps = "steps" in {field.name for field in dataclasses.fields(config)}
    return dataclasses.replace(config, steps=steps) if has_steps else config


def trained(
    recipe: ModuleType,
    config: Any,
    folder: Path,
    seed: int = 0,
    watchers: Sequence[Watcher] = (),
    record_episodes: int = 2,
) -> Run:
    """The finished run."""
    schedule = Schedule(evaluate_every=2, checkpoint_every=2, record_episodes=record_episodes)
    run = Run(folder, seed, schedule, watchers)
    recipe.train(config, run)
    return run


def check_seed(recipe: ModuleType, config: Any) -> None:
    """Two steps run; two runs of one seed leave the same behind, and one of another seed does not."""
    name = named(recipe)
    with tempfile.TemporaryDirectory() as folder:
        runs = [_tried(recipe, config, Path(folder) / str(number), seed) for number, seed in enumerate((3, 3, 4))]
        steps = [line["step"] for line in metrics(runs[0])]
        assert steps, f"the recipe {name} writes no steps: it loops over run.steps(config.steps)"
        told = all(line.keys() - {"step", "samples"} for line in metrics(runs[0]))  # which are there without it
        assert told, f"the recipe {name} reports nothing: call run.report(...) in each step"
        assert steps == list(range(len(steps))), f"the recipe {name} reports the steps {steps}: each once, from 0 on"
        stored_episodes(runs[0].folder)  # raises where what it recorded cannot be read
        first, again, other = (left_behind(run) for run in runs)
        differs = [what for what in first if first[what] != again[what]]
        assert not differs, (
            f"two runs of the recipe {name} with one seed differ in {differs[0]}: take all chance from run.rng and "
            "run.derived(...)"
        )
        assert first != other, f"runs of the recipe {name} with two seeds are equal: take chance from run.rng"


def check_resume(recipe: ModuleType, config: Any, steps: int = 6, kills: Sequence[int] = (2, 4)) -> None:
    """A run that is killed at some steps and begun again leaves behind what one that was not killed does."""
    config = with_steps(config, steps)
    with tempfile.TemporaryDirectory() as folder:
        whole = left_behind(_tried(recipe, config, Path(folder)))
        (Path(folder) / "final.json").unlink()  # killed before its last word
        again = left_behind(trained(recipe, config, Path(folder)))
    assert whole == again, (
        f"the recipe {named(recipe)} measures otherwise at its end when it is resumed there: a measure keeps nothing "
        "between steps, or is named in run.steps with state() and restore(state)"
    )
    check_killed(recipe, config, whole, kills)


def check_killed(recipe: ModuleType, config: Any, expected: Mapping[str, Any], kills: Sequence[int] = (2, 4)) -> None:
    """A run that is killed at some steps and begun again leaves behind what is expected."""
    name = named(recipe)
    with tempfile.TemporaryDirectory() as folder:
        for step in kills:
            try:
                trained(recipe, config, Path(folder), watchers=[Killer(step)])
            except KeyboardInterrupt:
                continue
            raise AssertionError(
                f"the recipe {name} never came to step {step}: its loop is over run.steps(config.steps)"
            )
        resumed = left_behind(trained(recipe, config, Path(folder)))
        differs = [what for what in {**expected, **resumed} if expected.get(what) != resumed.get(what)]
        assert not differs, (
            f"the recipe {name} goes on otherwise after a kill, {differs[0]} differs: name all that it keeps between "
            "steps in run.steps(count, policies, parts, measures)"
        )


class Killer:
    """A watcher that raises KeyboardInterrupt once a step has been written, before it is saved."""

    def __init__(self, step: int) -> None:
        self.when = step

    def begin(self, run: Run, start: int, count: int) -> None:
        pass

    def step(self, line: Line) -> None:
        if line["step"] == self.when:
            raise KeyboardInterrupt

    def end(self, run: Run) -> None:
        pass


def metrics(run: Run) -> list[dict[str, Any]]:
    """All lines without what differs between equal runs."""
    return [{key: value for key, value in line.items() if key not in CLOCKED} for line in read_metrics(run.folder)]


def left_behind(run: Run) -> dict[str, Any]:
    """Everything a run wrote but for its clock, by its name: metrics, the last word, records, weights, optimisers and
    parts."""
    files = [run.folder / "final.json", *sorted((run.folder / "episodes").glob("*"))]
    newest = sorted((run.folder / "checkpoints").iterdir())[-1]
    files += [path for path in sorted(newest.rglob("*")) if path.is_file() and path.suffix not in (".md", "")]
    uneven = ("parts.pt", "manifest.json")  # the bytes of the one tell which equal strings are one, and their number
    contents = {str(path.relative_to(run.folder)): path.read_bytes() for path in files if path.name not in uneven}
    parts = torch.load(newest / "parts.pt", weights_only=False)
    return {
        "metrics": metrics(run),
        **contents,
        "parts": without_tensors(parts),
        "collapse": facts_of(newest)["collapse"],
    }


def without_tensors(value: Any) -> Any:
    """Nested lists of numbers and strings, which can be compared."""
    if isinstance(value, dict):
        return {key: without_tensors(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_tensors(item) for item in value]
    return value.tolist() if isinstance(value, torch.Tensor | np.ndarray | np.generic) else value


def _tried(recipe: ModuleType, config: Any, folder: Path, seed: int = 0) -> Run:
    """The finished run. Raises AssertionError in one line where it stops before."""
    try:
        return trained(recipe, config, folder, seed)
    except Exception as error:
        said = " ".join(str(error).split())
        raise AssertionError(
            f"the recipe {named(recipe)} stops with {type(error).__name__} ({said:.160}) when it is run small: it must "
            "run its steps, or give check_recipe the config with which it does"
        ) from error


def figures() -> str:
    """The figures of every shipped recipe, one a line."""
    lines = [f"{'recipe':24} {'statements':>10} {'names':>6}  numbers outside Config"]
    for place in places():
        view = in_view_of(place.path.read_text(encoding="utf-8"))
        mark = " !" if view.faults else ""
        lines.append(f"{place.name:24} {view.statements:10} {view.names:6}  {' '.join(view.numbers)}{mark}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(figures())
