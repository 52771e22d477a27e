"""Changes one value inside a checkpoint, makes its hash fit, and resumes the run.

python tests/trust/tamper.py SECONDS [FIRST_SEED]     tries seeds for so long; prints what is not refused well

A value gets another type, a number that no such number can be, another size, or goes. What is inside the files is
changed as they are read: JSON, tensors, the states in `parts.pt`. A seed decides everything. Each is resumed in a
process of its own, forked from this one.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import os
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from redqueen.cli.main import main
from redqueen.contracts.recipes import TINY, shrunk, small
from redqueen.runs.checkpoints import checkpoints
from redqueen.runs.run import Schedule
from redqueen.runs.train import train
from redqueen.settings.finding import find_recipe

RECIPES = ("spiral", "league", "iterative_dpo", "sws", "eva", "sec", "self_rewarding", "rise", "spin", "nash_md")
TABLES = ("first_steps", "magnetic", "league")
FREE = ("facts", "score", "messages", "prompt", "answer", "kind", "origin", "id", "text", "thought")  # any text will do

NAMED = (".pt", ".json", "weights", "manifest")
OPEN = ("steps", "messages", "trials", "refused", "start", "worked", "entropies", "late", "causes", "results")


def template(folder: Path, recipe: str, tables: bool) -> Path:
    """A run of two steps that was killed after its first."""
    module = find_recipe(recipe)
    config = shrunk(module.Config(), steps=2) if tables else small(module, steps=2, learner=TINY)
    train(recipe, config, folder, schedule=Schedule(evaluate_every=1, checkpoint_every=1))
    shutil.rmtree(folder / "checkpoints" / "step_000002")
    return folder


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to all values within, those of containers too."""
    if path and path[-1] in FREE:
        return
    if path:
        yield path
    if isinstance(value, dict):
        for key, each in value.items():
            yield from places(each, (*path, key))
    elif isinstance(value, list | tuple):
        for number, each in enumerate(value):
            yield from places(each, (*path, number))


def worse(value: Any, random: Random) -> Any:
    """Something that cannot stand where this value stood."""
    if isinstance(value, bool):
        return random.choice((2.5, "x", [], math.nan))
    if isinstance(value, int):
        return random.choice((-3, 2.5, "x", [], math.nan, 10**400, True))
    if isinstance(value, float):
        return random.choice((math.nan, math.inf, "x", [], {}, True))
    if isinstance(value, str):
        return random.choice((5, [], {}, math.nan))
    if isinstance(value, torch.Tensor):
        return random.choice(_of_tensors(value))
    if isinstance(value, dict):
        return random.choice(([], "x", 3, None))
    if isinstance(value, list | tuple):
        return random.choice(({}, "x", 3, [*value, "more"], [*value, None]))
    return random.choice((object, [2.5], {"a": 1})) if value is not None else [2.5]


def _of_tensors(value: torch.Tensor) -> list[Any]:
    found: list[Any] = [[1.0], "x", value[None], torch.cat([value.reshape(-1), value.reshape(-1)[:1]]), None]
    if value.is_floating_point():
        spoiled = value.clone().reshape(-1)
        spoiled[:1] = math.nan
        found += [spoiled.reshape(value.shape)] * 3 if len(spoiled) else []
    else:
        found += [
            value.bool() if value.dtype != torch.bool else value.double(),
            -value.to(torch.int64) - 5 if len(value.reshape(-1)) else [1],
        ]
    return found


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """The value with another one at a path; `new` of Ellipsis takes it away."""
    key, *rest = path
    inner = list(value) if isinstance(value, tuple) else value.copy()
    if rest:
        inner[key] = changed(value[key], tuple(rest), new)
    elif new is ...:
        del inner[key]
    else:
        inner[key] = new
    return inner


def tampered(folder: Path, random: Random) -> str:
    """Tampers with one file of the checkpoint; says how."""
    checkpoint = checkpoints(folder)[-1]
    wanted = ("parts.pt", "parts.pt", "optimizer.pt", "policy.json", "table.json", "manifest.json", "model.safetensors")
    files = [path for name in wanted for path in sorted(checkpoint.rglob(name))]
    path = random.choice(files)
    read, write = {
        ".pt": (lambda: torch.load(path, weights_only=True), lambda data: torch.save(data, path)),
        ".json": (lambda: json.loads(path.read_text()), lambda data: path.write_text(json.dumps(data))),
        ".safetensors": (lambda: load_file(path), lambda data: save_file(data, path, {"format": "pt"})),
    }[path.suffix]
    data = read()
    found = [each for each in places(data) if each[0] not in ("digests", "settings") or path.name != "manifest.json"]
    spots = [each for each in found if path.suffix != ".safetensors" or len(each) == 1]
    depths = sorted({len(each) for each in spots})
    depth = random.choice(depths)  # else nearly all would be numbers deep within
    spot = random.choice([each for each in spots if len(each) == depth])
    old = data
    for key in spot:
        old = old[key]
    fixed = isinstance(spot[-1], str) and (len(spot) < 2 or spot[-2] not in OPEN)
    new = ... if fixed and random.random() < 0.1 else worse(old, random)
    if new is object:
        new = 2.5
    if path.suffix == ".safetensors" and not isinstance(new, torch.Tensor):
        new = old[None].contiguous()
    with contextlib.suppress(ValueError):
        write(changed(data, spot, new))
    if path.name != "manifest.json":
        manifest = json.loads((checkpoint / "manifest.json").read_text())
        manifest["digests"][str(path.relative_to(checkpoint))] = hashlib.sha256(path.read_bytes()).hexdigest()
        (checkpoint / "manifest.json").write_text(json.dumps(manifest))
    shown = f"{list(new.shape)} {new.dtype}" if isinstance(new, torch.Tensor) else f"{str(new)[:30]!r}"
    return f"{path.relative_to(checkpoint)} {'.'.join(map(str, spot))[-70:]}: {type(old).__name__} -> {shown}"


def resumed(folder: Path) -> tuple[str, str]:
    """How the resumed run ended, in a process of its own: "taken", "refused", "other"; and what was said."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        out, err = io.StringIO(), io.StringIO()
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                status = main(["resume", str(folder)])
            said = err.getvalue()
            kind = "taken" if status == 0 else "refused" if status == 2 and said.count("\n") == 1 else "other"
        except BaseException as error:
            kind, said = "other", f"{type(error).__name__}: {error}"
        os.write(writing, f"{kind}\n{said}".encode(errors="replace")[:3000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode(errors="replace")
    os.waitpid(child, 0)
    kind, _, rest = said.partition("\n")
    return kind or "other", rest.strip()


def share(
    count: int,
    first: int,
    recipes: Sequence[str] = RECIPES,
    tables: Sequence[str] = TABLES,
    seconds: float = 1e9,
) -> dict[str, int]:
    """How the resumed runs ended."""
    ends = {"taken": 0, "refused": 0, "without a place": 0, "other": 0}
    with tempfile.TemporaryDirectory() as place:
        with contextlib.redirect_stdout(io.StringIO()):
            cases = [(recipe, False) for recipe in recipes] + [(recipe, True) for recipe in tables]
            made = [template(Path(place) / f"{recipe}{tables}", recipe, tables) for recipe, tables in cases]
        end_at = time.monotonic() + seconds
        for seed in range(first, first + count):
            if time.monotonic() > end_at:
                break
            random, folder = Random(seed), Path(place) / "run"
            source = random.choice(made)
            shutil.copytree(source, folder)
            done = tampered(folder, random)
            end, said = resumed(folder)
            end = "without a place" if end == "refused" and not any(each in said for each in NAMED) else end
            ends[end] += 1
            if end != "refused":
                print(f"seed {seed}, {source.name}: {done}: {end}: {said[:200]}", flush=True)
            shutil.rmtree(folder)
    return ends


if __name__ == "__main__":
    os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp()
    numbers = [int(word) for word in sys.argv[1:]]
    print(share(1_000_000, numbers[1] if len(numbers) > 1 else 0, seconds=numbers[0]))
