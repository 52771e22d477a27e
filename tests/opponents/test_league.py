import json
from collections import Counter
from random import Random

import numpy as np
import pytest

from redqueen.opponents.league import League
from redqueen.opponents.rules import alike, least_informative
from redqueen.players.scripted import Uniform
from redqueen.players.tabular import TabularPolicy
from redqueen.types import RedQueenError


def league(exploiters=1, bots=(), **settings):
    learner = TabularPolicy()
    return League(learner, [TabularPolicy(name=f"exploiter_{n}") for n in range(exploiters)], bots, **settings)


def grow(pool, player, *versions):
    """Past selves of a player, as if it had made so many updates."""
    for version in versions:
        player.version = version
        pool.add(player.freeze())


def drawn(pool, count=4000):
    rng = Random(3)
    return Counter(pool.draw(rng).name for _ in range(count))


def test_members_are_listed_by_their_roles():
    found = league(exploiters=2, bots=[Uniform()])
    grow(found, found.exploiters[0], 7)
    grow(found, found.learner, 9)
    assert [(member.player.name, member.kind) for member in found.members()] == [
        ("learner", "learner"),
        ("exploiter_0", "exploiter"),
        ("exploiter_1", "exploiter"),
        ("uniform", "fixed"),
        ("learner@0", "past"),
        ("exploiter_0@7", "past exploiter"),
        ("learner@9", "past"),
    ]


def test_the_learner_meets_itself_as_often_as_asked_and_others_by_its_win_rates(met):
    found = league(bots=[Uniform()], current=0.25)
    # win rates: 1/2 against the exploiter who was not met, 3/4 against uniform, 1/4 against the past self
    found.observe([met("learner", "uniform", 1.0), met("learner", "learner@0", -1.0)])
    weights = {"exploiter_0": 0.25, "uniform": 0.0625, "learner@0": 0.5625}
    counts = drawn(found)
    assert counts["learner"] == pytest.approx(1000, abs=110)
    for name, weight in weights.items():
        assert counts[name] == pytest.approx(3000 * weight / 0.875, abs=110)


def test_an_exploiter_meets_the_learner_until_that_is_hopeless(met):
    found = league()
    grow(found, found.learner, 5, 9)
    (exploiter,) = found.exploiters
    assert set(drawn(found.against(exploiter))) == {"learner"}
    found.observe([met("exploiter_0", "learner", -1.0)] * 5)  # 1/2 of 6 matches: below 0.1
    # among past selves those as strong as itself first: p (1 - p) is 1/4 and 0.0475 and 1/4
    found.observe([met("exploiter_0", "learner@5", -1.0)] * 9)
    counts = drawn(found.against(exploiter))
    assert set(counts) == {"learner@0", "learner@5", "learner@9"}
    assert counts["learner@5"] == pytest.approx(4000 * 0.0475 / 0.5475, abs=70)


def test_an_exploiter_has_done_its_work_when_it_wins_or_runs_out_of_patience(met):
    found = league(done_at=0.7, patience=3)
    (exploiter,) = found.exploiters
    assert found.done() == []
    found.observe([met("exploiter_0", "learner", 1.0)])  # 3/4
    assert found.done() == [exploiter]
    grow(found, exploiter, 4)
    found.begin_anew(exploiter)
    assert found.done() == [] and found.payoffs.played("exploiter_0", "learner") == 0.0
    found.observe([])
    found.observe([])
    assert found.done() == []
    found.observe([])
    assert found.done() == [exploiter]


def test_by_rating_a_stranger_is_judged_by_whom_it_met(met):
    counted, rated = (league(exploiters=0, bots=[Uniform()], by_rating=flag, decay=1.0) for flag in (False, True))
    for found in (counted, rated):
        found.observe([met("learner@0", "uniform", 1.0)] * 30 + [met("learner", "learner@0", 1.0)] * 30)
    assert counted.win_rates(counted.learner, ["uniform"])[0] == 0.5  # they never met
    assert rated.win_rates(rated.learner, ["uniform"])[0] > 0.9
    assert drawn(rated)["uniform"] < drawn(counted)["uniform"]


def test_a_full_league_forgets_whom_another_stands_for(met):
    found = league(exploiters=0, capacity=3, weighting=alike())
    grow(found, found.learner, 1, 2)
    found.observe(
        [met("learner", "learner@0", 1.0), met("learner", "learner@2", 1.0), met("learner", "learner@1", -1.0)]
    )
    grow(found, found.learner, 3)  # 0 and 2 fare alike: the older one leaves
    assert found.names() == ["learner", "learner@1", "learner@2", "learner@3"]
    assert set(drawn(found)) == set(found.names())
    assert found.payoffs.played("learner", "learner@0") > 0.0  # what happened stays known


def test_the_least_informative_is_the_older_of_the_two_most_alike():
    rates = np.array([[0.9, 0.5], [0.1, 0.5], [0.2, 0.5], [0.9, 0.4]])
    assert least_informative(rates) == 0  # 0 and 3 differ by 0.05, 1 and 2 by 0.05 too: the oldest pair
    rates[3, 1] = 0.0
    assert least_informative(rates) == 1
    assert least_informative(rates[:1]) == 0


def test_figures_of_a_league(met):
    found = league(exploiters=1, bots=[Uniform()])
    found.observe([met("learner", "uniform", 1.0)] * 9 + [met("learner", "exploiter_0", -1.0)] * 4)
    figures = found.metrics()
    assert figures["win_rate/fixed"] == figures["win_rate/easiest"] == pytest.approx(0.95)
    assert figures["win_rate/exploiter"] == figures["win_rate/hardest"] == pytest.approx(0.1)
    assert figures["win_rate/past"] == figures["win_rate/median"] == 0.5
    assert figures["rating/over_past"] == pytest.approx(0.0, abs=1e-6)  # they never met, directly or by others
    assert figures["league/past"] == 1.0


def test_its_table_shows_who_beats_whom(met):
    found = league(exploiters=0, bots=[Uniform()])
    found.observe([met("learner", "uniform", 1.0)] * 9)
    table = found.table()
    assert table["players"] == ["learner", "learner@0", "uniform"]
    assert table["kinds"] == ["learner", "past", "fixed"]
    assert table["win_rates"][0] == [None, None, pytest.approx(0.95)]
    assert table["win_rates"][2] == [pytest.approx(0.05), None, None]
    assert table["ratings"][0] > 0.0 > table["ratings"][2]


def test_a_league_comes_back_exactly(met):
    def trained():
        return league(exploiters=1, bots=[Uniform()], capacity=4)

    found = trained()
    grow(found, found.learner, 2, 4)
    grow(found, found.exploiters[0], 3)
    found.observe([met("learner", "exploiter_0@3", 1.0), met("learner", "uniform", -1.0)])
    again = trained()
    again.restore(json.loads(json.dumps(found.state())))
    assert again.state() == found.state()
    assert again.names() == found.names()
    assert drawn(again, 300) == drawn(found, 300)
    for pool in (found, again):
        grow(pool, pool.learner, 6)
    assert again.names() == found.names()


def test_a_league_refuses_what_cannot_work():
    found = league()
    with pytest.raises(RedQueenError, match=r"learner\.freeze\(\)"):
        found.add(found.learner)
    with pytest.raises(RedQueenError, match="one past self per version"):
        found.add(found.learner.freeze())  # version 0 is there from the start
    with pytest.raises(RedQueenError, match="cannot take 'stranger@0'"):
        found.add(TabularPolicy(name="stranger").freeze())
    with pytest.raises(RedQueenError, match="distinct names"):
        league(bots=[Uniform(), Uniform()])
    for settings in ({"capacity": 0}, {"current": 1.5}, {"done_at": 0.0}, {"patience": 0}):
        with pytest.raises(RedQueenError):
            league(**settings)
