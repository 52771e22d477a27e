from random import Random

import numpy as np
import pytest

from redqueen.questions.small.matchups import TABLES, Matchups, exploitability
from redqueen.types import RedQueenError


@pytest.mark.parametrize("table", TABLES)
def test_nothing_beats_the_equilibrium(table):
    domain = Matchups(table)
    assert domain.equilibrium.sum() == pytest.approx(1.0)
    assert exploitability(domain.wins, domain.equilibrium) == pytest.approx(0.0, abs=1e-12)
    assert np.allclose(domain.wins + domain.wins.T, 1.0)


def test_exploitability_by_hand():
    circle = Matchups("rock_paper_scissors")
    assert exploitability(circle.wins, np.array([1.0, 0.0, 0.0])) == 0.5
    assert exploitability(circle.wins, np.array([0.5, 0.5, 0.0])) == 0.25  # paper wins half of its games and draws half
    biased = Matchups("biased")
    assert exploitability(biased.wins, np.full(4, 0.25)) == pytest.approx((0.5 + 0.9 + 0.2 + 0.95) / 4 - 0.5)


def test_the_oracle_knows_the_table_or_draws_from_it():
    (task,) = Matchups().problems("matchup", 1, Random(0))
    assert Matchups().oracle([task], ["a"], ["b"], Random(0)).tolist() == [0.9]
    drawn = Matchups(labels=True).oracle([task] * 2000, ["a"] * 2000, ["b"] * 2000, Random(0))
    assert set(drawn.tolist()) == {0.0, 1.0}
    assert drawn.mean() == pytest.approx(0.9, abs=0.03)


def test_what_does_not_fit_is_refused():
    with pytest.raises(RedQueenError, match="the tables are rock_paper_scissors, biased, transitive"):
        Matchups("chess")
    with pytest.raises(RedQueenError, match="labels=true"):
        Matchups(noise=0.2)
