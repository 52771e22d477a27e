"""A proactive player: predictions, corrections, what its plan is shown, what cannot be read."""

from random import Random

import pytest

from redqueen.games.cooks import Cook, Planner
from redqueen.games.mini_kitchen import SEATS, MiniKitchen
from redqueen.games.proactive import Beliefs, Proactive, accuracy_of, believed
from redqueen.play.lockstep import play
from redqueen.players.scripted import Constant
from redqueen.types import Match, Reply

GAME = MiniKitchen(horizon=60)


def cooked(first, second, game=GAME):
    (episode,) = play([Match(game, game.tasks()[0], {"first": first, "second": second})], Random(0))
    return episode


def own(episode):
    return [turn for turn in episode.turns if turn.ask.seat == SEATS[0]]


class Listening:
    """Keeps what it is asked, and plans by rule."""

    name = "listening"

    def __init__(self):
        self.asked = []

    def reply(self, asks):
        self.asked += [ask.messages[0].text for ask in asks]
        return [Reply(reply.text, self.name) for reply in Planner().reply(asks)]


def test_predictions_are_checked_and_a_wrong_one_is_kept():
    beliefs = Beliefs(remembers=3)
    predicted, done = ("onion", "dish", "onion", "serve"), ("onion", "onion", "onion", "serve")
    for number, skill in enumerate(predicted):
        assert beliefs.expect(number, (f"place {number}", "fills"), skill) == skill
        beliefs.check(done[:number])  # not yet
        beliefs.check(done[: number + 1])
    assert beliefs.accuracy == 0.75
    assert beliefs.corrections == [(("place 1", "fills"), "onion")]
    assert beliefs.expect(4, ("place 1", "fills"), "dish") == "onion"


def test_the_latest_corrections_are_kept_one_for_a_situation():
    beliefs = Beliefs(remembers=2)
    for number, (place, done) in enumerate((("a", "x"), ("b", "y"), ("a", "z"), ("c", "w"))):
        beliefs.expect(number, (place, "fills"), "never")
        beliefs.check(["-"] * number + [done])
    assert beliefs.corrections == [(("a", "fills"), "z"), (("c", "fills"), "w")]
    forgetful = Beliefs(remembers=0)
    forgetful.expect(0, ("a", "fills"), "never")
    forgetful.check(["x"])
    assert forgetful.corrections == []
    assert forgetful.accuracy == 0.0


def test_a_skill_that_was_done_before_anybody_predicted_it_is_not_counted():
    beliefs = Beliefs(remembers=3)
    assert beliefs.accuracy != beliefs.accuracy  # NaN
    beliefs.expect(3, ("a", "fills"), "onion")
    beliefs.check(["wait", "wait", "wait"])
    assert beliefs.right == []
    beliefs.check(["wait", "wait", "wait", "onion", "wait"])
    assert beliefs.right == [True]


def test_what_it_believes_of_an_idle_partner_is_mended():
    episode = cooked(Proactive(Planner()), Cook("idle"))
    asks = [turn.ask for turn in own(episode)]
    assert believed(asks[:1], 3)[1] == "onion"
    assert believed(asks[:2], 3)[1] == "wait"
    assert accuracy_of(own(episode), episode.outcome.facts["history"][1], 3) > 0.6


def test_the_plan_is_shown_the_belief_and_the_corrections():
    inner = Listening()
    cooked(Proactive(inner), Cook("idle"))
    assert inner.asked[0].endswith("What do you do? You believe that your partner's next skill is onion.")
    assert "You were wrong before: holding nothing while the pot fills, it did wait." in inner.asked[1]
    without = Listening()
    cooked(Proactive(without, belief=False), Cook("idle"))
    assert not any("believe" in text for text in without.asked)


def test_a_plan_that_cannot_be_read_is_a_wait():
    episode = cooked(Proactive(Constant("First I would look around.")), Cook("idle"))
    assert set(episode.outcome.facts["history"][0]) == {"wait"}
    assert "forfeit" not in episode.outcome.facts
    assert {turn.reply.text for turn in own(episode)} == {"wait"}
    assert {turn.reply.player for turn in own(episode)} == {"proactive"}


def test_a_plan_that_is_refused_is_told_why():
    class Stubborn(Listening):
        def reply(self, asks):
            self.asked += [ask.messages[-1].text for ask in asks]
            return [Reply("serve", self.name) for _ in asks]

    inner = Stubborn()
    episode = cooked(Proactive(inner), Cook("idle"), MiniKitchen(horizon=10))
    assert "you hold nothing, and need soup" in inner.asked[1]
    assert episode.outcome.facts["refused"][0] == 4 * 10
    assert pytest.approx(0.0) == episode.outcome.scores[SEATS[0]]
