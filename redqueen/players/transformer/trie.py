"""Rows of tokens merged into a trie, so that each distinct (prefix, token) is computed once.

Three rows that begin alike become one line of nodes; each node knows its token, its depth and its
parent, and may look at its ancestors only:

    rows                    nodes (token:depth)          who sees whom
    the card is J  bet      0 the:0                      node 4 sees 0 1 2 3 4
    the card is J  pass     1 card:1                     node 5 sees 0 1 2 3 5
    the card is Q  bet      2 is:2                       node 7 sees 0 1 2 6 7
                            3 J:3   4 bet:4   5 pass:4
                            6 Q:3   7 bet:4

A forward pass over the nodes as one sequence, with these positions and this mask, gives at every
node the hidden state that a plain forward pass over the row would give there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Trie:
    """A trie of `n` nodes in an order in which every node comes after its parent."""

    tokens: Tensor  # [n] int
    depths: Tensor  # [n] int
    parents: tuple[int, ...]  # [n], -1 at the first token of a row
    paths: tuple[tuple[int, ...], ...]  # for each row the node of each of its tokens

    def mask(self, dtype: torch.dtype) -> Tensor:
        """[1, 1, n, n] added to attention scores: 0 where the column is an ancestor or the node itself,
        the lowest number elsewhere."""
        count = len(self.parents)
        sees = torch.zeros(count, count, dtype=torch.bool)
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                sees[node, : parent + 1] = sees[parent, : parent + 1]
            sees[node, node] = True
        hidden = torch.full((count, count), torch.finfo(dtype).min, dtype=dtype)
        return hidden.masked_fill(sees, 0.0)[None, None]


def merge(rows: Sequence[Sequence[int]]) -> Trie:
    """The trie of the rows' tokens."""
    children: dict[tuple[int, int], int] = {}
    tokens: list[int] = []
    depths: list[int] = []
    parents: list[int] = []
    paths = []
    for row in rows:
        node = -1
        path = []
        for depth, token in enumerate(row):
            child = children.get((node, token))
            if child is None:
                child = children[(node, token)] = len(tokens)
                tokens.append(token)
                depths.append(depth)
                parents.append(node)
            node = child
            path.append(node)
        paths.append(tuple(path))
    return Trie(torch.tensor(tokens), torch.tensor(depths), tuple(parents), tuple(paths))


def cut(rows: Sequence[Sequence[int]], budget: int) -> Iterator[list[int]]:
    """Parts of the rows (their numbers) whose tries have at most `budget` nodes each; a single longer
    row is a part of its own. Rows that begin alike stay together."""
    part: list[int] = []
    size = 0
    last: Sequence[int] = ()
    for number in sorted(range(len(rows)), key=lambda n: tuple(rows[n])):
        row = rows[number]
        new = len(row) - (_shared(last, row) if part else 0)
        if part and size + new > budget:
            yield part
            part, size, new = [], 0, len(row)
        part.append(number)
        size += new
        last = row
    if part:
        yield part


def _shared(left: Sequence[int], right: Sequence[int]) -> int:
    """The length of the common beginning."""
    length = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        length += 1
    return length
