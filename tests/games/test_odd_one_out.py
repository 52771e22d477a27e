"""Odd one out: the scores of the card, what a voter can know at best, who is asked what, illegal clues and votes."""

from collections import Counter
from itertools import product
from random import Random

import pytest

from redqueen.contracts import games as contract
from redqueen.games.catalogue import find_game
from redqueen.games.odd_one_out import OddOneOut, called, clue_scores, worth
from redqueen.measures.exact.exploitability import GameTree
from redqueen.measures.of_games import usual_measures
from redqueen.play.lockstep import play
from redqueen.players.scripted import Constant, Scripted, Uniform
from redqueen.players.tabular import TabularPolicy
from redqueen.types import Match, RedQueenError, Seat, Task


def knows(task, seat):
    return task.facts["odd" if seat.role == "spy" else "card"], seat.number


@pytest.mark.parametrize("game", [OddOneOut(rounds=2), OddOneOut(civilians=3, alike=True)], ids=lambda game: game.name)
def test_the_game_keeps_the_contract(game):
    contract.check_game(game, knows=knows)


def test_the_scores_of_the_card():
    scores = clue_scores([2, 1, 0, 0], 0, 0.1, 0.1)
    assert scores == pytest.approx([-0.166667, -0.011111, 0.088889, 0.088889], abs=1e-6)
    assert sum(clue_scores([1, 0, 2, 0], 2, 0.3, 0.1)) == pytest.approx(0.0)
    assert [worth(vote, "player 1") for vote in ("player 1", "N/A", "player 2")] == [1.0, -0.5, -1.0]


@pytest.mark.parametrize(("civilians", "alike", "most"), [(2, False, 3 / 4), (3, False, 2 / 3), (2, True, 1 / 2)])
def test_what_a_voter_can_know_of_clues_drawn_evenly(civilians, alike, most):
    """A spy that names what differs is certain to be known; else each of the others is as likely, and so is each where
    the spy's card is no other one."""
    game = OddOneOut(civilians=civilians, alike=alike)
    seen: dict[str, Counter] = {}
    for task in game.tasks():
        card, odd, spy = (task.facts[name] for name in ("card", "odd", "spy"))
        voters = [Seat("voter", number) for number in range(civilians + 1) if number != spy]
        for clues in product(*(game.clues(odd if at == spy else card) for at in range(civilians + 1))):
            for voter in voters:
                seen.setdefault(game.question(voter, card, clues), Counter())[spy] += 1
    assert sum(max(each.values()) for each in seen.values()) / sum(map(Counter.total, seen.values())) == most


def cast(civilian, spy, voter):
    return {"civilian": civilian, "spy": spy, "voter": voter}


DEAL = Task("deal", facts={"card": ("red", "circle"), "odd": ("red", "square"), "spy": 1})


def test_votes_are_counted_and_paid():
    match = Match(OddOneOut(), DEAL, cast(Constant("colour red"), Constant("shape square"), Scripted(("player 2",))))
    (episode,) = play([match], Random(0))
    assert episode.outcome.facts == {
        "history": ("colour red", "shape square", "colour red"),
        "votes": {"voter": "player 2", "voter2": "player 2"},
    }
    scores = {str(seat): score for seat, score in episode.outcome.scores.items()}
    assert scores == pytest.approx({"civilian": 0.1, "spy1": -0.2, "civilian2": 0.1, "voter": 1, "voter2": 1})


def test_an_illegal_vote_counts_as_none_and_an_illegal_clue_ends_the_match():
    (voted,) = play([Match(OddOneOut(), DEAL, cast(Uniform(), Uniform(), Constant("all of them")))], Random(0))
    assert (voted.outcome.facts["votes"], voted.outcome.facts["forfeit"]) == ({"voter": "N/A"}, "voter")
    assert voted.outcome.scores[Seat("voter")] == -0.5
    (said,) = play([Match(OddOneOut(), DEAL, cast(Uniform(), Constant("colour blue"), Uniform()))], Random(0))
    assert (said.outcome.facts["forfeit"], said.outcome.facts["reason"]) == ("spy1", "illegal")
    assert "votes" not in said.outcome.facts


def test_a_vote_alone_is_asked_as_in_its_match():
    game = OddOneOut(civilians=3, rounds=2)
    task = game.tasks()[6]
    (whole,) = play([Match(game, task, dict.fromkeys(game.roles, Uniform()))], Random(0))
    last = whole.turns[-1].ask
    alone = Task("alone", facts={**task.facts, "clues": whole.outcome.facts["history"], "voter": last.seat.number})
    (vote,) = play([Match(game, alone, dict.fromkeys(game.roles, Uniform()))], Random(0))
    assert [turn.ask for turn in vote.turns] == [last]
    assert set(vote.outcome.scores.values()) - {0.0} == {worth(vote.turns[0].reply.text, called(task.facts["spy"]))}


def test_deals_beyond_the_sample_are_held_out():
    game = OddOneOut(attributes=4, values=4)
    tasks, held_out = game.tasks(), game.held_out()
    assert (len(tasks), len(held_out)) == (256, 64)
    assert not {task.id for task in tasks} & {task.id for task in held_out}
    apart = [sum(a != b for a, b in zip(each.facts["card"], each.facts["odd"], strict=True)) for each in tasks]
    assert set(apart) == {1}
    assert OddOneOut().held_out() == []


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"civilians": 1}, "at least 2 civilians"),
        ({"attributes": 5}, "1 to 4 attributes of 2 to 4 values"),
        ({"differ": 3}, "differ in 1 to all of them, not 3"),
        ({"beta": -1.0}, "at least 0"),
    ],
)
def test_a_game_that_cannot_be_is_refused(rules, said):
    with pytest.raises(RedQueenError, match=said):
        OddOneOut(**rules)


def test_seats_that_differ_from_task_to_task_have_no_exact_measure():
    with pytest.raises(RedQueenError, match="exact measures need the same seats in all"):
        GameTree(find_game("odd_one_out"))
    assert usual_measures(find_game("odd_one_out"), TabularPolicy(), 0, matches=2)
