"""Leduc poker: deals, hand-played lines, and OpenSpiel's payoffs and legal moves on random lines."""

from __future__ import annotations

from random import Random

import pytest

from redqueen.games.leduc_poker import CARDS, FIRST, RULES, SECOND, LeducPoker
from redqueen.types import Ask, Outcome, Reply, Task


def started(cards: tuple[str, str], public: str) -> tuple[object, Ask]:
    talk = LeducPoker().play(Task("t", facts={"cards": cards, "public": public}), Random(0))
    (asked,) = next(talk)
    return talk, asked


def played(cards: tuple[str, str], public: str, line: str) -> Outcome:
    talk, _ = started(cards, public)
    for move in line.split():
        try:
            talk.send([Reply(move)])
        except StopIteration as stop:
            return stop.value
    raise AssertionError(f"{line} does not end the game")


@pytest.mark.parametrize(
    ("cards", "public", "line", "won"),
    [
        (("king", "jack"), "queen", "check check check check", 1.0),
        (("king", "jack"), "jack", "check check check check", -1.0),
        (("king", "king"), "jack", "raise call raise call", 0.0),
        (("king", "queen"), "jack", "raise raise fold", -3.0),
        (("king", "queen"), "jack", "raise fold", 1.0),
        (("queen", "king"), "queen", "raise raise call raise raise call", 13.0),
        (("jack", "king"), "queen", "check raise call check raise raise call", -11.0),
        (("jack", "king"), "queen", "check raise call raise fold", 3.0),
    ],
)
def test_hands_played_by_hand(cards: tuple[str, str], public: str, line: str, won: float) -> None:
    assert played(cards, public, line).scores == {FIRST: won, SECOND: -won}


def test_the_deals_stand_for_the_120_ways_to_deal_three_of_six_cards() -> None:
    weights = {task.id: task.weight for task in LeducPoker().tasks()}
    assert len(weights) == 24
    assert sum(weights.values()) == 120
    assert weights["jack-queen-king"] == 8
    assert weights["jack-jack-king"] == weights["jack-king-jack"] == weights["king-jack-jack"] == 4


def test_neither_the_card_of_the_other_nor_the_public_card_is_shown_before_its_time() -> None:
    _, asked = started(("jack", "king"), "queen")
    seen = asked.messages[0].text.replace(RULES, "")
    assert "jack" in seen
    assert "king" not in seen
    assert "queen" not in seen


def test_random_lines_have_the_choices_and_the_payoffs_of_openspiel() -> None:
    pyspiel = pytest.importorskip("pyspiel")
    game = pyspiel.load_game("leduc_poker")
    random = Random(5)
    for _ in range(300):
        deck = [(rank, suit) for rank in range(3) for suit in range(2)]
        random.shuffle(deck)
        cards = [rank for rank, _ in deck[:3]]
        state = game.new_initial_state()
        for rank, suit in deck[:2]:
            state.apply_action(2 * rank + suit)
        talk, asked = started((CARDS[cards[0]], CARDS[cards[1]]), CARDS[cards[2]])
        while not state.is_terminal():
            if state.is_chance_node():
                state.apply_action(2 * deck[2][0] + deck[2][1])
                continue
            words = {"fold": 0, "check": 1, "call": 1, "raise": 2}
            assert asked.seat == (FIRST, SECOND)[state.current_player()]
            assert sorted(words[choice] for choice in asked.choices) == sorted(state.legal_actions())
            move = random.choice(asked.choices)
            state.apply_action(words[move])
            try:
                (asked,) = talk.send([Reply(move)])
            except StopIteration as stop:
                assert state.is_terminal()
                assert [stop.value.scores[FIRST], stop.value.scores[SECOND]] == state.returns()
