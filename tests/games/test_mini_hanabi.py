"""Mini Hanabi: moves by hand, what a seat sees, and OpenSpiel's hanabi move for move."""

from __future__ import annotations

from random import Random

import pytest

from redqueen.games.mini_hanabi import COLOURS, FIRST, SECOND, MiniHanabi
from redqueen.types import Ask, Outcome, RedQueenError, Reply, Task

DECK = ("red 1", "red 2", "yellow 1", "yellow 2", "red 1", "yellow 1", "red 1", "yellow 1")


def played(line: list[str], game: MiniHanabi | None = None, deck: tuple[str, ...] = DECK) -> Outcome | Ask:
    talk = (game or MiniHanabi()).play(Task("t", facts={"deck": deck}), Random(0))
    (asked,) = next(talk)
    for move in line:
        assert move in asked.choices or move == "xyzzy", f"{move} is not among {asked.choices}"
        try:
            (asked,) = talk.send([Reply(move)])
        except StopIteration as stop:
            return stop.value
    return asked


def test_a_perfect_game_scores_four_and_gains_one_after_each_play() -> None:
    outcome = played(["play 1", "play 3", "play 1", "play 1"])
    assert isinstance(outcome, Outcome)
    assert outcome.scores == {FIRST: 4.0, SECOND: 4.0}
    assert outcome.facts["gains"] == tuple((turn, {"first": 1.0, "second": 1.0}) for turn in range(4))


def test_without_lives_all_is_lost() -> None:
    outcome = played(["play 1", "play 1"], MiniHanabi(lives=1))
    assert isinstance(outcome, Outcome)
    assert outcome.scores == {FIRST: 0.0, SECOND: 0.0}
    assert outcome.facts["gains"] == ((0, {"first": 1.0, "second": 1.0}), (1, {"first": -1.0, "second": -1.0}))


def test_a_forfeit_loses_the_fireworks_of_both() -> None:
    outcome = played(["play 1", "xyzzy"])
    assert isinstance(outcome, Outcome)
    assert outcome.scores == {FIRST: 0.0, SECOND: 0.0}
    assert outcome.facts["forfeit"] == "second"
    assert outcome.facts["gains"][-1] == (1, {"first": -1.0, "second": -1.0})


def test_each_player_has_one_more_turn_after_the_last_card_is_drawn() -> None:
    # the deck has two cards: the first two plays draw them
    asked = played(["play 1", "play 3", "hint red"])
    assert isinstance(asked, Ask)
    outcome = played(["play 1", "play 3", "hint red", "hint red"])
    assert isinstance(outcome, Outcome)
    assert outcome.scores == {FIRST: 2.0, SECOND: 2.0}


def test_a_hint_tells_what_a_card_is_and_what_the_others_are_not() -> None:
    asked = played(["hint yellow"])
    assert isinstance(asked, Ask)
    text = asked.messages[0].text
    assert "The first player gave the hint yellow: card 1 and 3." in text
    assert "What you were told of your cards: 1: yellow, 2: not yellow, 3: yellow." in text
    assert "Information tokens: 2 of 3." in text
    assert "The other player's cards: 1: red 1, 2: red 2, 3: yellow 1." in text


def test_without_tokens_there_are_no_hints_and_without_spent_tokens_no_discards() -> None:
    fresh, spent = played([]), played(["hint red", "hint red", "hint 1"])
    assert isinstance(fresh, Ask)
    assert isinstance(spent, Ask)
    assert not [choice for choice in fresh.choices if choice.startswith("discard")]
    assert [choice for choice in spent.choices if choice.startswith("discard")] == [f"discard {n}" for n in (1, 2, 3)]
    assert not [choice for choice in spent.choices if choice.startswith("hint")]


def test_the_deck_has_three_ones_and_one_card_of_the_highest_rank() -> None:
    assert sorted(MiniHanabi().deck()) == ["red 1"] * 3 + ["red 2"] + ["yellow 1"] * 3 + ["yellow 2"]
    assert MiniHanabi(colours=1, ranks=4).deck() == ["red 1"] * 3 + ["red 2"] * 2 + ["red 3"] * 2 + ["red 4"]
    with pytest.raises(RedQueenError, match="two hands of 5"):
        MiniHanabi(hand=5)


@pytest.mark.parametrize("shape", [(2, 2, 3, 3, 3), (3, 3, 4, 8, 3), (2, 5, 5, 2, 1)])
def test_random_matches_go_as_in_openspiel(shape: tuple[int, ...]) -> None:
    pyspiel = pytest.importorskip("pyspiel")
    colours, ranks, hand, information, lives = shape
    game = MiniHanabi(colours, ranks, hand, information, lives)
    theirs = pyspiel.load_game(
        f"hanabi(players=2,colors={colours},ranks={ranks},hand_size={hand},"
        f"max_information_tokens={information},max_life_tokens={lives})"
    )
    letters = dict(zip(COLOURS, "RYGWB", strict=True))
    random = Random(5)
    for task in game.tasks()[:40]:
        state, cards = theirs.new_initial_state(), iter(task.facts["deck"])
        talk = game.play(task, Random(0))
        (asked,) = next(talk)
        while True:
            while state.is_chance_node():
                colour, rank = next(cards).split()
                deal = f"(Deal {letters[colour]}{rank})"
                state.apply_action(
                    next(a for a in state.legal_actions() if state.action_to_string(state.current_player(), a) == deal)
                )
            words = {in_our_words(state.action_to_string(a)): a for a in state.legal_actions()}
            assert set(asked.choices) == set(words)
            assert asked.seat == (FIRST, SECOND)[state.current_player()]
            move = random.choice(asked.choices)
            state.apply_action(words[move])
            try:
                (asked,) = talk.send([Reply(move)])
            except StopIteration as stop:
                while state.is_chance_node():
                    state.apply_action(state.legal_actions()[0])
                assert state.is_terminal()
                assert list(stop.value.scores.values()) == state.returns()
                break


def in_our_words(action: str) -> str:
    """ "(Play 0)" is our "play 1", "(Reveal player +1 color R)" our "hint red"."""
    parts = action.strip("()").split()
    if parts[0] in ("Play", "Discard"):
        return f"{parts[0].lower()} {int(parts[1]) + 1}"
    names = dict(zip("RYGWB", COLOURS, strict=True))
    return f"hint {names.get(parts[-1], parts[-1])}"
