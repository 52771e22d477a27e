"""How a model rates tokens: log-probabilities and entropies at the places that are asked for.

One function serves sampling from listed replies, training and exact measures, so all three see the
same distribution: the model's at the sampling temperature, renormalised over the legal next tokens
where the replies were listed. Logits are made only at the nodes before a wanted token.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from redqueen.players.transformer.trie import Trie, merge

Forward = Callable[[Trie, Tensor], Tensor]  # a trie and the nodes whose logits are wanted, [n] -> [n, V]


@dataclass(frozen=True)
class Target:
    """A place of a row whose token is to be rated. No legal tokens means the whole vocabulary."""

    at: int  # position in the row, at least 1
    legal: tuple[int, ...] = ()  # [K] sorted


@dataclass(frozen=True)
class Query:
    """One row and the places in it that matter."""

    tokens: tuple[int, ...]
    targets: tuple[Target, ...]


@dataclass(frozen=True)
class Rating:
    """The answers to all targets of all queries, in order: M targets."""

    logprobs: Tensor  # [M] float32
    entropies: Tensor  # [M] float32, in nats
    legal_logprobs: Tensor  # [M, K] float32 in the order of `Target.legal`, -inf beyond; K = 0 if all were free


def rate(forward: Forward, queries: Sequence[Query], temperature: float, chunk: int = 64) -> Rating:
    """Rates every target in one forward pass over the trie of the rows. Softmaxes run over `chunk`
    places at a time in float32, so the whole `[M, V]` is never held in that width."""
    trie = merge([query.tokens for query in queries])
    nodes: dict[int, int] = {}  # node before a target -> its number among the logits
    places = []  # (number among the logits, token, legal)
    for query, path in zip(queries, trie.paths, strict=True):
        for target in query.targets:
            before = path[target.at - 1]
            places.append((nodes.setdefault(before, len(nodes)), query.tokens[target.at], target.legal))
    if not places:
        return Rating(torch.zeros(0), torch.zeros(0), torch.zeros(0, 0))
    logits = forward(trie, torch.tensor(list(nodes), dtype=torch.int64))  # [n, V]
    free = sorted({number for number, _, legal in places if not legal})
    held = [place for place in places if place[2]]
    width = max((len(legal) for _, _, legal in held), default=0)

    whole = {number: row for row, number in enumerate(free)}
    parts = []
    for start in range(0, len(free), chunk):
        rows = torch.tensor(free[start : start + chunk], device=logits.device)
        parts.append(_Softmax.of(logits[rows].float() / temperature))
    normalizer = torch.cat([part.normalizer for part in parts]) if parts else logits.new_zeros(0, dtype=torch.float32)
    entropy = torch.cat([part.entropy for part in parts]) if parts else normalizer

    rows = torch.tensor([number for number, _, _ in places], device=logits.device)
    tokens = torch.tensor([token for _, token, _ in places], device=logits.device)
    raw = logits[rows, tokens].float() / temperature  # [M]
    is_held = torch.tensor([bool(legal) for _, _, legal in places], device=logits.device)
    slots = torch.tensor([whole.get(number, 0) for number, _, _ in places], device=logits.device)
    if width == 0:
        return Rating(raw - normalizer[slots], entropy[slots], raw.new_zeros(len(places), 0))

    padded = torch.tensor(
        [list(legal) + [0] * (width - len(legal)) for _, _, legal in places], device=logits.device
    )  # [M, K]
    count = torch.tensor([len(legal) for _, _, legal in places], device=logits.device)
    absent = torch.arange(width, device=logits.device) >= count[:, None]
    scores = logits[rows[:, None], padded].float() / temperature
    safe = scores.masked_fill(absent & is_held[:, None], -torch.inf)
    legal_logprobs = safe.log_softmax(dim=1)
    surprise = torch.where(absent, 0.0, legal_logprobs)
    held_entropy = -(surprise.exp() * surprise).masked_fill(absent, 0.0).sum(dim=1)
    held_logprobs = raw - safe.logsumexp(dim=1)
    if free:
        held_logprobs = torch.where(is_held, held_logprobs, raw - normalizer[slots])
        held_entropy = torch.where(is_held, held_entropy, entropy[slots])
    return Rating(held_logprobs, held_entropy, legal_logprobs.masked_fill(absent, -torch.inf))


@dataclass(frozen=True)
class _Softmax:
    normalizer: Tensor  # [m]
    entropy: Tensor  # [m]

    @staticmethod
    def of(logits: Tensor) -> _Softmax:
        """Of logits [m, V]: H = log Z - sum_v p_v z_v."""
        normalizer = logits.logsumexp(dim=1)
        entropy = normalizer - ((logits - normalizer[:, None]).exp() * logits).sum(dim=1)
        return _Softmax(normalizer, entropy)
