"""From the rows of a batch to places of a model, and back: which distinct rows there are, which of
their tokens are to be rated under which legal ones, and whose the answers are.

    batch    row 0  the card is J  bet        queries   0  the card is J  bet    bet among {bet, pass}
             row 1  the card is J  bet                  1  the card is Q  pass   pass among {bet, pass}
             row 2  the card is Q  pass       copies    0, 0, 1
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from redqueen.batch import free_positions
from redqueen.players.transformer.scoring import Query, Rating, Target
from redqueen.players.transformer.trie import cut
from redqueen.types import Batch, Likelihoods


def alike(batch: Batch, budget: int) -> list[Tensor]:
    """Row numbers of micro-batches: equal rows together, at most `budget` distinct tokens each."""
    places: dict[tuple[int, ...], list[int]] = {}
    for number, (row, length) in enumerate(zip(batch.tokens.tolist(), batch.lengths.tolist(), strict=True)):
        places.setdefault(tuple(row[:length]), []).append(number)
    distinct = list(places)
    return [
        torch.tensor([number for member in part for number in places[distinct[member]]])
        for part in cut(distinct, budget)
    ]


def queries_of(batch: Batch) -> tuple[list[Query], Tensor]:
    """The distinct queries of a batch, and for each row, [B] int, which of them is its own."""
    own = batch.loss_weights != 0
    distinct: dict[Query, int] = {}
    copies = []
    rows = zip(batch.tokens.tolist(), batch.lengths.tolist(), own.tolist(), batch.constraints, strict=True)
    for tokens, length, mine, constraints in rows:
        held = {}
        for constraint in constraints:
            held.update(legal_tokens(tuple(tokens[constraint.start : length]), constraint.replies, constraint.start))
        targets = tuple(Target(at, held.get(at, ())) for at in range(1, length) if mine[at])
        copies.append(distinct.setdefault(Query(tuple(tokens[:length]), targets), len(distinct)))
    return list(distinct), torch.tensor(copies)


def held_query(prompt: tuple[int, ...], reply: tuple[int, ...], replies: tuple[tuple[int, ...], ...]) -> Query:
    """A prompt and one of its legal replies, with a target wherever the reply was not forced."""
    legal = legal_tokens(reply, replies, len(prompt))
    free = free_positions(replies, reply)
    targets = (Target(at, tokens) for at, tokens in legal.items() if free[at - len(prompt)])
    return Query(prompt + reply, tuple(targets))


def legal_tokens(said: tuple[int, ...], replies: tuple[tuple[int, ...], ...], start: int) -> dict[int, tuple[int, ...]]:
    """For each position of a held reply, the tokens that could stand there after those before."""
    legal = {}
    for at in range(len(said)):
        tokens = {reply[at] for reply in replies if len(reply) > at and reply[:at] == said[:at]}
        if not tokens:
            break  # past the end of the reply: later words of the row
        legal[start + at] = tuple(sorted(tokens))
    return legal


def spread(prompt: int, reply: tuple[int, ...], query: Query, logprobs: np.ndarray) -> np.ndarray:
    """[R] the log-probability of each token of a reply; forced tokens have 0."""
    spread = np.zeros(len(reply))
    for target, logprob in zip(query.targets, logprobs, strict=True):
        spread[target.at - prompt] = logprob
    return spread


def hand_out(rating: Rating, queries: Sequence[Query], copies: Tensor, width: int) -> Likelihoods:
    """From answers [M] to rows [B, width], each row taking those of its query."""
    rows = torch.tensor([row for row, query in enumerate(queries) for _ in query.targets], dtype=torch.int64)
    places = torch.tensor([target.at for query in queries for target in query.targets], dtype=torch.int64)
    at = (rows.to(rating.logprobs.device), places.to(rating.logprobs.device))
    shape = (len(queries), width)
    logprobs = rating.logprobs.new_zeros(shape).index_put(at, rating.logprobs)
    entropies = rating.entropies.new_zeros(shape).index_put(at, rating.entropies)
    copies = copies.to(logprobs.device)
    legal = None
    if rating.legal_logprobs.shape[1]:
        empty = rating.legal_logprobs.new_full((*shape, rating.legal_logprobs.shape[1]), -torch.inf)
        legal = empty.index_put(at, rating.legal_logprobs)[copies].cpu()
    return Likelihoods(logprobs[copies].cpu(), entropies[copies].cpu(), legal)


def assemble(parts: Sequence[tuple[Tensor, Likelihoods]], batch: Batch) -> Likelihoods:
    """The likelihoods of a whole batch from those of its parts."""
    shape = tuple(batch.tokens.shape)
    logprobs, entropies = torch.zeros(shape), torch.zeros(shape)
    width = max((part.legal_logprobs.shape[2] for _, part in parts if part.legal_logprobs is not None), default=0)
    legal = torch.full((*shape, width), -torch.inf) if width else None
    for rows, part in parts:
        logprobs[rows], entropies[rows] = part.logprobs, part.entropies
        if legal is not None and part.legal_logprobs is not None:
            legal[rows, :, : part.legal_logprobs.shape[2]] = part.legal_logprobs
    return Likelihoods(logprobs, entropies, legal)
