"""Writes docs/accepts_runs.jsonl: 20 updates of every recipe that takes questions, on the shipped reasoning-gym file.

Run it as `python docs/run_accepts.py FOLDER`, with `--models tiny smollm2-135m` and `--minutes 12`, the most time of a
processor that one run may take, and `--recipes NAME ...` for these alone. What FOLDER already holds is not run again;
rows of runs that it does not hold stay. `python docs/write_accepts.py` makes the table of it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this checkout, whatever else is installed

from redqueen.cli.own_files import field_of_questions  # noqa: E402
from redqueen.contracts.recipes import SMALL  # noqa: E402
from redqueen.runs.run import read_metrics  # noqa: E402
from redqueen.settings.finding import RECIPES, find_recipe  # noqa: E402

RUNS = ROOT / "docs" / "accepts_runs.jsonl"
EXAMPLE = "examples/arithmetic.jsonl"
MODELS = ("tiny", "smollm2-135m")
UPDATES = 20
FIRST = ("r_zero", "absolute_zero", "svs", "multi_agent_evolve", "agent0", "eva", "sws", "self_rewarding", "grpo")
SIZES: Mapping[str, Any] = {
    **SMALL,
    "steps": UPDATES,
    "tasks": 4,
    "attempts": 4,
    "votes": 4,
    "proposals": 4,
    "problems": 4,
}
# two steps of a first stage and two of synthesis, which updates nothing; an iteration of four updates
OWN: Mapping[str, Mapping[str, Any]] = {
    "sws": {"steps": UPDATES + 2},
    "score": {"first_stage": 10},
    "spin": {"updates": 4},
}
FLAGS: Mapping[str, Sequence[str]] = {
    "sec": ("--columns", "level=dataset"),
    "sws": ("--columns", "category=dataset"),
}
UNATTEMPTED = (  # are not measured by attempts at each held-out problem
    *(
        "self_rewarding",
        "spar",
        "spin",
        "cold_start",
        "dpo",
        "iterative_dpo",
        "nash_md",
        "spo",
        "sppo",
        "rise",
        "score",
    ),
)
LENGTHS = {"tiny": 16}  # tokens of a reply, else 32
FEWER = {"smollm2-135m": {"tasks": 2, "proposals": 2, "problems": 2}}  # it is slow


def command(name: str, model: str, output: Path) -> list[str]:
    """`redqueen train` of 20 small updates on the file."""
    config = find_recipe(name).Config()
    sizes = {**SIZES, **FEWER.get(model, {}), **OWN.get(name, {})}
    fitting = {key: value for key, value in sizes.items() if type(getattr(config, key, None)) is type(value)}
    sized = [part for key, value in fitting.items() if key != "games" for part in _flag(key, value)]
    return [
        *(
            "train",
            name,
            f"--{field_of_questions(type(config))}",
            EXAMPLE,
            *FLAGS.get(name, ()),
            "--model",
            model,
            *sized,
        ),
        *("--max-completion-length", str(LENGTHS.get(model, 32))),
        *(() if name in UNATTEMPTED else ("--test-attempts", "2")),
        *("--evaluate-every", str(UPDATES), "--checkpoint-every", str(UPDATES), "--output", str(output)),
    ]


def _flag(key: str, value: Any) -> list[str]:
    values = value if isinstance(value, tuple) else (value,)
    return [f"--{key.replace('_', '-')}", *map(str, values)]


def ran(name: str, model: str, folder: Path, minutes: float) -> dict[str, Any]:
    """What one run did: its steps, those with a gradient, its seconds, and what it said where it did not end."""
    output = folder / model / name
    words = command(name, model, output)
    began = resource.getrusage(resource.RUSAGE_CHILDREN)
    most = round(60 * minutes)
    done = subprocess.run(
        [sys.executable, "-m", "redqueen", *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (most, most + 10)),
    )
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    status, lines = done.returncode, (done.stderr.strip() or done.stdout.strip()).splitlines()
    said = " ".join(line.strip() for line in lines[-6:]) if status else ""
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        status, said = 124, f"not ended after {minutes:g} minutes"
    lines_of_run = list(read_metrics(output)) if (output / "metrics.jsonl").exists() else []
    attempted = [line for line in lines_of_run if line.get("episodes", 0.0)]
    return {
        "recipe": name,
        "model": model,
        "status": status,
        "said": said,
        "processor_seconds": round(ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime),
        "steps": len(lines_of_run),
        "with_gradient": sum(
            any(line.get(key, 0) > 0 for key in line if "gradient_norm" in key) for line in lines_of_run
        ),
        "no_verdict": bool(attempted)
        and all(line.get("attempts/without_verdict", 0.0) >= line["episodes"] for line in attempted),
        "command": " ".join(["redqueen", *words[:-2]]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--minutes", type=float, default=12.0)
    parser.add_argument("--recipes", nargs="*", default=[])
    given = parser.parse_args()
    taking = [name for name in RECIPES if field_of_questions(find_recipe(name).Config)]
    order = given.recipes or [*FIRST, *(name for name in taking if name not in FIRST)]
    for model in given.models:
        for name in order:
            kept = given.folder / model / f"{name}.json"
            if not kept.exists():
                kept.parent.mkdir(parents=True, exist_ok=True)
                row = ran(name, model, given.folder.resolve(), given.minutes)
                kept.write_text(json.dumps(row) + "\n", encoding="utf-8")
                print(
                    {key: row[key] for key in ("recipe", "model", "status", "processor_seconds", "steps", "said")},
                    flush=True,
                )
    found = {(row["recipe"], row["model"]): row for row in map(json.loads, RUNS.read_text("utf-8").splitlines())}
    for path in given.folder.glob("*/*.json"):
        found[path.stem, path.parent.name] = json.loads(path.read_text(encoding="utf-8"))
    rows = [found[name, model] for model in MODELS for name in taking if (name, model) in found]
    RUNS.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    print(f"wrote {RUNS.relative_to(ROOT)}: {len(rows)} runs")


if __name__ == "__main__":
    main()
