"""The board or the cards before each turn of a recorded game, as plain data that a page can draw.

A frame is {"kind": "board", "rows": [["X", "2", ...]], "last": [row, column] or null}, or {"kind": "cards", "hands":
{seat: [card, ...]}, "shared": [card, ...]}; the viewer sees all hands, each seat saw only its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from redqueen.games.tic_tac_toe import EMPTY, MARKS
from redqueen.types import Episode, Message, place_of

Frame = dict[str, Any]


def frames(episode: Episode) -> list[Frame]:
    """One frame for each turn and one for the end; none for a game that has nothing to draw, and for a record whose
    facts are not those of its game."""
    draw = DRAWN.get(place_of(episode.game))
    try:
        return draw(episode) if draw is not None else []
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return []


def as_text(frame: Frame) -> str:
    """A frame in a few lines of plain text."""
    if frame["kind"] == "board":
        return "\n".join(" ".join(cell or "." for cell in row) for row in frame["rows"])
    held = [f"{seat}: {' '.join(cards)}" for seat, cards in frame["hands"].items()]
    return "   ".join([*held, *(f"on the table: {card}" for card in frame["shared"])])


def tic_tac_toe(episode: Episode) -> list[Frame]:
    begun = episode.task.facts.get("board", EMPTY)
    return _marked(_said(episode), [list(begun[row : row + 3]) for row in (0, 3, 6)], drop=False)


def connect(episode: Episode) -> list[Frame]:
    """Frames of `connect`: the name gives the shape, 4,4,3 if it gives none."""
    numbers = [int(number) for number in re.findall(r"\d+", episode.game)] or [4, 4, 3]
    columns, rows, drop = numbers[0], numbers[1], "drop" in episode.game
    squares = [["" if drop else str(row * columns + column + 1) for column in range(columns)] for row in range(rows)]
    return _marked(_said(episode), squares, drop)


def cards(episode: Episode) -> list[Frame]:
    """Frames of Kuhn and Leduc poker: a card per seat, and in Leduc a public card from the second round on."""
    facts = episode.task.facts
    hands = {str(seat): [str(card)] for seat, card in zip(episode.seats, facts["cards"], strict=True)}
    public = [str(facts["public"])] if "public" in facts else []
    shown = [public if public and _sees(turn.ask.messages, public[0]) else [] for turn in episode.turns]
    end = public if any(shown) else []
    return [{"kind": "cards", "hands": hands, "shared": shared} for shared in [*shown, end]]


def dice(episode: Episode) -> list[Frame]:
    """Frames of liar's dice: one hidden die per seat."""
    hands = {str(seat): [str(die)] for seat, die in zip(episode.seats, episode.task.facts["dice"], strict=True)}
    return [{"kind": "cards", "hands": hands, "shared": []}] * (len(episode.turns) + 1)


DRAWN: Mapping[str, Callable[[Episode], list[Frame]]] = MappingProxyType(
    {"tic_tac_toe": tic_tac_toe, "connect": connect, "kuhn_poker": cards, "leduc_poker": cards, "liars_dice": dice}
)


def _said(episode: Episode) -> list[str]:
    return [turn.reply.text for turn in episode.turns]


def _sees(messages: Sequence[Message], card: str) -> bool:
    """Whether the messages mention the public card, in Leduc poker's wording."""
    return any(f"The public card is the {card}." in message.text for message in messages)


def _marked(moves: Sequence[str], board: list[list[str]], drop: bool) -> list[Frame]:
    """Frames of marks placed in turn on a board; a move that is not a free square leaves it unchanged."""
    found: list[Frame] = [_board(board, None)]
    marks = sum(bool(square) and square in MARKS for row in board for square in row)
    for move in moves:
        place = _place(board, move, drop)
        if place is not None:
            board[place[0]][place[1]] = MARKS[marks % 2]
            marks += 1
        found.append(_board(board, place))
    return found


def _board(board: Sequence[Sequence[str]], last: tuple[int, int] | None) -> Frame:
    return {"kind": "board", "rows": [list(row) for row in board], "last": None if last is None else list(last)}


def _place(board: Sequence[Sequence[str]], move: str, drop: bool) -> tuple[int, int] | None:
    rows, columns = len(board), len(board[0])
    if not move.isdecimal():
        return None
    number = int(move) - 1
    if drop:
        free = [row for row in range(rows) if 0 <= number < columns and board[row][number] == ""]
        return (free[-1], number) if free else None
    row, column = divmod(number, columns)
    return (row, column) if 0 <= row < rows and board[row][column] not in MARKS else None
