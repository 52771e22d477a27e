"""Retention by hand (credit_and_curricula.md 4.5)."""

from math import isnan

import numpy as np
import pytest

from redqueen.measures.lifelong import Curve, contrast, relative_performance, retained, sample_efficiency
from redqueen.types import RedQueenError


def test_by_hand():
    """A ends its learning at .8 and is .7 and .6 later; B, .2 before anything, is .4 after A was learned."""
    first, second, third = retained(np.array([[0.3, 0.2, 0.0], [0.8, 0.4, 0.0], [0.7, 0.9, 0.1], [0.6, 0.9, 0.5]]))
    assert first.maintenance == pytest.approx(-0.15)
    assert second.forward == pytest.approx(1 / 3) and second.maintenance == pytest.approx(0.0)
    assert contrast(0.7, 0.6) == pytest.approx(-0.076923, abs=1e-6)
    assert first.backward == pytest.approx((contrast(0.8, 0.7) + contrast(0.7, 0.6)) / 2)
    assert third.gain == pytest.approx(0.4) and third.forward == pytest.approx((0.0 + 1.0) / 2)
    assert isnan(first.forward) and isnan(third.maintenance) and isnan(third.backward)


@pytest.mark.parametrize(
    ("table", "complaint"), [(np.zeros((2, 2)), r"\[n \+ 1, n\]"), (np.array([[0.5], [-0.1]]), "from 0 to 1")]
)
def test_what_is_no_sequence_is_refused(table, complaint):
    with pytest.raises(RedQueenError, match=complaint):
        retained(table)


def test_beside_an_expert_by_hand():
    steps = np.array([10.0, 20.0, 30.0, 40.0])
    own, expert = Curve(steps, np.array([0.2, 0.4, 0.6, 0.7])), Curve(steps, np.array([0.1, 0.3, 0.6, 0.9]))
    assert relative_performance(own, expert) == pytest.approx(1.0)
    early = Curve(np.array([20.0, 40.0, 60.0]), np.array([0.1, 0.9, 0.8]))
    late = Curve(np.array([25.0, 50.0, 75.0]), np.array([0.3, 0.8, 0.8]))
    assert sample_efficiency(late, early) == pytest.approx(0.711111, abs=1e-6)  # (.8 / .9) (40 / 50)
    assert late.saturation(window=2) == pytest.approx((0.8, 75.0))
    assert early.saturation(window=9) == pytest.approx((0.6, 60.0))  # the mean of all


def test_an_expert_is_read_between_its_measurements():
    expert = Curve(np.array([0.0, 40.0]), np.array([0.0, 0.8]))
    own = Curve(np.array([0.0, 10.0, 20.0]), np.array([0.0, 0.1, 0.2]))
    assert relative_performance(own, expert) == pytest.approx(0.3 / (0.2 + 0.4))
    with pytest.raises(RedQueenError, match="from 20 episodes, and what is compared with it from 40: train it"):
        relative_performance(expert, own)
    nothing = Curve(np.array([0.0, 40.0]), np.zeros(2))
    assert isnan(relative_performance(own, nothing)) and isnan(sample_efficiency(own, nothing))


@pytest.mark.parametrize("experiences", [[], [1.0], [2.0, 1.0]])
def test_what_is_no_curve_is_refused(experiences):
    with pytest.raises(RedQueenError, match="these rise"):
        Curve(np.array(experiences), np.zeros(2 if experiences else 0))
