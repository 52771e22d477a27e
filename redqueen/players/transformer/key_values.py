"""A cache of keys and values: tokens that were computed once are not computed again.

A store holds the keys and values of every node of a growing trie. A prompt that shares a prefix with
an earlier one, or extends a seat's last turn, is computed only from where it is new:

    turn 1     rules . hand . | raise                    reads 4 nodes, says 1
    turn 2     rules . hand . raise . they call . |      reads 5 nodes: the rest is in the store
    another    rules . hand' . |                         reads 2 nodes

The store has a budget of nodes. When it is full, it drops the least recently used rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from redqueen.players.transformer.attention import Pattern, pattern
from redqueen.players.transformer.forward import Forward, States
from redqueen.players.transformer.trie import Run, Trie, merge

PASS = 2048  # nodes read at once: enough to keep the machine busy


class KeyValueStore:
    """Keys and values by node, for one set of weights. `budget` is the most nodes it holds, unless the
    rows of one call are more."""

    def __init__(self, forward: Forward, budget: int) -> None:
        self.budget = budget
        self.keys: list[Tensor] = []  # [layers] of [capacity, Hkv, d]
        self.values: list[Tensor] = []
        self._forward = forward
        self._trie = Trie()
        self._rows: dict[int, tuple[int, ...]] = {}  # last node -> its row, the least recently used first

    def __len__(self) -> int:
        return len(self._trie)

    def forget(self) -> None:
        """Drops all keys and values and frees their memory."""
        self._trie, self._rows = Trie(), {}
        self.keys, self.values = [], []

    def read(self, rows: Sequence[tuple[int, ...]], wanted: Sequence[Sequence[int]]) -> States:
        """The states at the wanted positions of each row. Nodes that the store does not hold are computed and stored;
        a pass that fails leaves the store empty."""
        try:
            return self._read(rows, wanted)
        except BaseException:  # some nodes are without keys and must not be used
            self.forget()
            raise

    def _read(self, rows: Sequence[tuple[int, ...]], wanted: Sequence[Sequence[int]]) -> States:
        self._make_room(rows)
        runs = [self._add(row) for row in rows]
        asked = [run.path[list(places)].tolist() for run, places in zip(runs, wanted, strict=True)]
        distinct = {node for nodes in asked for node in nodes}
        numbers: dict[int, int] = {}  # wanted node -> index of its state
        states = []
        for part in _passes(list(_queries(runs, wanted))):
            nodes = np.concatenate([run.path[run.start : run.end] for run in part])
            hidden = self._forward.hidden(
                [self._trie.tokens[node] for node in nodes],
                [self._trie.depths[node] for node in nodes],
                _Reading(self, self._on_device(nodes), pattern(part, self._forward.device)),
            )
            kept = [place for place, node in enumerate(nodes.tolist()) if node in distinct]
            numbers.update({int(nodes[place]): len(numbers) + number for number, place in enumerate(kept)})
            states.append(hidden[kept])
        hidden = torch.cat(states) if states else torch.zeros(0, 0)
        return States(hidden, [numbers[node] for nodes in asked for node in nodes])

    def path(self, row: tuple[int, ...]) -> np.ndarray:
        """[length] int, the nodes of a row that was read."""
        return self._trie.add(row).path

    def remember(self, rows: Sequence[tuple[int, ...]], keys: Sequence[Tensor], values: Sequence[Tensor]) -> None:
        """Adds the last m nodes of each row with their `keys` and `values`, [layers] of [rows, m, Hkv, d], computed
        elsewhere; rows for which there is no room, or whose prefix is no longer held, are skipped."""
        if not keys:
            return
        size = keys[0].shape[1]
        slots, sources = [], []
        for number, row in enumerate(rows):
            new = len(row) - self._trie.known(row)
            if 0 < new <= size and len(self) + new <= self.budget:
                slots.append(self._add(row).path[-new:])
                sources.append(np.arange((number + 1) * size - new, (number + 1) * size))
        if slots:
            nodes, taken = self._on_device(np.concatenate(slots)), self._on_device(np.concatenate(sources))
            for layer, (key, value) in enumerate(zip(keys, values, strict=True)):
                self.write(layer, nodes, key.flatten(0, 1)[taken], value.flatten(0, 1)[taken])

    def write(self, layer: int, nodes: Tensor, key: Tensor, value: Tensor) -> None:
        """Writes the keys and values [n, Hkv, d] of `nodes`, [n] int, of one layer."""
        if layer == len(self.keys):
            self.keys.append(key.new_empty(0, *key.shape[1:]))
            self.values.append(value.new_empty(0, *value.shape[1:]))
        for kept, new in ((self.keys, key), (self.values, value)):
            if len(kept[layer]) < len(self):
                room = max(len(self), min(2 * len(kept[layer]), self.budget))
                wider = kept[layer].new_empty(room, *new.shape[1:])
                wider[: len(kept[layer])] = kept[layer]
                kept[layer] = wider
            kept[layer][nodes] = new

    def _on_device(self, nodes: np.ndarray) -> Tensor:
        return torch.from_numpy(nodes).to(self._forward.device)

    def _add(self, row: tuple[int, ...]) -> Run:
        run = self._trie.add(row)
        if row:
            last = int(run.path[-1])
            self._rows.pop(last, None)
            self._rows[last] = row
        return run

    def _make_room(self, rows: Sequence[tuple[int, ...]]) -> None:
        """If the rows would not fit, drops nodes: kept are the prefixes of the rows and the most recently used other
        rows, up to half the budget and within the room that the new rows leave."""
        known = [self._trie.known(row) for row in rows]
        if len(self) + sum(map(len, rows)) - sum(known) <= self.budget:  # new tokens that rows share count twice
            return
        held = [row[:length] for row, length in zip(rows, known, strict=True)]
        kept, _ = merge(held)
        new = len(merge(rows)[0]) - len(kept)
        if len(self) + new <= self.budget:
            return
        room = min(self.budget // 2, self.budget - new)
        for row in reversed(self._rows.values()):
            if len(kept) + len(row) - kept.known(row) > room:
                break
            kept.add(row)
            held.append(row)
        nodes = np.zeros(len(kept), dtype=np.int64)  # new node -> old node
        for row in held:
            nodes[kept.add(row).path] = self._trie.add(row).path
        slots = self._on_device(nodes)
        self.keys = [layer[slots] for layer in self.keys]
        self.values = [layer[slots] for layer in self.values]
        self._trie = kept
        self._rows = {int(kept.add(row).path[-1]): row for row in reversed(held) if row}


@dataclass(frozen=True)
class _Reading:
    """Attention of a pass that adds nodes to a store and attends to all of its nodes."""

    store: KeyValueStore
    nodes: Tensor  # [n] int
    pattern: Pattern

    def __call__(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float, window: int | None
    ) -> Tensor:
        self.store.write(layer, self.nodes, key, value)
        return self.pattern.attend(query, self.store.keys[layer], self.store.values[layer], scale, window)


def _queries(runs: Sequence[Run], wanted: Sequence[Sequence[int]]) -> Iterator[Run]:
    """The runs to compute: all new nodes, and wanted nodes that are in the store already, one by one."""
    seen: set[int] = set()
    for run, places in zip(runs, wanted, strict=True):
        for place in places:
            node = int(run.path[place])
            if place < run.start and node not in seen:
                seen.add(node)
                yield Run(run.path[: place + 1], place, place + 1)
        if run.start < run.end:
            seen.update(run.path[run.start : run.end].tolist())
            yield run


def _passes(runs: Sequence[Run]) -> Iterator[list[Run]]:
    """Runs in their order, at most PASS nodes at a time."""
    part: list[Run] = []
    room = PASS
    for run in runs:
        start = run.start
        while start < run.end:
            end = min(run.end, start + room)
            part.append(Run(run.path[:end], start, end))
            room -= end - start
            start = end
            if not room:
                yield part
                part, room = [], PASS
    if part:
        yield part
