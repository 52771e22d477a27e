import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import pytest

from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.games.talk import ask, told
from redqueen.measures.exact.known_equilibria import honest_kuhn, kuhn_equilibrium
from redqueen.measures.tournament import HEADINGS, Tally, tournament
from redqueen.players.scripted import Constant, Uniform
from redqueen.protocols import Play
from redqueen.types import Outcome, RedQueenError, Seat, Task

FIRST, SECOND = Seat("first"), Seat("second")


@dataclass(frozen=True)
class HigherWord:
    """Both say a number and the seat with the higher one takes the difference; the first seat is given `gift`,
    and chance throws in a coin that is the same for the same seed."""

    gift: float = 0.0
    coin: float = 0.0
    name: str = "higher_word"
    roles: tuple[str, ...] = ("first", "second")

    def tasks(self) -> Sequence[Task]:
        return [Task("only")]

    def play(self, task: Task, rng: Random) -> Play:
        first = yield from ask(FIRST, told("a number?"))
        second = yield from ask(SECOND, told("a number?"))
        score = int(first) - int(second) + self.gift + self.coin * rng.choice((-1.0, 1.0))
        return Outcome({FIRST: score, SECOND: -score})


THREE = [Constant("1", "one"), Constant("5", "five"), Constant("3", "three")]


def test_the_better_player_stands_first_with_its_mean_score():
    standings = tournament(HigherWord(), THREE, 4, seed=0)
    assert [standing.player for standing in standings.players] == ["five", "three", "one"]
    assert [standing.score.mean for standing in standings.players] == [3.0, 0.0, -3.0]
    assert standings.between("five", "one").score.mean == 4.0
    assert standings.between("one", "five").score.mean == -4.0
    assert len(standings.pairings) == 6
    assert standings.players[0].tally == Tally(matches=8, won=8, drawn=0, lost=0, forfeited=0, given=0)
    assert standings.players[1].tally == Tally(matches=8, won=4, drawn=0, lost=4, forfeited=0, given=0)


def test_the_advantage_of_a_seat_cancels_and_is_shown():
    pairing = tournament(HigherWord(gift=10.0), THREE, 4, seed=0).between("one", "five")
    assert pairing.score.mean == -4.0
    assert pairing.by_role == {"first": 6.0, "second": -14.0}
    assert (pairing.tally.won, pairing.tally.lost) == (2, 2)


def test_chance_is_shared_by_the_two_seatings_and_cancels_with_them():
    standings = tournament(HigherWord(coin=100.0), THREE, 20, seed=0)
    assert standings.between("five", "one").score.mean == 4.0
    again = tournament(HigherWord(coin=100.0), THREE, 20, seed=0)
    assert again == standings


def test_equal_players_draw():
    standings = tournament(HigherWord(), [Constant("2", "a"), Constant("2", "b")], 6, seed=0)
    assert standings.between("a", "b").tally == Tally(matches=6, won=0, drawn=6, lost=0, forfeited=0, given=0)


def test_forfeits_are_counted_apart():
    players = [Constant("nonsense"), Uniform()]
    standings = tournament(KuhnPoker(), players, 12, seed=0)
    pairing = standings.between("constant", "uniform")
    assert pairing.score.mean == -2.0
    assert pairing.tally == Tally(matches=12, won=0, drawn=0, lost=0, forfeited=12, given=0)
    assert standings.between("uniform", "constant").tally.given == 12


@pytest.mark.slow
def test_kuhn_players_meet_as_theory_says():
    standings = tournament(KuhnPoker(), [Uniform(), honest_kuhn(), kuhn_equilibrium(1.0 / 3.0)], 4000, seed=1)
    against_uniform = standings.between("kuhn_equilibrium(0.333)", "uniform").score
    assert against_uniform.low < 1 / 6 < against_uniform.high
    tie = standings.between("honest_kuhn", "kuhn_equilibrium(0.333)").score
    assert tie.low < 0.0 < tie.high


def test_the_table_has_a_row_for_each_player_under_the_headings():
    table = tournament(HigherWord(), THREE, 4, seed=0).table()
    assert table[0] == ("five", "8", "+3.000", "too few deals", "8", "0", "0", "0", "0")
    assert all(len(row) == len(HEADINGS) for row in table)


def test_the_payoff_matrix_has_means_with_intervals_and_nothing_with_itself():
    """An equilibrium of Kuhn poker earns 1/6 from uniform play, as above."""
    players = [Uniform(), honest_kuhn(), kuhn_equilibrium(1.0 / 3.0)]
    standings = tournament(KuhnPoker(), players, 400, seed=1)
    scores, widths = standings.scores(), standings.widths()
    np.testing.assert_allclose(scores, -scores.T)  # of a zero-sum game
    np.testing.assert_allclose(widths, widths.T)
    one, other = standings.names().index("kuhn_equilibrium(0.333)"), standings.names().index("uniform")
    assert abs(scores[one, other] - 1 / 6) < widths[one, other]
    headings, rows = standings.matrix()
    assert headings == ["against", "1", "2", "3"]
    assert rows[one][0] == f"{one + 1} kuhn_equilibrium(0.333)" and rows[one][one + 1] == ""
    assert rows[one][other + 1] == f"{scores[one, other]:+.3f}\n±{widths[one, other]:.3f}"


def test_where_the_deals_are_too_few_the_matrix_says_so():
    standings = tournament(HigherWord(), THREE, 4, seed=0)
    assert standings.matrix()[1][0] == ("1 five", "", "+2.000\n?", "+4.000\n?")


@pytest.mark.parametrize(
    ("players", "matches", "line"),
    [
        (THREE[:1], 2, "at least two players"),
        ([THREE[0], THREE[0]], 2, "different names, not one, one"),
        (THREE, 3, "must be even"),
        (THREE, 0, "must be even"),
    ],
)
def test_a_tournament_that_cannot_be_played_is_refused(players, matches, line):
    with pytest.raises(RedQueenError, match=line):
        tournament(HigherWord(), players, matches, seed=0)


def test_a_game_without_two_roles_is_refused():
    with pytest.raises(RedQueenError, match="two roles; higher_word has 1"):
        tournament(HigherWord(roles=("team",)), THREE, 2, seed=0)


def test_players_who_did_not_meet_are_named():
    with pytest.raises(RedQueenError, match="'one' did not meet 'ten'"):
        tournament(HigherWord(), THREE, 2, seed=0).between("one", "ten")


@dataclass(frozen=True)
class Generous:
    """Both seats always score, the stronger one more."""

    name: str = "generous"
    roles: tuple[str, ...] = ("first", "second")

    def tasks(self):
        return [Task(str(n)) for n in range(4)]

    def play(self, task, rng):
        first, second = Seat("first"), Seat("second")
        one = yield from ask(first, told("How much?"), ("1", "2"))
        two = yield from ask(second, told("How much?"), ("1", "2"))
        luck = rng.random()
        return Outcome({first: 2.0 + float(one) + luck, second: 2.0 + float(two) - luck})


def test_beating_is_a_matter_of_the_margin_and_not_of_the_score():
    players = [Constant("2", "strong"), Constant("1", "weak")]
    standings = tournament(Generous(), players, 40, seed=3)
    assert standings.scores()[1, 0] > 0.0  # the weaker one scores too
    assert standings.beats().tolist() == [[False, True], [False, False]]


def test_one_deal_makes_nobody_sure():
    standings = tournament(Generous(), [Constant("2", "strong"), Constant("1", "weak")], 2, seed=3)
    assert not standings.beats().any()
    assert standings.players[0].score.low == -math.inf
