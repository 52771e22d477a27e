"""R-Zero: the challenger's reward by hand, and rounds in which one learns while the other stands still."""

import pytest

from redqueen.checks.votes import Vote
from redqueen.recipes.proposers import r_zero
from redqueen.recipes.proposers.r_zero import challenge
from redqueen.runs.run import Run, Schedule, read_metrics
from redqueen.settings.learner import Learner
from redqueen.types import RedQueenError, Refusal, Task

ALIKE = "what is seven plus eight"
TASKS = [Task(f"q{n}", prompt=ALIKE) for n in range(3)] + [Task("q3", prompt="name the largest of all primes")]


@pytest.mark.parametrize(
    ("share", "as_coded", "alike", "alone"),
    [(0.5, False, 0.25, 0.75), (0.8, False, 0.0, 0.15), (0.5, True, -0.25, 0.25), (0.8, True, -0.55, -0.05)],
)
def test_uncertainty_is_paid_and_repetition_costs(share, as_coded, alike, alone):
    rewards = challenge(TASKS, [Vote("15", share, 10, 10)] * 4, as_coded)
    assert rewards == pytest.approx([alike] * 3 + [alone])


def test_no_question_earns_nothing_and_in_the_code_less_than_nothing():
    written = [*TASKS[2:], Refusal("malformed"), Refusal("malformed")]
    votes = [Vote("15", 0.5, 10, 10)] * 2
    assert challenge(written, votes, False) == pytest.approx([0.75, 0.75, 0.0, 0.0])
    assert challenge(written, votes, True) == pytest.approx([0.25, 0.25, -1.5, -1.5])


TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=4)


def lines(folder, **changes):
    challenging = {} if "challenger" in changes else {"challenger_steps": 2, "proposals": 4}
    config = r_zero.Config(learner=TINY, steps=6, solver_steps=2, questions=4, problems=2, **challenging, **changes)
    r_zero.train(config, Run(folder, 0, Schedule(100, 100, record_episodes=0)))
    return read_metrics(folder)


def test_challenger_and_solver_take_turns(tmp_path):
    found = [[name for name in ("loss", "challenger/loss") if name in line] for line in lines(tmp_path)]
    assert found == [["challenger/loss"]] * 2 + [["loss"]] * 2 + [["challenger/loss"]] * 2


def test_a_challenger_that_stands_still_leaves_all_steps_to_the_solver(tmp_path):
    found = lines(tmp_path, challenger="frozen")
    assert all("loss" in line and "challenger/loss" not in line for line in found)
    assert [line["step"] for line in found if "labels" in line] == [0, 2, 4]


def test_one_model_for_both_roles_is_refused_in_one_line(tmp_path):
    with pytest.raises(RedQueenError, match="a challenger of its own"):
        lines(tmp_path, challenger="shared")
