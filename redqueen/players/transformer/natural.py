"""Natural gradient steps for replies that are chosen from lists, solved in the space of their log-odds.

A decision is a position at which a reply had several legal next tokens. Its log-odds are those of each legal token
against the first one; a batch has N of them. The step

    delta theta = - J^T (F J J^T + mu I)^-1 g

    J    [N, P] the gradient of each of the log-odds
    F    [N, N] the Fisher information of the decisions, each times its loss weight
    g    [N] the gradient of the loss with respect to the log-odds
    mu   the damping: a share of the mean eigenvalue of F J J^T

moves every decision as the loss asks of it, where a gradient step moves most what many decisions have in common: for a
language model that has not yet learned to read its card, the eigenvalues of J J^T lie five powers of ten apart. It is
the natural gradient (Amari, 1998; of a policy: Kakade, 2001) by an identity that needs no matrix of P by P (minimal
step stochastic reconfiguration, Chen and Heyl, 2024, arXiv:2302.01941). Without damping, and where N rows of J are
independent, it changes the policy as the same step changes a table.

The damping is Levenberg's and Marquardt's, by Nielsen's rule: it falls where the loss fell as the quadratic model
promised and grows where it did not; a step after which the loss is higher is taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from redqueen.objectives.additive import among
from redqueen.players.transformer.rows import Part, assemble, hand_out
from redqueen.players.transformer.scoring import Query, Rating
from redqueen.protocols import AMOUNT, Objective, State, shaped
from redqueen.types import Batch, Likelihoods, Metrics, NonFiniteLoss, RedQueenError

MOST_NUMBERS = 1 << 30  # of all gradients together, 4 GiB
TRIES = 4  # steps from one J, each a forward pass
ENOUGH = 0.02  # a step is not tried that promises less than this share of what the first promised
DAMPING, LEAST, MOST = 1e-2, 1e-4, 1e8  # at the start, at the beginning of an update, at the most


@dataclass(frozen=True)
class Quadratic:
    """The quadratic model of an objective at some log-odds."""

    loss: float
    metrics: Metrics
    likelihoods: Likelihoods
    gradient: Tensor  # [N] float64
    fisher: Tensor  # [N, N] float64


class Decisions:
    """The decisions of a batch, each distinct one once within a part."""

    def __init__(self, batch: Batch, parts: Sequence[Part]) -> None:
        """Raises RedQueenError for a token that was not chosen from a list."""
        self._batch, self._parts = batch, parts
        self.count = 0  # N log-odds
        self.queries: list[Query] = []  # one for each decision, in the order of the log-odds
        self._places: list[Tensor] = []  # for each part [M] int, the decision of each target
        self._firsts: list[Tensor] = []  # for each part [U] int, a target of each decision
        self._said: list[Tensor] = []  # for each part [M] int, which of the legal tokens stands there
        self._weights: list[Tensor] = []  # for each part [U] float64
        for part in parts:
            numbers: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
            places, firsts, said, weights = list[int](), list[int](), list[int](), list[float]()
            for row, query in enumerate(part.queries):
                of_row = batch.loss_weights[part.rows[part.copies == row]].sum(dim=0)
                for target in query.targets:
                    if not target.legal:
                        raise RedQueenError(
                            "--optimizer natural is for replies that are chosen from a list; these are written freely: "
                            "take adamw"
                        )
                    number = numbers.setdefault((query.tokens[: target.at], target.legal), len(numbers))
                    if number == len(firsts):
                        firsts.append(len(places))
                        self.queries.append(Query(query.tokens[: target.at + 1], (target,)))
                        weights.append(0.0)
                        self.count += len(target.legal) - 1
                    places.append(number)
                    said.append(target.legal.index(query.tokens[target.at]))
                    weights[number] += float(of_row[target.at])
            self._places.append(torch.tensor(places, dtype=torch.int64))
            self._firsts.append(torch.tensor(firsts, dtype=torch.int64))
            self._said.append(torch.tensor(said, dtype=torch.int64))
            self._weights.append(torch.tensor(weights, dtype=torch.float64))

    @torch.enable_grad()
    def model(self, ratings: Sequence[Rating], objective: Objective) -> Quadratic:
        """The quadratic model of the objective at the ratings of all parts. Raises NonFiniteLoss."""
        leaves, found = [], []
        width = self._batch.tokens.shape[1]
        for number, (part, rating) in enumerate(zip(self._parts, ratings, strict=True)):
            leaf = rating.legal_logprobs.detach().cpu()[self._firsts[number]].requires_grad_()
            leaves.append(leaf)
            legal, entropies = among(leaf, leaf == -torch.inf)
            places = self._places[number]
            logprobs = legal[places].gather(1, self._said[number][:, None])[:, 0]
            held = Rating(logprobs, entropies[places], legal[places])
            found.append((part.rows, hand_out(held, part, 0, width)))
        likelihoods = assemble(found, self._batch)
        loss, metrics = objective(likelihoods, self._batch)
        if not torch.isfinite(loss):
            raise NonFiniteLoss(f"the loss is {loss.item()}", self._batch)
        gradients = torch.autograd.grad(loss, leaves, allow_unused=True) if loss.requires_grad else [None] * len(leaves)
        gradient, blocks = [], []
        for leaf, of_leaf, weights in zip(leaves, gradients, self._weights, strict=True):
            others = _others(leaf)
            gradient.append((torch.zeros_like(leaf) if of_leaf is None else of_leaf)[:, 1:][others])
            chances = leaf.detach().double().softmax(dim=1)[:, 1:]
            for chance, present, weight in zip(chances, others, weights, strict=True):
                some = chance[present]
                blocks.append(weight * (some.diag() - some.outer(some)))
        return Quadratic(loss.item(), metrics, _plain(likelihoods), torch.cat(gradient).double(), _along(blocks))


def log_odds(legal: Tensor) -> Tensor:
    """[n] of decisions with the log-probabilities [U, K] of their legal tokens."""
    return (legal - legal[:, :1])[:, 1:][_others(legal)]


def _others(legal: Tensor) -> Tensor:
    """[U, K - 1] bool, which legal tokens there are after the first."""
    return legal.detach()[:, 1:] != -torch.inf


def _along(blocks: Sequence[Tensor]) -> Tensor:
    """The square matrix with these blocks along its diagonal."""
    count = sum(len(block) for block in blocks)
    found, start = torch.zeros(count, count, dtype=torch.float64), 0
    for block in blocks:
        found[start : start + len(block), start : start + len(block)] = block
        start += len(block)
    return found


def _plain(found: Likelihoods) -> Likelihoods:
    legal = None if found.legal_logprobs is None else found.legal_logprobs.detach()
    return Likelihoods(found.logprobs.detach(), found.entropies.detach(), legal)


class NaturalGradient:
    """Takes damped natural gradient steps of float32 weights; keeps the damping between updates."""

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        """Raises RedQueenError for weights of fewer bits, which would lose what the small eigenvalues ask for."""
        if any(weight.dtype != torch.float32 for weight in weights.values()):
            raise RedQueenError("--optimizer natural needs weights of 32 bits: set --dtype float32")
        self._weights = weights
        self._damping = DAMPING

    @property
    def names(self) -> list[str]:
        """Of its weights."""
        return list(self._weights)

    def over(self, weights: Mapping[str, Tensor]) -> NaturalGradient:
        """A new optimizer for other weights."""
        return NaturalGradient(weights)

    def check(self, count: int) -> None:
        """Raises RedQueenError if the gradients of `count` log-odds are more than are held."""
        size = sum(weight.numel() for weight in self._weights.values())
        if count * size > MOST_NUMBERS:
            raise RedQueenError(
                f"--optimizer natural would hold {count} gradients of {size} weights, {count * size / 2**28:.1f} GiB, "
                f"of which {MOST_NUMBERS / 2**28:g} GiB are held at the most: train fewer weights (--lora-rank, "
                "--lora-layers), play fewer matches a step, or take --optimizer adamw"
            )

    def jacobian(self, odds: Tensor) -> Tensor:
        """[n, P] the gradient of each of the log-odds [n]."""
        weights = list(self._weights.values())
        rows = []
        for number in range(len(odds)):
            last = number + 1 == len(odds)
            found = torch.autograd.grad(odds[number], weights, retain_graph=not last, allow_unused=True)
            rows.append(
                torch.cat(
                    [
                        torch.zeros_like(weight).flatten() if each is None else each.flatten()
                        for weight, each in zip(weights, found, strict=True)
                    ]
                )
            )
        return torch.stack(rows) if rows else torch.zeros(0, sum(weight.numel() for weight in weights))

    def step(self, jacobian: Tensor, at: Quadratic, look: Callable[[], Quadratic], learning_rate: float) -> Metrics:
        """Takes up to `TRIES` steps from the gradients `jacobian` [N, P] of the log-odds, where the objective is as
        `at` says; `look` finds it for changed weights. Returns what to log: `natural_steps` that were kept, the
        `damping` after them and the `loss_after`, beside the `gradient_norm` before."""
        self._damping = max(self._damping, LEAST)
        gram = (jacobian @ jacobian.T).double().cpu()
        norm = float((at.gradient @ gram @ at.gradient).clamp(min=0.0).sqrt())
        here, kept, first, growth = at, 0, 0.0, 4.0
        for _ in range(TRIES if norm > 0.0 else 0):
            curved = here.fisher @ gram
            unit = curved.diagonal().mean().clamp(min=1e-12)
            damped = curved + self._damping * unit * torch.eye(len(gram), dtype=gram.dtype)
            dual = learning_rate * torch.linalg.solve(damped, here.gradient)
            change = -gram @ dual
            promised = -float(here.gradient @ change + 0.5 * change @ here.fisher @ change)
            if promised <= ENOUGH * first:
                break
            first = first or promised
            before = {key: weight.detach().clone() for key, weight in self._weights.items()}
            self._add(-(jacobian.T @ dual.to(jacobian)))
            there = _seen(look)
            gained = -torch.inf if there is None else here.loss - there.loss
            if there is not None and gained > 0.0:
                here, kept = there, kept + 1
            else:
                self._set(before)
            if gained > 0.25 * promised:
                growth = 4.0
                if gained > 0.6 * promised:
                    self._damping = max(self._damping / 5.0, LEAST / 10.0)
            else:
                self._damping = min(self._damping * growth, MOST)
                growth *= 2.0
        return {
            "loss": at.loss,
            "gradient_norm": norm,
            "natural_steps": float(kept),
            "loss_after": here.loss,
            "damping": self._damping,
        }

    @torch.no_grad()
    def _add(self, change: Tensor) -> None:
        start = 0
        for weight in self._weights.values():
            weight.add_(change[start : start + weight.numel()].view_as(weight))
            start += weight.numel()

    @torch.no_grad()
    def _set(self, weights: Mapping[str, Tensor]) -> None:
        for key, weight in self._weights.items():
            weight.copy_(weights[key])

    def state(self) -> State:
        return self.held()

    def held(self) -> State:
        return {"damping": self._damping}

    def restore(self, state: State) -> None:
        self._damping = shaped(state, {"damping": AMOUNT}, "the optimiser: ")["damping"]


def _seen(look: Callable[[], Quadratic]) -> Quadratic | None:
    """What `look` finds; None where the loss is no number."""
    try:
        return look()
    except NonFiniteLoss:
        return None
