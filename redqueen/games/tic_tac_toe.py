"""Tic-tac-toe: three in a row on nine squares; a draw under perfect play.

A seat is shown the board alone, so the same position is the same ask whatever moves led to it:
4,520 boards with a decision, 5,478 in all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from redqueen.games.talk import ask, forfeit, told
from redqueen.protocols import Play
from redqueen.types import Message, Outcome, RedQueenError, Seat, Task

SEATS = FIRST, SECOND = Seat("first"), Seat("second")
MARKS = "XO"
EMPTY = "123456789"
ROWS = ((0, 1, 2), (3, 4, 5), (6, 7, 8))
LINES = (*ROWS, *zip(*ROWS, strict=True), (0, 4, 8), (2, 4, 6))

RULES = (
    "You are playing tic-tac-toe against one opponent on a board of three rows of three squares. "
    "In turn the players mark a free square, the first player with X and the second player with O. "
    "Whoever first has three of their marks in a row, a column or a diagonal wins; "
    "a full board without such a line is a draw. Free squares are shown by their numbers."
)


@dataclass(frozen=True)
class TicTacToe:
    retries: int = 0  # second chances after an illegal reply, before it is a forfeit
    openings: int = 0  # matches begin on any board of up to so many marks, so that bad positions are met too
    name: str = field(default="tic_tac_toe", init=False)
    roles: tuple[str, ...] = field(default=("first", "second"), init=False)
    zero_sum: bool = field(default=True, init=False)
    perfect_information: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        if self.openings < 0:
            raise RedQueenError(f"openings are boards of up to so many marks, 0 or more, not {self.openings}")

    def tasks(self) -> list[Task]:
        """The empty board, and each that `openings` moves at most lead to and that is not over, equally likely."""
        boards, last = [EMPTY], [EMPTY]
        for turn in range(self.openings):
            free = [(board, square) for board in last for square in board if square not in MARKS]
            after = dict.fromkeys(board.replace(square, MARKS[turn % 2]) for board, square in free)
            last = [board for board in after if not is_over(board)]
            boards += last
        return [
            Task(board, "board", facts={"board": board}) if board != EMPTY else Task("empty", "board")
            for board in boards
        ]

    def play(self, task: Task, rng: Random) -> Play:
        board = task.facts.get("board", EMPTY)
        history: tuple[str, ...] = ()
        while not is_over(board):
            turn = sum(square in MARKS for square in board) % 2
            choices = tuple(square for square in board if square not in MARKS)
            text = yield from ask(SEATS[turn], describe(SEATS[turn], board), choices, self.retries)
            if text not in choices:
                return forfeit(SEATS[turn], SEATS, stake=1.0, text=text)
            board = board.replace(text, MARKS[turn])
            history += (text,)
        won = {"X": 1.0, "O": -1.0, "": 0.0}[winning_mark(board)]
        return Outcome({FIRST: won, SECOND: -won}, {"history": history, "board": board})


def is_over(board: str) -> bool:
    """Whether a line is filled, or every square."""
    return bool(winning_mark(board)) or all(square in MARKS for square in board)


def winning_mark(board: str) -> str:
    """The mark that fills a line, or ""."""
    return next((board[a] for a, b, c in LINES if board[a] == board[b] == board[c]), "")


def describe(seat: Seat, board: str) -> tuple[Message, ...]:
    """The messages with the rules and the board; nothing about how to play well."""
    drawn = "\n".join(" ".join(board[square] for square in row) for row in ROWS)
    mark = MARKS[SEATS.index(seat)]
    return told(
        f"{RULES}\n\nYou are the {seat.role} player and mark {mark}. The board:\n{drawn}\nWhich square do you mark?"
    )
