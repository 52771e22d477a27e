"""Records what every recipe does in its first steps: `python tests/golden/figures.py`, or for some of them
`python tests/golden/figures.py RECIPE ...`. Read the diff before a commit.

For each recipe and seed: a digest of every word said, the figures of each step, a projection of the final parameters.
A refactoring leaves all of them as they are; a change of a method changes its own, with a sentence in the commit that
says why.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import json
import math
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from safetensors.numpy import load_file

HERE = Path(__file__).parent
KEPT = HERE / "figures.json"
SEEDS = (0, 1)
COIN = f"{HERE / 'coin.py'}:Coin"
ON_COIN = (
    "absolute_zero",
    "r_zero",
    "agent0",
    "sws",
    "spin",
    "sppo",
    "spo",
    "nash_md",
    "iterative_dpo",
    "score",
    "drive",
    "r3",
    "spear",
    "remix",
    "exit",
    "rise",
    "self_j",
    "self_evolution",
    "spar",
    "retool",
)
ON_LISTED = ("knowrl", "rlccf", "evol_rl")  # whose untrained model must write a task now and then, or agree with itself
FURTHER = {
    "self_evolution": {"keep": "all"},  # whose untrained critic accepts nothing
    "spar": {"keep": "right"},  # the same
    "b_star": {"thresholds": (0.0,)},  # of which no untrained reply is right
    "verltool": {"game": f"working:{HERE / 'coin.py'}:Purse"},  # an untrained model writes no query
}
UNSTEADY = ("comas", "rlsp")  # whose steps after an update turn on how the processor rounds: their first is kept
DIGITS = 4  # of a figure: sums are rounded differently on other processors


def contract() -> ModuleType:
    """The contract on recipes, which knows how to run each of them small."""
    name = "contract_on_recipes"
    if name not in sys.modules:
        plan = importlib.util.spec_from_file_location(name, HERE.parent / "contracts" / "test_recipes.py")
        assert plan is not None
        assert plan.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(plan)
        plan.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def figures(name: str, seed: int) -> dict[str, Any]:
    """What a run of four steps, or of one, said, measured and became."""
    coin = COIN if name in ON_COIN else f"{COIN}OfList" if name in ON_LISTED else ""
    settings: dict[str, Any] = {"questions": coin} if coin else {}
    settings |= FURTHER.get(name, {})
    if "truncated_score" in {field.name for field in dataclasses.fields(contract().find_recipe(name).Config)}:
        settings["truncated_score"] = "graded"  # the tiny model says nothing to its end
    with tempfile.TemporaryDirectory() as folder:
        steps = 1 if name in UNSTEADY else 4
        run = contract().trained(name, Path(folder), seed, record_episodes=64, steps=steps, **settings)
        lines = contract().metrics(run)
        words = hashlib.sha256()
        for file in sorted((run.folder / "episodes").glob("*")):
            for line in file.read_text().splitlines():
                for turn in json.loads(line)["turns"]:
                    words.update(json.dumps([turn["ask"]["seat"], turn["reply"]["text"]]).encode())
        parameters = projection(sorted((run.folder / "checkpoints").iterdir())[-1])
    return {
        "words": words.hexdigest()[:16],
        "parameters": round(parameters, 3),
        "steps": [{key: rounded(value) for key, value in sorted(line.items()) if is_figure(value)} for line in lines],
    }


def is_figure(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}") if abs(value) >= 1e-6 else 0.0


def projection(checkpoint: Path) -> float:
    """The parameters below a checkpoint, summed with signs drawn once: it moves with every update, as their norm does
    not."""
    signs = np.random.default_rng(0)
    found = 0.0
    for file in sorted(checkpoint.rglob("*")):
        if file.suffix == ".safetensors":
            for _, value in sorted(load_file(file).items()):
                found += float(signs.choice([-1.0, 1.0], value.size) @ value.astype(np.float64).ravel())
        if file.name == "table.json":
            found += _sum_of_squares(json.loads(file.read_text())) ** 0.5
    return found


def _sum_of_squares(value: Any) -> float:
    if isinstance(value, dict):
        return sum(_sum_of_squares(each) for each in value.values())
    if isinstance(value, list):
        return sum(_sum_of_squares(each) for each in value)
    return float(value) ** 2 if is_figure(value) and not isinstance(value, bool) else 0.0


def recorded(names: Sequence[str]) -> dict[str, Any]:
    """The figures of these recipes, or of all, beside what is kept of the others."""
    torch.set_num_threads(1)
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if names else {}
    return kept | {name: {str(seed): figures(name, seed) for seed in SEEDS} for name in names or contract().RECIPES}


if __name__ == "__main__":
    KEPT.write_text(json.dumps(recorded(sys.argv[1:]), indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"wrote {KEPT}")
