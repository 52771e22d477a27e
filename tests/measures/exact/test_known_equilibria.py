import pytest

from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.measures.exact.exploitability import GameTree
from redqueen.measures.exact.known_equilibria import honest_kuhn, kuhn_equilibrium
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
