"""Phases follow one another, and a step knows whether it begins one."""

import pytest

from redqueen.schedules import Phase, Phases
from redqueen.types import RedQueenError


def test_phases_follow_one_another_round_after_round():
    phases = Phases({"challenger": 2, "solver": 3})
    found = [phases.at(step) for step in range(7)]
    assert [each.name for each in found] == ["challenger"] * 2 + ["solver"] * 3 + ["challenger"] * 2
    assert [each.first for each in found] == [True, False, True, False, False, True, False]
    assert phases.at(5_000_002) == Phase("solver", first=True)


def test_a_phase_of_no_steps_is_left_out():
    phases = Phases({"challenger": 0, "solver": 2})
    assert [phases.at(step) for step in range(3)] == [Phase("solver", number != 1) for number in range(3)]


@pytest.mark.parametrize("steps", [{}, {"solver": 0}, {"challenger": -1, "solver": 2}])
def test_phases_of_no_steps_at_all_are_refused(steps):
    with pytest.raises(RedQueenError, match="phases take 0 steps or more, and at least one of them 1 or more"):
        Phases(steps)
