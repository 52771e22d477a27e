from random import Random

import numpy as np
import pytest

from redqueen.domains.matchups import Matchups
from redqueen.players.tabular import TabularPolicy
from redqueen.rollout.comparisons import contested
from redqueen.rollout.lockstep import play
from redqueen.rollout.matchmaking import alone
from redqueen.rollout.questions import SOLVE, said

DOMAIN = Matchups("transitive")
WINS = dict(zip(("good", "fair", "poor"), DOMAIN.wins, strict=True))


def attempts(times, tasks=2):
    return play(alone(SOLVE, [DOMAIN.task()] * tasks, TabularPolicy(), times), Random(0))


@pytest.mark.parametrize("beside_itself", [False, True])
def test_scores_are_the_shares_of_comparisons_won(beside_itself):
    played = attempts(4)
    found = contested(DOMAIN.oracle, played, 4, Random(0), beside_itself)
    names = ["good", "fair", "poor"]
    for start in (0, 4):
        texts = said(played[start : start + 4])
        table = np.array([[DOMAIN.wins[names.index(a), names.index(b)] for b in texts] for a in texts])
        expected = table.mean(axis=1) if beside_itself else (table.sum(axis=1) - 0.5) / 3
        scores = [sum(each.outcome.scores.values()) for each in found[start : start + 4]]
        assert scores == pytest.approx(expected)


def test_what_nobody_can_compare_is_left_out():
    assert contested(DOMAIN.oracle, attempts(1), 1, Random(0)) == []
    assert len(contested(DOMAIN.oracle, attempts(1), 1, Random(0), beside_itself=True)) == 2
