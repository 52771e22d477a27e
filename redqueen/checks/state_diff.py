"""What changed between two states of plain data, and whether that is what a task asked for.

    before  {"cart": {}, "stock": {"cup": 5}}
    after   {"cart": {"cup": 2}, "stock": {"cup": 3}}
    diff    added {"cart.cup": 2}, updated {"stock.cup": (5, 3)}

A place is a path of keys, joined by dots. Mappings are compared key by key; a list is one value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from redqueen.types import Assessment

Entry = tuple[str, str, Any]  # "added", "removed" or "updated", the place, and the value or (before, after)


@dataclass(frozen=True)
class Diff:
    """What was added, removed and updated, by place, places in alphabetical order."""

    added: Mapping[str, Any] = field(default_factory=dict)
    removed: Mapping[str, Any] = field(default_factory=dict)
    updated: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)

    def entries(self) -> list[Entry]:
        kinds = (("added", self.added), ("removed", self.removed), ("updated", self.updated))
        return [(kind, place, value) for kind, found in kinds for place, value in found.items()]

    def as_facts(self) -> dict[str, Any]:
        """The entries as plain data: what a record of an episode holds."""
        return {f"{kind} {place}": value for kind, place, value in self.entries()}


def diff(before: Mapping[str, Any], after: Mapping[str, Any], free: tuple[str, ...] = ()) -> Diff:
    """What changed from `before` to `after`, but for places that match one of the patterns `free` ("ui.*")."""
    found: dict[str, dict[str, Any]] = {"added": {}, "removed": {}, "updated": {}}
    for kind, place, value in sorted(_changes(before, after, ""), key=lambda entry: entry[1]):
        if not any(fnmatchcase(place, pattern) for pattern in free):
            found[kind][place] = value
    return Diff(**found)


def _changes(before: Mapping[str, Any], after: Mapping[str, Any], above: str) -> Iterator[Entry]:
    for key in [*before, *(key for key in after if key not in before)]:
        place = f"{above}{key}"
        if key not in after:
            yield "removed", place, before[key]
        elif key not in before:
            yield "added", place, after[key]
        elif isinstance(before[key], Mapping) and isinstance(after[key], Mapping):
            yield from _changes(before[key], after[key], f"{place}.")
        elif type(before[key]) is not type(after[key]) or before[key] != after[key]:
            yield "updated", place, (before[key], after[key])


@dataclass(frozen=True)
class Goal:
    """What a task asks for: these changes and no others, but for places that match one of the patterns `free`."""

    wanted: Diff
    free: tuple[str, ...] = ()

    def assess(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> Assessment:
        """Score 1 where the changes are exactly those wanted, else 0. Parts: `reached`, the share of the wanted changes
        that were made; `kept`, 1 where nothing else changed, else 0."""
        found, wanted = diff(before, after, self.free), self.wanted.entries()
        made = found.entries()
        reached = sum(entry in made for entry in wanted) / len(wanted) if wanted else 1.0
        kept = float(all(entry in wanted for entry in made))
        return Assessment(
            float(reached == kept == 1.0), {"reached": reached, "kept": kept}, {"changes": found.as_facts()}
        )
