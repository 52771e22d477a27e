"""Damages the folders of runs at random and tries what a user would do with them.

python tests/trust/fuzz_folders.py 1000 [FIRST_SEED [RECIPE]]     tries so many, and prints the seeds that went wrong

The folder is that of a league; with another recipe (absolute_zero, iterative_dpo, spiral, ...) it is damaged three
times, half of the time inside a checkpoint, whose hashes are then made to fit. A seed decides everything; those that
once went wrong are kept in `damaged_seeds.txt`, which the tests try again.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import re
import shutil
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

from redqueen.cli.main import main
from redqueen.contracts.recipes import TINY, shrunk, small
from redqueen.runs.run import Schedule
from redqueen.runs.train import train
from redqueen.settings.finding import find_recipe

KEPT = Path(__file__).with_name("damaged_seeds.txt")
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
NASTY: tuple[Any, ...] = (
    *(None, True, False, -3, 0, 1, 2**63, 10**400, -1.5, 1e308, math.nan, math.inf, -math.inf),
    *("", "x", "nan", "\x1b[31mred\x07", "\ud800", "../../outside", "/etc/passwd", "a\nb", "</script><script>", "‮"),
    *([], {}, [[]], [None], [1, 2, 3], {"a": 1}, {"step": -1}, [["x", "y"]], "x" * 100_000),
)


def template(folder: Path) -> Path:
    """A run of the league of three steps that was killed after its second, with a tournament and a comparison."""
    config = shrunk(find_recipe("league").Config(), steps=3)
    train("league", config, folder, schedule=Schedule(evaluate_every=1, checkpoint_every=1))
    shutil.rmtree(folder / "checkpoints" / "step_000003")
    for words in (["tournament"], ["compare"]):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            assert main([*words, str(folder), "uniform", "--matches", "2", "--output", str(folder)]) == 0
    (folder / "error.txt").write_text("step 2: killed\n")
    return folder


def template_of(recipe: str, folder: Path) -> Path:
    """A run of a recipe of two steps, with a tiny language model, that was killed after its first."""
    module = find_recipe(recipe)
    config = small(module, steps=2, learner=TINY)
    train(recipe, config, folder, schedule=Schedule(evaluate_every=1, checkpoint_every=1))
    shutil.rmtree(folder / "checkpoints" / "step_000002")
    return folder


def damage_inside(run: Path, random: Random) -> str:
    """Damages three files, and makes the hashes of checkpoints fit them."""
    places = [run, *(run / "checkpoints").glob("step_*")]
    done = []
    for _ in range(3):
        with contextlib.suppress(IndexError, ValueError, OSError, RecursionError):  # nothing is left to damage there
            done.append(damage(random.choice(places), random))
    for checkpoint in places[1:]:
        with contextlib.suppress(ValueError, OSError, TypeError, RecursionError):
            manifest = json.loads((checkpoint / "manifest.json").read_text())
            files = [path for path in sorted(checkpoint.rglob("*")) if path.is_file() and path.name != "manifest.json"]
            hashes = {
                str(path.relative_to(checkpoint)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
            }
            (checkpoint / "manifest.json").write_text(json.dumps({**manifest, "digests": hashes}))
    return "; ".join(done)


def damage(run: Path, random: Random) -> str:
    """Damages one file of a run and says how."""
    path = random.choice(sorted(each for each in run.rglob("*") if each.is_file()))
    ways = [cut, flipped, emptied, removed, as_folder, as_text, *[changed] * 10 * (path.suffix in (".json", ".jsonl"))]
    way = random.choice(ways)
    return f"{path.relative_to(run)} {way.__name__}: {way(path, random)}"


def cut(path: Path, random: Random) -> str:
    data = path.read_bytes()
    path.write_bytes(data[: random.randrange(len(data) + 1)])
    return f"{path.stat().st_size} of {len(data)} bytes"


def flipped(path: Path, random: Random) -> str:
    data = bytearray(path.read_bytes())
    for _ in range(random.choice((1, 1, 3, 20)) if data else 0):
        data[random.randrange(len(data))] = random.randrange(256)
    path.write_bytes(data)
    return ""


def emptied(path: Path, random: Random) -> str:
    path.write_bytes(b"")
    return ""


def removed(path: Path, random: Random) -> str:
    path.unlink()
    return ""


def as_folder(path: Path, random: Random) -> str:
    path.unlink()
    path.mkdir()
    return ""


def as_text(path: Path, random: Random) -> str:
    text = random.choice(("null", "[]", "{}", "1", '"x"', "NaN", "[" * 100_000, '{"a":' * 5_000, "\xff", "{}\n{}\n"))
    path.write_text(text, encoding="latin-1")
    return text[:20]


def changed(path: Path, random: Random) -> str:
    lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
    if not lines:
        return "nothing to change"
    place = random.randrange(len(lines))
    data = json.loads(lines[place])
    said = _changed(data, random)
    lines[place] = json.dumps(data)
    path.write_text("\n".join(lines) + "\n")
    return f"line {place + 1}{said}"


def _changed(data: Any, random: Random) -> str:
    """Changes one value somewhere within, and says which."""
    if not isinstance(data, dict | list):
        return " holds nothing"  # an earlier change has replaced it all
    keys: Sequence[Any] = list(data) if isinstance(data, dict) else range(len(data))
    if not keys:
        return " is empty"
    key = random.choice(keys)
    if isinstance(data[key], dict | list) and data[key] and random.random() < 0.85:
        return f"[{key!r}]{_changed(data[key], random)}"
    if random.random() < 0.15:
        del data[key]
        return f"[{key!r}] removed"
    data[key] = random.choice(NASTY)
    return f"[{key!r}] = {str(data[key])[:30]!r}"


def commands(run: Path) -> list[list[str]]:
    return [
        ["watch", str(run), "--once"],
        ["replay", str(run)],
        ["replay", str(run), "0.0"],
        ["tasks", str(run)],
        ["report", str(run)],
        ["evaluate", str(run), "--matches", "2"],
        ["resume", str(run)],
        ["report", str(run)],
    ]


def tried(source: Path, seed: int, way: Callable[[Path, Random], str] = damage, most: int = 8) -> list[str]:
    """What went wrong with the folder that `seed` damages under at most `most` commands: nothing, if all is well."""
    wrong = []
    with tempfile.TemporaryDirectory() as place:
        run, precious = Path(place) / "run", Path(place) / "outside"
        shutil.copytree(source, run)
        precious.write_text("precious")
        done = way(run, Random(seed))
        all_of_them = commands(run)
        drawn = sorted(Random(seed).sample(range(len(all_of_them)), min(most, len(all_of_them))))
        for words in (all_of_them[number] for number in drawn):
            if fault := _fault(words):
                wrong.append(f"seed {seed}, {done}: {words[0]}: {fault}")
        if precious.read_text() != "precious" or len(list(Path(place).iterdir())) != 2:
            wrong.append(f"seed {seed}, {done}: something outside has changed")
        page = run / "report.html"
        if page.is_file() and not _is_whole(page):
            wrong.append(f"seed {seed}, {done}: the data of the report cannot be read")
    return wrong


def _fault(words: list[str]) -> str:
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            status = main(words)
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {str(error)[:100]} ({Path(where.filename).name}, line {where.lineno})"
    if status not in (0, 2):
        return f"exit status {status}"
    told = [line for line in err.getvalue().splitlines() if not line.startswith("measuring, ")]  # of a busy machine
    if status == 2 and (len(told) != 1 or not err.getvalue().endswith("\n")):
        return f"not one line: {err.getvalue()[:200]!r}"
    if found := CONTROL.search(out.getvalue() + err.getvalue()):
        return f"prints the control character {found[0]!r}"
    return ""


def _is_whole(page: Path) -> bool:
    found = re.search(r'id="data"[^>]*>(.*?)</script>', page.read_text(errors="replace"), re.DOTALL)
    try:
        json.loads(found[1] if found else "", parse_constant=lambda word: 1 / 0)
    except (ValueError, ZeroDivisionError):
        return False
    return True


if __name__ == "__main__":
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    recipe = sys.argv[3] if len(sys.argv) > 3 else ""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "template"
        source = template_of(recipe, place) if recipe else template(place)
        faults = 0
        for seed in range(first, first + count):
            found = tried(source, seed, damage_inside if recipe else damage)
            faults += bool(found)
            for line in found:
                print(line, flush=True)
    print(f"{count} damaged folders, {count * len(commands(Path()))} commands: {faults} folders went wrong")
