"""Games as data: a tree with information sets, chance by name, and scores at its ends.

    {"name": "coins", "rules": "Guess the coin.", "roles": ["guesser"],
     "root": {"chance": "coin", "outcomes": [
       {"p": 0.5, "then": {"role": "guesser", "state": "A coin lies there.", "choices": {
           "heads": {"scores": {"guesser": 1}}, "tails": {"scores": {"guesser": 0}}}}},
       {"p": 0.5, "then": {"role": "guesser", "state": "A coin lies there.", "choices": {
           "heads": {"scores": {"guesser": 0}}, "tails": {"scores": {"guesser": 1}}}}}]}}

`state` is what the seat is told: decisions of one role with the same `state` are one information set, so it must tell
what the seat did before. Chance nodes with the same name are one draw: a card that is turned up after whatever was bet
is drawn once. What chance draws in a match is its task, with its probability as the weight.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from math import fsum, isfinite
from pathlib import Path
from random import Random
from typing import Any, NoReturn

from redqueen.games.talk import ask, forfeit, offence, told
from redqueen.protocols import Play
from redqueen.texts import file_text, well_formed
from redqueen.types import Outcome, RedQueenError, Seat, Task, is_moderate, shown

Node = Mapping[str, Any]
Plan = tuple[dict[str, int], float]  # what chance draws by name or place, and how likely that is
MOST_TASKS = 100_000  # draws of a whole match that differ
MOST_NODES = 1_000_000
MOST_LOOKS = 10_000_000  # at nodes and earlier draws, to list what chance draws
MOST_ROLES = 64
SURE = 1e-6  # by how much probabilities may miss 1
ROUNDING = 1e-15  # a probability that is none
FORMS = (
    '{"role": ..., "state": ..., "choices": {...}}, {"chance": NAME, "outcomes": [{"p": ..., "then": ...}]} or '
    '{"scores": {...}}'
)


@dataclass(frozen=True)
class Tree:
    """The game of a tree. Raises RedQueenError with the place of what is wrong in it."""

    name: str
    roles: tuple[str, ...]
    root: Node = field(repr=False)
    rules: str = ""
    retries: int = 0
    perfect_information: bool = False

    def __post_init__(self) -> None:
        if not 1 <= len(self.roles) <= MOST_ROLES or len(set(self.roles)) < len(self.roles):
            said = f"{list(self.roles)!r:.80}"
            raise RedQueenError(f"the tree {self.name} needs 1 to {MOST_ROLES} roles that differ, not {said}")
        _Checked(self.name, self.roles).node(self.root, "root")
        if not any("role" in node for node in walked(self.root)):
            raise RedQueenError(
                f"in the tree {self.name} nobody decides anything: it needs a node with role, state and choices"
            )
        for role in self.roles:
            self._check_states(role)

    def _check_states(self, role: str) -> None:
        """The decisions of one information set have the same choices."""
        known: dict[str, tuple[str, ...]] = {}
        for node in walked(self.root):
            if node.get("role") == role:
                choices = tuple(node["choices"])
                if known.setdefault(node["state"], choices) != choices:
                    both = " and ".join(f"{list(each)!r:.80}" for each in (choices, known[node["state"]]))
                    raise RedQueenError(
                        f"the tree {self.name} offers {role} {both} where it is told {node['state']!r:.60}: decisions "
                        "of one information set have the same choices"
                    )

    @cached_property
    def zero_sum(self) -> bool:
        return all(abs(fsum(scores.values())) < 1e-9 for scores in self._ends)

    @cached_property
    def _shared(self) -> bool:
        """Whether all seats score the same at every end, as where there is one."""
        return all(len(set(scores.values())) == 1 for scores in self._ends)

    @cached_property
    def _ends(self) -> list[Mapping[str, float]]:
        return [node["scores"] for node in walked(self.root) if "scores" in node]

    def tasks(self) -> Sequence[Task]:
        return self._dealt

    @cached_property
    def _dealt(self) -> tuple[Task, ...]:
        return tuple(
            Task("-".join(map(str, drawn.values())) or "only", "deal", facts={"drawn": drawn}, weight=weight)
            for drawn, weight in self._plans()
        )

    def _plans(self) -> list[Plan]:
        """All that chance may draw in a match, each with its probability. Chance nodes behind different choices of one
        decision are never in one match: what they draw is drawn together (`_coupled`), and not in all combinations."""
        above, named, chances = _above_chance(self.root), _names_below(self.root), _chances_by_name(self.root)
        looks = 0

        def plans(node: Node, place: str, given: Mapping[str, int]) -> list[Plan]:
            nonlocal looks
            while True:
                looks += 1
                if looks > MOST_LOOKS:
                    raise RedQueenError(f"the tree {self.name} is too large to list what chance draws in it")
                if "chance" in node:
                    name = node["chance"] or place
                    if name not in given:
                        return split(name, [outcome["p"] for outcome in node["outcomes"]], node, place, given)
                    node, place = node["outcomes"][given[name]]["then"], f"{place}.{given[name]}"
                    continue
                choices = node.get("choices", {}).items()
                below = [(child, _behind(place, choice)) for choice, child in choices if id(child) in above]
                if not below:
                    return [({}, 1.0)]
                if len(below) > 1:
                    times = Counter(name for child, _ in below for name in named[id(child)] if name not in given)
                    shared = next((name for name, count in times.items() if count > 1), None)
                    if shared is not None:  # one draw, whichever is chosen
                        return split(shared, chances[shared], node, place, given)
                    return reduce(_coupled, (plans(child, at, given) for child, at in below))
                ((node, place),) = below

        def split(name: str, own: Sequence[float], node: Node, place: str, given: Mapping[str, int]) -> list[Plan]:
            found: list[Plan] = []
            for number, chance in enumerate(own):
                rest = plans(node, place, {**given, name: number}) if chance > 0 else []
                found += [({name: number, **drawn}, chance * weight) for drawn, weight in rest]
                if len(found) > MOST_TASKS:
                    raise RedQueenError(
                        f"chance draws the tree {self.name} in more than {MOST_TASKS} ways: give chance nodes that are "
                        "one draw, such as a card that is turned up after each way of betting, the same name"
                    )
            return found

        try:
            return plans(self.root, "root", {})
        except RecursionError:
            raise RedQueenError(f"the tree {self.name} draws by chance too often in one match") from None

    def play(self, task: Task, rng: Random) -> Play:
        node, place, moves = self.root, "root", list[str]()
        seats = [Seat(role) for role in self.roles]
        while "scores" not in node:
            if "chance" in node:
                number = task.facts["drawn"][node["chance"] or place]
                node, place = node["outcomes"][number]["then"], f"{place}.{number}"
                continue
            seat, choices = Seat(node["role"]), tuple(node["choices"])
            shown = f"You are the {seat}. {node['state']} Reply with one of: {', '.join(choices)}."
            text = yield from ask(seat, told(f"{self.rules} {shown}".strip()), choices, self.retries)
            if text not in choices:
                lowest = min(0.0, *(score for scores in self._ends for score in scores.values()))
                return (
                    Outcome(dict.fromkeys(seats, lowest), offence(seat, text))
                    if self._shared
                    else forfeit(seat, seats, -lowest, text)
                )
            moves.append(text)
            node, place = node["choices"][text], _behind(place, text)
        return Outcome({seat: float(node["scores"][seat.role]) for seat in seats}, {"history": tuple(moves)})


def walked(root: Node) -> Iterator[Node]:
    """All nodes of a tree, from the root on."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [outcome["then"] for outcome in node.get("outcomes", ())]
        waiting += list(node.get("choices", {}).values())


def _behind(place: str, choice: str) -> str:
    """The place behind a choice, whose own dots are marked: 0.5 is another place than 5 behind 0."""
    marked = choice.replace("\\", r"\\").replace(".", r"\.")
    return f"{place}.{marked}"


def _coupled(one: list[Plan], other: list[Plan]) -> list[Plan]:
    """Draws of which only one or the other is met in a match, drawn together: each keeps its own probabilities, and
    there are at most as many as of both."""
    found: list[Plan] = []
    scale = fsum(weight for _, weight in one) / fsum(weight for _, weight in other)  # sums may miss 1 by `SURE`
    left, right = one[0][1], other[0][1] * scale
    at = by = 0
    while True:
        weight = min(left, right)
        if weight > ROUNDING:
            found.append(({**one[at][0], **other[by][0]}, weight))
        left, right = left - weight, right - weight
        if left <= right:
            at += 1
            if at == len(one):
                return found
            left += one[at][1]
        else:
            by += 1
            if by == len(other):
                return found
            right += other[by][1] * scale


def _names_below(root: Node) -> dict[int, frozenset[str]]:
    """For each node of a tree the names of chance at it and below, by its id."""
    found: dict[int, frozenset[str]] = {}
    for node in reversed([*walked(root)]):  # each after those below it
        below = [outcome["then"] for outcome in node.get("outcomes", ())] + list(node.get("choices", {}).values())
        own = {node["chance"]} - {""} if "chance" in node else set()
        found[id(node)] = frozenset(own).union(*(found[id(each)] for each in below))
    return found


def _chances_by_name(root: Node) -> dict[str, list[float]]:
    found = {}
    for node in walked(root):
        if node.get("chance"):
            found[node["chance"]] = [outcome["p"] for outcome in node["outcomes"]]
    return found


def _above_chance(root: Node) -> set[int]:
    """The ids of the nodes of a tree that are chance or have chance below."""
    found = set[int]()
    for node in reversed([*walked(root)]):  # each after those below it
        below = [outcome["then"] for outcome in node.get("outcomes", ())] + list(node.get("choices", {}).values())
        if "chance" in node or any(id(each) in found for each in below):
            found.add(id(node))
    return found


_PARTS = {"scores": {"scores"}, "chance": {"chance", "outcomes"}, "role": {"role", "state", "choices"}}


class _Checked:
    """Checks the form of each node of a tree."""

    def __init__(self, name: str, roles: Sequence[str]) -> None:
        self._name, self._roles = name, roles
        self._told: dict[str, str] = {}  # the role of each state
        self._draws: dict[str, tuple[float, ...]] = {}
        self._unnamed = set[str]()  # places of chance
        self._count = 0

    def node(self, root: Any, place: str) -> None:
        waiting = [(root, place)]
        while waiting:
            node, place = waiting.pop()
            self._count += 1
            if self._count > MOST_NODES:
                raise RedQueenError(f"the tree {self._name} has more than {MOST_NODES} nodes")
            if not isinstance(node, Mapping):
                self._wrong(place, f"a node is {FORMS}, not {shown(node)}")
            keys = {"scores", "chance", "role"} & set(node)
            if len(keys) != 1 or not set(node) <= _PARTS[min(keys)]:
                self._wrong(place, f"a node is one of {FORMS}, and this one has {sorted(node) or 'nothing'}")
            waiting += {"scores": self._end, "chance": self._chance, "role": self._decision}[keys.pop()](node, place)
        if both := sorted(self._unnamed & self._draws.keys()):
            self._wrong(both[0], "chance without a name is drawn by its place, which is here the name of another draw")

    def _wrong(self, place: str, said: str) -> NoReturn:
        raise RedQueenError(f"the tree {self._name} at {place}: {said}")

    def _end(self, node: Node, place: str) -> list[tuple[Any, str]]:
        scores = node["scores"]
        if not isinstance(scores, Mapping) or set(scores) != set(self._roles):
            self._wrong(place, f"an end scores each of {', '.join(self._roles)}, not {shown(scores)}")
        if not all(_is_number(score) for score in scores.values()):
            self._wrong(place, f"scores are finite numbers, not {shown(scores)}")
        return []

    def _chance(self, node: Node, place: str) -> list[tuple[Any, str]]:
        outcomes, name = node.get("outcomes"), node["chance"]
        if not isinstance(name, str) or not isinstance(outcomes, Sequence) or not outcomes:
            self._wrong(place, "a chance node has a name and a list of outcomes")
        for each in outcomes:
            if (
                not isinstance(each, Mapping)
                or set(each) != {"p", "then"}
                or not _is_number(each["p"])
                or each["p"] < 0
            ):
                self._wrong(place, f'an outcome is {{"p": PROBABILITY, "then": NODE}}, not {shown(each)}')
        chances = tuple(float(each["p"]) for each in outcomes)
        if abs(fsum(chances) - 1.0) > SURE:
            self._wrong(place, f"the probabilities of chance sum to {fsum(chances):g}, not to 1")
        if not name:
            self._unnamed.add(place)
        elif self._draws.setdefault(name, chances) != chances:
            self._wrong(place, f"chance {name!r} has other probabilities elsewhere: one name is one draw")
        return [(each["then"], f"{place}.{number}") for number, each in enumerate(outcomes)]

    def _decision(self, node: Node, place: str) -> list[tuple[Any, str]]:
        role, state, choices = node["role"], node.get("state"), node.get("choices")
        if role not in self._roles:
            self._wrong(place, f"{shown(role)} is none of the roles {', '.join(self._roles)}")
        if not isinstance(state, str) or not state.strip():
            self._wrong(place, "a decision has a state, the text that tells the seat what it knows")
        if not isinstance(choices, Mapping) or not choices:
            self._wrong(place, "a decision has choices, {TEXT: NODE}")
        bad = [choice for choice in choices if not isinstance(choice, str) or not choice or choice != choice.strip()]
        if bad:
            self._wrong(place, f"a choice is a text without spaces around it, not {shown(bad[0])}")
        if self._told.setdefault(state, role) != role:
            both = f"{self._told[state]} and {role} are both told {state!r:.60}"
            self._wrong(place, f"{both}: an information set is of one role")
        return [(child, _behind(place, choice)) for choice, child in choices.items()]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and is_moderate(value) and isfinite(value)


def text_of_tree(path: Path) -> str:
    """The text of a file. Raises RedQueenError where it cannot be read."""
    try:
        return file_text(path)
    except OSError as error:
        raise RedQueenError(f"the tree {str(path)!r} cannot be read: {error.strerror}") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these pairs. Raises ValueError for a key that is there twice, of which one would be lost, and for
    half of a character, which no terminal shows."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"an object has {twice!r:.60} twice")
    for text in (text for pair in pairs for text in pair if isinstance(text, str)):
        if well_formed(text) != text:
            raise ValueError(f"the text {text!a:.60} holds half of a character")
    return found


def from_json(path: Path) -> Tree:
    """The tree in a file. Raises RedQueenError with one line for a file that holds none."""
    try:
        data = json.loads(text_of_tree(path), object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        raise RedQueenError(f"{str(path)!r} is no JSON: {' '.join(str(error).split())}") from error
    wanted = {"roles": list, "root": Mapping}
    if not isinstance(data, Mapping) or not all(isinstance(data.get(name), kind) for name, kind in wanted.items()):
        raise RedQueenError(f'{str(path)!r} is no tree: {{"name": ..., "rules": ..., "roles": [...], "root": NODE}}')
    unknown = sorted(set(data) - {"name", "rules", "roles", "root"})
    if unknown:
        raise RedQueenError(
            f"{str(path)!r} has {', '.join(map(repr, unknown))}; a tree has name, rules, roles and root"
        )
    if not all(isinstance(role, str) and role for role in data["roles"]):
        raise RedQueenError(f"the roles of {str(path)!r} must be texts, not {shown(data['roles'])}")
    return Tree(str(data.get("name") or path.stem), tuple(data["roles"]), data["root"], str(data.get("rules", "")))
