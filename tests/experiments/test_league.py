import numpy as np

from experiments.league import Shown, whimsical
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.measures.exact.exploitability import GameTree
from redqueen.players.tabular import TabularPolicy


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
