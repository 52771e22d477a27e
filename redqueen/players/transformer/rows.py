"""From the rows of a batch to queries of a model, and back: the distinct rows, the tokens to be rated with their
legal alternatives, and the rows that each answer belongs to.

    batch    row 0  the card is J  bet        queries   0  the card is J  bet    bet among {bet, pass}
             row 1  the card is J  bet                  1  the card is Q  pass   pass among {bet, pass}
             row 2  the card is Q  pass       copies    0, 0, 1
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from redqueen.objectives.batch import free_positions
from redqueen.players.transformer.scoring import Query, Rating, Target
from redqueen.players.transformer.trie import Trie, cut, merge
from redqueen.types import Batch, Constraint, Likelihoods


@dataclass(frozen=True)
class Part:
    """Some rows of a batch and their queries, each distinct query once."""

    rows: Tensor  # [b] int
    queries: list[Query]
    copies: Tensor  # [b] int, the index of each row's query


def parts_of(batch: Batch, budget: int) -> list[Part]:
    """Micro-batches of at most `budget` distinct tokens: equal rows together, rows with common prefixes near each
    other. The rows of a pair are in one part: a pair that is longer is a part of its own."""
    queries, copies = _queries(batch)
    cuts = list(cut([query.needed for query in queries], budget))
    if len(cuts) == 1:
        return [Part(torch.arange(len(batch)), queries, torch.from_numpy(copies))]
    if batch.pairs is not None:
        return _whole_pairs(batch.pairs, queries, copies, budget)
    parts = []
    for numbers in cuts:
        place = np.full(len(queries), -1)
        place[numbers] = np.arange(len(numbers))
        rows = np.flatnonzero(place[copies] >= 0)
        own = [queries[number] for number in numbers]
        parts.append(Part(torch.from_numpy(rows), own, torch.from_numpy(place[copies[rows]])))
    return parts


def _whole_pairs(pairs: Tensor, queries: Sequence[Query], copies: np.ndarray, budget: int) -> list[Part]:
    """Parts that hold all rows of a pair, given the pair of each row, [B] int."""
    members: dict[int, list[int]] = defaultdict(list)
    for row, pair in enumerate(pairs.tolist()):
        members[pair].append(row)
    needed = [queries[copy].needed for copy in copies]
    groups: list[list[int]] = []
    trie = Trie()
    for rows in sorted(members.values(), key=lambda rows: min(needed[row] for row in rows)):
        for row in rows:
            trie.add(needed[row])
        if not groups or len(trie) > budget:
            groups.append([])
            trie, _ = merge([needed[row] for row in rows])
        groups[-1] += rows
    parts = []
    for rows in map(sorted, groups):
        numbers, places = np.unique(copies[rows], return_inverse=True)
        parts.append(Part(torch.tensor(rows), [queries[number] for number in numbers], torch.from_numpy(places)))
    return parts


def _queries(batch: Batch) -> tuple[list[Query], np.ndarray]:
    """The distinct queries of a batch, and for each row the index of its query, [B] int."""
    tokens, own = batch.tokens.numpy(), (batch.loss_weights != 0).numpy()
    numbers: dict[tuple[bytes, bytes, tuple[Constraint, ...]], int] = {}
    queries: list[Query] = []
    copies = np.zeros(len(batch), dtype=np.int64)
    for row, (length, constraints) in enumerate(zip(batch.lengths.tolist(), batch.constraints, strict=True)):
        key = (tokens[row, :length].tobytes(), own[row, :length].tobytes(), constraints)  # equal rows are the rule
        number = numbers.setdefault(key, len(queries))
        if number == len(queries):
            queries.append(_query(tuple(tokens[row, :length].tolist()), own[row], constraints))
        copies[row] = number
    return queries, copies


def _query(tokens: tuple[int, ...], own: np.ndarray, constraints: Sequence[Constraint]) -> Query:
    held = {}
    for constraint in constraints:
        held.update(legal_tokens(tokens[constraint.start :], constraint.replies, constraint.start))
    return Query(tokens, tuple(Target(at, held.get(at, ())) for at in range(1, len(tokens)) if own[at]))


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
            break  # past the end of the reply: later tokens of the row
        legal[start + at] = tuple(sorted(tokens))
    return legal


def spread(prompt: int, reply: tuple[int, ...], query: Query, logprobs: np.ndarray) -> np.ndarray:
    """[R] the log-probability of each token of a reply; forced tokens have 0."""
    spread = np.zeros(len(reply))
    for target, logprob in zip(query.targets, logprobs, strict=True):
        spread[target.at - prompt] = logprob
    return spread


def hand_out(rating: Rating, part: Part, start: int, end: int) -> Likelihoods:
    """The likelihoods of the columns from `start` to `end` of rows [b], from the answers [M] to their queries."""
    device = rating.logprobs.device
    rows = torch.tensor([row for row, query in enumerate(part.queries) for _ in query.targets], dtype=torch.int64)
    places = torch.tensor([target.at - start for query in part.queries for target in query.targets], dtype=torch.int64)
    at = (rows.to(device), places.to(device))
    shape = (len(part.queries), end - start)
    logprobs = rating.logprobs.new_zeros(shape).index_put(at, rating.logprobs)
    entropies = rating.entropies.new_zeros(shape).index_put(at, rating.entropies)
    copies = part.copies.to(device)
    legal = None
    if rating.legal_logprobs.shape[1]:
        empty = rating.legal_logprobs.new_full((*shape, rating.legal_logprobs.shape[1]), -torch.inf)
        legal = empty.index_put(at, rating.legal_logprobs).index_select(0, copies).cpu()
    return Likelihoods(logprobs.index_select(0, copies).cpu(), entropies.index_select(0, copies).cpu(), legal)


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
