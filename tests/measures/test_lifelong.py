"""Retention by hand (credit_and_curricula.md 4.5)."""

from math import isnan

import numpy as np
import pytest

from redqueen.measures.lifelong import contrast, retained
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
