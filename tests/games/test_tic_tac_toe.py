"""Tic-tac-toe: lines, draws, positions, and OpenSpiel's results on random lines."""

from __future__ import annotations

from random import Random

import pytest

from redqueen.games.tic_tac_toe import FIRST, SECOND, TicTacToe
from redqueen.types import Ask, Outcome, RedQueenError, Reply


def played(line: str) -> Outcome | Ask:
    """The outcome of a line of squares, or the ask that it leads to."""
    talk = TicTacToe().play(TicTacToe().tasks()[0], Random(0))
    (asked,) = next(talk)
    for move in line:
        try:
            (asked,) = talk.send([Reply(move)])
        except StopIteration as stop:
            return stop.value
    return asked


@pytest.mark.parametrize(
    ("line", "won"),
    [
        ("14253", 1.0),  # X fills the first row
        ("12437", 1.0),  # X fills the first column
        ("123548", -1.0),  # O fills the middle column
        ("132547", -1.0),  # O fills a diagonal
        ("152374689", 0.0),  # a full board without a line
        ("123465879", 1.0),  # a line on the last square
    ],
)
def test_lines_played_by_hand(line: str, won: float) -> None:
    outcome = played(line)
    assert isinstance(outcome, Outcome)
    assert outcome.scores == {FIRST: won, SECOND: -won}


def test_a_position_is_one_ask_however_it_came_about() -> None:
    assert played("1529") == played("2519") != played("1592")


def test_openings_are_the_boards_on_which_somebody_moves() -> None:
    """1, 9 and 9 * 8 of them up to two marks; 4,520 in all."""
    assert [len(TicTacToe(openings=marks).tasks()) for marks in (0, 1, 2, 8, 20)] == [1, 10, 82, 4520, 4520]
    (task,) = (each for each in TicTacToe(openings=3).tasks() if each.id == "XX3O56789")
    talk = TicTacToe().play(task, Random(0))
    (asked,) = next(talk)
    assert asked.seat == SECOND and asked == played("142")
    with pytest.raises(StopIteration) as stop:
        talk.send([Reply("5")])
        talk.send([Reply("3")])
    assert stop.value.value.scores == {FIRST: 1.0, SECOND: -1.0}
    assert stop.value.value.facts == {"history": ("5", "3"), "board": "XXXOO6789"}


def test_fewer_openings_than_none_are_refused() -> None:
    with pytest.raises(RedQueenError, match="0 or more, not -1"):
        TicTacToe(openings=-1)


def test_the_board_is_shown_with_spaces_between_its_squares() -> None:
    asked = played("15")
    assert isinstance(asked, Ask)
    assert "\nX 2 3\n4 O 6\n7 8 9\n" in asked.messages[0].text
    assert asked.choices == ("2", "3", "4", "6", "7", "8", "9")


def test_random_lines_have_the_choices_and_the_results_of_openspiel() -> None:
    pyspiel = pytest.importorskip("pyspiel")
    game = pyspiel.load_game("tic_tac_toe")
    random = Random(5)
    for _ in range(200):
        state, line = game.new_initial_state(), ""
        while not state.is_terminal():
            asked = played(line)
            assert isinstance(asked, Ask)
            assert [int(choice) - 1 for choice in asked.choices] == state.legal_actions()
            line += random.choice(asked.choices)
            state.apply_action(int(line[-1]) - 1)
        outcome = played(line)
        assert isinstance(outcome, Outcome)
        assert [outcome.scores[FIRST], outcome.scores[SECOND]] == state.returns()
