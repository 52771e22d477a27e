"""How cost grows with size: what is made larger, the seconds at each size, and the exponent of the power that fits.

An exponent of 1 is growth in proportion, 0 none. The language model is a small Llama of random weights on one thread,
so that what is not the model shows.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch

from experiments.speed.model import Dialogue, in_turns
from redqueen.curricula.store import TaskStore
from redqueen.play.lockstep import play
from redqueen.players.transformer.loading import load_model
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.players.transformer.sampling import Manner, sample
from redqueen.recipes.games import magnetic
from redqueen.trials.experiment import Made, Rows, Table, Training
from redqueen.types import Match, Task

MODEL = "tiny:hidden=128,layers=4,heads=4"
REPLY = 16
LINEAR = 1.1  # an exponent above is more than in proportion


@dataclass(frozen=True)
class Size:
    """Something that can be made larger; `work` returns what is timed at a size."""

    name: str
    sizes: tuple[int, ...]
    work: Callable[[int], Callable[[], Any]]


def _policy() -> TransformerPolicy:
    loaded = load_model(MODEL, torch.float32, "cpu")
    policy = TransformerPolicy(loaded, constrain=False, max_completion_length=REPLY, cache_gigabytes=4.0)
    policy.manner = Manner(frozenset(), REPLY, 1.0)
    return policy


def _replies(prompts: int, each: int, length: int) -> Callable[[], Any]:
    """Sampling REPLY tokens after `prompts` prompts of `length` tokens, `each` replies to every one."""
    policy, rng = _policy(), Random(0)
    rows = [tuple(rng.randrange(1, 60) for _ in range(length)) for _ in range(prompts)]
    asked = [row for row in rows for _ in range(each)]

    def say() -> None:
        policy.forget()
        sample(policy.forward, policy.store, asked, range(len(asked)), policy.manner)

    return lambda: policy.forward.wearing(None, say)


def _matches(count: int) -> Callable[[], Any]:
    """Updates of a table in Kuhn poker with so many matches."""
    config = magnetic.Config(steps=4, matches_per_step=count, magnet_every=0)

    def train() -> None:
        with tempfile.TemporaryDirectory() as folder:
            Training(magnetic.train)(config, 0, Path(folder))

    return train


def _turns(count: int) -> Callable[[], Any]:
    """A dialogue of so many turns."""
    policy, game = _policy(), Dialogue(count)

    def talk() -> None:
        policy.forget()
        play([Match(game, task, {"writer": policy}, seed=0) for task in game.tasks()[:4]], Random(0))

    return talk


def _store(count: int) -> Callable[[], Any]:
    """A step of a curriculum that holds so many tasks: 64 are drawn, 64 more are added."""
    store, numbers = TaskStore(), iter(range(10**9))

    def more(count: int) -> list[Task]:
        return [Task(f"t{number}", f"What is {number}?") for number in (next(numbers) for _ in range(count))]

    store.add(more(count))
    rng = Random(0)

    def step() -> None:
        store.draw(64, rng)
        store.add(more(64))

    return step


SIZES = (
    Size("matches of a step, a table", (256, 1024, 4096), _matches),
    Size("replies to one prompt of 256 tokens", (8, 32, 128), lambda size: _replies(1, size, 256)),
    Size("prompts of 256 tokens", (8, 32, 128), lambda size: _replies(size, 1, 256)),
    Size("tokens of 8 prompts", (128, 512, 2048), lambda size: _replies(8, 1, size)),
    Size("turns of 4 dialogues", (4, 12, 36), _turns),
    Size("tasks held", (1_000, 10_000, 100_000), _store),
)


def growth(repeats: int) -> Made:
    """Seconds at each size and the exponent that fits them."""
    rows: Rows = []
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for size in SIZES:
            seconds = in_turns(repeats, *(size.work(each) for each in size.sizes))
            power = exponent(size.sizes, seconds)
            times = [f"{each:,}: {1e3 * found:.0f} ms" for each, found in zip(size.sizes, seconds, strict=True)]
            rows.append((size.name, *times, f"{power:.2f}", "" if power <= LINEAR else "more than in proportion"))
    finally:
        torch.set_num_threads(before)
    headings = ("what grows", "small", "middle", "large", "exponent", "")
    return headings, rows, f"Replies of {REPLY} tokens; {MODEL}, one thread."


def exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """The slope of log seconds over log size."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


GROWTH = Table("Growth", "Does any cost grow faster than what it is for?", growth)
