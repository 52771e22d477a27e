"""Phases follow one another, and a step knows whether it begins one; a learning rate rises and falls over a run."""

import pytest

from redqueen.schedules import Pace, Phase, Phases, cosine, linear, stepwise
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


def test_a_learning_rate_rises_evenly_and_falls_on_a_line_or_half_a_cosine():
    shares = {
        kind: [Pace(kind, warm_up).at(step, 6) for step in range(6)]
        for kind, warm_up in (("constant", 0), ("constant", 3), ("linear", 2), ("cosine", 2))
    }
    assert shares == {
        "constant": pytest.approx([1 / 3, 2 / 3, 1, 1, 1, 1]),
        "linear": pytest.approx([0.5, 1, 1, 0.75, 0.5, 0.25]),
        # cosines of 0, 45, 90 and 135 degrees
        "cosine": pytest.approx([0.5, 1, 1, (1 + 2**-0.5) / 2, 0.5, (1 - 2**-0.5) / 2]),
    }
    assert [Pace().at(step, 6) for step in range(6)] == [1.0] * 6


def test_the_shapes_are_those_of_transformers_after_the_warm_up():
    from torch import ones
    from torch.optim import SGD
    from transformers import get_cosine_schedule_with_warmup, get_linear_schedule_with_warmup

    for kind, make in (("linear", get_linear_schedule_with_warmup), ("cosine", get_cosine_schedule_with_warmup)):
        optimizer = SGD([ones(1)], lr=1.0)
        scheduler = make(optimizer, num_warmup_steps=4, num_training_steps=20)
        theirs = []
        for _ in range(20):
            theirs += scheduler.get_last_lr()
            optimizer.step()
            scheduler.step()
        assert [Pace(kind, 4).at(step, 20) for step in range(4, 20)] == pytest.approx(theirs[4:])


@pytest.mark.parametrize("steps", [3, 4])
def test_a_warm_up_that_the_run_does_not_outlast_is_refused(steps):
    said = f"^a warm-up of 4 steps is no shorter than the run of {steps}: set --warm-up to {steps - 1} or less"
    with pytest.raises(RedQueenError, match=said):
        Pace("cosine", 4).at(0, steps)
    assert Pace("cosine", 4).at(4, 5) == 1.0


def test_numbers_and_stages_over_a_run_are_those_of_the_cards():
    """SPEAR's gamma for T 100 at 0, 25, 50, 100; AgentGym-RL's [5, 10, 20] over 300 steps (credit_and_curricula.md)."""
    assert [cosine(0.0, 1.0, t / 100) for t in (0, 25, 50, 100)] == pytest.approx([0.0, 0.146447, 0.5, 1.0], abs=1e-6)
    assert [cosine(1.0, 0.0, t / 200) for t in (0, 50, 100, 200)] == pytest.approx([1.0, 0.853553, 0.5, 0.0], abs=1e-6)
    assert [stepwise((5, 10, 20), step / 300) for step in (0, 99, 100, 199, 200, 299, 300)] == [
        5,
        5,
        10,
        10,
        20,
        20,
        20,
    ]
    assert [linear(0.2, 0.4, share) for share in (0.0, 0.5, 1.0)] == pytest.approx([0.2, 0.3, 0.4])


def test_a_schedule_past_its_end_is_refused():
    for schedule in (lambda at: linear(0.0, 1.0, at), lambda at: cosine(0.0, 1.0, at), lambda at: stepwise((1,), at)):
        with pytest.raises(RedQueenError, match="past its end"):
            schedule(1.01)
