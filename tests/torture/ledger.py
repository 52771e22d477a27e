"""Adds up the shares of `share.py` and `fuzz.py` in docs/reliability.md.

python tests/torture/ledger.py     writes the tables of docs/reliability.md from ledger.jsonl

A share that is run with TORTURE_LEDGER=tests/torture/ledger.jsonl appends its row there. A row says what was tortured,
with which seed and for how long, what was tried and how much went wrong; `remark` is what somebody found out of that.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
LEDGER = HERE / "ledger.jsonl"
PAGE = HERE.parents[1] / "docs" / "reliability.md"
HEADS = {
    "trainings": "| seed | time | cases | trainings | what was done to them, how often | differences |",
    "inputs": "| what | seed | tried | went wrong |",
}

Row = dict[str, Any]


def append(row: Row) -> None:
    """Appends a row to the file that TORTURE_LEDGER names, if any."""
    if place := os.environ.get("TORTURE_LEDGER"):
        with open(place, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def shown(row: Row) -> str:
    """A row of a table of docs/reliability.md."""
    remark = f": {row['remark']}" if "remark" in row else ""
    if row["what"] == "trainings":
        done = ", ".join(f"{name} {count:,}" for name, count in row["done"].items())
        tried = f"| {row['seed']} | {row['seconds']:g} s | {row['cases']} | {row['trials']:,}"
        return f"{tried} | {done} | {row['wrong']}{remark} |"
    return f"| {row['what']} | {row['seed']} | {row['tried']:,} | {row['wrong']}{remark} |"


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """The two tables, each with its sums."""
    trainings = [row for row in rows if row["what"] == "trainings"]
    inputs = [row for row in rows if row["what"] != "trainings"]
    found = {"trainings": [*map(shown, trainings), shown(_sum(trainings))] if trainings else []}
    kinds = list(dict.fromkeys(row["what"] for row in inputs))
    found["inputs"] = [line for kind in kinds for line in _of_a_kind([row for row in inputs if row["what"] == kind])]
    return {name: "\n".join([HEADS[name], _rule(HEADS[name]), *lines]) for name, lines in found.items()}


def _of_a_kind(rows: Sequence[Row]) -> list[str]:
    total = {"what": f"**{rows[0]['what']}**", "seed": "all"}
    total |= {key: sum(row[key] for row in rows) for key in ("tried", "wrong")}
    return [*map(shown, rows), *([shown(total)] if len(rows) > 1 else [])]


def _sum(rows: Sequence[Row]) -> Row:
    done: Counter[str] = Counter()
    for row in rows:
        done.update(row["done"])
    total = {key: sum(row[key] for row in rows) for key in ("seconds", "trials", "wrong")}
    names = {name for row in rows for name in row.get("names", ())}  # which older rows do not say
    cases = max(len(names), *(row["cases"] for row in rows))
    return {"what": "trainings", "seed": "**all**", "cases": cases, "done": done} | total


def _rule(head: str) -> str:
    return "|" + "---|" * (head.count("|") - 1)


def page(text: str, rows: Sequence[Row]) -> str:
    """The page with its tables made anew, each between its two marks."""
    for name, table in tables(rows).items():
        before, rest = text.split(f"<!-- {name} -->\n", 1)
        _, after = rest.split("\n<!-- end -->", 1)
        text = f"{before}<!-- {name} -->\n{table}\n<!-- end -->{after}"
    return text


def read() -> list[Row]:
    return [json.loads(line) for line in LEDGER.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), read()), encoding="utf-8")
