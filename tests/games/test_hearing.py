"""Who speaks to whom: as a game states it, or as what others are shown later tells it."""

from random import Random

import pytest

from redqueen.games.catalogue import GAMES, find_game
from redqueen.games.hearing import addressed, spoken_to, stated_hearers
from redqueen.play.lockstep import play
from redqueen.types import Ask, Episode, Match, Message, Outcome, Reply, Seat, Task, Turn

ANN, BOB, CAT = Seat("ann"), Seat("bob"), Seat("cat")


class Drawn:
    """A player that draws a listed reply, or says a sentence of its own."""

    name = "drawn"

    def __init__(self, seed):
        self.rng = Random(seed)

    def reply(self, asks):
        words = f"I say {self.rng.random():.6f}."
        return [Reply(self.rng.choice(each.choices) if each.choices else words, self.name) for each in asks]


def played(spec, seed=3):
    game = find_game(spec)
    (episode,) = play([Match(game, game.tasks()[0], dict.fromkeys(game.roles, Drawn(seed)), 1)], Random(1))
    return addressed(episode, stated_hearers(game))


def test_advice_is_for_the_advised_alone_and_offers_are_for_all():
    lines = played("price_talk:both=true")
    assert lines[:4] == ["adviser to buyer alone", "buyer to all", "seller_adviser to seller alone", "seller to all"]
    assert set(played("price_talk")) <= {"adviser to buyer alone", "buyer to all", "seller to all"}


def test_votes_are_secret_and_clues_are_heard_by_all():
    lines = played("odd_one_out")
    assert {line.rstrip("0123456789 ").partition(" ")[2] for line in lines} == {"to all", "in secret"}
    assert all(line.endswith(" in secret") == line.startswith("voter") for line in lines)


@pytest.mark.parametrize(
    ("spec", "first"),
    [
        ("relay", "planner to solver"),
        ("signalling", "sender to receiver"),
        ("by_example", "speaker to listener"),
        ("critique", "expert to seeker"),
        ("hidden_state", "therapist to all"),
    ],
)
def test_who_speaks_first_speaks_to_the_other(spec, first):
    assert played(spec)[0] == first


def test_moves_are_spoken_to_nobody_in_particular():
    assert played("kuhn_poker") == ["first", "second"] or set(played("kuhn_poker")) == {"first", "second"}


def test_only_roles_of_the_game_are_stated_to_speak_and_to_hear():
    for name in GAMES:
        game = find_game(name)
        for role, hearers in stated_hearers(game).items():
            assert {role, *hearers} <= set(game.roles), name


def test_what_a_later_message_holds_was_heard_where_the_game_states_nothing():
    def turn(seat, said, *shown, choices=()):
        messages = tuple(Message(speaker, text) for speaker, text in shown) or (Message("game", "Speak."),)
        return Turn(Ask(seat, messages, choices), Reply(said, "x"))

    turns = (
        turn(ANN, "Meet me at noon."),
        turn(BOB, "I will not.", ("game", "Ann says: Meet me at noon.")),
        turn(CAT, "yes", ("bob", "I will not."), choices=("yes", "no")),
        turn(ANN, "no", ("cat", "yes"), ("game", "I will not."), choices=("yes", "no")),
    )
    seats = (ANN, BOB, CAT)
    episode = Episode("talk", Task("t"), 0, turns, Outcome(dict.fromkeys(seats, 0.0)), seats)
    assert addressed(episode, {}) == ["ann to bob alone", "bob to all", "cat to ann alone", "ann"]
    assert addressed(episode, {"cat": ()})[2] == "cat in secret"


@pytest.mark.parametrize(
    ("role", "said"),
    [("a", "to b alone"), ("b", "to all"), ("c", "in secret"), ("d", "to d"), ("e", "")],
)
def test_who_hears_a_role_is_said_without_the_match(role, said):
    stated = {"a": ("b",), "b": ("a", "c", "d", "e"), "c": (), "d": ("d",)}
    assert spoken_to(role, ("a", "b", "c", "d", "e"), stated) == said
