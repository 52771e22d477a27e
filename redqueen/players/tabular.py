"""A policy that is a table of logits: one row for each information state it has met.

Its "tokens" are the number of the state and the number of the choice, so a row of a batch is
`[state, choice]` and training works on it as on a language model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from redqueen.chance import pick, uniform
from redqueen.objectives.additive import among
from redqueen.protocols import COUNT, FINITE, Objective, Policy, State, shaped
from redqueen.records import ASK, ask_from_json, ask_to_json
from redqueen.trust.reading import read_json, within
from redqueen.types import Ask, Batch, Damaged, Likelihoods, Metrics, NonFiniteLoss, RedQueenError, Reply


class _States:
    """The numbers of the states met so far. A policy and its frozen copies share them, so that one
    row of a batch means the same state to all."""

    def __init__(self) -> None:
        self.rows: dict[Ask, int] = {}
        self.counts = np.zeros(0, dtype=np.int64)  # [S] choices of each state, then zeros

    def row(self, ask: Ask) -> int:
        """The number of the ask's state; a new state gets the next number."""
        row = self.rows.get(ask)
        if row is None:
            if not ask.choices:
                raise RedQueenError(
                    "a tabular policy needs games that list their legal replies; this one asks for free text: "
                    "use a language model (--model tiny or --model smollm2-135m)"
                )
            row = self.rows[ask] = len(self.rows)
            if row == len(self.counts):
                self.counts = np.append(self.counts, np.zeros(row + 16, dtype=np.int64))
            self.counts[row] = len(ask.choices)
        return row


class TabularPolicy:
    """A softmax over a row of logits per state, trained by plain gradient descent. A new state starts uniform.

    With `natural` it takes the natural gradient (Kakade, 2001): of each logit's gradient, divided by its probability
    and by the loss weight of its state. At a learning rate of 1 one step reaches the target of `ExactKL(1.0)`.
    """

    open = True

    def __init__(self, learning_rate: float = 2.0, name: str = "learner", natural: bool = False) -> None:
        self.name = name
        self.version = 0
        self.learning_rate = learning_rate
        self._natural = natural
        self._states = _States()
        self._logits = np.zeros((0, 0))  # [S, K] or smaller: states beyond it are uniform
        self._logprobs: np.ndarray | None = None  # [S, K] of the current logits
        self._known = 0  # number of states whose rows of `_logprobs` are computed
        self._frozen = False

    def met(self, asks: Sequence[Ask]) -> bool:
        """Whether the table has a row for any of these."""
        return any(ask in self._states.rows for ask in asks)

    @property
    def empty(self) -> bool:
        return not self._states.rows

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        rows = [self._states.row(ask) for ask in asks]
        logprobs = self._table()
        chances = np.exp(logprobs[rows])
        replies = []
        for ask, row, chance in zip(asks, rows, chances, strict=True):
            choice = pick(chance[: len(ask.choices)].tolist(), uniform(ask.seed))
            replies.append(
                Reply(
                    text=ask.choices[choice],
                    player=self.name,
                    version=self.version,
                    prompt_tokens=np.array([row]),
                    tokens=np.array([choice]),
                    logprobs=logprobs[row, choice : choice + 1].copy(),  # a view would keep the whole table
                    legal_tokens=tuple((k,) for k in range(len(ask.choices))),
                )
            )
        return replies

    def in_format(self, ask: Ask, text: str, answer: str = "") -> str:
        """The text: a table answers in no format."""
        return text

    def recite(self, ask: Ask, text: str) -> Reply:
        """The reply as if this policy had chosen `text`, marked as `recited`, for objectives that imitate. Raises
        RedQueenError if `text` is not a choice."""
        if text not in ask.choices:
            raise RedQueenError(f"{text!r} is not among the choices {', '.join(ask.choices)}")
        row, choice = self._states.row(ask), ask.choices.index(text)
        legal = tuple((k,) for k in range(len(ask.choices)))
        return Reply(
            text, self.name, self.version, np.array([row]), np.array([choice]), np.zeros(1), legal, recited=True
        )

    def probabilities(self, asks: Sequence[Ask]) -> list[np.ndarray]:
        rows = [self._states.row(ask) for ask in asks]
        logprobs = self._table()
        return [np.exp(logprobs[row, : len(ask.choices)]) for ask, row in zip(asks, rows, strict=True)]

    def read(self, asks: Sequence[Ask]) -> tuple[np.ndarray, np.ndarray]:
        """[S] the number of each ask's state, and [S, K] the log-probabilities of its choices, -inf beyond them."""
        rows = np.array([self._states.row(ask) for ask in asks], dtype=np.int64)
        return rows, self._table()[rows]

    def likelihoods(self, batch: Batch) -> Likelihoods:
        if not len(batch):
            return Likelihoods(torch.zeros(0, 0), torch.zeros(0, 0))
        self._grow()
        return self._rate(torch.from_numpy(self._logits), batch)

    def update(self, batch: Batch, objective: Objective) -> Metrics:
        assert not self._frozen, f"{self.name} is frozen and does not learn"
        if not len(batch):
            return {"loss": 0.0, "gradient_norm": 0.0}
        self._grow()
        logits = torch.from_numpy(self._logits).clone().requires_grad_()
        loss, metrics = objective(self._rate(logits, batch), batch)
        (gradient,) = torch.autograd.grad(loss, logits)
        if not (torch.isfinite(loss) and torch.isfinite(gradient).all()):
            raise NonFiniteLoss(f"the loss of {self.name} is {loss.item()}", batch)
        step = self._naturally(gradient.numpy(), batch) if self._natural else gradient.numpy()
        self._logits = self._logits - self.learning_rate * step
        self._logprobs = None
        self.version += 1
        return {**metrics, "loss": loss.item(), "gradient_norm": gradient.norm().item()}

    def _naturally(self, gradient: np.ndarray, batch: Batch) -> np.ndarray:
        """[S, K] the gradient over the Fisher information of each logit, zero where a state has no weight."""
        weights = np.bincount(batch.tokens[:, 0].numpy(), batch.loss_weights[:, 1].numpy(), len(self._logits))
        information = weights[:, None] * np.exp(np.maximum(self._table(), -600.0))
        return np.asarray(np.divide(gradient, information, out=np.zeros_like(gradient), where=weights[:, None] > 0))

    def forget(self) -> None:
        """Does nothing: a table caches nothing that depends on earlier asks."""

    def freeze(self) -> Policy:
        copy = TabularPolicy(self.learning_rate, f"{self.name.split('@')[0]}@{self.version}", self._natural)
        copy._states = self._states
        copy._logits, copy.version, copy._frozen = self._logits.copy(), self.version, True
        return copy

    def state(self) -> State:
        """The state for a checkpoint. A frozen copy leaves out the list of states, which the learner's state holds."""
        self._grow()
        return {
            "name": self.name,
            "version": self.version,
            "asks": [] if self._frozen else [ask_to_json(ask) for ask in self._states.rows],
            "logits": [self._logits[row, : len(ask.choices)].tolist() for ask, row in self._states.rows.items()],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        shaped(state, {"name": str, "version": COUNT, "asks": [ASK], "logits": [[FINITE]]}, "the table: ")
        self.name, self.version = state["name"], state["version"]
        rows = [self._states.row(ask_from_json(data)) for data in state["asks"]] or range(len(state["logits"]))
        self._logits = np.zeros((0, 0))
        self._grow()
        for row, logits in zip(rows, state["logits"], strict=True):
            if len(logits) != (count := int(self._states.counts[row])):
                raise Damaged(f"the table: .logits[{row}] must have {count} numbers, not {len(logits)}")
            self._logits[row, : len(logits)] = logits
        self._logprobs = None

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "table.json").write_text(json.dumps(self.state()))

    def load(self, folder: Path) -> None:
        state = read_json(folder / "table.json")
        with within(f"{folder.name}/table.json: "):
            self.restore(state)

    def _grow(self) -> None:
        """Adds rows of logits for new states."""
        counts = self._states.counts
        shape = (len(counts), int(counts.max(initial=0)))
        if shape != self._logits.shape:
            grown = np.zeros(shape)
            grown[: self._logits.shape[0], : self._logits.shape[1]] = self._logits
            self._logits = grown
            self._logprobs = None

    def _table(self) -> np.ndarray:
        """[S, K] log-probabilities, -inf for illegal choices; zeros where no state is yet."""
        self._grow()
        if self._logprobs is None:
            self._logprobs, self._known = np.zeros(self._logits.shape), 0
        new = slice(self._known, len(self._states.rows))
        if new.start < new.stop:
            legal = np.arange(self._logits.shape[1]) < self._states.counts[new, None]
            logits = np.where(legal, self._logits[new], -np.inf)
            top = logits.max(axis=1, keepdims=True)
            self._logprobs[new] = logits - top - np.log(np.exp(logits - top).sum(axis=1, keepdims=True))
            self._known = new.stop
        return self._logprobs

    def _rate(self, logits: Tensor, batch: Batch) -> Likelihoods:
        """The likelihoods of rows `[state, choice]`; only the second position is the policy's own token."""
        states, choices = batch.tokens[:, 0], batch.tokens[:, 1]
        count = torch.from_numpy(self._states.counts)[states]  # [B]
        width = int(count.max()) if len(count) else 0
        illegal = torch.arange(width) >= count[:, None]  # [B, K]
        legal, entropies = among(logits[states][:, :width].masked_fill(illegal, -torch.inf), illegal)
        chosen = legal.gather(1, choices[:, None])  # [B, 1]
        nothing = torch.zeros_like(chosen)
        return Likelihoods(
            torch.cat([nothing, chosen], dim=1),
            torch.cat([nothing, entropies[:, None]], dim=1),
            torch.stack([torch.full_like(legal, -torch.inf), legal], dim=1),
        )
