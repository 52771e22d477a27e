"""Memory of many pairs of long replies, held as `dpo` holds them: without padding, in parts that are joined at the end.

A file of them is written and read. 128 pairs are recited as in training and packed eight times over as the first part;
the others are this part again with other tokens and other likelihoods, since reciting 60,000 pairs takes an hour. What
the model takes in its passes comes on top.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import torch

from redqueen.credit.rewards import payoff, score
from redqueen.objectives.batch import beside, pack_pairs, portion
from redqueen.objectives.packed import PackedRows, give_back, joined
from redqueen.objectives.rounds import Round
from redqueen.play.lockstep import play
from redqueen.questions.catalogue import find_questions_with
from redqueen.questions.dataset import Preferring, recitations, training_pairs
from redqueen.settings.learner import Flat
from redqueen.trials.experiment import Made, Rows, Table
from redqueen.types import Batch, Likelihoods

MODEL = "tiny:hidden=8,layers=1,heads=1"  # its tokenizer takes a token for each digit
PAIRS, TOKENS = 60_000, 2048
RECITED = 128


def write(file: Path, pairs: int, tokens: int) -> None:
    """A file of pairs whose replies have about `tokens` tokens."""
    rng = Random(0)
    with file.open("w", encoding="utf-8") as to:
        for number in range(pairs):
            chosen, rejected = (str(rng.randrange(10 ** (tokens - 1), 10**tokens)) for _ in range(2))
            to.write(json.dumps({"prompt": f"Count {number}.", "chosen": chosen, "rejected": rejected}) + "\n")


def anew(batch: Batch, generator: torch.Generator) -> Batch:
    """The batch with other tokens where the learner spoke, and likelihoods of a reference drawn at random."""
    own = batch.loss_weights != 0
    drawn = torch.randint(1, 256, own.shape, generator=generator)
    found = [torch.where(own, torch.rand(own.shape, generator=generator), 0.0) for _ in range(2)]
    return beside(replace(batch, tokens=torch.where(own, drawn, batch.tokens)), Likelihoods(-found[0], found[1]))


def memory() -> tuple[float, float]:
    """Gigabytes that this process holds, and held at most since it began."""
    said = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    now, most = (int(said[name].split()[0]) * 1024 / 1e9 for name in ("VmRSS", "VmHWM"))
    return now, most


def _row(when: str, parts: Sequence[PackedRows]) -> tuple[str, ...]:
    return (when, *(f"{each:.2f} GB" for each in (sum(part.bytes for part in parts) / 1e9, *memory())))


def held(pairs: int = PAIRS, tokens: int = TOKENS) -> Made:
    """What is held of `pairs` pairs: read, packed, and joined before the first update."""
    learner = Flat(model=MODEL).word_for_word().build_model(0)
    parts: list[PackedRows] = []
    rows: Rows = [_row("the program and its model", parts)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pairs.jsonl"
        write(file, pairs, tokens)
        drawn = training_pairs(find_questions_with(str(file), Preferring), pairs, {}, Random(0))
    rows.append(_row("all pairs are read", parts))
    slices, generator = list(Round.slices(drawn)), torch.Generator().manual_seed(0)
    some = slices[0][:RECITED]
    sides = [score(play(side, Random(0)), payoff) for side in recitations(some, learner)]
    times = len(slices[0]) // len(some)
    first = pack_pairs([*sides[0]] * times, [*sides[1]] * times)
    length = float(first.lengths.double().mean())
    for part in slices:
        rest = portion(first, range(len(part))) if len(part) < len(slices[0]) else first
        parts.append(PackedRows(anew(rest, generator)))
        give_back()
    rows.append(_row("all pairs are packed", parts))
    parts = [joined(parts)]
    rows.append(_row("they are joined: as in training", parts))
    headings = ("when", "pairs without padding", "held by the process", "held at most so far")
    return headings, rows, f"{pairs:,} pairs; replies with their prompts have {length:,.0f} tokens in the mean."


HELD = Table("Many pairs of long replies", "How much memory do 60,000 pairs of 2,048 tokens take?", lambda _: held())
