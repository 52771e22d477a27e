"""Relay: who sees what, and what a sum is worth."""

import pytest

from redqueen.contracts.games import check_game
from redqueen.games.catalogue import find_game
from redqueen.games.relay import Relay
from redqueen.measures.exact.exploitability import GameTree
from redqueen.play.table import Table
from redqueen.players.scripted import Constant, Uniform
from redqueen.types import Match, RedQueenError, Seat

GAME = Relay()


def table_of(x, y):
    (task,) = [each for each in GAME.tasks() if each.facts["parts"] == (x, y)]
    return Table(Match(GAME, task, dict.fromkeys(GAME.roles, Uniform())), 0)


def test_it_keeps_the_contract_of_games():
    assert "relay" in check_game(find_game("relay:numbers=3"))


def test_the_solver_sees_its_part_and_the_word_alone():
    table = table_of(3, 2)
    (ask,) = table.asks
    assert ask.seat == Seat("planner")
    assert "x is 3" in ask.messages[0].text
    assert "y is" not in ask.messages[0].text
    table.hear(Constant("0").reply(table.asks))
    (ask,) = table.asks
    assert ask.seat == Seat("solver")
    assert "says 0. y is 2." in ask.messages[0].text
    assert "x is" not in ask.messages[0].text
    table.hear(Constant("1").reply(table.asks))  # 3 + 2 = 1 of 4
    assert set(table.outcome.scores.values()) == {1.0}
    assert table.outcome.facts == {"history": ("0", "1"), "right": True}


def test_neither_gains_alone():
    tree = GameTree(find_game("relay:numbers=3"))
    uniform = tree.strategy(Uniform())
    assert tree.values(uniform) == pytest.approx([1 / 3, 1 / 3])
    # nobody can do better against uniform play
    assert tree.nash_conv(uniform) == pytest.approx(0.0)


def test_what_is_not_listed_ends_the_match():
    table = table_of(0, 0)
    table.hear(Constant("x is 0").reply(table.asks))
    assert set(table.outcome.scores.values()) == {0.0}
    assert table.outcome.facts["forfeit"] == "planner"


@pytest.mark.parametrize("numbers", [1, 101])
def test_too_few_and_too_many_numbers_are_refused(numbers):
    with pytest.raises(RedQueenError, match="2 to 100 numbers"):
        Relay(numbers)
