"""Rows of a batch kept without padding, each column in its smallest form, and given back as they were.

A batch of 60,000 pairs of replies of up to 2,048 tokens takes 48 bytes a token and as much for its padding. Here a
column is kept at own tokens only where it is the same number everywhere else, and once a row where it does not change
within it; token numbers take 4 bytes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from redqueen.objectives.tensors import tensor
from redqueen.protocols import COUNT, Row, State, Value, shaped
from redqueen.types import Batch, Constraint, Damaged, Likelihoods

COLUMNS = ("loss_weights", "sampled_logprobs", "advantages", "versions", "recited")
OF_ROWS = ("trajectory", "lengths", "pairs")
ROW, OWN, WHOLE = "row", "own", "whole"  # a value a row that has own tokens, an own token, a place


@dataclass(frozen=True)
class _Column:
    """A column [B, T, ...] of a batch; `values` are of the places that `kind` says, `fill` stands in all others."""

    kind: str
    values: Tensor
    fill: float

    @classmethod
    def of(cls, column: Tensor, own: Tensor, fill: float = 0.0) -> _Column:
        if bool((column[~own] != fill).any()):
            return cls(WHOLE, column.clone(), fill)
        values, counts = column[own], own.sum(dim=1)
        counts = counts[counts > 0]
        firsts = values[(counts.cumsum(0) - counts).to(torch.int64)] if len(values) else values
        if torch.equal(firsts.repeat_interleave(counts, dim=0), values):
            return cls(ROW, firsts.clone(), fill)
        return cls(OWN, values, fill)

    def at(self, rows: Tensor, own: Tensor, before: Tensor, numbers: Tensor) -> Tensor:
        """The `rows` [b] of the column: `own` [b, T] are their own tokens, `before` [B] the own tokens in earlier rows
        and `numbers` [B] the earlier rows that have own tokens."""
        if self.kind == WHOLE:
            return self.values[rows]
        found = torch.full((*own.shape, *self.values.shape[1:]), self.fill, dtype=self.values.dtype)
        counts = own.sum(dim=1)
        if self.kind == ROW:
            having = counts > 0
            found[own] = self.values[numbers[rows][having]].repeat_interleave(counts[having], dim=0)
        else:
            places = [
                torch.arange(int(start), int(start + count)) for start, count in zip(before[rows], counts, strict=True)
            ]
            found[own] = self.values[torch.cat(places)] if places else self.values[:0]
        return found


_NUMBERS = Value("whole numbers", lambda value: isinstance(value, Tensor) and not value.is_floating_point())
_ROWS = tensor(torch.int64, None)
_COLUMN = Row(
    Value("row, own or whole", lambda value: value in (ROW, OWN, WHOLE)),
    Value("an array of numbers", lambda value: isinstance(value, Tensor) and not bool(torch.isnan(value).any())),
    Value("0 or -inf", lambda value: isinstance(value, float | int) and value in (0.0, -torch.inf)),
)
_STATE = {
    "width": COUNT,
    "tokens": _NUMBERS,
    "own": tensor(torch.bool, None),
    "of_rows": {"lengths": _ROWS, "trajectory?": _ROWS, "pairs?": _ROWS},
    "constraints": [[Row(COUNT, [[COUNT]])]],
    "columns": dict.fromkeys(COLUMNS, _COLUMN),
    "reference": {...: _COLUMN},
}


def _check(rows: PackedRows) -> None:
    """Raises Damaged where the parts do not have the sizes that the lengths of the rows say."""
    lengths = rows._of_rows["lengths"]
    own = (
        torch.split(rows._own, lengths.tolist())
        if bool((lengths >= 0).all()) and int(lengths.sum()) == len(rows._own)
        else ()
    )
    sizes = {
        ROW: sum(bool(each.any()) for each in own),
        OWN: int(rows._own.sum()),
        WHOLE: len(lengths),
    }
    columns = {**rows._columns, **rows._reference}.items()
    wrong = [name for name, each in columns if len(each.values) != sizes[each.kind]]
    wrong += [name for name, each in rows._of_rows.items() if len(each) != len(lengths)]
    wrong += ["lengths"] * (
        len(own) != len(lengths) or bool((lengths > rows._width).any()) or bool((lengths < 0).any())
    )
    wrong += ["tokens"] * (len(rows._tokens) != len(rows._own) or bool((rows._tokens < 0).any()))
    wrong += ["constraints"] * (bool(rows._constraints) and len(rows._constraints) != len(lengths))
    if wrong:
        raise Damaged(
            f"the packed rows: .{wrong[0]} must fit the {len(lengths)} rows and their {len(rows._own)} tokens"
        )


class PackedRows:
    """The rows of a batch without padding; `take` gives some of them back, bit for bit."""

    def __init__(self, batch: Batch) -> None:
        own = batch.loss_weights != 0
        inside = torch.arange(batch.tokens.shape[1])[None] < batch.lengths[:, None]
        small = batch.tokens.numel() == 0 or int(batch.tokens.abs().max()) < 2**31
        self._width = batch.tokens.shape[1]
        self._tokens = batch.tokens[inside].to(torch.int32 if small else torch.int64)
        self._own = own[inside]
        assert not bool(batch.tokens[~inside].any() | own[~inside].any()), "the padding of a batch is zeros"
        self._columns = {name: _Column.of(getattr(batch, name), own) for name in COLUMNS}
        self._of_rows = {name: getattr(batch, name) for name in OF_ROWS if getattr(batch, name) is not None}
        self._constraints = batch.constraints if any(batch.constraints) else ()
        self._reference: dict[str, _Column] = {}
        if batch.reference is not None:
            for name, values in _likelihoods(batch.reference).items():
                self._reference[name] = _Column.of(values, own, -torch.inf if name == "legal_logprobs" else 0.0)
        self._index()

    def _index(self) -> None:
        lengths = self._of_rows["lengths"]
        self._starts = lengths.cumsum(0) - lengths  # [B], where the tokens of each row begin
        owned = torch.tensor([int(own.sum()) for own in torch.split(self._own, lengths.tolist())], dtype=torch.int64)
        self._before = owned.cumsum(0) - owned  # [B] own tokens in earlier rows
        having = (owned > 0).to(torch.int64)
        self._numbers = having.cumsum(0) - having

    def __len__(self) -> int:
        return len(self._of_rows["lengths"])

    @property
    def pairs(self) -> Tensor:
        """[B] int, the pair of each row."""
        pairs: Tensor = self._of_rows["pairs"]
        return pairs

    @property
    def bytes(self) -> int:
        """The memory that the rows take."""
        columns = (*self._columns.values(), *self._reference.values())
        tensors = (self._tokens, self._own, *self._of_rows.values(), *(each.values for each in columns))
        return sum(each.numel() * each.element_size() for each in tensors)

    def take(self, rows: Tensor) -> Batch:
        """A batch of the `rows` [n] int, as wide as the whole batch was."""
        inside, at = self._places(rows)
        tokens = torch.zeros(inside.shape, dtype=torch.int64)
        tokens[inside] = self._tokens[at].to(torch.int64)
        own = torch.zeros(inside.shape, dtype=torch.bool)
        own[inside] = self._own[at]
        found: dict[str, Any] = {
            name: each.at(rows, own, self._before, self._numbers) for name, each in self._columns.items()
        }
        reference = {name: each.at(rows, own, self._before, self._numbers) for name, each in self._reference.items()}
        held = tuple(self._constraints[row] for row in rows.tolist()) if self._constraints else ((),) * len(rows)
        of_rows = {name: values[rows] for name, values in self._of_rows.items()}
        kept = Likelihoods(**reference) if reference else None
        return Batch(tokens=tokens, constraints=held, reference=kept, **found, **of_rows)

    def _places(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """[n, T] bool, where the `rows` have tokens, and the places of these among the tokens that are kept."""
        lengths = self._of_rows["lengths"][rows]
        return torch.arange(self._width)[None] < lengths[:, None], _spans(self._starts[rows], lengths)

    def _spread(self, column: _Column) -> Tensor:
        """A column of these rows as it was, [B, T, ...]."""
        rows = torch.arange(len(self))
        inside, at = self._places(rows)
        own = torch.zeros(inside.shape, dtype=torch.bool)
        own[inside] = self._own[at]
        return column.at(rows, own, self._before, self._numbers)

    def state(self) -> State:
        """All of it as nested dictionaries and lists of numbers and tensors."""
        columns = {"columns": self._columns, "reference": self._reference}
        return {
            "width": self._width,
            "tokens": self._tokens,
            "own": self._own,
            "of_rows": self._of_rows,
            "constraints": _as_lists(self._constraints),
            **{
                name: {key: [each.kind, each.values, each.fill] for key, each in found.items()}
                for name, found in columns.items()
            },
        }

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> PackedRows:
        """The rows that `state` describes."""
        shaped(state, _STATE, "the packed rows: ")
        found: PackedRows = object.__new__(cls)
        found._width, found._tokens, found._own = state["width"], state["tokens"], state["own"]
        found._of_rows = dict(state["of_rows"])
        found._constraints = tuple(
            tuple(Constraint(start, tuple(tuple(reply) for reply in replies)) for start, replies in row)
            for row in state["constraints"]
        )
        found._columns = {key: _Column(*each) for key, each in state["columns"].items()}
        found._reference = {key: _Column(*each) for key, each in state["reference"].items()}
        _check(found)
        found._index()
        return found


def joined(parts: Sequence[PackedRows]) -> PackedRows:
    """The rows of all parts, whose pairs are numbered on from part to part and count alike. A single part stays as it
    is; several are emptied column by column, so that the memory holds no column twice but the one being joined."""
    if len(parts) == 1:
        return parts[0]
    counts = [len(torch.unique(part.pairs)) for part in parts]
    shares = [count / sum(counts) for count in counts]  # the weights of each part sum to one
    for part, share in zip(parts, shares, strict=True):
        weights = part._columns["loss_weights"]
        part._columns["loss_weights"] = replace(weights, values=weights.values * share)
    state: dict[str, Any] = {"width": max(part._width for part in parts), "constraints": ()}
    state["tokens"] = torch.cat([part._tokens for part in parts])
    for part in parts:
        part._tokens = part._tokens[:0].clone()
    give_back()
    starts = {"pairs": 0, "trajectory": 0}  # numbers that go on from part to part
    of_rows: dict[str, list[Tensor]] = {name: [] for name in parts[0]._of_rows}
    for part in parts:
        for name, values in part._of_rows.items():
            of_rows[name].append(values + starts.get(name, 0))
            if name in starts and len(values):
                starts[name] += int(values.max()) + 1
    state["of_rows"] = {name: torch.cat(values) for name, values in of_rows.items()}
    if any(part._constraints for part in parts):
        held = [part._constraints or ((),) * len(part._of_rows["lengths"]) for part in parts]
        state["constraints"] = _as_lists([row for rows in held for row in rows])
    for name in ("_columns", "_reference"):
        state[name[1:]] = {}
        for key in [*getattr(parts[0], name)]:
            state[name[1:]][key] = _joined([getattr(part, name).pop(key) for part in parts], parts)
            give_back()
    state["own"] = torch.cat([part._own for part in parts])
    return PackedRows.restored(state)


def give_back() -> None:
    """Gives memory that was freed back to the system. glibc keeps blocks below 32 MB, such as the columns of a part,
    unless what was allocated last is free too; other libraries have no such function and need none."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def _as_lists(constraints: Sequence[Sequence[Constraint]]) -> list[Any]:
    return [[[held.start, [list(reply) for reply in held.replies]] for held in row] for row in constraints]


def _joined(columns: Sequence[_Column], parts: Sequence[PackedRows]) -> list[Any]:
    """One column of the columns of all parts."""
    kinds = {column.kind for column in columns}
    if WHOLE in kinds:  # forced tokens, which have no weight, have an advantage and a version all the same
        wide = [part._spread(column) for column, part in zip(columns, parts, strict=True)]
        width = max(each.shape[1] for each in wide)
        whole = torch.full((sum(map(len, wide)), width, *wide[0].shape[2:]), columns[0].fill, dtype=wide[0].dtype)
        start = 0
        for each in wide:
            whole[start : start + len(each), : each.shape[1]] = each
            start += len(each)
        return [WHOLE, whole, columns[0].fill]
    if kinds == {ROW}:
        return [ROW, torch.cat([column.values for column in columns]), columns[0].fill]
    spread = []
    for column, part in zip(columns, parts, strict=True):
        rows = torch.repeat_interleave(torch.arange(len(part)), part._of_rows["lengths"])[part._own]
        _, counts = torch.unique_consecutive(rows, return_counts=True)
        spread.append(column.values.repeat_interleave(counts, dim=0) if column.kind == ROW else column.values)
    return [OWN, torch.cat(spread), columns[0].fill]


def _spans(starts: Tensor, counts: Tensor) -> Tensor:
    """The numbers from each of `starts` on, `counts` of each, end to end."""
    spans = [torch.arange(start, start + count) for start, count in zip(starts.tolist(), counts.tolist(), strict=True)]
    return torch.cat(spans) if spans else torch.zeros(0, dtype=torch.int64)


def _likelihoods(found: Likelihoods) -> dict[str, Tensor]:
    named = {"logprobs": found.logprobs, "entropies": found.entropies, "legal_logprobs": found.legal_logprobs}
    return {name: values for name, values in named.items() if values is not None}
