"""What a run will need: memory by the model's own numbers, time by one measured step or by a GPU's data sheet."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from redqueen.players.language.saying import Speaker, hearing
from redqueen.protocols import Policy, has
from redqueen.runs.run import Line, Run, Schedule, recorded_steps
from redqueen.types import Ask, RedQueenError

PROGRAM = 0.5e9  # bytes: Python with its libraries, or the context of CUDA
ROWS = 256  # replies that grow together
KEPT = 21  # numbers of the width, a token and layer: tests/players/transformer/test_kept.py
IN_PRODUCTS, IN_READING = 0.35, 0.6  # of a GPU's peaks, as docs/scale.md
# measured with 28 layers of width 1,024 on an H200 (docs/speed.md), where asking for operations takes most of the time
KEPT_THERE = 32  # as `KEPT`: with heads wider than the model, and bfloat16 beside norms in float32
PARTED = 1.9e9  # bytes of a part's logits, and of what their slopes take
STEPPING, PASSING = 0.3e-3, 12e-3  # seconds a layer, of a step of decoding and of one pass of an update


@dataclass(frozen=True)
class Gpu:
    """A GPU by its data sheet."""

    gigabytes: float
    teraflops: float  # dense, in bfloat16 (float16 for t4)
    terabytes_per_second: float


GPUS = MappingProxyType(
    {
        "t4": Gpu(16, 65, 0.32),
        "l4": Gpu(24, 121, 0.30),
        "rtx3090": Gpu(24, 71, 0.936),
        "rtx4090": Gpu(24, 165, 1.008),
        "l40s": Gpu(48, 362, 0.864),
        "a100-40": Gpu(40, 312, 1.555),
        "a100-80": Gpu(80, 312, 2.039),
        "h100": Gpu(80, 989, 3.35),
        "h200": Gpu(141, 989, 4.8),
    }
)


@dataclass(frozen=True)
class Sizes:
    """A language model and how it is trained, by the numbers on which memory rests."""

    parameters: int  # P
    trained: int  # of them, or of the adapter beside them
    width: int  # H of the hidden states
    layers: int
    weight_bytes: int  # 4 in float32, 2 in bfloat16
    micro_batch: int  # distinct tokens of one pass
    recompute: bool = False
    eight_bit: bool = False
    copies: int = 0  # frozen copies of the trained weights: references, past selves
    others: int = 0  # parameters of other models: judges, opponents
    cached: int = 0  # bytes of keys and values a token
    cache_gigabytes: float = 1.0
    second: bool = False  # whether a process beside this one has a copy of the model, on the same device
    there: bool = False  # whether it is on a GPU

    @property
    def full(self) -> bool:
        """Whether all weights are trained rather than an adapter."""
        return self.trained >= self.parameters


def memory(sizes: Sizes) -> dict[str, float]:
    """Bytes by what takes them. AdamW holds two moments (4 bytes each, or 1 in 8 bits) and, for weights below float32,
    a float32 master and a float32 sum of gradients. States kept for the backward pass are `KEPT` numbers of the width a
    token and layer, one where layers are run again, and of those that are running; on a GPU more, as measured."""
    kept = (KEPT_THERE if sizes.there else KEPT) * sizes.width * sizes.micro_batch * sizes.weight_bytes
    masters = 8 if sizes.weight_bytes < 4 else 0
    adapter = 0 if sizes.full else sizes.trained
    copy = float((sizes.parameters + adapter) * sizes.weight_bytes)
    second = {"the process that samples": PROGRAM + copy + sizes.cache_gigabytes * 2**30} if sizes.second else {}
    return second | {
        "python, torch": PROGRAM,
        "weights": copy + float(sizes.others * sizes.weight_bytes),
        "gradients and optimiser": float(
            sizes.trained * (sizes.weight_bytes + masters + (2 if sizes.eight_bit else 8))
        ),
        "frozen copies": float(sizes.copies * sizes.trained * sizes.weight_bytes),
        "states of one pass": float(
            kept + sizes.layers * sizes.width * sizes.micro_batch * sizes.weight_bytes
            if sizes.recompute
            else kept * sizes.layers
        ),
        "keys and values": sizes.cache_gigabytes * 2**30,
        "logits": PARTED if sizes.there else 0.0,
    }


def lowered(sizes: Sizes, available: float) -> list[str]:
    """What to set so that the run fits into `available` bytes, each with the memory that is needed then; the settings
    add up, in this order. Empty if it fits as it is."""
    changes: tuple[tuple[str, Callable[[Sizes], Sizes]], ...] = (
        ("--gradient-checkpointing", lambda now: replace(now, recompute=True)),
        ("--micro-batch-tokens 1024", lambda now: replace(now, micro_batch=min(1024, now.micro_batch))),
        ("--dtype bfloat16", lambda now: replace(now, weight_bytes=2)),
        ("--lora-rank 16", adapted),
        ("--cache-gigabytes 0.25", lambda now: replace(now, cache_gigabytes=min(0.25, now.cache_gigabytes))),
    )
    found, now = [], sizes
    for words, change in changes:
        if needed(now) <= available:
            break
        if change(now) != now:
            now = change(now)
            found.append(f"{words} ({needed(now) / 1e9:.1f} GB)")
    return found if needed(now) <= available else [*found, "a smaller --model"]


def needed(sizes: Sizes) -> float:
    """Bytes in all."""
    return sum(memory(sizes).values())


def adapted(sizes: Sizes, rank: int = 16) -> Sizes:
    """The sizes with an adapter in place of all weights: rank * (in + out) weights for a layer of in * out, about
    2 * rank / H of the model."""
    return replace(sizes, trained=min(sizes.trained, 2 * rank * sizes.parameters // sizes.width))


@dataclass
class Measured:
    """What the first steps of a run needed."""

    loading: float = 0.0  # seconds before the first step
    lines: list[Line] = field(default_factory=list)
    asks: list[Counter[str]] = field(default_factory=list)  # of each step by role, without those of measurements
    updates: list[int] = field(default_factory=list)  # of each step
    goes_on: bool = False  # whether the last step played nothing and learned from what an earlier one had played
    every: int = 1  # steps from one that plays to the next: those between learn from what it played
    learning: int | None = None  # of these steps, while data are left; None if they are not used up
    replies: int = 0  # of the last step that played: learned from, or played beside them
    prompt_tokens: int = 0
    reply_tokens: int = 0
    checkpoint_bytes: int = 0
    episode_bytes: float = 0.0  # of one episode

    @property
    def seconds(self) -> list[float]:
        """Of each step, without what was measured before it."""
        return [line["time"]["step"] - line["time"]["measure"] for line in self.lines]

    @property
    def measuring(self) -> float:
        """Seconds of one measurement."""
        return float(self.lines[0]["time"]["measure"])

    @property
    def gigabytes(self) -> float:
        """The most memory that was held."""
        return float(self.lines[-1]["time"]["gigabytes"])

    @property
    def playing(self) -> int:
        """The measured step that stands for those that play: the last, or the first where only some do."""
        return 0 if self.every > 1 else -1

    def plays(self, steps: int) -> int:
        """How many of `steps` play."""
        return -(-steps // self.every)

    def learns(self, steps: int) -> int:
        """How many of `steps` learn: after one that plays only as many as its data are enough for."""
        most = self.every if self.learning is None else min(self.every, self.learning)
        whole, rest = divmod(steps, self.every)
        return whole * most + min(rest, most)

    def lasts(self, steps: int, evaluate_every: int) -> float:
        """Seconds of a run of `steps`: the last measured step stands for all after it, but for those that play where
        only some do, for which the first stands, and those without data, which take none."""
        measurements = -(-steps // evaluate_every) + 1
        plays = self.plays(steps) if self.every > 1 else 1
        taken = plays * self.seconds[0] + (self.learns(steps) - plays) * self.seconds[-1]
        return self.loading + taken + measurements * self.measuring


def on_gpu(sizes: Sizes, gpu: Gpu, found: Measured, longest: int) -> float:
    """Seconds of a step on a GPU, estimated: prompts are read, replies of `longest` tokens are written, and all is
    learned from. Sampling and learning take turns."""
    reading = 2 * sizes.parameters * found.prompt_tokens / (IN_PRODUCTS * gpu.teraflops * 1e12)
    return reading + writing_on(sizes, gpu, found, longest) + learning_on(sizes, gpu, found, longest)


def writing_on(sizes: Sizes, gpu: Gpu, found: Measured, longest: int) -> float:
    """Seconds in which replies are written a token at a time, for which all weights are read, and each layer is asked
    for its operations."""
    rows = max(1, min(ROWS, found.replies))
    shown = found.prompt_tokens / max(found.replies, 1)
    read = sizes.parameters * sizes.weight_bytes + rows * (shown + longest / 2) * sizes.cached
    step = read / (IN_READING * gpu.terabytes_per_second * 1e12) + STEPPING * sizes.layers
    return -(-found.replies // rows) * longest * step


def learning_on(sizes: Sizes, gpu: Gpu, found: Measured, longest: int) -> float:
    """Seconds of an update: 6 operations a parameter and token, 4 under an adapter, 2 more where layers are run again,
    2 for a reference; and for each pass and layer the time in which operations are asked for."""
    tokens = found.prompt_tokens + found.replies * longest
    operations = (6 if sizes.full else 4) + 2 * sizes.recompute + 2 * bool(sizes.copies)
    together = max(1, sizes.micro_batch * found.replies // max(tokens, 1))  # rows of a pass, none of which is cut
    passes = -(-found.replies // together)
    return (
        operations * sizes.parameters * tokens / (IN_PRODUCTS * gpu.teraflops * 1e12) + passes * PASSING * sizes.layers
    )


class UsedUp(Protocol):
    """A part of a run whose data are enough for some updates."""

    def updates_left(self) -> int: ...


class _EnoughMeasured(Exception):
    """The steps that are measured are done."""


class _Counting:
    """A watcher that counts what a step needs, and ends the run after some of them."""

    def __init__(self, steps: int) -> None:
        self.found = Measured()
        self._steps = steps
        self._began = time.perf_counter()
        self._asks: Counter[str] = Counter()
        self._policies: Sequence[Policy] = ()
        self._versions = 0
        self._folder = Path()
        self._run: Run | None = None

    def hear(self, speaker: Speaker, asks: Sequence[Ask]) -> None:
        if self._run is not None and not self._run.measuring:
            self._asks.update(ask.seat.role for ask in asks)

    def begin(self, run: Run, start: int, count: int) -> None:
        self.found.loading = time.perf_counter() - self._began
        self._run, self._policies, self._folder = run, run.policies, run.folder

    def step(self, line: Line) -> None:
        versions = sum(policy.version for policy in self._policies)
        self.found.lines.append(line)
        self.found.asks.append(Counter(self._asks))
        self.found.updates.append(versions - self._versions)
        self._versions = versions
        self._asks.clear()
        if len(self.found.lines) == self._steps:
            self._count_files()
            parts = self._run.parts if self._run else ()
            left = [part.updates_left() for part in parts if has(part, UsedUp)]
            self.found.learning = self._steps + max(left) if left and self.found.goes_on else None
            raise _EnoughMeasured

    def end(self, run: Run) -> None:
        return None

    def _count_files(self) -> None:
        saved = (path for path in (self._folder / "checkpoints").rglob("*") if path.is_file())
        self.found.checkpoint_bytes = sum(path.stat().st_size for path in saved)
        recorded = recorded_steps(self._folder)
        if recorded:
            lines = recorded[-1][1].read_text().splitlines()
            turns = [turn for line in lines for turn in json.loads(line)["turns"]]
            self.found.episode_bytes = recorded[-1][1].stat().st_size / len(lines)
            self.found.replies = len(turns)
            self.found.goes_on = recorded[-1][0] < self._steps - 1 and not self.found.asks[-1]
            self.found.prompt_tokens = sum(len(turn["reply"]["prompt_tokens"]) for turn in turns)
            self.found.reply_tokens = sum(len(turn["reply"]["tokens"]) for turn in turns)


def measured(
    train: Callable[[Run], object], folder: Path, seed: int, steps: int = 2, schedule: Schedule = Schedule()
) -> Measured:
    """What the first `steps` of a training need, measured in a run in `folder` that ends after them, with the attempts
    at held-out problems of `schedule`. Raises RedQueenError for a run that is over before."""
    watcher = _Counting(steps)
    often = replace(schedule, evaluate_every=steps, checkpoint_every=1, keep_checkpoints=1, record_episodes=1_000_000)
    try:
        with hearing(watcher.hear):
            train(Run(folder, seed, often, [watcher]))
    except _EnoughMeasured:
        return watcher.found
    raise RedQueenError(f"a run of {len(watcher.found.lines)} steps is over before {steps} are measured: train it")
