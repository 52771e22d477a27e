"""The house rule: a part lives with its method until a second method imports it; then in the shared room of its kind.

`tests/waiting.txt` holds the shared modules that wait for who is to use them. It only shrinks.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import MappingProxyType, ModuleType

import pytest

HERE = Path(__file__).parent
PACKAGE = HERE.parent / "redqueen"
EXPERIMENTS = HERE.parent / "experiments"
WAITING = HERE / "waiting.txt"

IN_A_METHOD = {"__init__", "recipe", "steps", "objective", "measures", "questions", "game", "world"}
MOST_AT_THE_ROOT, MOST_ROOMS, MOST_ARROWS = 12, 41, 209
LATER = {
    "worlds",
    "guests",
    "audit",
    "exports",
}  # rooms that came after these limits were set; their own arrows are as many as they need
FOR_USERS = (
    "redqueen.contracts",
    "redqueen.views.notebook",
    "redqueen.measures.exact.arrays",
)  # imported by users, as docs/ say

Graph = Mapping[str, set[str]]


def layers() -> ModuleType:
    """The test of the levels, which reads what imports what."""
    plan = importlib.util.spec_from_file_location("test_of_layers", HERE / "test_layers.py")
    assert plan is not None
    assert plan.loader is not None
    module = importlib.util.module_from_spec(plan)
    sys.modules[plan.name] = module
    plan.loader.exec_module(module)
    return module


LAYERS = layers()


def read() -> dict[str, set[str]]:
    """What each module of the package imports of it."""
    graph = {}
    for path in LAYERS.FILES:
        module = LAYERS.name_of(path)
        graph[module] = {each for each in LAYERS.imports(path) if each in LAYERS.MODULES} - {module}
    return graph


def read_experiments() -> dict[str, set[str]]:
    """What each experiment imports of the package: `experiments.NAME` belongs to the method NAME."""
    paths = sorted(EXPERIMENTS.rglob("*.py"))
    names = [".".join(("experiments", *path.relative_to(EXPERIMENTS).with_suffix("").parts)) for path in paths]
    return {name: set(LAYERS.imports(path)) & LAYERS.MODULES for name, path in zip(names, paths, strict=True)}


GRAPH = read()
EXPERIMENTS_GRAPH = read_experiments()


def room_of(module: str) -> str:
    """The folder or module right below the package; empty for the package itself."""
    return module.split(".")[1] if "." in module else ""


def name_of_method(module: str) -> str | None:
    """The name of the method to which a recipe, a part of one or an experiment belongs; None for a shared module."""
    if module.startswith("experiments."):
        return module.split(".")[1]
    method = method_of(module)
    return method.rpartition(".")[2] if method else None


def method_of(module: str) -> str | None:
    """The method to which a module belongs, `redqueen.recipes.FAMILY.NAME`; None for one of a shared room."""
    parts = module.split(".")
    return ".".join(parts[:4]) if len(parts) > 3 and parts[1] == "recipes" else None


def lonely(graph: Graph, named: Iterable[str], experiments: Graph = MappingProxyType({})) -> list[str]:
    """The shared modules that fewer than two methods, each with its experiment, and no other shared module import, and
    that nothing finds by name."""
    recipes = {name_of_method(module) for module in graph} - {None}
    importers: dict[str, set[str]] = {module: set() for module in graph}
    for module, imported in (*graph.items(), *experiments.items()):
        for each in imported:
            importers[each].add(module)
    found = []
    for module in sorted(set(graph) - set(named)):
        if room_of(module) in ("", "__main__", "recipes") or module.startswith(FOR_USERS) or _is_package(module, graph):
            continue
        methods = {name_of_method(each) for each in importers[module]} & recipes
        shared = {
            each
            for each in importers[module] & set(graph)
            if room_of(each) != "recipes" and not _is_package(each, graph)
        }
        if len(methods) < 2 and not shared:
            found.append(module)
    return found


def _is_package(module: str, graph: Graph) -> bool:
    return any(each.startswith(f"{module}.") for each in graph)


def named_in(graph: Graph, texts: Mapping[str, Iterable[str]]) -> set[str]:
    """The modules that a string of another shared module names: "redqueen.games.connect:Connect", "training:train" for
    a module of the same folder, or "inside.py" for a file that is run elsewhere."""
    found = set()
    for module, strings in texts.items():
        if room_of(module) == "recipes":
            continue
        folder = module.rpartition(".")[0]
        for text in strings:
            names = (
                text.partition(":")[0],
                f"{folder}.{text.partition(':')[0]}",
                f"{folder}.{text.removesuffix('.py')}",
            )
            kinds = (":" in text or text.startswith("redqueen."), ":" in text, text.endswith(".py"))
            found |= {
                name for name, fits in zip(names, kinds, strict=True) if fits and name in graph and name != module
            }
    return found


def strings() -> dict[str, set[str]]:
    """The string constants of each module but for docstrings, and the modules that a program within one imports."""
    found = {}
    for path in LAYERS.FILES:
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        texts = {
            node.value
            for node in nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
        }
        found[LAYERS.name_of(path)] = texts | {name for text in texts for name in IMPORTED.findall(text)}
    return found


def waiting() -> dict[str, str]:
    """The modules that wait, each with what is to use it: `redqueen.room.module: what`, one a line."""
    lines = [line for line in WAITING.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return {line.partition(": ")[0]: line.partition(": ")[2] for line in lines}


def intruders(graph: Graph) -> list[str]:
    """Where a method is imported by another, or a module in the folder of a method by a shared room."""
    return sorted(
        f"{module} imports {each}"
        for module, imported in graph.items()
        for each in imported
        if method_of(each) not in (None, method_of(module))
        and (method_of(module) is not None or each.count(".") > 3)
        and not _is_package(each, graph)
    )


def circle(graph: Graph) -> list[str]:
    """The modules of one circle of imports; empty if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def arrows(graph: Graph) -> dict[str, set[str]]:
    """Which room imports which."""
    found: dict[str, set[str]] = {room_of(module): set() for module in graph if room_of(module)}
    for module, imported in graph.items():
        if room_of(module):
            found[room_of(module)] |= {room_of(each) for each in imported} - {"", room_of(module)}
    return found


IMPORTED = re.compile(r"^\s*from (redqueen[\w.]+) import", re.MULTILINE)
NAMED = named_in(GRAPH, strings())


def test_a_shared_module_is_shared_or_found_by_name_or_waits() -> None:
    alone = set(lonely(GRAPH, NAMED, EXPERIMENTS_GRAPH)) - set(waiting())
    assert not alone, (
        f"{', '.join(sorted(alone))}: not shared. Move it to its method, or say in tests/waiting.txt what is to use it"
    )


def test_what_waits_still_waits() -> None:
    unknown = set(waiting()) - set(GRAPH)
    assert not unknown, f"tests/waiting.txt names {sorted(unknown)}, which are not there: take the lines out"
    needless = set(waiting()) - set(lonely(GRAPH, NAMED, EXPERIMENTS_GRAPH))
    assert not needless, f"{sorted(needless)} no longer wait: take the lines out of tests/waiting.txt"
    assert all(waiting().values()), "each line of tests/waiting.txt says what is to use the module"


def test_a_method_is_imported_by_nobody_else() -> None:
    assert intruders(GRAPH) == []


def test_the_parts_of_a_method_are_imported_by_its_own_tests_and_its_experiment() -> None:
    strangers = []
    for path in [*HERE.rglob("*.py"), *EXPERIMENTS.rglob("*.py")]:
        for each in set(LAYERS.imports(path)) & LAYERS.MODULES:
            method = method_of(each)
            if method is not None and each.count(".") > 3 and not each.endswith(".recipe"):
                *_, family, name = method.split(".")
                if HERE / "recipes" / family / name not in path.parents and path != EXPERIMENTS / f"{name}.py":
                    strangers.append(f"{path.relative_to(HERE.parent)} imports {each}")
    assert strangers == []


def test_the_folder_of_a_method_holds_its_usual_names_alone() -> None:
    for path in sorted((PACKAGE / "recipes").glob("*/*/")):
        if path.name != "__pycache__" and path.is_dir():
            names = {each.stem for each in path.rglob("*.py")}
            assert names <= IN_A_METHOD, f"{path.relative_to(PACKAGE)} holds {sorted(names - IN_A_METHOD)}"


def test_few_modules_stand_at_the_root_of_the_package() -> None:
    assert len(list(PACKAGE.glob("*.py"))) <= MOST_AT_THE_ROOT


def test_rooms_and_arrows_stay_few_and_make_no_circle() -> None:
    found = arrows(GRAPH)
    assert len(found) <= MOST_ROOMS
    assert sum(len(to - LATER) for room, to in found.items() if room not in LATER) <= MOST_ARROWS
    assert circle(found) == []


def test_modules_make_no_circle() -> None:
    assert circle(GRAPH) == []


# --- known answers ---------------------------------------------------------------------------

ONE, TWO = "redqueen.recipes.games.one", "redqueen.recipes.games.two.recipe"


def test_two_methods_or_a_shared_module_make_a_module_shared() -> None:
    graph = {
        "redqueen.credit": set(),
        "redqueen.credit.by_two": set(),
        "redqueen.credit.by_one": set(),
        "redqueen.credit.by_parts_of_one": set(),
        "redqueen.credit.by_a_room": set(),
        "redqueen.credit.by_nobody": {"redqueen.credit.by_a_room"},
        ONE: {"redqueen.credit.by_two", "redqueen.credit.by_one"},
        TWO: {"redqueen.credit.by_two", "redqueen.credit.by_parts_of_one"},
        "redqueen.recipes.games.two.steps": {"redqueen.credit.by_parts_of_one"},
    }
    alone = [f"redqueen.credit.{name}" for name in ("by_nobody", "by_one", "by_parts_of_one")]
    assert lonely(graph, ()) == alone
    own = {"experiments.one": {"redqueen.credit.by_one"}, "experiments.two": {"redqueen.credit.by_parts_of_one"}}
    assert lonely(graph, (), own) == alone
    assert lonely(graph, (), {"experiments.two": {"redqueen.credit.by_one"}}) == [alone[0], alone[2]]
    assert lonely(graph, (), {"experiments.speed.two": {"redqueen.credit.by_one"}}) == alone
    assert lonely(graph, ["redqueen.credit.by_nobody"]) == alone[1:]


def test_modules_are_found_by_name_in_catalogues_commands_and_files() -> None:
    names = ("games.go", "games.chess", "cli.train", "checks.inside")
    graph = {f"redqueen.{name}": set() for name in names}
    texts = {
        "redqueen.games.catalogue": ["redqueen.games.go:Go", "chess"],
        "redqueen.cli.main": ["train:train"],
        "redqueen.checks.runner": ["inside.py"],
        "redqueen.recipes.games.one": ["redqueen.games.chess:Chess"],
    }
    assert named_in(graph, texts) == {"redqueen.games.go", "redqueen.cli.train", "redqueen.checks.inside"}


def test_a_method_that_imports_another_is_found() -> None:
    graph = {
        ONE: {"redqueen.recipes.games.two.steps"},
        TWO: {"redqueen.recipes.games.two.steps"},
        "redqueen.views": {ONE, TWO},
    }
    assert intruders(graph) == [f"{ONE} imports redqueen.recipes.games.two.steps", f"redqueen.views imports {TWO}"]


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, set()),
        ({"a": {"b"}, "b": {"c"}, "c": {"b"}}, {"b", "c"}),
    ],
)
def test_a_circle_is_found(graph: Graph, expected: set[str]) -> None:
    assert set(circle(graph)) == expected


def test_rooms_and_their_arrows_are_counted() -> None:
    graph = {
        "redqueen": {"redqueen.types"},
        "redqueen.types": set(),
        "redqueen.games.go": {"redqueen.types", "redqueen.games.talk"},
        "redqueen.games.talk": {"redqueen.types"},
    }
    assert arrows(graph) == {"types": set(), "games": {"types"}}
