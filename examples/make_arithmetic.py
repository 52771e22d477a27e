"""Writes examples/arithmetic.jsonl, 550 short problems of reasoning-gym (Apache-2.0).

Run it as `python examples/make_arithmetic.py`; it needs the extra [gym]. The problems and their answers are the
library's own, unchanged; `dataset` names the generator.
"""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import reasoning_gym

EACH = 150
GENERATORS = {
    "chain_sum of one digit": ("chain_sum", {"min_terms": 2, "max_terms": 2, "min_digits": 1, "max_digits": 1}),
    "chain_sum of two digits": ("chain_sum", {"min_terms": 2, "max_terms": 2, "min_digits": 1, "max_digits": 2}),
    "products of one digit": ("products", {"min_terms": 2, "max_terms": 2, "min_digits": 1, "max_digits": 1}),
    "gcd": ("gcd", {"min_numbers": 2, "max_numbers": 2, "max_value": 20}),
}


def rows() -> list[dict[str, str]]:
    """The problems of all generators in random order, each question once."""
    found: dict[str, dict[str, str]] = {}
    for name, (generator, settings) in GENERATORS.items():
        count = 0
        for entry in reasoning_gym.create_dataset(generator, size=5000, seed=11, **settings):
            if count < EACH and entry["question"] not in found:
                found[entry["question"]] = {
                    "question": entry["question"],
                    "answer": str(entry["answer"]),
                    "dataset": name,
                }
                count += 1
    shuffled = list(found.values())
    Random(0).shuffle(shuffled)
    return shuffled


if __name__ == "__main__":
    file = Path(__file__).with_name("arithmetic.jsonl")
    file.write_text("".join(json.dumps(row) + "\n" for row in rows()), encoding="utf-8")
    print(f"wrote {file}")
