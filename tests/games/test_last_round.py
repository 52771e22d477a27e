"""Memory-one dilemmas: the outcome of the whole game, five states a seat."""

from random import Random

import pytest

from redqueen.contracts import games as contract
from redqueen.games.iterated_dilemma import IteratedDilemma
from redqueen.games.last_round import LastRound
from redqueen.play.lockstep import play
from redqueen.players.scripted import Scripted, Uniform
from redqueen.types import Match

LINES = ("cooperate", "defect", "defect", "cooperate"), ("cooperate", "cooperate", "defect", "defect")


def played(game, first, second):
    (episode,) = play([Match(game, game.tasks()[0], {"first": first, "second": second})], Random(0))
    return episode


def test_the_outcome_is_that_of_the_game_which_is_remembered():
    first, second = map(Scripted, LINES)
    short, whole = played(LastRound(rounds=4), first, second), played(IteratedDilemma(rounds=4), first, second)
    assert short.outcome == whole.outcome


def test_a_seat_knows_the_last_round_and_no_count():
    game = LastRound(rounds=12)
    episodes = play([Match(game, game.tasks()[0], dict.fromkeys(game.roles, Uniform())) for _ in range(40)], Random(1))
    for role in game.roles:
        assert len({t.ask.messages for e in episodes for t in e.turns if t.ask.seat.role == role}) == 5


def test_what_is_shown():
    episode = played(LastRound(rounds=2), *map(Scripted, LINES))
    (message,) = episode.turns[2].ask.messages
    assert "a game of many rounds with one other player" in message.text
    assert message.text.endswith(
        "You chose cooperate, the other player chose cooperate. You gained 3. Cooperate or defect?"
    )


@pytest.mark.parametrize(
    "check",
    [
        contract.check_shape,
        contract.check_tasks,
        contract.check_asks,
        contract.check_determinism,
        contract.check_replay,
        contract.check_scores,
    ],
)
def test_it_keeps_the_contract_but_for_recall(check):
    check(LastRound(rounds=3))
