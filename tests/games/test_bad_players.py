"""Players that do what nobody should: the match ends, is counted as forfeited with its reason or pays nobody, and is
never made up."""

from random import Random

import pytest

from redqueen.games.catalogue import find_game
from redqueen.play.lockstep import play
from redqueen.players.scripted import Constant, Uniform
from redqueen.types import Match

ESSAY = Constant("One might be firm, and yet one might be kind. " * 200)


def ended(spec, **seated):
    game = find_game(spec)
    cast = {role: seated.get(role, Uniform()) for role in game.roles}
    (episode,) = play([Match(game, game.tasks()[0], cast, 0)], Random(0))
    return episode


@pytest.mark.parametrize("spec", ["price_talk", "price_talk:listed=false", "price_talk:both=true"])
def test_an_adviser_who_writes_an_essay_forfeits_before_anybody_is_advised(spec):
    episode = ended(spec, adviser=ESSAY)
    assert episode.outcome.facts["forfeit"] == "adviser"
    assert episode.outcome.facts["reason"] == "illegal"
    assert len(episode.turns) == 1


def test_a_partner_who_repeats_itself_for_ever_is_cut_off_by_the_turns_of_the_game():
    episode = ended("negotiation", first=Constant("deny"), second=Constant("deny"))
    assert len(episode.turns) == 10
    assert set(episode.outcome.scores.values()) == {0.0}
    waiting = ended("mini_kitchen:horizon=12", first=Constant("wait"), second=Constant("wait"))
    assert set(waiting.outcome.scores.values()) == {0.0}


def test_who_votes_for_nobody_is_paid_as_unsure_and_who_votes_for_what_is_none_forfeits():
    unsure = ended("odd_one_out", voter=Constant("N/A"))
    assert set(unsure.outcome.facts["votes"].values()) == {"N/A"}
    assert {seat.role: score for seat, score in unsure.outcome.scores.items()}["voter"] == -0.5
    wild = ended("odd_one_out", voter=Constant("nobody at all"))
    assert wild.outcome.facts["reason"] == "illegal"
    assert wild.outcome.facts["forfeit"].startswith("voter")
