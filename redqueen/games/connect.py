"""m,n,k games: k in a row on a board of m columns and n rows, with or without gravity.

`Connect(3, 3, 3)` is tic-tac-toe and `Connect(7, 6, 4, drop=True)` is Connect Four. A seat is shown
the board alone, so the same position is the same ask whatever moves led to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from redqueen.games.talk import ask, forfeit, told
from redqueen.protocols import Play
from redqueen.types import Message, Outcome, RedQueenError, Seat, Task

SEATS = FIRST, SECOND = Seat("first"), Seat("second")
MARKS = "XO"
MOST_SQUARES = 400  # 20 x 20; each move shows the whole board
Board = dict[tuple[int, int], str]  # (column, row) from the top left, counted from 0 -> mark


@dataclass(frozen=True)
class Connect:
    m: int = 4  # columns
    n: int = 4  # rows
    k: int = 3  # marks in a row that win
    drop: bool = False  # a move names a column, and the mark falls to its lowest free square
    retries: int = 0  # second chances after an illegal reply, before it is a forfeit
    roles: tuple[str, ...] = field(default=("first", "second"), init=False)
    zero_sum: bool = field(default=True, init=False)
    perfect_information: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        if min(self.m, self.n, self.k) < 1 or self.k > max(self.m, self.n):
            raise RedQueenError(
                f"connect needs m, n and k of at least 1 and k no longer than a side, not {self.m},{self.n},{self.k}"
            )
        if self.m * self.n > MOST_SQUARES:
            raise RedQueenError(f"connect has a board of up to {MOST_SQUARES} squares, not {self.m} x {self.n}")

    @property
    def name(self) -> str:
        shape = f"{self.m},{self.n},{self.k}"
        if self.drop:
            return f"connect({shape},drop=true)"
        return "connect" if shape == "4,4,3" else f"connect({shape})"

    def tasks(self) -> list[Task]:
        """The empty board."""
        return [Task("empty", "board")]

    def play(self, task: Task, rng: Random) -> Play:
        board: Board = {}
        history: tuple[str, ...] = ()
        won = 0.0
        while won == 0.0 and len(history) < self.m * self.n:
            turn = len(history) % 2
            places = self.places(board)
            text = yield from ask(SEATS[turn], self.describe(SEATS[turn], board), tuple(places), self.retries)
            if text not in places:
                return forfeit(SEATS[turn], SEATS, stake=1.0, text=text)
            board[places[text]] = MARKS[turn]
            history += (text,)
            if self.completes_line(board, places[text]):
                won = (1.0, -1.0)[turn]
        return Outcome({FIRST: won, SECOND: -won}, {"history": history, "board": self.drawn(board)})

    def places(self, board: Board) -> dict[str, tuple[int, int]]:
        """For each legal move, the square (column, row) of its mark."""
        free = [(column, row) for row in range(self.n) for column in range(self.m) if (column, row) not in board]
        if self.drop:
            return {str(column + 1): (column, row) for column, row in sorted(free)}  # the last, lowest row stays
        return {self.number(square): square for square in free}

    def number(self, square: tuple[int, int]) -> str:
        """The number of a square, from 1, row by row."""
        return str(square[1] * self.m + square[0] + 1)

    def completes_line(self, board: Board, square: tuple[int, int]) -> bool:
        """Whether k marks or more stand in a row through the square."""
        for step in ((1, 0), (0, 1), (1, 1), (1, -1)):
            length = 1
            for sign in (1, -1):
                column, row = square[0] + sign * step[0], square[1] + sign * step[1]
                while board.get((column, row)) == board[square]:
                    length += 1
                    column, row = column + sign * step[0], row + sign * step[1]
            if length >= self.k:
                return True
        return False

    def drawn(self, board: Board) -> str:
        """The board as lines of text, cells separated by spaces."""
        width = len(str(self.m if self.drop else self.m * self.n))
        rows = [
            [board.get((column, row), "." if self.drop else self.number((column, row))) for column in range(self.m)]
            for row in range(self.n)
        ]
        if self.drop:
            rows.insert(0, [str(column + 1) for column in range(self.m)])
        return "\n".join(" ".join(cell.rjust(width) for cell in row) for row in rows)

    def describe(self, seat: Seat, board: Board) -> tuple[Message, ...]:
        """The messages with the rules and the board; nothing about how to play well."""
        move = (
            "choose a column that is not full, and their mark falls to the lowest free square of it"
            if self.drop
            else "mark a free square"
        )
        legend = (
            "The columns are numbered above the board and free squares are shown by dots."
            if self.drop
            else "Free squares are shown by their numbers."
        )
        mark = MARKS[SEATS.index(seat)]
        return told(
            f"You are playing {self.k} in a row against one opponent on a board of {self.m} columns and {self.n} rows. "
            f"In turn the players {move}, the first player with X and the second player with O. "
            f"Whoever first has {self.k} of their marks in an unbroken row, column or diagonal wins; "
            f"a full board without such a line is a draw. {legend}\n\n"
            f"You are the {seat.role} player and mark {mark}. The board:\n{self.drawn(board)}\n"
            f"Which {'column do you choose' if self.drop else 'square do you mark'}?"
        )
