import pytest

from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.measures.exact.exploitability import GameTree
from redqueen.measures.exact.known_equilibria import (
    honest_kuhn,
    kuhn_bets,
    kuhn_equilibrium,
    kuhn_states,
    nearest_alpha,
)
from redqueen.types import RedQueenError

TREE = GameTree(KuhnPoker())


@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.25, 1.0 / 3.0])
def test_every_member_of_the_family_is_an_equilibrium_worth_minus_one_eighteenth(alpha):
    strategy = TREE.strategy(kuhn_equilibrium(alpha))
    assert TREE.nash_conv(strategy) == pytest.approx(0.0, abs=1e-12)
    assert TREE.values(strategy) == pytest.approx([-1 / 18, 1 / 18])


def test_an_honest_player_ties_an_equilibrium_player_and_yet_can_be_exploited():
    honest = TREE.strategy(honest_kuhn())
    assert TREE.nash_conv(honest) == pytest.approx(0.5)
    for alpha in (0.0, 0.2, 1.0 / 3.0):
        equilibrium = TREE.strategy(kuhn_equilibrium(alpha))
        honest_first = {ask: (honest if ask.seat.role == "first" else equilibrium)[ask] for ask in TREE.states}
        honest_second = {ask: (honest if ask.seat.role == "second" else equilibrium)[ask] for ask in TREE.states}
        mean = (TREE.values(honest_first)[0] + TREE.values(honest_second)[1]) / 2
        assert mean == pytest.approx(0.0, abs=1e-12)


def test_an_alpha_outside_the_family_is_refused():
    for alpha in (-0.01, 0.34, float("nan")):
        with pytest.raises(RedQueenError, match="alpha must lie between 0 and 1/3"):
            kuhn_equilibrium(alpha)


def test_the_family_of_kuhn_equilibria_runs_from_no_bluff_to_one_in_three():
    """Kuhn (1950): with alpha the first seat bets the jack, with 3 alpha the king, and calls with the queen with alpha
    + 1/3; all else is fixed."""
    states = kuhn_states()
    assert len(states) == 12 and str(states[0].seat) == "first" and "jack" in states[0].messages[-1].text
    least, most = kuhn_bets(0.0), kuhn_bets(1.0 / 3.0)
    moved = {(str(ask.seat), round(least[ask], 3), round(most[ask], 3)) for ask in states if least[ask] != most[ask]}
    assert moved == {("first", 0.0, 0.333), ("first", 0.0, 1.0), ("first", 0.333, 0.667)}


@pytest.mark.parametrize("alpha", [0.0, 0.1, 1.0 / 3.0])
def test_the_nearest_equilibrium_to_one_is_itself(alpha):
    assert nearest_alpha(kuhn_bets(alpha)) == pytest.approx(alpha)


def test_the_nearest_equilibrium_is_the_least_squares_one_and_stays_in_the_family():
    half = dict.fromkeys(kuhn_states(), 0.5)
    # (a - 1/2)^2 + (3 a - 1/2)^2 + (a + 1/3 - 1/2)^2 is least at a = (1/2 + 3/2 + 1/6) / 11
    assert nearest_alpha(half) == pytest.approx((0.5 + 1.5 + 1.0 / 6.0) / 11.0)
    assert nearest_alpha(dict.fromkeys(kuhn_states(), 1.0)) == pytest.approx(1.0 / 3.0)
    assert nearest_alpha(dict.fromkeys(kuhn_states()[-1:], 0.2)) == 0.0  # a state that is the same in all
