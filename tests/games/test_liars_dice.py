"""Liar's dice: bids, wild faces, and OpenSpiel's payoffs on random lines."""

from __future__ import annotations

from random import Random

import pytest

from redqueen.games.liars_dice import FIRST, SECOND, LiarsDice, bids, holds, legal
from redqueen.types import Outcome, RedQueenError, Reply, Task


def played(dice: tuple[int, int], line: str, sides: int = 6) -> Outcome:
    talk = LiarsDice(sides).play(Task("t", facts={"dice": dice}), Random(0))
    next(talk)
    for move in line.split():
        try:
            talk.send([Reply(move)])
        except StopIteration as stop:
            return stop.value
    raise AssertionError(f"{line} does not end the game")


@pytest.mark.parametrize(
    ("dice", "line", "won"),
    [
        ((3, 5), "1-3 liar", 1.0),  # there is a 3
        ((2, 5), "1-3 liar", -1.0),
        ((2, 6), "1-3 liar", 1.0),  # a 6 counts as a 3
        ((6, 6), "2-1 liar", 1.0),
        ((5, 6), "1-6 2-6 liar", 1.0),  # the second seat bid too much: a 5 is not a 6
        ((6, 6), "1-6 2-6 liar", -1.0),
    ],
)
def test_lines_played_by_hand(dice: tuple[int, int], line: str, won: float) -> None:
    assert played(dice, line).scores == {FIRST: won, SECOND: -won}


def test_bids_rise_and_only_the_doubt_follows_the_highest() -> None:
    assert bids(3) == ("1-1", "1-2", "1-3", "2-1", "2-2", "2-3")
    assert legal((), 3) == bids(3)
    assert legal(("1-3",), 3) == ("2-1", "2-2", "2-3", "liar")
    assert legal(("1-1", "2-3"), 3) == ("liar",)
    assert holds("2-3", (3, 3), 3)
    assert not holds("2-3", (3, 2), 3)


def test_a_seat_does_not_see_the_other_die() -> None:
    (asked,) = next(LiarsDice().play(Task("t", facts={"dice": (4, 5)}), Random(0)))
    assert "Your die shows 4." in asked.messages[0].text
    assert "shows 5" not in asked.messages[0].text


def test_a_die_of_one_side_is_refused() -> None:
    with pytest.raises(RedQueenError, match="2 to 100 sides"):
        LiarsDice(sides=1)


@pytest.mark.parametrize("sides", [4, 6])
def test_random_lines_have_the_choices_and_the_payoffs_of_openspiel(sides: int) -> None:
    pyspiel = pytest.importorskip("pyspiel")
    game = pyspiel.load_game(f"liars_dice(dice_sides={sides})")
    random = Random(5)
    for task in LiarsDice(sides).tasks():
        for _ in range(10):
            state = game.new_initial_state()
            for die in task.facts["dice"]:
                state.apply_action(die - 1)
            talk = LiarsDice(sides).play(task, Random(0))
            (asked,) = next(talk)
            while not state.is_terminal():
                words = {state.action_to_string(action).lower(): action for action in state.legal_actions()}
                assert set(asked.choices) == set(words)
                move = random.choice(asked.choices)
                state.apply_action(words[move])
                try:
                    (asked,) = talk.send([Reply(move)])
                except StopIteration as stop:
                    assert [stop.value.scores[FIRST], stop.value.scores[SECOND]] == state.returns()
                    assert state.is_terminal()
