"""Writes the table of foretold and held memory into docs/serious.md: `redqueen plan` beside the training itself.

Run it as `python docs/write_plan.py` where redqueen is installed and nothing else runs; it takes some minutes.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "serious.md"
START, END = "<!-- plan -->\n", "<!-- end of plan -->"
MODEL = "tiny:hidden=768,layers=8,heads=12"  # 48M with its words
REDQUEEN = (sys.executable, "-m", "redqueen")
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


def foretold(words: list[str]) -> tuple[float, float]:
    """Gigabytes that `plan` counts at most, and what its two steps held."""
    said = subprocess.run([*REDQUEEN, "plan", *words], check=True, capture_output=True, text=True).stdout
    counted, tried = re.search(r"at most: ([\d.]+) GB", said), re.search(r"memory: ([\d.]+) GB", said)
    assert counted is not None, said
    assert tried is not None, said
    return float(counted[1]), float(tried[1])


def held(words: list[str], folder: Path) -> float:
    """Gigabytes that the training held at most."""
    child = subprocess.Popen([*REDQUEEN, "train", *words, "--output", str(folder)], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    assert status == 0, words
    return used.ru_maxrss * 1024 / 1e9


def table() -> str:
    lines = ["| run | plan, by its numbers, at most | plan, over its two steps | held |", "|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as scratch:
        files = {name: pairs(Path(scratch) / f"{name}.jsonl", size) for name, size in (("short", 40), ("long", 1024))}
        for number, (name, words) in enumerate(RUNS.items()):
            asked = [word.format(**files) for word in words]
            asked += [] if "smollm2-135m" in asked else ["--model", MODEL, "--problems", "4"]
            asked += ["--steps", "4"]
            counted, tried = foretold(asked)
            used = held(asked, Path(scratch) / str(number))
            lines.append(f"| {name} | {counted:.2f} GB | {tried:.2f} GB | {used:.2f} GB |")
            print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(START)
    after = rest.split(END)[1]
    PAGE.write_text(before + START + table() + END + after, encoding="utf-8")
    print(f"wrote {PAGE}")
