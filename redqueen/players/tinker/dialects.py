"""What servers of the Tinker API do differently, and how a loss is put so that each takes the same gradient from it.

The API says that a loss is the sum over words. SkyRL's JAX backend (0.3.0) divides the loss of a row by the sum of its
weights, and the gradient by the number of rows. The linear loss of a custom objective has weights of both signs, so its
rows would be divided by sums near zero or below it (which are replaced by 1e-9: a gradient 10^9 times too long). There
every row gets the weights 1 / L, which sum to one, and what it is meant to count stands in its advantages, times L and
times the number of rows. A linear loss is then `cispo` with a ratio held to [1, 1].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from redqueen.players.tinker.losses import Loss
from redqueen.players.tinker.readings import Row


@dataclass(frozen=True)
class Dialect:
    """One kind of server."""

    name: str
    sums: bool  # the loss is the sum over words; else each row's mean, and the gradient the mean over rows
    losses: frozenset[str]  # built-in losses that are exactly ours
    keeps_samplers: bool  # named sampler weights stay what they were when the learner moves on
    clips: bool  # the gradient's norm can be clipped
    adapters: str  # how many are held at a time
    adam: bool  # betas, epsilon and weight decay come with each step; else they are fixed when the server starts
    shapes: bool  # compiles for each number of rows, so that few numbers should occur


HOSTED = Dialect(
    "Tinker",
    sums=True,
    losses=frozenset({"linear", "ppo", "cispo"}),
    keeps_samplers=True,
    clips=True,
    adapters="many",
    adam=True,
    shapes=False,
)
SKYRL_JAX = Dialect(
    "SkyRL (jax)",
    sums=False,
    losses=frozenset({"linear", "ppo", "cispo"}),
    keeps_samplers=False,
    clips=False,
    adapters="as many as it was started for, 32",
    adam=True,
    shapes=True,
)
SKYRL_TRAIN = Dialect(
    "SkyRL (fsdp or megatron)",
    sums=True,
    losses=frozenset({"linear"}),
    keeps_samplers=False,
    clips=False,
    adapters="megatron many of one rank; fsdp one, so no past selves",
    adam=False,
    shapes=False,
)

DIALECTS = (HOSTED, SKYRL_JAX, SKYRL_TRAIN)


def recognised(is_skyrl: bool, outputs: Sequence[str], metrics: Sequence[str]) -> Dialect:
    """The kind of a server from what it calls itself and from the names of what a forward pass gives back: the JAX
    backend gives the loss of each word and no sum of them."""
    if not is_skyrl:
        return HOSTED
    return SKYRL_JAX if "elementwise_loss" in outputs and not metrics else SKYRL_TRAIN


@dataclass(frozen=True)
class Words:
    """A row, and for each of its tokens after the first what it counts and what its writer gave it."""

    row: Row
    counts: np.ndarray  # [T - 1] float, c
    sampled: np.ndarray  # [T - 1] float, the writer's log-probabilities; zeros where the loss does not ask


Request = tuple[str, list[dict[str, np.ndarray]], dict[str, float] | None]


def request(dialect: Dialect, loss: Loss, rows: Sequence[Words]) -> Request:
    """The name of the server's loss, its inputs for each row ([T - 1] each), and its settings."""
    if dialect.sums and loss.kind == "linear":
        return "cross_entropy", [{"weights": words.counts} for words in rows], None
    name = "cispo" if loss.kind == "linear" else loss.kind
    inputs = []
    for words in rows:
        length = len(words.counts)
        each = {"logprobs": words.sampled, "advantages": words.counts}
        if not dialect.sums:
            scaled = words.counts * (length * len(rows))
            each = {**each, "advantages": scaled, "weights": np.full(length, 1.0 / length)}
        inputs.append(each)
    return name, inputs, {"clip_low_threshold": loss.low, "clip_high_threshold": loss.high}


def datum(row: Row, inputs: dict[str, np.ndarray]) -> Any:
    """A `tinker.Datum`: the row without its last token, its tokens after the first, and what the loss asks of them."""
    from tinker import types

    fields = {key: types.TensorData(data=values.tolist(), dtype="float32") for key, values in inputs.items()}
    targets = types.TensorData(data=list(row[1:]), dtype="int64")
    return types.Datum(
        model_input=types.ModelInput.from_ints(list(row[:-1])), loss_fn_inputs={"target_tokens": targets, **fields}
    )
