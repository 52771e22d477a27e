"""Log-probabilities and entropies of tokens at given positions (targets) of rows.

One function serves sampling from listed replies, training and exact measures, so all three use the
same distribution: the model's at the sampling temperature, renormalised over the legal next tokens
where the replies were listed. Tokens after the last target are not computed, and logits are computed
only at the nodes before a target, a chunk at a time:

    rows                          asked for     nodes computed        logits after
    the card is J  bet  <end>     bet           the card is J         J
    the card is J  pass <end>     pass          (the same)            (the same)

With gradients, a chunk's logits are computed again in the backward pass: the logits of a whole batch
are never held at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from redqueen.objectives.additive import among
from redqueen.players.transformer.forward import States

Body = Callable[[Sequence[tuple[int, ...]], Sequence[Sequence[int]]], States]  # rows, and the positions of each
Head = Callable[[Tensor], Tensor]  # [n, H] -> [n, V]
LOGITS, LOGITS_THERE = 1 << 24, 1 << 26  # held at a time in float32, on a CPU and on a GPU


def chunk_of(vocabulary: int, device: str = "cpu") -> int:
    """The nodes whose logits are held at a time on a device of this type."""
    return max(16, (LOGITS if device == "cpu" else LOGITS_THERE) // vocabulary)


@dataclass(frozen=True)
class Target:
    """A position of a row whose token is to be rated. No legal tokens means the whole vocabulary."""

    at: int  # position in the row, at least 1
    legal: tuple[int, ...] = ()  # [K] sorted


@dataclass(frozen=True)
class Query:
    """One row and its targets, in order."""

    tokens: tuple[int, ...]
    targets: tuple[Target, ...]

    @property
    def needed(self) -> tuple[int, ...]:
        """The tokens that must be read to rate the last target."""
        return self.tokens[: self.targets[-1].at] if self.targets else ()


@dataclass(frozen=True)
class Rating:
    """The answers to all targets of all queries, in order: M targets."""

    logprobs: Tensor  # [M] float32
    entropies: Tensor  # [M] float32, in nats
    legal_logprobs: Tensor  # [M, K] float32 in the order of `Target.legal`, -inf beyond; K = 0 if all were free


def rate(body: Body, head: Head, queries: Sequence[Query], temperature: float, chunk: int = 64) -> Rating:
    """The rating of every target, from one pass over the rows with the logits of `chunk` nodes at a time in float32."""
    places = [(query.tokens[target.at], target.legal) for query in queries for target in query.targets]
    if not places:
        return Rating(torch.zeros(0), torch.zeros(0), torch.zeros(0, 0))
    rows = [query.needed for query in queries]
    states = body(rows, [[target.at - 1 for target in query.targets] for query in queries])
    device = states.hidden.device
    width = max(len(legal) for _, legal in places)
    wanted = np.zeros((len(places), 1 + width), dtype=np.int64)  # the token, then the legal ones
    counts = np.zeros(len(places), dtype=np.int64)
    for number, (token, legal) in enumerate(places):
        wanted[number, : 1 + len(legal)] = (token, *legal)
        counts[number] = len(legal)
    order = np.argsort(states.numbers, kind="stable")  # by the node whose logits are read
    normalizers, entropies, scores = _summaries(
        head,
        states.hidden,
        np.asarray(states.numbers)[order],
        torch.from_numpy(wanted[order]).to(device),
        counts[order] == 0,
        temperature,
        chunk,
    )
    back = torch.from_numpy(np.argsort(order, kind="stable")).to(device)
    free = torch.from_numpy(counts == 0).to(device)
    scores = scores[back]  # [M, 1 + K]
    logprobs, entropies = scores[:, 0] - normalizers[back], entropies[back]
    if width == 0:
        return Rating(logprobs, entropies, scores.new_zeros(len(places), 0))
    absent = torch.arange(width, device=device) >= torch.from_numpy(counts).to(device)[:, None]
    held = scores[:, 1:].masked_fill(absent & ~free[:, None], -torch.inf)
    legal_logprobs, held_entropies = among(held, absent)
    return Rating(
        torch.where(free, logprobs, scores[:, 0] - held.logsumexp(dim=1)),
        torch.where(free, entropies, held_entropies),
        legal_logprobs,
    )


def _summaries(
    head: Head, hidden: Tensor, numbers: np.ndarray, wanted: Tensor, free: np.ndarray, temperature: float, chunk: int
) -> tuple[Tensor, Tensor, Tensor]:
    """For targets sorted by the index of their hidden state: log-normaliser and entropy over the vocabulary, [M]
    each (zero in chunks without a free target), and the scores of the wanted tokens, [M, 1 + K]."""
    found: list[tuple[Tensor, Tensor, Tensor]] = []
    for start in range(0, len(hidden), chunk):
        end = start + chunk
        first, last = np.searchsorted(numbers, [start, end])
        of = torch.from_numpy(numbers[first:last] - start).to(hidden.device)
        part = (head, hidden[start:end], of, wanted[first:last], bool(free[first:last].any()), temperature)
        if torch.is_grad_enabled() and end < len(hidden):
            found.append(checkpoint(_summary, *part, use_reentrant=False))  # with the same dropout of an adapted head
        else:  # the backward pass begins here: these logits may be kept
            found.append(_summary(*part))
    normalizers, entropies, scores = zip(*found, strict=True)
    return torch.cat(normalizers), torch.cat(entropies), torch.cat(scores)


def _summary(
    head: Head, hidden: Tensor, of: Tensor, wanted: Tensor, any_free: bool, temperature: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The same for one chunk; `of` holds for each target the index of its hidden state in the chunk, in order."""
    logits = head(hidden)
    if not any_free:
        nothing = torch.zeros(len(of), device=logits.device)
        return nothing, nothing, logits[of[:, None], wanted].float() / temperature
    normalizer, entropy, chosen = _Summary.apply(logits, of, wanted, temperature)  # type: ignore[no-untyped-call]
    return normalizer[of], entropy[of], chosen


class _Summary(torch.autograd.Function):
    """Of scores z = logits / temperature, [n, V]: N = log sum exp z and H = N - sum p z, [n] each, and some of the
    scores themselves, z[of, wanted] [m, k]. In float32, a few rows at a time, so that they stay near the processor:

    dN/dz = p,    dH/dz = -p (z - N + H)
    """

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, of: Tensor, wanted: Tensor, temperature: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        normalizer, entropy = (torch.empty(len(logits), device=logits.device) for _ in range(2))
        for rows in _few(logits):
            scores = logits[rows].float() / temperature
            highest = scores.amax(dim=1, keepdim=True)
            chances = (scores - highest).exp_()
            total = chances.sum(dim=1)
            normalizer[rows] = highest[:, 0] + total.log()
            entropy[rows] = normalizer[rows] - torch.einsum("nv,nv->n", chances, scores) / total
        ctx.set_materialize_grads(False)
        ctx.temperature = temperature
        ctx.save_for_backward(logits, normalizer, entropy, of, wanted)
        return normalizer, entropy, logits[of[:, None], wanted].float() / temperature

    @staticmethod
    def backward(
        ctx: Any, of_normalizer: Tensor | None, of_entropy: Tensor | None, of_chosen: Tensor | None
    ) -> tuple[Tensor, None, None, None]:
        logits, normalizer, entropy, of, wanted = ctx.saved_tensors
        slope = torch.empty_like(logits)
        for rows in _few(logits):
            scores = logits[rows].float() / ctx.temperature
            part = (scores - normalizer[rows, None]).exp_()
            if of_entropy is not None:
                surprise = scores.sub_((normalizer - entropy)[rows, None]).mul_(-of_entropy[rows, None])
                part *= surprise if of_normalizer is None else surprise.add_(of_normalizer[rows, None])
            elif of_normalizer is not None:
                part *= of_normalizer[rows, None]
            else:
                part.zero_()
            if of_chosen is not None:
                first, last = 0, len(of)
                if rows.stop - rows.start < len(logits):
                    first, last = torch.searchsorted(of, torch.tensor([rows.start, rows.stop])).tolist()
                places = (of[first:last, None] - rows.start, wanted[first:last])
                part.index_put_(places, of_chosen[first:last], accumulate=True)
            slope[rows] = part.div_(ctx.temperature)
        return slope, None, None, None


def _few(logits: Tensor) -> Iterator[slice]:
    """Slices of 64 rows; of all on a GPU, which is kept waiting by every slice."""
    count, size = len(logits), 64 if logits.is_cpu else max(len(logits), 1)
    return (slice(start, min(start + size, count)) for start in range(0, count, size))
