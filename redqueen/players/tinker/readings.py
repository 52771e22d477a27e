"""From positions in rows to whole rows that a server evaluates, and back: exact under listed replies too.

A server returns the log-probability of each token of a row under the whole vocabulary. Where replies are listed, it is
renormalised over the legal next tokens: each of these is the last token of a row of its own, and the server's
normaliser cancels:

    asked for   the card is J  bet among {bet, pass}        read   the card is J  bet
                                                                   the card is J  pass

All arithmetic on the server's numbers is differentiable, which gives the gradient with respect to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from redqueen.players.transformer.scoring import Query, Rating

Row = tuple[int, ...]


@dataclass(frozen=True)
class Reading:
    """The rows to evaluate, none a prefix of another, and where in the answers the M targets are.

    The answers to all rows form one line of length L: for each row the log-probabilities of its second token to its
    last.
    """

    rows: tuple[Row, ...]
    places: Tensor  # [M, K] int into the line, for each legal next token; L where there are fewer
    said: Tensor  # [M] int, the column of the actual token
    free: Tensor  # [M] bool, where no replies were listed

    @property
    def lengths(self) -> list[int]:
        """The number of answers of each row."""
        return [len(row) - 1 for row in self.rows]


def reading_of(queries: Sequence[Query]) -> Reading:
    """The reading that answers every target of `queries`, each row once."""
    asked = [[_tokens_at(query, number) for number in range(len(query.targets))] for query in queries]
    ends = [query.tokens[: query.targets[-1].at + 1] if query.targets else () for query in queries]
    paths = {end for end in ends if end}
    for query, tokens in zip(queries, asked, strict=True):
        for target, legal in zip(query.targets, tokens, strict=True):
            if target.legal:
                paths |= {(*query.tokens[: target.at], token) for token in legal}
    home = _homes(paths)
    rows = tuple(sorted(set(home.values())))
    starts = dict(zip(rows, np.cumsum([0, *(len(row) - 1 for row in rows)]).tolist(), strict=False))
    places, said, free = [], [], []
    for query, end, tokens in zip(queries, ends, asked, strict=True):
        for target, legal in zip(query.targets, tokens, strict=True):
            row = [starts[home[(*query.tokens[: target.at], token)]] for token in legal] if target.legal else []
            places.append([start + target.at - 1 for start in row or [starts[home[end]]]])
            said.append(legal.index(query.tokens[target.at]))
            free.append(not target.legal)
    total, width = sum(len(row) - 1 for row in rows), max(map(len, places), default=0)
    return Reading(
        rows,
        torch.tensor([line + [total] * (width - len(line)) for line in places], dtype=torch.int64).view(-1, width),
        torch.tensor(said, dtype=torch.int64),
        torch.tensor(free, dtype=torch.bool),
    )


def _tokens_at(query: Query, number: int) -> tuple[int, ...]:
    """The legal tokens at a target, or the actual one if none are listed."""
    target = query.targets[number]
    return target.legal or (query.tokens[target.at],)


def _homes(paths: set[Row]) -> dict[Row, Row]:
    """For each path the row that begins with it: among sorted paths, the next one if it does, else itself."""
    home: dict[Row, Row] = {}
    following: Row = ()
    for path in sorted(paths, reverse=True):
        home[path] = home[following] if following[: len(path)] == path else path
        following = path
    return home


def rated(reading: Reading, line: Tensor, temperature: float) -> Rating:
    """The rating of all targets from `line`, the server's answers, [L] float.

    Where no replies are listed the entropy is unknown: it is estimated from one sample as -log policy of the
    token, and then no entropy of the rating has a gradient.
    """
    if not len(reading.said):
        return Rating(torch.zeros(0), torch.zeros(0), torch.zeros(0, 0))
    scores = torch.cat([line, line.new_full((1,), -torch.inf)])[reading.places] / temperature  # [M, K]
    normalizer = torch.where(reading.free, 0.0, scores.logsumexp(dim=1))
    legal = scores - normalizer[:, None]
    logprobs = legal.gather(1, reading.said[:, None])[:, 0]
    present = legal > -torch.inf
    known = torch.where(present, legal, 0.0)  # before the product, for 0 * inf has no gradient
    entropies = torch.where(reading.free, -logprobs.detach(), -(torch.where(present, known.exp(), 0.0) * known).sum(1))
    if bool(reading.free.any()):
        entropies = entropies.detach()
    if bool(reading.free.all()):
        return Rating(logprobs, entropies, legal[:, :0])
    return Rating(logprobs, entropies, torch.where(reading.free[:, None], -torch.inf, legal))
