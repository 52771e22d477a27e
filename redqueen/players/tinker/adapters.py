"""One set of LoRA weights on a server: evaluated, sampled from, updated, saved and loaded.

| class         | whose weights                                     | how they are read                       |
|---------------|---------------------------------------------------|-----------------------------------------|
| `Adapter`     | those that learn, or a past self in its own place | a forward pass of the training client   |
| `PastAdapter` | a past self that gets a place when it is asked    | the same                                |
| `PastSampler` | a past self as named sampler weights              | log-probabilities of a prompt           |

SkyRL 0.3.0 samples named weights by loading them over those that learn (jax), or gives what it learned last under every
name (fsdp, megatron): there a past self must have a place of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from redqueen.players.tinker.dialects import Dialect, Words, datum, request
from redqueen.players.tinker.heard import rated_row, rated_rows, said, saved_path, unfit
from redqueen.players.tinker.losses import Loss
from redqueen.players.tinker.readings import Row

if TYPE_CHECKING:
    from redqueen.players.tinker.connection import Connection


@dataclass(frozen=True)
class Written:
    """One sampled reply."""

    tokens: tuple[int, ...]  # with the one that ended it
    logprobs: tuple[float, ...]  # [R]
    truncated: bool


@dataclass(frozen=True)
class Wanted:
    """A prompt to be continued."""

    prompt: Row
    seed: int


@dataclass(frozen=True)
class Adam:
    """One optimiser step, decoupled weight decay."""

    learning_rate: float
    betas: tuple[float, float]
    weight_decay: float
    max_grad_norm: float
    epsilon: float = 1e-8


class Weights(Protocol):
    """What weights can do, whether they learn or not."""

    def logprobs(self, rows: Sequence[Row]) -> list[np.ndarray]:
        """For each row [T - 1] float, the log-probabilities of its second token to its last."""
        ...

    def write(self, wanted: Sequence[Wanted], ends: Sequence[int], longest: int) -> list[Written]:
        """A reply to each prompt, at temperature 1, all requested at once."""
        ...


class Adapter:
    """See the module."""

    def __init__(self, connection: Connection, client: Any, rank: int) -> None:
        self.connection = connection
        self.client = client  # tinker.TrainingClient
        self.rank = rank
        self._dialect: Dialect | None = None
        self._sampler: Any = None  # of the weights as they are now
        self._saves = 0

    @property
    def model_id(self) -> str:
        return str(self.client.model_id)

    @property
    def dialect(self) -> Dialect:
        """The kind of server, known after the first forward pass; before it, two tokens are evaluated to find out."""
        if self._dialect is None:
            self.logprobs([(0, 1)])
        assert self._dialect is not None
        return self._dialect

    def logprobs(self, rows: Sequence[Row]) -> list[np.ndarray]:
        if not rows:
            return []
        self.connection.check_length(max(map(len, rows)))
        asked = self._filled([Words(row, np.zeros(len(row) - 1), np.zeros(len(row) - 1)) for row in rows])
        data = [datum(words.row, {"weights": np.ones(len(words.counts))}) for words in asked]
        output = self._call("rate words", lambda: self.client.forward(data, "cross_entropy").result())
        found = rated_rows(output, [len(words.counts) for words in asked], self.connection.where)
        outputs = list(output.loss_fn_outputs[0])
        self._dialect = self._dialect or self.connection.dialect(outputs, list(output.metrics or {}))
        return found[: len(rows)]

    def accumulate(self, loss: Loss, rows: Sequence[Words]) -> list[np.ndarray]:
        """Adds the gradient of the loss over `rows` (none if there are no rows); returns the log-probabilities of the
        rows, [T - 1] each."""
        dialect = self.dialect
        asked = self._filled(rows or [_NOTHING])
        name, inputs, settings = request(dialect, loss, asked)
        data = [datum(words.row, each) for words, each in zip(asked, inputs, strict=True)]
        work = self._call("learn", lambda: self.client.forward_backward(data, name, settings).result())
        return rated_rows(work, [len(words.counts) for words in asked], self.connection.where)[: len(rows)]

    def step(self, adam: Adam) -> float | None:
        """Takes an optimiser step with the accumulated gradient; returns its norm, None if the server does not report
        it."""
        from tinker import types

        beta1, beta2 = adam.betas
        params = types.AdamParams(
            learning_rate=adam.learning_rate,
            beta1=beta1,
            beta2=beta2,
            eps=adam.epsilon,
            weight_decay=adam.weight_decay,
            grad_clip_norm=adam.max_grad_norm if self.dialect.clips else 0.0,
        )
        self._sampler = None
        response = self._call("take a step", lambda: self.client.optim_step(params).result())
        found = {key.rpartition("/")[2]: value for key, value in (response.metrics or {}).items()}
        return _norm(found["grad_norm"], self.connection.where) if "grad_norm" in found else None

    def write(self, wanted: Sequence[Wanted], ends: Sequence[int], longest: int) -> list[Written]:
        if self._sampler is None:
            self._sampler = self._call("sample", lambda: self.client.save_weights_and_get_sampling_client().result())
        return _written(self.connection, self._sampler, wanted, ends, longest)

    def save(self, name: str) -> str:
        """Saves the weights and the optimiser on the server; returns their path."""
        saved = self._call("save", lambda: self.client.save_state(self._named(name)).result())
        return saved_path(saved, self.connection.where)

    def save_sampler(self, name: str) -> str:
        """Saves the weights only, for sampling; returns their path."""
        saved = self._call("save", lambda: self.client.save_weights_for_sampler(self._named(name)).result())
        return saved_path(saved, self.connection.where)

    def load(self, path: str, optimizer: bool = True) -> None:
        """Loads what was saved at `path`; with `optimizer` false only the weights (SkyRL 0.3.0 cannot)."""
        self._sampler = None
        take = self.client.load_state_with_optimizer if optimizer else self.client.load_state
        self._call(f"load {path}", lambda: take(path).result())

    def _named(self, name: str) -> str:
        """A unique name for a save: a version may be saved twice, since a policy may be restored and retrained."""
        self._saves += 1
        return f"{name}-{self._saves}"

    def _filled(self, rows: Sequence[Words]) -> list[Words]:
        """The rows, padded with copies of the first row of weight 0 to the next power of two if the server compiles for
        each number of rows."""
        rows = list(rows)
        if self._dialect is None or not self._dialect.shapes:
            return rows
        size = max(4, 1 << (len(rows) - 1).bit_length())
        first = rows[0]
        return [*rows, *[Words(first.row, np.zeros_like(first.counts), first.sampled)] * (size - len(rows))]

    def _call(self, doing: str, work: Any) -> Any:
        return self.connection.call(doing, work)


@dataclass(frozen=True)
class PastAdapter:
    """See the module."""

    connection: Connection
    path: str
    rank: int

    def logprobs(self, rows: Sequence[Row]) -> list[np.ndarray]:
        return self.connection.past(self.path, self.rank).logprobs(rows)

    def write(self, wanted: Sequence[Wanted], ends: Sequence[int], longest: int) -> list[Written]:
        return self.connection.past(self.path, self.rank).write(wanted, ends, longest)


class PastSampler:
    """See the module."""

    def __init__(self, connection: Connection, path: str) -> None:
        self.connection, self.path = connection, path
        self._client: Any = None

    def logprobs(self, rows: Sequence[Row]) -> list[np.ndarray]:
        from tinker import types

        client = self._opened()

        def read() -> list[Any]:
            asked = [client.compute_logprobs(types.ModelInput.from_ints(list(row))) for row in rows]
            return [each.result() for each in asked]

        answers = self.connection.call("rate words", read)
        return [rated_row(each, len(row), self.connection.where) for each, row in zip(answers, rows, strict=True)]

    def write(self, wanted: Sequence[Wanted], ends: Sequence[int], longest: int) -> list[Written]:
        return _written(self.connection, self._opened(), wanted, ends, longest)

    def _opened(self) -> Any:
        if self._client is None:
            self._client = self.connection.sampler(self.path)
        return self._client


_NOTHING = Words((0, 1), np.zeros(1), np.zeros(1))  # for a step without rows: a step is taken all the same


def _written(
    connection: Connection, client: Any, wanted: Sequence[Wanted], ends: Sequence[int], longest: int
) -> list[Written]:
    from tinker import types

    connection.check_length(max((len(each.prompt) for each in wanted), default=0) + longest)

    def sample() -> list[Any]:
        asked = [
            client.sample(
                prompt=types.ModelInput.from_ints(list(each.prompt)),
                num_samples=1,
                sampling_params=types.SamplingParams(
                    max_tokens=longest, seed=each.seed, stop=list(ends), temperature=1.0
                ),
            )
            for each in wanted
        ]
        return [each.result() for each in asked]

    return [Written(*said(answer, longest, connection)) for answer in connection.call("sample", sample)]


def _norm(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0.0:
        raise unfit(where, f"the norm of the gradient must be a number of at least 0, not {value!r:.60}")
    return float(value)
