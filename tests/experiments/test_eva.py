"""The correlation of ranks, against answers by hand."""

from math import isnan

import numpy as np
import pytest

from experiments.eva import spearman


def test_ranks_in_the_same_order_correlate_fully_whatever_the_values():
    assert spearman(np.array([1.0, 2.0, 30.0]), np.array([-5.0, 0.0, 0.1])) == pytest.approx(1.0)
    assert spearman(np.array([1.0, 2.0, 30.0]), np.array([5.0, 0.0, -0.1])) == pytest.approx(-1.0)


def test_equal_values_share_their_rank():
    # ranks 0, 1.5, 1.5, 3 beside 0, 1, 2, 3: covariance 4.5, squares 4.5 and 5
    found = spearman(np.array([1.0, 2.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0, 4.0]))
    assert found == pytest.approx(4.5 / (4.5 * 5.0) ** 0.5)


def test_what_has_no_spread_correlates_with_nothing():
    assert isnan(spearman(np.array([1.0, 1.0]), np.array([1.0, 2.0])))
