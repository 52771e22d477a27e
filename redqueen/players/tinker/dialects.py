"""How servers of the Tinker API differ, and how a loss is written so that each computes the same gradient.

By the API a loss is the sum over tokens. SkyRL's JAX backend (0.3.0) divides the loss of a row by the sum of its
weights, and the gradient by the number of rows. The linear loss of a custom objective has weights of both signs, so its
rows would be divided by sums near zero or below it (which are replaced by 1e-9: a gradient 10^9 times too long). There
every row gets the weights 1 / L, which sum to one, and the intended weights go into its advantages, times L and
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
    sums: bool  # the loss is the sum over tokens; else each row's mean, and the gradient the mean over rows
    losses: frozenset[str]  # built-in losses that equal ours exactly
    keeps_samplers: bool  # named sampler weights do not change when the learner is updated
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
    """The kind of a server, from its name and from the names of the outputs of a forward pass: the JAX backend returns
    the loss of each token and no sum of them."""
    if not is_skyrl:
        return HOSTED
    return SKYRL_JAX if "elementwise_loss" in outputs and not metrics else SKYRL_TRAIN


@dataclass(frozen=True)
class Words:
    """A row, and for each of its tokens after the first its weight in the loss and the sampler's log-probability."""

    row: Row
    counts: np.ndarray  # [T - 1] float, c
    sampled: np.ndarray  # [T - 1] float, the sampler's log-probabilities; zeros where the loss does not need them


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
    """A `tinker.Datum`: the row without its last token, its tokens after the first, and the inputs of the loss."""
    from tinker import types

    fields = {key: types.TensorData(data=values.tolist(), dtype="float32") for key, values in inputs.items()}
    targets = types.TensorData(data=list(row[1:]), dtype="int64")
    return types.Datum(
        model_input=types.ModelInput.from_ints(list(row[:-1])), loss_fn_inputs={"target_tokens": targets, **fields}
    )
