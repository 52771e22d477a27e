"""SEC: what an arm is worth, and arms that rise as they come within reach."""

from random import Random

import numpy as np
import pytest

from redqueen.credit.advantages.keys import by_group
from redqueen.credit.advantages.statistics import GroupRelative, LeaveOneOut
from redqueen.credit.group_rewards import correct
from redqueen.credit.rewards import score
from redqueen.curricula.bandit import SelfEvolving
from redqueen.curricula.levels import level_of, levels_of
from redqueen.play.groups import attempts, with_facts
from redqueen.players.scripted import Constant
from redqueen.questions.asking import SOLVE
from redqueen.questions.small.sums import Sums
from redqueen.recipes.curricula import sec
from redqueen.runs.run import Run, Schedule, read_metrics
from redqueen.settings.learner import Learner
from redqueen.settings.update import Update

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=8)


def arms():
    return SelfEvolving(levels_of(Sums(digits=2)), level_of)


def attempted(curriculum, level, right):
    """Eight attempts at one problem of a level, so many of them right."""
    tasks = curriculum.arms[level].draw(1, Random(0))
    tries = attempts(SOLVE, tasks, Constant("x"), 8, Random(0))
    return score(with_facts(tries, [{"right": place < right} for place in range(8)]), correct)


@pytest.mark.parametrize(("right", "worth"), [(0, 0.0), (1, 0.618718), (4, 0.935414), (8, 0.0)])
def test_an_arm_is_worth_the_mean_absolute_advantage_of_its_attempts(right, worth):
    """By hand, G = 8: 2 p (1 - p) / sqrt(8/7 p (1 - p)), with p the share of right attempts."""
    curriculum = arms()
    trajectories = attempted(curriculum, "2_digits", right)
    curriculum.observe_advantages(trajectories, GroupRelative(by_group)(trajectories))
    assert curriculum.values == pytest.approx({"1_digits": 0.0, "2_digits": 0.5 * worth}, abs=1e-5)


def test_with_leave_one_out_the_worth_has_the_scale_of_the_reward():
    trajectories = attempted(arms(), "1_digits", 4)
    # 8/7 of the distance to the mean, which is 1/2
    assert np.abs(np.concatenate(LeaveOneOut(by_group)(trajectories))).mean() == pytest.approx(4 / 7)


def test_the_vector_of_the_cards():
    """Q = .2, alpha = .5, r = .868 gives .534; with another arm at 0 and tau = .4 the chances are .7917 and .2083."""
    curriculum = SelfEvolving(levels_of(Sums(digits=2)), level_of, step_size=0.5, temperature=0.4)
    curriculum.values["1_digits"] = 0.2
    curriculum.credit("1_digits", 0.868)
    assert curriculum.values["1_digits"] == pytest.approx(0.534)
    assert list(curriculum.chances().values()) == pytest.approx([0.7917, 0.2083], abs=1e-4)


def lines(folder, **changes):
    settings = {"learner": TINY, "steps": 3, "tasks": 4, "attempts": 2, "problems": 2}
    sec.train(
        sec.Config(**settings | {"truncated_score": "graded"} | changes),
        Run(folder, 0, Schedule(100, 100, record_episodes=0)),
    )
    return read_metrics(folder)


def test_a_step_in_which_nothing_is_right_goes_on_and_leaves_the_arms_alone(tmp_path):
    for line in lines(tmp_path):
        assert line["episodes"] == 8.0
        assert line["gradient_norm"] == 0.0
        assert line["bandit/value/1_digits"] == 0.0
        assert line["bandit/chance/4_digits"] == pytest.approx(0.25)


def test_a_high_temperature_draws_all_arms_alike_whatever_they_are_worth(tmp_path):
    (line, *_) = lines(tmp_path, tau=1e9, start=0.9, update=Update(estimator="leave-one-out"))
    assert [line[f"bandit/chance/{n}_digits"] for n in (1, 2, 3, 4)] == pytest.approx([0.25] * 4)


COIN = """
from redqueen.questions.small.sums import Sums

class Coin(Sums):
    def right(self, tasks, answers):
        return [number % 2 == 0 for number in range(len(answers))]
"""


def test_the_arms_that_were_drawn_learn_what_their_problems_were_worth(tmp_path):
    """One of two attempts is right: A = +-.7071, and half of that is the first step of an arm from 0."""
    (tmp_path / "coin.py").write_text(COIN)
    (line, *_) = lines(tmp_path / "run", questions=f"{tmp_path / 'coin.py'}:Coin", tasks=2)
    values = sorted(line[f"bandit/value/{n}_digits"] for n in (1, 2, 3, 4))
    assert values[:2] == [0.0, 0.0]  # two slots reach two arms at most
    assert values[3] == pytest.approx(0.353553, abs=1e-5)
