"""With itself, with the kindest, with the greediest: known figures of players that follow a rule."""

from random import Random

import pytest

from redqueen.games.iterated_dilemma import COOPERATE, DEFECT, IteratedDilemma
from redqueen.games.trust_and_split import TrustAndSplit
from redqueen.play.lockstep import play
from redqueen.players.scripted import Constant, Scripted
from redqueen.recipes.games.advantage_alignment.measures import GREEDY, KIND, SelfPlay, answers_to, shares
from redqueen.types import Match, Outcome, Reply, Seat, Task


class TitForTat:
    name = "tit_for_tat"

    def reply(self, asks):
        defected = ["the other player chose defect" in ask.messages[-1].text for ask in asks]
        return [Reply(DEFECT if each else COOPERATE, self.name) for each in defected]


def test_tit_for_tat_cooperates_with_itself_and_loses_the_first_round_alone_to_a_defector():
    found = SelfPlay(IteratedDilemma(rounds=10), TitForTat(), matches=2)()
    assert found == {
        "self_play/score": 30.0,
        "self_play/score_low": 30.0,
        "self_play/score_high": 30.0,
        "self_play/cooperate": 1.0,
        "self_play/defect": 0.0,
        "against_kind/score": 30.0,
        "against_kind/other": 30.0,
        "against_greedy/score": 9.0,
        "against_greedy/other": 14.0,
    }


def test_both_seats_are_counted():
    game = IteratedDilemma(rounds=2)
    found = SelfPlay(game, Constant("cooperate"), matches=3)()
    assert (found["against_greedy/score"], found["against_greedy/other"]) == (0.0, 10.0)


def test_greed_is_to_claim_all_coins_and_kindness_to_claim_none():
    game = TrustAndSplit(rounds=2)
    (episode,) = play([Match(game, game.tasks()[0], {"first": KIND, "second": GREEDY})], Random(0))
    assert episode.outcome.facts["history"] == ((0, 10), (0, 10))


def test_shares_are_of_few_listed_replies_only():
    game = TrustAndSplit(rounds=1, listed=True)
    episodes = play([Match(game, game.tasks()[0], {"first": KIND, "second": GREEDY})], Random(0))
    assert shares(episodes) == {"rock": 0.5, "paper": 0.0, "scissors": 0.5}


def test_how_often_a_reply_follows_each_pair():
    game = IteratedDilemma(rounds=3)
    cast = {"first": Scripted((COOPERATE, DEFECT, COOPERATE)), "second": Scripted((DEFECT, COOPERATE, DEFECT))}
    found = answers_to(play([Match(game, game.tasks()[0], cast)], Random(0)), COOPERATE)
    # after (mine C, theirs D): the first seat defected, then the second (whose pair that was in round 2) defected
    assert found[COOPERATE, DEFECT] == (pytest.approx(0.0), 2)
    assert found[DEFECT, COOPERATE] == (pytest.approx(1.0), 2)


class Dealt:
    """A hundred deals, of which the last is as likely as all others; nobody speaks."""

    name, roles = "dealt", ("first", "second")

    def tasks(self):
        return [Task(str(n), weight=99.0 if n == 99 else 1.0) for n in range(100)]

    def play(self, task, rng):
        return Outcome({Seat(role): float(task.id == "99") for role in self.roles})
        yield


def test_matches_are_over_tasks_as_chance_deals_them():
    assert SelfPlay(Dealt(), TitForTat(), matches=32)()["self_play/score"] == pytest.approx(0.5, abs=0.04)
