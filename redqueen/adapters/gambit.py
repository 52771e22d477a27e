"""Games in files: `--game tree:game.json` (games/tree.py says how it is written) and `--game tree:game.efg`, Gambit's
extensive form.

    EFG 2 R "coins" { "hider" "seeker" }
    p "" 1 1 "hide" { "heads" "tails" } 0              node, player, information set, its name and moves, outcome
    p "" 2 1 "seek" { "heads" "tails" } 0
    t "" 1 "found" { -1, 1 }                           an end: an outcome, its name and what it pays each player
    t "" 2 "missed" { 1, -1 }
    p "" 2 1 0                                         known: neither name nor moves are said again
    t "" 2
    t "" 1

`c` is chance, whose moves are followed by probabilities. A node comes before those below it, in the order of its moves.
What the outcomes on a path pay is added up. The players' names are the roles where each is one word, else these are
first, second and so on; the title, and the comment after the players, are the rules that every seat is told.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from redqueen.games.tree import MOST_NODES, Tree, from_json, text_of_tree
from redqueen.types import RedQueenError

NUMBERS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
HEADER = 3  # tokens: EFG 2 R, or EFG 2 D
DEEPEST = 300  # nodes below one another
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[{}]|[^\s,{}"]+|(?P<open>").*', re.DOTALL)  # what is not closed ends it
_KINDS = 'a node begins with c (chance), p (a player) or t (an end), and then its name in quotes, such as p ""'
Taken = Mapping[int, tuple[str, ...]]  # what each player chose on the way to a node


def tree(path: str) -> Tree:
    """The game in the file at `path`, by its ending."""
    return from_efg(Path(path)) if path.endswith(".efg") else from_json(Path(path))


def from_efg(path: Path) -> Tree:
    """The game in a file of Gambit's extensive form. A seat is told its information set and what it did before. Raises
    RedQueenError with one line, and the line of the file, for what is none."""
    try:
        text = text_of_tree(path)
    except ValueError as error:
        raise RedQueenError(f"the tree {str(path)!r} cannot be read: it is no text in UTF-8") from error
    if text.split()[:3] not in (["EFG", "2", "R"], ["EFG", "2", "D"]):  # D: of older versions, which wrote decimals
        raise RedQueenError(f"{str(path)!r} is no extensive form of Gambit, which begins with EFG 2 R")
    return _Reading(path, text).tree()


class _Reading:
    """The tokens of a file, read one after the other, and what was said of information sets and outcomes so far."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._tokens: list[tuple[str, int]] = []  # each with the line in which it begins
        line, end = 1, 0
        for found in _TOKEN.finditer(text):
            line, end = line + text.count("\n", end, found.start()), found.start()
            self._tokens.append((found["open"] or found[0], line))
        self._at = HEADER
        self._nodes = 0
        self._roles: tuple[str, ...] = ()
        self._sets: dict[tuple[int, int], tuple[str, ...]] = {}  # by player (0: chance) and number, the moves
        self._names: dict[tuple[int, int], str] = {}
        self._chances: dict[int, tuple[float, ...]] = {}
        self._recalled: dict[tuple[int, int], tuple[str, ...]] = {}
        self._paid: dict[int, tuple[Fraction, ...]] = {}

    def tree(self) -> Tree:
        said = [self._text("the title")]
        players = self._braced("the players", self._text)
        if not 1 <= len(players) <= len(NUMBERS):
            self._wrong(f"it is played by {len(players)}; 1 to {len(NUMBERS)} are taken")
        named = len(set(players)) == len(players) and all(re.fullmatch(r"[^\W\d_][\w-]*", each) for each in players)
        self._roles = tuple(players) if named else NUMBERS[: len(players)]
        if self._next().startswith('"'):
            said.append(self._text("the comment"))
        root = self._node({}, (Fraction(0),) * len(players), 1)
        if self._at < len(self._tokens):
            self._wrong(f"the tree is complete before {self._take('')!r:.40}: a node too many, or a move too few above")
        lines = [" ".join(each.split()) for each in said]
        rules = " ".join(line if line.endswith((".", "!", "?")) else f"{line}." for line in lines if line)
        return Tree(self._path.stem, self._roles, root, rules)

    def _node(self, taken: Taken, paid: tuple[Fraction, ...], depth: int) -> dict[str, Any]:
        self._nodes += 1
        if self._nodes > MOST_NODES or depth > DEEPEST:
            self._wrong(f"a tree has at most {MOST_NODES} nodes, {DEEPEST} below one another")
        kind = self._take("a node")
        if kind not in ("c", "p", "t"):
            self._wrong(f"{_KINDS}, not {kind!r:.40}")
        self._text("the name of the node")
        if kind == "t":
            paid = self._outcome(paid)
            return {"scores": dict(zip(self._roles, map(float, paid), strict=True))}
        player = 0 if kind == "c" else self._player()
        key = (player, self._whole("the number of an information set"))
        moves = self._moves(key)
        paid = self._outcome(paid)
        if not player:
            outcomes = [{"p": p, "then": self._node(taken, paid, depth + 1)} for p in self._chances[key[1]]]
            return {"chance": "", "outcomes": outcomes}
        did = taken.get(player, ())
        role = self._roles[player - 1]
        if self._recalled.setdefault(key, did) != did:
            ways = " and after ".join(", ".join(each) or "nothing" for each in (self._recalled[key], did))
            self._wrong(
                f"information set {key[1]} of the {role} player is reached after {ways}: a seat knows what it did"
            )
        before = f" You chose {', '.join(move.partition('.')[2] for move in did)} before." if did else ""
        name = f", {self._names[key]}" if self._names[key] else ""
        choices = {}
        for move in moves:
            after = {**taken, player: (*did, f"{key[1]}.{move}")}
            choices[move] = self._node(after, paid, depth + 1)
        return {
            "role": role,
            "state": f"Your information set is {key[1]} of the {role}{name}.{before}",
            "choices": choices,
        }

    def _moves(self, key: tuple[int, int]) -> tuple[str, ...]:
        """The moves of an information set, which are said where it is named first, and may be again."""
        if not self._next().startswith(('"', "{")):
            if key not in self._sets:
                self._wrong(f"information set {key[1]} has no moves yet: its name and {{ MOVES }} follow its number")
            return self._sets[key]
        name = self._text("the name of an information set") if self._next().startswith('"') else ""
        self._names.setdefault(key, name)
        if self._next() != "{":
            if key not in self._sets:
                self._wrong(f"information set {key[1]} has no moves yet: {{ MOVES }} follow its name")
            return self._sets[key]
        if key[0]:
            moves = tuple(self._braced("the moves", self._text))
        else:
            pairs = self._braced("the moves of chance", self._chance)
            moves = tuple(move for move, _ in pairs)
            chances = tuple(p for _, p in pairs)
            if abs(sum(chances) - 1) > Fraction(1, 10**6):
                self._wrong(f"the probabilities of chance sum to {float(sum(chances)):g}, not to 1")
            if self._chances.setdefault(key[1], tuple(map(float, chances))) != tuple(map(float, chances)):
                self._wrong(f"chance {key[1]} had other probabilities before")
        if not moves or len(set(moves)) < len(moves) or not all(move and move == move.strip() for move in moves):
            self._wrong(
                f"the moves of an information set are texts that differ, without spaces around, not {list(moves)}"
            )
        if self._sets.setdefault(key, moves) != moves:
            self._wrong(f"information set {key[1]} had the moves {list(self._sets[key])} before, and now {list(moves)}")
        return moves

    def _chance(self, what: str) -> tuple[str, Fraction]:
        move, p = self._text(what), self._number("a probability")
        if p <= 0:
            self._wrong(f"a probability is above 0, not {float(p):g}: what never happens is left out")
        return move, p

    def _outcome(self, paid: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
        """What is paid from the root on, with the outcome that comes next."""
        number = self._whole("the number of an outcome")
        if number and self._next().startswith('"'):
            self._text("the name of an outcome")
        if number and self._next() == "{":
            pays = tuple(self._braced("what an outcome pays", self._number))
            if len(pays) != len(self._roles):
                self._wrong(f"outcome {number} pays {len(pays)} of the {len(self._roles)} players")
            if self._paid.setdefault(number, pays) != pays:
                self._wrong(f"outcome {number} paid something else before: another outcome has another number")
        if number and number not in self._paid:
            self._wrong(f"outcome {number} pays nobody yet: {{ NUMBERS }} follow it where it is named first")
        more = self._paid[number] if number else (Fraction(0),) * len(paid)
        return tuple(one + other for one, other in zip(paid, more, strict=True))

    def _player(self) -> int:
        number = self._whole("the number of a player")
        if not 1 <= number <= len(self._roles):
            self._wrong(f"there is no player {number}: the file names {len(self._roles)}")
        return number

    def _braced(self, what: str, read: Any) -> list[Any]:
        if (token := self._take(what)) != "{":
            self._wrong(f"{what} stand in braces, {{ ... }}, not {token!r:.40}")
        found = []
        while self._next() != "}":
            found.append(read(what))
        self._at += 1
        return found

    def _text(self, what: str) -> str:
        token = self._take(what)
        if len(token) < 2 or not token.startswith('"'):
            self._wrong(f"{what} stands in quotes, not {token!r:.40}")
        return re.sub(r"\\(.)", r"\1", token[1:-1])

    def _whole(self, what: str) -> int:
        token = self._take(what)
        if not re.fullmatch(r"\d{1,9}", token):
            self._wrong(f"{what} is a whole number, not {token!r:.40}")
        return int(token)

    def _number(self, what: str) -> Fraction:
        token = self._take(what)
        if not re.fullmatch(
            r"[-+]?(\d{1,30}/0*[1-9]\d{0,29}|\d{0,30}\.?\d{1,30}(e[-+]?\d{1,2})?|\d{1,30}\.)", token, re.I
        ):
            self._wrong(f"{what} is a number such as 2, 0.5 or 1/3, not {token!r:.40}")
        return Fraction(token.rstrip("."))

    def _next(self) -> str:
        """The next token; "" at the end."""
        return self._tokens[self._at][0] if self._at < len(self._tokens) else ""

    def _take(self, what: str) -> str:
        if self._at >= len(self._tokens):
            self._wrong(f"it ends where {what} should stand")
        self._at += 1
        return self._tokens[self._at - 1][0]

    def _wrong(self, said: str) -> NoReturn:
        line = self._tokens[self._at - 1][1]
        raise RedQueenError(f"the tree {str(self._path)!r}, line {line}: {said}")
