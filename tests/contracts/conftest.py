"""A board game is solved once for all tests of contracts: `tests/measures/exact` asks whether rightly."""

from functools import cache
from unittest.mock import patch

import pytest

from redqueen.games.catalogue import find_game
from redqueen.measures import of_games
from redqueen.measures.exact.minimax import MAX_POSITIONS, solve

SOLVED = "tic_tac_toe"


@cache
def solution():
    return solve(find_game(SOLVED))


@pytest.fixture(scope="module", autouse=True)  # of this folder alone: other tests ask what solving refuses
def solved_once():
    def solved(game, max_positions=MAX_POSITIONS):
        return solution() if game.name == SOLVED else solve(game, max_positions)

    with patch.object(of_games, "solve", solved):
        yield
