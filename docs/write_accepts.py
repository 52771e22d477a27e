"""Writes docs/accepts.md: which recipe learns from which data, found by running each for two small steps.

Run it as `python docs/write_accepts.py` where redqueen is installed; it takes some minutes. With names of recipes it
runs these alone and keeps the other rows. With `--times` it renews the second table alone, from
docs/accepts_runs.jsonl, which docs/run_accepts.py writes.
"""

from __future__ import annotations

import dataclasses
import json
import re
import sys
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this checkout, whatever else is installed

from redqueen.cli.own_files import field_of_questions  # noqa: E402
from redqueen.contracts.recipes import TINY, metrics, shrunk, trained  # noqa: E402
from redqueen.settings.finding import RECIPES, find_recipe  # noqa: E402
from redqueen.settings.limits import check_settings  # noqa: E402
from redqueen.types import RedQueenError  # noqa: E402

PAGE = ROOT / "docs" / "accepts.md"
RUNS = ROOT / "docs" / "accepts_runs.jsonl"
EXAMPLE = ROOT / "examples" / "arithmetic.jsonl"
GAME = "kuhn_poker"
NO_VERDICT = "no verdict"
OUT_OF_TIME = 124  # the status of a run that was stopped
EXAMPLE_NAME = "examples/arithmetic.jsonl"
ENOUGH: Mapping[str, Mapping[str, object]] = {  # what their rules ask for
    "spell": {"votes": 3, "stages": (0, 1)},
    "rlccf": {"truncated_score": "graded"},
}
WORDS = {"": "**yes**", NO_VERDICT: "*no verdict*"}
HEAD = """# Which recipe learns from which data

Each cell was found by running the recipe for two small steps with an untrained model: **yes** where it ran, *no
verdict* where it ran but nobody could say of any attempt whether it was right, else a number that names the line it
was refused with. Written by `python docs/write_accepts.py`; do not edit it by hand.
`redqueen list recipes` says what each is for, [own_questions.md](own_questions.md) how a file is read.

"""

TIMES = """
## Twenty updates

Each recipe that takes questions, on `examples/arithmetic.jsonl` (550 problems of reasoning-gym), with an untrained tiny
model and with SmolLM2-135M: the processor time of the whole command, which begins with loading the model and measures
before and after, in how many of its steps there was something to learn from (a gradient above 0), or the number of the
line it was refused with. The sizes are small (2 to 4 tasks of 4 attempts, replies of 16 and of 32 to 48 tokens), one
thread. Where "by the clock" stands, others used the two cores too (a load of up to 15): the time is an upper bound.
*Not run*: there was no time for it.
The commands are in `docs/accepts_runs.jsonl`, which `python docs/run_accepts.py FOLDER` writes;
`python docs/write_accepts.py --times` writes this table.

"""


def times() -> str:
    """The table of the runs in docs/accepts_runs.jsonl, with its heading."""
    rows = [json.loads(line) for line in RUNS.read_text(encoding="utf-8").splitlines()]
    models = list(dict.fromkeys(row["model"] for row in rows))
    found = {(row["recipe"], row["model"]): row for row in rows}
    reasons: dict[str, int] = {}
    lines = [f"| recipe | {' | '.join(models)} |", "|---|" + "---|" * len(models)]
    for name in [each for each in RECIPES if field_of_questions(find_recipe(each).Config)]:
        refused = next((row for row in rows if row["recipe"] == name and row["status"] == 2 and not row["steps"]), None)
        cells = [told(found.get((name, model), refused), reasons) for model in models]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    lines += ["", "Why not:", ""] + [f"{number}. {reason}" for reason, number in reasons.items()]
    return TIMES + "\n".join(lines) + "\n"


def told(row: Mapping[str, Any] | None, reasons: dict[str, int]) -> str:
    """A cell of the second table: what one run did."""
    if row is None:
        return "*not run*"
    if row["status"] == OUT_OF_TIME:
        return f"{row['steps']} steps, then {row['said'].removeprefix('not ')}"
    if row["status"]:
        said = row["said"].replace(EXAMPLE_NAME, "the file").removeprefix("redqueen: ")
        return f"{reasons.setdefault(said, len(reasons) + 1)}"
    learned = "no verdict" if row["no_verdict"] else f"{row['with_gradient']} of {row['steps']}"
    seconds = row.get("processor_seconds", row.get("seconds", 0))
    return f"{seconds // 60}:{seconds % 60:02d}{'' if 'processor_seconds' in row else ' by the clock'}, {learned}"


def kept() -> dict[str, list[str]]:
    """What the cells of each recipe say in the first table of the page as it is, refusals in full."""
    table = PAGE.read_text(encoding="utf-8").partition(TIMES[:20])[0]
    numbered = dict(re.findall(r"(?m)^([0-9]+)\. (.+)$", table))
    words = {word: said for said, word in WORDS.items()}
    return {
        name: [words[cell] if cell in words else numbered[cell] for cell in cells.split(" | ")]
        for name, cells in re.findall(r"(?m)^\| `(\w+)` \| (.+) \|$", table)
    }


def page(only: Sequence[str] = ()) -> str:
    """The whole text of docs/accepts.md; where recipes are named, with the other rows as they are."""
    before = kept() if only else {}
    with tempfile.TemporaryDirectory() as folder:
        data = files(Path(folder))
        reasons: dict[str, int] = {}
        columns = [*data, "a game"]
        lines = [f"| recipe | {' | '.join(columns)} |", "|---|" + "---|" * len(columns)]
        for name in RECIPES:
            if name in before and name not in only:
                said = before[name]
            else:
                said = [refusal(name, file, Path(folder)) for file in data.values()]
                said.append(refusal_of_game(name, Path(folder)))
            cells = [WORDS.get(each) or f"{reasons.setdefault(each, len(reasons) + 1)}" for each in said]
            lines.append(f"| `{name}` | {' | '.join(cells)} |")
            print(lines[-1], file=sys.stderr, flush=True)
    lines += ["", "Why not:", ""] + [f"{number}. {reason}" for reason, number in reasons.items()]
    return HEAD + "\n".join(lines) + "\n" + times()


def files(folder: Path) -> Mapping[str, Path]:
    """A file of each shape, by what is in it."""
    rows = [json.loads(line) for line in EXAMPLE.read_text(encoding="utf-8").splitlines()]
    shapes = {
        "questions and answers": [{"question": row["question"], "answer": row["answer"]} for row in rows],
        "questions alone": [{"question": row["question"]} for row in rows],
        "chosen and rejected": [
            {"prompt": row["question"], "chosen": f"It is {row['answer']}.", "rejected": "No idea."} for row in rows
        ],
        "questions, answers and documents": [
            {"question": row["question"], "answer": row["answer"], "context": f"A table says: {row['answer']}."}
            for row in rows
        ],
    }
    found = {}
    for number, (name, shaped) in enumerate(shapes.items()):
        found[name] = folder / f"data{number}.jsonl"
        found[name].write_text("".join(json.dumps(row) + "\n" for row in shaped), encoding="utf-8")
    return found


def refusal(name: str, file: Path, folder: Path) -> str:
    """Why the recipe cannot learn from the file; "" if it can."""
    recipe = find_recipe(name)
    field = field_of_questions(recipe.Config)
    if not field:
        return "it has no setting that takes a question set"
    return _tried(name, {field: str(file), "learner": TINY, **ENOUGH.get(name, {})}, folder, str(file))


def refusal_of_game(name: str, folder: Path) -> str:
    """Why the recipe cannot learn from a game; "" if it can."""
    recipe = find_recipe(name)
    fields = {each.name for each in dataclasses.fields(recipe.Config)}
    if "games" in fields:
        return _tried(name, {"games": (GAME,), "largest_scores": (2.0,)}, folder, "")
    if "game" not in fields:
        return "it plays no game of one's choice"
    own = {"learner": TINY, "problems": recipe.Config().problems} if "questions" in fields else {}
    return _tried(name, {"game": GAME, **own}, folder, "")


def _tried(name: str, settings: Mapping[str, object], folder: Path, file: str) -> str:
    recipe = find_recipe(name)
    fields = {each.name for each in dataclasses.fields(recipe.Config)}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            config = shrunk(recipe.Config(), **{key: value for key, value in settings.items() if key in fields})
            check_settings(config)
            run = trained(recipe, config, Path(tempfile.mkdtemp(dir=folder)))
    except RedQueenError as error:
        said = str(error).replace(file, "the file") if file else str(error)
        return " ".join(re.sub(r"data\d\.jsonl", "the file", said).split())
    attempted = [line for line in metrics(run) if line.get("episodes", 0.0)]
    silent = attempted and all(line.get("attempts/without_verdict", 0.0) >= line["episodes"] for line in attempted)
    return NO_VERDICT if silent else ""


if __name__ == "__main__":
    if "--times" in sys.argv:
        PAGE.write_text(PAGE.read_text(encoding="utf-8").partition(TIMES[:20])[0] + times(), encoding="utf-8")
    else:
        PAGE.write_text(page(sys.argv[1:]), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
