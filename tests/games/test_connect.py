"""m,n,k games: lines in every direction, gravity, and OpenSpiel's results on random lines."""

from __future__ import annotations

from random import Random

import pytest

from redqueen.games.connect import FIRST, SECOND, Connect
from redqueen.types import Ask, Outcome, RedQueenError, Reply


def played(game: Connect, line: list[str]) -> Outcome | Ask:
    talk = game.play(game.tasks()[0], Random(0))
    (asked,) = next(talk)
    for move in line:
        try:
            (asked,) = talk.send([Reply(move)])
        except StopIteration as stop:
            return stop.value
    return asked


@pytest.mark.parametrize(
    ("game", "line", "won"),
    [
        (Connect(4, 4, 3), "1 5 2 6 3", 1.0),
        (Connect(4, 4, 3), "3 4 6 8 9", 1.0),  # the diagonal that falls to the left
        (Connect(4, 4, 3), "1 4 2 8 15 12", -1.0),  # the last column
        (Connect(2, 2, 2), "1 2 3", 1.0),
        (Connect(3, 1, 3), "1 2 3", 0.0),
        (Connect(4, 4, 4, drop=True), "1 2 1 2 1 2 1", 1.0),
        (Connect(3, 3, 3, drop=True), "1 2 2 3 3 1 3", 1.0),  # a rising diagonal
        (Connect(7, 6, 4, drop=True), "7 1 7 2 6 3 6 4", -1.0),
    ],
)
def test_lines_played_by_hand(game: Connect, line: str, won: float) -> None:
    outcome = played(game, line.split())
    assert isinstance(outcome, Outcome)
    assert outcome.scores == {FIRST: won, SECOND: -won}


def test_a_mark_falls_to_the_lowest_free_square_and_a_full_column_is_not_offered() -> None:
    asked = played(Connect(3, 2, 2, drop=True), ["2", "2"])
    assert isinstance(asked, Ask)
    assert "\n1 2 3\n. O .\n. X .\n" in asked.messages[0].text
    assert asked.choices == ("1", "3")


def test_wide_boards_keep_their_columns_apart() -> None:
    asked = played(Connect(4, 3, 3), ["1", "10"])
    assert isinstance(asked, Ask)
    assert "\n X  2  3  4\n 5  6  7  8\n 9  O 11 12\n" in asked.messages[0].text


def test_a_line_longer_than_the_board_is_refused() -> None:
    with pytest.raises(RedQueenError, match="k no longer than a side"):
        Connect(3, 3, 4)


def test_a_board_has_at_most_400_squares() -> None:
    assert len(Connect(20, 20, 5).places({})) == 400
    with pytest.raises(RedQueenError, match="up to 400 squares, not 21 x 20"):
        Connect(21, 20, 5)


@pytest.mark.parametrize("seed", range(20))
def test_random_lines_have_the_choices_and_the_results_of_connect_four(seed: int) -> None:
    pyspiel = pytest.importorskip("pyspiel")
    state, line = pyspiel.load_game("connect_four").new_initial_state(), []
    random = Random(seed)
    game = Connect(7, 6, 4, drop=True)
    while not state.is_terminal():
        asked = played(game, line)
        assert isinstance(asked, Ask)
        assert [int(choice) - 1 for choice in asked.choices] == state.legal_actions()
        line.append(random.choice(asked.choices))
        state.apply_action(int(line[-1]) - 1)
    outcome = played(game, line)
    assert isinstance(outcome, Outcome)
    assert [outcome.scores[FIRST], outcome.scores[SECOND]] == state.returns()
