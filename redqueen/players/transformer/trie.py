"""Rows of tokens merged into a trie, so that each distinct (prefix, token) is computed once.

Three rows with a common prefix become one line of nodes; each node has its token, its depth and its
parent, and attends to its ancestors only:

    rows                    nodes (token:depth)          who sees whom
    the card is J  bet      0 the:0                      node 4 sees 0 1 2 3 4
    the card is J  pass     1 card:1                     node 5 sees 0 1 2 3 5
    the card is Q  bet      2 is:2                       node 7 sees 0 1 2 6 7
                            3 J:3   4 bet:4   5 pass:4
                            6 Q:3   7 bet:4

A forward pass over the nodes as one sequence, with these positions and each node attending to its
ancestors, gives at every node the hidden state of a plain forward pass over the row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Run:
    """The nodes of one row that are in no earlier row: its positions from `start` up to `end`."""

    path: np.ndarray  # [end] int, the nodes of the row from its first token on
    start: int
    end: int


@dataclass
class Trie:
    """A trie that grows by rows; a node comes after its parent."""

    tokens: list[int] = field(default_factory=list)  # [n]
    depths: list[int] = field(default_factory=list)  # [n]
    _children: dict[tuple[int, int], int] = field(default_factory=dict)  # (parent or -1, token) -> node

    def __len__(self) -> int:
        return len(self.tokens)

    def known(self, row: Sequence[int]) -> int:
        """The number of the row's first tokens that the trie holds."""
        node = -1
        for depth, token in enumerate(row):
            child = self._children.get((node, token))
            if child is None:
                return depth
            node = child
        return len(row)

    def add(self, row: Sequence[int]) -> Run:
        """Adds a row; returns its path, and which part of it is new."""
        children, path, node = self._children, [], -1
        start = len(row)
        for depth, token in enumerate(row):
            child = children.get((node, token))
            if child is None:
                child = children[node, token] = len(self.tokens)
                self.tokens.append(token)
                self.depths.append(depth)
                start = min(start, depth)
            node = child
            path.append(node)
        return Run(np.array(path, dtype=np.int64), start, len(row))


def merge(rows: Sequence[Sequence[int]]) -> tuple[Trie, list[Run]]:
    """The trie of the rows, and for each row its path and its new nodes."""
    trie = Trie()
    return trie, [trie.add(row) for row in rows]


def cut(rows: Sequence[Sequence[int]], budget: int) -> Iterator[list[int]]:
    """Parts of the rows (their indices) whose tries have at most `budget` nodes each; a single longer
    row is a part of its own. Rows with common prefixes stay together."""
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
    """The length of the common prefix."""
    length = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        length += 1
    return length
