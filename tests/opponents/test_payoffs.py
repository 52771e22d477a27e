import json
from random import Random

import numpy as np
import pytest

from redqueen.games.tic_tac_toe import TicTacToe
from redqueen.opponents.payoffs import Payoffs, bradley_terry
from redqueen.play.lockstep import play
from redqueen.players.scripted import Uniform
from redqueen.records import episode_from_json, episode_to_json
from redqueen.types import Match, RedQueenError, Reply, Seat, Task


@pytest.fixture
def counted(met):
    def count(results, decay=1.0, learning=()):
        payoffs = Payoffs(decay)
        for batch in results:
            payoffs.observe([met(*each) for each in batch], {"a", "b", "c"}, learning)
        return payoffs

    return count


def test_win_rates_are_those_of_one_drawn_match_and_all_that_were_played(counted):
    payoffs = counted([[("a", "b", 1.0), ("b", "a", -2.0), ("a", "b", 0.0), ("a", "stranger", 1.0)]])
    assert payoffs.played("a", "b") == payoffs.played("b", "a") == 3.0
    assert payoffs.win_rate("a", "b") == pytest.approx(3.0 / 4.0)  # two won, one drawn, and the half at the start
    assert payoffs.win_rate("b", "a") == pytest.approx(1.0 / 4.0)
    assert payoffs.win_rate("a", "c") == payoffs.win_rate("a", "stranger") == 0.5
    np.testing.assert_allclose(payoffs.matrix(["b", "c"], ["a", "b"]), [[0.25, 0.5], [0.5, 0.5]])


def test_only_the_results_of_those_who_learn_fade(counted):
    payoffs = counted([[("a", "b", 1.0)] * 4, [("b", "c", 1.0)] * 4, []], decay=0.5, learning={"a"})
    assert payoffs.played("a", "b") == 1.0  # twice halved
    assert payoffs.played("b", "c") == 4.0


def test_strengths_are_those_of_bradley_and_terry(counted):
    # two players: nine of ten with the drawn match make 9.5 of 11, so the odds are 9.5 to 1.5
    payoffs = counted([[("a", "b", 1.0)] * 9 + [("a", "b", -1.0)]])
    one, other = payoffs.strengths(["a", "b"])
    assert one - other == pytest.approx(np.log(9.5 / 1.5))
    assert one + other == pytest.approx(0.0)


def test_players_who_never_met_are_placed_by_those_they_both_met(counted):
    payoffs = counted([[("a", "b", 1.0)] * 20 + [("b", "c", 1.0)] * 20])
    strengths = payoffs.strengths(["a", "b", "c"])
    assert strengths[0] > strengths[1] > strengths[2]
    assert payoffs.win_rate("a", "c") == 0.5
    # the likelihood's gradient is zero: each one's wins are as many as its strengths expect
    for number, name in enumerate("abc"):
        won = expected = 0.0
        for against, other in enumerate("abc"):
            if other != name:
                count = payoffs.played(name, other) + 1.0
                won += payoffs.win_rate(name, other) * count
                expected += count / (1.0 + np.exp(strengths[against] - strengths[number]))
        assert won == pytest.approx(expected, abs=0.05)


def test_strengths_follow_the_counts(counted, met):
    payoffs = counted([[("a", "b", 1.0)] * 3])
    before = payoffs.strengths("ab")
    assert payoffs.strengths("ab") is before  # nothing has changed
    payoffs.observe([met("b", "a", 1.0)] * 3, {"a", "b"}, ())
    np.testing.assert_allclose(payoffs.strengths("ab"), 0.0, atol=1e-9)
    state = payoffs.state()
    payoffs.drop("b")
    payoffs.observe([met("a", "b", 1.0)], {"a", "b"}, ())
    assert payoffs.strengths("ab")[0] > 0.0
    payoffs.restore(state)
    np.testing.assert_allclose(payoffs.strengths("ab"), 0.0, atol=1e-9)


def test_who_is_forgotten_is_as_if_never_met(counted):
    payoffs = counted([[("a", "b", 1.0), ("b", "c", 1.0), ("a", "c", 1.0)]])
    payoffs.drop("c")
    assert payoffs.played("b", "c") == payoffs.played("a", "c") == 0.0
    assert payoffs.played("a", "b") == 1.0
    payoffs.keep({"a"})
    assert payoffs.played("a", "b") == 0.0


def test_the_matrix_comes_back_exactly(counted):
    payoffs = counted([[("a", "b", 1.0)] * 3, [("b", "c", -1.0)]], decay=0.7, learning={"a"})
    again = Payoffs(0.7)
    again.restore(json.loads(json.dumps(payoffs.state())))
    assert again.state() == payoffs.state()
    np.testing.assert_array_equal(again.strengths("abc"), payoffs.strengths("abc"))


def test_a_decay_beyond_one_is_refused():
    with pytest.raises(RedQueenError, match="between 0 and 1"):
        Payoffs(1.5)


@pytest.mark.parametrize(
    ("count", "deals", "elo"),
    [(4, 100, (1074, 342, -342, -1074)), (8, 1000, (3144, 2161, 1271, 420, -420, -1271, -2161, -3144))],
)
def test_players_of_whom_each_beats_all_below_lie_symmetrically(count, deals, elo):
    """By scipy's maximum of the likelihood with a draw of each pair."""
    played = (deals + 1.0) * (1.0 - np.eye(count))
    won = np.array([(count - 1 - place) * deals + 0.5 * (count - 1) for place in range(count)])
    found = bradley_terry(won, played)
    assert np.round(400.0 / np.log(10.0) * found) == pytest.approx(elo)
    assert found == pytest.approx(-found[::-1], abs=1e-9)


def test_strengths_meet_what_was_won_whatever_was_drawn():
    rng = np.random.default_rng(0)
    played = np.triu(rng.integers(1, 60, (50, 6, 6)), 1).astype(float)
    wins = rng.binomial(played.astype(int), rng.random((50, 6, 6))).astype(float) + 0.5 * (played > 0)
    lost = played + (played > 0) - wins
    both = played + (played > 0)
    both, won = both + both.transpose(0, 2, 1), wins.sum(axis=2) + lost.sum(axis=1)
    found = bradley_terry(won, both)
    chances = 1.0 / (1.0 + np.exp(found[:, None, :] - found[:, :, None]))
    assert (both * chances).sum(axis=2) == pytest.approx(won, abs=1e-8)
    assert found.mean(axis=1) == pytest.approx(0.0, abs=1e-12)


class Breaks:
    """Breaks the rules at once as first, and takes the first choice as second."""

    name = "breaks"

    def reply(self, asks):
        return [Reply("no move" if ask.seat.role == "first" else ask.choices[0], self.name) for ask in asks]


def test_who_never_came_to_speak_is_counted_too():
    game, other = TicTacToe(), Uniform()
    matches = [
        Match(game, Task("board"), cast)
        for cast in ({"first": Breaks(), "second": other}, {"first": other, "second": Breaks()})
        for _ in range(3)
    ]
    episodes = play(matches, Random(0))
    assert [each.silent for each in episodes[:3]] == [((Seat("second"), "uniform"),)] * 3
    assert episode_from_json(json.loads(json.dumps(episode_to_json(episodes[0])))).silent == episodes[0].silent
    payoffs = Payoffs()
    payoffs.observe(episodes, {"breaks", "uniform"}, set())
    assert payoffs.played("breaks", "uniform") == 6.0
    assert payoffs.win_rate("breaks", "uniform") <= 0.5
