"""Kuhn poker: all thirty ends, and OpenSpiel's payoffs for them."""

from __future__ import annotations

from random import Random

import pytest

from redqueen.games.kuhn_poker import CARDS, FIRST, RULES, SECOND, KuhnPoker
from redqueen.types import Reply, Task

LINES = ("pass pass", "pass bet pass", "pass bet bet", "bet pass", "bet bet")


def played(cards: tuple[str, str], line: str) -> float:
    talk = KuhnPoker().play(Task("t", facts={"cards": cards}), Random(0))
    (asked,) = next(talk)
    for move in line.split():
        hidden = cards[1] if asked.seat == FIRST else cards[0]
        assert hidden not in asked.messages[0].text.replace(RULES, "")
        try:
            (asked,) = talk.send([Reply(move)])
        except StopIteration as stop:
            assert stop.value.scores[FIRST] == -stop.value.scores[SECOND]
            return stop.value.scores[FIRST]
    raise AssertionError(f"{line} does not end the game")


@pytest.mark.parametrize(
    ("line", "won"),
    [("pass pass", 1.0), ("pass bet pass", -1.0), ("pass bet bet", 2.0), ("bet pass", 1.0), ("bet bet", 2.0)],
)
def test_the_first_seat_holding_the_king_against_the_jack(line: str, won: float) -> None:
    assert played(("king", "jack"), line) == won


def test_every_end_pays_what_openspiel_pays() -> None:
    pyspiel = pytest.importorskip("pyspiel")
    ends = 0
    for task in KuhnPoker().tasks():
        for line in LINES:
            state = pyspiel.load_game("kuhn_poker").new_initial_state()
            for card in task.facts["cards"]:
                state.apply_action(CARDS.index(card))
            for move in line.split():
                state.apply_action(("pass", "bet").index(move))
            assert played(task.facts["cards"], line) == state.returns()[0]
            ends += 1
    assert ends == 30
