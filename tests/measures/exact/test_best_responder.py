from random import Random

import numpy as np
import pytest

from redqueen.games.kuhn_poker import FIRST, SECOND, KuhnPoker
from redqueen.games.leduc_poker import LeducPoker
from redqueen.measures.exact.best_responder import best_responder
from redqueen.measures.exact.exploitability import GameTree
from redqueen.measures.exact.known_equilibria import honest_kuhn, kuhn_equilibrium
from redqueen.play.lockstep import play
from redqueen.play.seating import both_seatings
from redqueen.players.language.answers import Boxed
from redqueen.players.scripted import Uniform
from redqueen.players.transformer.loading import tiny_model
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.types import RedQueenError, Seat

KUHN = GameTree(KuhnPoker())


def scores(tree, responder, player):
    """The exact score of the responder in each seat, the player in all others."""
    theirs, ours = tree.strategy(player), responder.strategy
    return [
        tree.values({ask: (ours if ask.seat == seat else theirs)[ask] for ask in tree.states})[number]
        for number, seat in enumerate(tree.seats)
    ]


def test_the_best_answers_to_uniform_kuhn_poker():
    # uniform play scores 1/8 and -1/8, and a best response gains 3/8 and 13/24
    responder = best_responder(KUHN, Uniform())
    assert scores(KUHN, responder, Uniform()) == pytest.approx([0.5, 10 / 24], abs=1e-12)
    assert responder.name == "best_responder(uniform)"


@pytest.mark.parametrize("alpha", [0.0, 0.2, 1 / 3])
def test_nothing_is_gained_against_an_equilibrium(alpha):
    player = kuhn_equilibrium(alpha)
    assert scores(KUHN, best_responder(KUHN, player), player) == pytest.approx([-1 / 18, 1 / 18], abs=1e-12)


@pytest.mark.parametrize("tree", [KUHN, GameTree(LeducPoker())], ids=lambda tree: tree.game.name)
def test_what_is_gained_in_all_seats_is_nash_conv(tree):
    uniform = tree.strategy(Uniform())
    gained = np.array(scores(tree, best_responder(tree, Uniform()), Uniform())) - tree.values(uniform)
    assert gained.sum() == pytest.approx(tree.nash_conv(uniform), abs=1e-9)


def test_it_plays_as_it_promises():
    # an honest player is beaten by 0.25 a match on average over the seats
    player = honest_kuhn()
    responder = best_responder(KUHN, player)
    matches = both_seatings(KUHN.game, KUHN.game.tasks(), responder, player)
    won = [
        episode.outcome.scores[Seat(role)]
        for match, episode in zip(matches, play(matches, Random(0)), strict=True)
        for role, seated in match.cast.items()
        if seated is responder
    ]
    assert np.mean(won) == pytest.approx(0.25)  # both players are pure, so the deals are all the chance


def test_it_answers_a_language_model():
    policy = TransformerPolicy(tiny_model(5, hidden=32))
    strategy = KUHN.strategy(policy)
    gained = np.array(scores(KUHN, best_responder(KUHN, policy), policy)) - KUHN.values(strategy)
    assert gained.sum() == pytest.approx(KUHN.nash_conv(strategy), abs=1e-9)


def test_only_the_named_seats_are_answered_for():
    responder = best_responder(KUHN, Uniform(), [SECOND])
    assert {ask.seat for ask in responder.strategy} == {SECOND}
    with pytest.raises(RedQueenError, match="does not cover"):
        responder.reply([ask for ask in KUHN.states if ask.seat == FIRST][:1])
    with pytest.raises(RedQueenError, match="kuhn_poker has no seat dealer: its seats are first, second"):
        best_responder(KUHN, Uniform(), [Seat("dealer")])


def test_a_player_that_cannot_be_read_is_refused():
    with pytest.raises(RedQueenError, match="answers in free text"):
        best_responder(KUHN, TransformerPolicy(tiny_model(5, hidden=32), answer=Boxed(), constrain=False))
