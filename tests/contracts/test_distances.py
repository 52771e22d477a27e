"""Two recipes differ as their papers do: how much of the second is not in the first.

Counted are the lines of `recipe.py` and `steps.py` together, docstrings, comments and imports left out.
"""

import ast
from collections import Counter
from pathlib import Path

import pytest

from redqueen.settings.finding import find_recipe

LIMITS = [
    ("sppo", "iterative_dpo", 0.25),
    ("spo", "nash_md", 0.30),
    ("absolute_zero", "multi_agent_evolve", 0.45),
    ("r_zero", "agent0", 0.50),
]


def lines(path):
    """The lines of a file that say something."""
    text = path.read_text()
    dropped = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            dropped |= set(range(node.lineno, node.end_lineno + 1))
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            dropped |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    numbered = ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1))
    return [line for number, line in numbered if number not in dropped and line and not line.startswith("#")]


def all_lines(name):
    recipe = Path(find_recipe(name).__file__)
    files = [recipe, recipe.with_name("steps.py")] if recipe.stem == "recipe" else [recipe]
    return [line for file in files if file.exists() for line in lines(file)]


def new_share(first, second):
    """The share of the lines of `second` that are not among those of `first`, each counted as often as it stands."""
    return sum((Counter(second) - Counter(first)).values()) / len(second)


def test_a_line_is_known_as_often_as_it_stood_before():
    assert new_share(["a", "b"], ["a", "a", "b", "c"]) == 0.5


@pytest.mark.parametrize(("first", "second", "limit"), LIMITS)
def test_two_recipes_differ_as_their_papers_do(first, second, limit):
    assert new_share(all_lines(first), all_lines(second)) <= limit
