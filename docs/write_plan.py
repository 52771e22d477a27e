"""Writes three tables into docs/serious.md, `redqueen plan` beside the training itself: memory by what is trained, and
memory and time by recipe for two models.

Run it as `python docs/write_plan.py`, or with names of tables, `memory`, `tiny` or `smollm2`, where redqueen is
installed and nothing else runs; each takes some minutes.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "serious.md"
MODEL = "tiny:hidden=768,layers=8,heads=12"  # 48M with its words
REDQUEEN = (sys.executable, "-m", "redqueen")
SHORT = ("--tasks", "4", "--attempts", "4", "--problems", "4", "--max-completion-length", "24")
FILE = ("--questions", str(ROOT / "examples" / "arithmetic.jsonl"))
RECIPES = {
    "grpo": ("grpo", *FILE, *SHORT),
    "dpo": ("dpo", "--pairs", "32", "--pairs-per-update", "4", "--problems", "4"),
    "spiral": ("spiral", "--game", "kuhn_poker", "--matches-per-step", "8"),
    "absolute_zero": ("absolute_zero", *FILE, *SHORT, "--proposals", "4"),
    "self_rewarding": ("self_rewarding", *FILE, *SHORT),
}
RUNS = {
    "LoRA: `spiral --game kuhn_poker`, SmolLM2": (
        *("spiral", "--game", "kuhn_poker", "--model", "smollm2-135m", "--matches-per-step", "8"),
        *("--evaluate-every", "4"),
    ),
    "all weights, a reference: `dpo`, 4 short pairs": ("dpo", "--questions", "{short}", "--pairs", "4"),
    "LoRA, a reference: `dpo`, 4 short pairs": ("dpo", "--questions", "{short}", "--pairs", "4", "--lora-rank", "16"),
    "all weights, a reference: `dpo`, 16 pairs of 1,024 tokens": ("dpo", "--questions", "{long}", "--pairs", "16"),
    "LoRA, a reference: `dpo`, 16 pairs of 1,024 tokens": (
        *("dpo", "--questions", "{long}", "--pairs", "16", "--lora-rank", "16"),
    ),
}


def pairs(file: Path, tokens: int) -> str:
    """Writes 64 preference pairs whose replies have about so many tokens, and returns the file's name."""
    rows = []
    for number in range(64):
        good = " ".join(str((31 * number + place) % 10) for place in range(tokens // 2))
        rows.append({"prompt": f"Count from {number}.", "chosen": good, "rejected": good[::-1]})
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(file)


def foretold(words: list[str]) -> tuple[float, float, float]:
    """Gigabytes that `plan` counts at most, what its two steps held, and the seconds that it foretells in all."""
    said = subprocess.run([*REDQUEEN, "plan", *words], check=True, capture_output=True, text=True).stdout
    counted, tried = re.search(r"at most: ([\d.]+) GB", said), re.search(r"memory: ([\d.]+) GB", said)
    lasts = re.search(r"time: ([\d.]+) (s|min|h) in all", said)
    assert counted is not None, said
    assert tried is not None, said
    assert lasts is not None, said
    return float(counted[1]), float(tried[1]), float(lasts[1]) * {"s": 1, "min": 60, "h": 3600}[lasts[2]]


def held(words: list[str], folder: Path) -> tuple[float, float]:
    """Gigabytes that the training held at most, and the seconds that it took, without the start of Python."""
    began = time.perf_counter()
    subprocess.run([*REDQUEEN, "train", "--help"], check=True, stdout=subprocess.DEVNULL)
    start, began = time.perf_counter() - began, time.perf_counter()
    child = subprocess.Popen([*REDQUEEN, "train", *words, "--output", str(folder)], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    assert status == 0, words
    return used.ru_maxrss * 1024 / 1e9, time.perf_counter() - began - start


def by_memory(scratch: Path) -> str:
    lines = ["| run | plan, by its numbers, at most | plan, over its two steps | held |", "|---|---|---|---|"]
    files = {name: pairs(scratch / f"{name}.jsonl", size) for name, size in (("short", 40), ("long", 1024))}
    for number, (name, words) in enumerate(RUNS.items()):
        asked = [word.format(**files) for word in words]
        asked += [] if "smollm2-135m" in asked else ["--model", MODEL, "--problems", "4"]
        asked += ["--steps", "4"]
        counted, tried, _ = foretold(asked)
        used, _ = held(asked, scratch / str(number))
        lines.append(f"| {name} | {counted:.2f} GB | {tried:.2f} GB | {used:.2f} GB |")
        print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


def by_recipe(scratch: Path, model: str) -> str:
    lines = ["| recipe | plan, memory | held | plan, in all | took |", "|---|---|---|---|---|"]
    for recipe, words in RECIPES.items():
        asked = [*words, "--model", model, "--steps", "6", "--evaluate-every", "6"]
        _, tried, lasts = foretold(asked)
        used, took = held(asked, scratch / recipe)
        lines.append(f"| `{recipe}` | {tried:.2f} GB | {used:.2f} GB | {lasts:.1f} s | {took:.1f} s |")
        print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


TABLES = {
    "memory": ("plan", by_memory),
    "tiny": ("plan of tiny", partial(by_recipe, model="tiny")),
    "smollm2": ("plan of SmolLM2", partial(by_recipe, model="smollm2-135m")),
}


def write(names: list[str]) -> None:
    for name in names or TABLES:
        mark, table = TABLES[name]
        page = PAGE.read_text(encoding="utf-8")
        before, rest = page.split(f"<!-- {mark} -->\n")
        after = rest.split(f"<!-- end of {mark} -->")[1]
        with tempfile.TemporaryDirectory() as scratch:
            made = table(Path(scratch))
        PAGE.write_text(f"{before}<!-- {mark} -->\n{made}<!-- end of {mark} -->{after}", encoding="utf-8")
        print(f"wrote {PAGE}: {name}")


if __name__ == "__main__":
    write(sys.argv[1:])
