"""The warm start of R-Zero is shown right answers more often than wrong ones, at every length."""

from random import Random

import pytest

from redqueen.bench.r_zero import WARM, mostly_right
from redqueen.domains.catalogue import demonstrator, find_domain


def test_the_warm_start_names_this_domain():
    assert find_domain(WARM.domain) == mostly_right()


@pytest.mark.parametrize(("digits", "least"), [(1, 0.8), (2, 0.7), (3, 0.65)])
def test_demonstrations_are_right_at_least_as_often_as_they_carry(digits, least):
    domain = mostly_right()
    shown = [one for one in demonstrator(domain).demonstrations(6000, Random(0)) if one.role == "solver"]
    chosen = [one for one in shown if one.task.facts["digits"] == digits]
    right = domain.right([one.task for one in chosen], [one.text for one in chosen])
    assert sum(right) / len(right) > least - 0.03  # a sum without a carry is right either way
