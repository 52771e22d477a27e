"""The keys of `facts` that one module writes and another reads stand in one table: `TASK_FACTS`, `OUTCOME_FACTS`."""

import ast
from pathlib import Path

import pytest

from redqueen.types import OUTCOME_FACTS, TASK_FACTS

ROOT = Path(__file__).parent.parent
OF_CHECKPOINTS = {
    "redqueen/players/transformer/policy.py",
    "redqueen/runs/checkpoints.py",
    "redqueen/runs/run.py",
}  # where a variable `facts` is what a checkpoint holds
FILES = sorted(path for room in ("redqueen", "experiments") for path in (ROOT / room).rglob("*.py"))


def constants(tree):
    """The names that a module gives to texts, such as LEVEL = "level"."""
    return {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def holder(node, variables=True):
    """Whose facts an expression is: "task", "outcome", or "either" for a variable `facts`; None if it is no facts."""
    if isinstance(node, ast.Name) and node.id == "facts":
        return "either" if variables else None
    if isinstance(node, ast.Attribute) and node.attr == "facts":
        return "outcome" if ast.unparse(node.value).endswith("outcome") else "task"
    return None


def found(node):
    """(facts, key, whether it is written) of `facts["key"]`, `facts.get("key")` and `"key" in facts`."""
    match node:
        case ast.Subscript(value=facts, slice=key, ctx=how):
            return facts, key, not isinstance(how, ast.Load)
        case ast.Call(func=ast.Attribute(value=facts, attr="get"), args=[key, *_]):
            return facts, key, False
        case ast.Compare(left=key, ops=[ast.In() | ast.NotIn()], comparators=[facts]):
            return facts, key, False
    return None


def key_of(node, named):
    """The text of a key, also where a constant of the module stands for it; None where it is worked out."""
    if isinstance(node, ast.Constant):
        return node.value
    return named.get(node.id) if isinstance(node, ast.Name) else None


def read_elsewhere(source, variables=True):
    """{(whose, key)} of the facts that a module reads and does not write."""
    tree = ast.parse(source)
    named = constants(tree)
    read, written = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            written |= {key.value for key in node.keys if isinstance(key, ast.Constant)}
            written |= {named[key.id] for key in node.keys if isinstance(key, ast.Name) and key.id in named}
        if (use := found(node)) and (whose := holder(use[0], variables)):
            key = key_of(use[1], named)
            if key is not None:
                (written.add(key) if use[2] else read.add((whose, key)))
    return {(whose, key) for whose, key in read if key not in written}


TABLES = {"task": TASK_FACTS, "outcome": OUTCOME_FACTS, "either": {**TASK_FACTS, **OUTCOME_FACTS}}


def test_a_key_that_another_module_writes_is_found():
    source = """
LEVEL = "level"
def f(task, episode, facts):
    replace(task, facts={**task.facts, "own": 1})
    facts["kept"] = {}
    task.facts["own"], facts["kept"], task.facts.get("hint", ""), episode.outcome.facts["right"], facts["cards"]
    return LEVEL not in task.facts or "gains" in episode.outcome.facts
"""
    assert read_elsewhere(source) == {
        ("task", "hint"),
        ("outcome", "right"),
        ("either", "cards"),
        ("task", "level"),
        ("outcome", "gains"),
    }
    assert ("either", "cards") not in read_elsewhere(source, variables=False)


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(ROOT)) for path in FILES])
def test_facts_that_another_module_wrote_stand_in_the_table(path):
    name = str(path.relative_to(ROOT))
    for whose, key in read_elsewhere(path.read_text(), name not in OF_CHECKPOINTS):
        assert key in TABLES[whose], (
            f"{name} reads facts[{key!r}] of a {whose.replace('either', 'task or outcome')}, which it does not "
            "write: say in TASK_FACTS or OUTCOME_FACTS of redqueen/types.py what it means and who writes it"
        )


def test_every_key_of_the_tables_is_read_somewhere():
    read = set()
    for path in FILES:
        tree = ast.parse(path.read_text())
        named = constants(tree)
        uses = [use for node in ast.walk(tree) if (use := found(node)) and holder(use[0]) and not use[2]]
        read |= {key_of(key, named) for _, key, _ in uses}
    unread = {*TASK_FACTS, *OUTCOME_FACTS} - read
    assert not unread, f"nobody reads {unread}: take them out of TASK_FACTS and OUTCOME_FACTS"
