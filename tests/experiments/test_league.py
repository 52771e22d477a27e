from random import Random

import numpy as np
import pytest

from experiments.league import ITSELF, POOLS, SHARES, Met, Pooled, Shown, meta_equilibrium, whimsical
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.measures.exact.exploitability import GameTree
from redqueen.measures.exact.known_equilibria import kuhn_equilibrium
from redqueen.players.scripted import Uniform
from redqueen.players.tabular import TabularPolicy
from redqueen.runs.run import Run


def test_the_teacher_bets_with_another_chance_at_every_state():
    states = GameTree(KuhnPoker()).states
    teacher = whimsical(3)
    bets = [float(chances[1]) for chances in teacher.probabilities(states)]
    np.testing.assert_allclose(sorted(bets), np.linspace(0.1, 0.9, 12))
    assert whimsical(3).strategy.keys() == teacher.strategy.keys()
    assert [float(chances[1]) for chances in whimsical(4).probabilities(states)] != bets


def test_what_is_shown_are_the_teachers_moves_in_the_learners_tokens():
    states = GameTree(KuhnPoker()).states
    learner, teacher = TabularPolicy(), whimsical(0)
    said = Shown(learner, teacher).reply(states)
    assert [each.text for each in said] == [each.text for each in teacher.reply(states)]
    assert {(each.player, each.recited) for each in said} == {("learner", True)}


def test_the_equilibrium_among_players_is_of_exact_payoffs():
    """A player at random beside an equilibrium of Kuhn poker: all on the equilibrium, whoever sits first."""
    tree = GameTree(KuhnPoker())
    shares = meta_equilibrium(tree, [Uniform(), kuhn_equilibrium(0.0), Uniform()])
    assert shares.tolist() == pytest.approx([0.0, 1.0, 0.0], abs=1e-3)


@pytest.mark.parametrize("pool", sorted(POOLS))
def test_whom_a_learner_meets_in_each_pool(pool, tmp_path):
    met = Met(Pooled(pool, snapshot_every=1), KuhnPoker(), Run(tmp_path))
    rng = Random(0)
    for number in range(4):
        met.turn(number)
        met.learner.version += 1
        for each in met.exploiters:
            each.version += 1
    found = {met.opponent(met.learner, rng).name.partition("@")[0] for _ in range(200)}
    alone, kept = {"learner"}, {"main exploiter", "league exploiter"}
    assert found == (alone | kept if pool == SHARES else alone)
    versions = {met.opponent(met.learner, rng).name for _ in range(100)}
    assert ("learner" in versions) == (pool in (ITSELF, SHARES))
    if pool == SHARES:
        main, other = met.exploiters
        assert {met.opponent(main, rng).name for _ in range(20)} == alone
        assert "learner" not in {met.opponent(other, rng).name for _ in range(50)}
