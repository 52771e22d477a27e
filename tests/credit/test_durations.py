"""Advantages weighted by durations: the card's example of three arms (2.10)."""

import numpy as np
import pytest

from redqueen.credit.durations import weighed_by_duration
from redqueen.types import Ask, Episode, Outcome, RedQueenError, Reply, Seat, Task, Trajectory, Turn

ACTOR = Seat("actor")
CHANCES = np.full(3, 1 / 3)


def pulled(arm, pay, seconds):
    turn = Turn(Ask(ACTOR, ()), Reply(str(arm)))
    outcome = Outcome({ACTOR: pay}, {"durations": {"actor": [seconds]}})
    return Trajectory(Episode("arms", Task("t"), 0, (turn,), outcome, (ACTOR,)), ACTOR, (turn,), np.array([pay]))


# in a window of 10 seconds: ten of arm 0 (1 second, pays .5), ten of arm 1 (.6), one of arm 2 (10 seconds, .8)
WINDOW = [pulled(0, 0.5, 1.0)] * 10 + [pulled(1, 0.6, 1.0)] * 10 + [pulled(2, 0.8, 10.0)]
ARMS = [int(each.turns[0].reply.text) for each in WINDOW]


def gradient(advantages):
    """The sum of A grad log pi on the three logits over what was pulled, over three as the card has it."""
    return sum(float(a[0]) * (np.eye(3)[arm] - CHANCES) for a, arm in zip(advantages, ARMS, strict=True)) / 3


def test_the_weights_are_those_of_the_card():
    weighed = weighed_by_duration(WINDOW, [np.ones(1)] * 21, 100.0)
    assert [float(weighed[at][0]) for at in (0, 10, 20)] == pytest.approx([0.7, 0.7, 7.0])
    capped = weighed_by_duration(WINDOW, [np.ones(1)] * 21, 5.0)
    assert float(capped[20][0]) == 5.0


def test_without_a_baseline_the_weights_turn_the_gradient_to_the_best_arm():
    """The card's figures; its weights are seconds, ours seconds over their mean, 30 / 21."""
    paid = [each.rewards for each in WINDOW]
    naive, weighed = gradient(paid), gradient(weighed_by_duration(WINDOW, paid, 100.0))
    assert naive == pytest.approx([0.355556, 0.688889, -1.044444], abs=1e-6)
    assert weighed * 30 / 21 == pytest.approx([-0.444444, -0.111111, 0.555556], abs=1e-6)


def test_with_a_baseline_the_weights_are_not_needed_for_the_slow_arm():
    mean = np.mean([float(each.rewards[0]) for each in WINDOW])
    centred = [each.rewards - mean for each in WINDOW]
    assert gradient(centred) == pytest.approx([-0.206349, 0.126984, 0.079365], abs=1e-6)


def test_a_game_that_states_no_durations_is_refused_in_one_line():
    silent = Trajectory(
        Episode("arms", Task("t"), 0, WINDOW[0].turns, Outcome({ACTOR: 0.0}), (ACTOR,)),
        ACTOR,
        WINDOW[0].turns,
        np.zeros(1),
    )
    with pytest.raises(RedQueenError, match="'arms' does not say how long actions took, so --weigh-durations has no"):
        weighed_by_duration([silent], [np.ones(1)], 5.0)
    with pytest.raises(RedQueenError, match="1 durations above 0, one for each turn, not"):
        weighed_by_duration([pulled(0, 1.0, 0.0)], [np.ones(1)], 5.0)
