"""The correlation of ranks against answers by hand, and which prompts it is of."""

from math import isnan
from random import Random

import numpy as np
import pytest

from experiments.eva import FORETOLD, spearman, unseen
from redqueen.demonstrations.apart import drawn_apart, shows
from redqueen.questions.small.growing import Growing


def test_ranks_in_the_same_order_correlate_fully_whatever_the_values():
    assert spearman(np.array([1.0, 2.0, 30.0]), np.array([-5.0, 0.0, 0.1])) == pytest.approx(1.0)
    assert spearman(np.array([1.0, 2.0, 30.0]), np.array([5.0, 0.0, -0.1])) == pytest.approx(-1.0)


def test_equal_values_share_their_rank():
    # ranks 0, 1.5, 1.5, 3 beside 0, 1, 2, 3: covariance 4.5, squares 4.5 and 5
    found = spearman(np.array([1.0, 2.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0, 4.0]))
    assert found == pytest.approx(4.5 / (4.5 * 5.0) ** 0.5)


def test_what_has_no_spread_correlates_with_nothing():
    assert isnan(spearman(np.array([1.0, 1.0]), np.array([1.0, 2.0])))


def test_what_info_foretells_is_asked_of_prompts_that_the_start_is_not_shown():
    assert FORETOLD.measured is unseen
    apart = unseen(None, 3)
    prompts = {task.prompt for tasks in apart.values() for task in tasks}
    assert apart.keys() == set(Growing().levels) and apart != unseen(None, 4)
    held, rng = shows(Growing(), apart), Random(0)
    shown = drawn_apart(lambda count: Growing().demonstrations(count, rng), 500, held)
    assert not prompts & {each.task.prompt for each in shown}
