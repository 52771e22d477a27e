"""Anyprefer's experiment: its judge is as good as it says, and its recipe makes the better pairs with it."""

from dataclasses import replace
from random import Random

import pytest

from experiments import anyprefer
from redqueen.credit.rewards import score
from redqueen.play.groups import attempts
from redqueen.players.scripted import Scripted
from redqueen.questions.asking import SOLVE
from redqueen.recipes.preferences.self_rewarding.steps import Judging
from redqueen.settings.learner import Learner

SUMS = anyprefer.Advised()


def scored(tool, answer, count=400):
    """The share of answers to 7+5 that the judge scores high."""
    judging = Judging(SUMS, tool)
    answers = attempts(SOLVE, [SUMS.inner.task(7, 5)], Scripted((answer,)), count, Random(0))
    judge = judging.seated(anyprefer.Judge(0.8, 0.95, True))
    told = judging.heard(answers, attempts(judging.game, judging.asked(answers), judge, 1, Random(1)))
    return sum(float(each.rewards.sum()) > 0.5 for each in score(told, judging.reward)) / count


def test_the_judge_is_as_good_as_it_says():
    assert scored("none", "21") == pytest.approx(0.7, abs=0.06)
    assert scored("none", "2") == pytest.approx(0.2, abs=0.06)
    assert scored("calculator", "21") == pytest.approx(0.95, abs=0.03)
    assert scored("calculator", "2") == pytest.approx(0.05, abs=0.03)


def test_half_of_the_demonstrations_heed_advice():
    shown = SUMS.demonstrations(400, Random(0))
    heeding = [each for each in shown if anyprefer.ADVICE in each.task.prompt]
    assert len(heeding) == 200
    right = [SUMS.right([each.task for each in part], [each.text for each in part]) for part in (heeding, shown)]
    assert sum(right[0]) / 200 > 0.9 and sum(right[1]) / 400 < 0.85


@pytest.mark.slow
def test_it_runs_on_quick_settings(tmp_path):
    quick = replace(
        anyprefer.PAIRS.config.anyprefer,
        learner=Learner(model="tiny:hidden=16,heads=2", max_completion_length=4),
        steps=2,
        updates=1,
        tasks=4,
        problems=2,
    )
    trial = anyprefer.OneSeed()(anyprefer.Method(quick), 0, tmp_path)
    assert 0.0 <= trial.first("advised") <= 1.0 and len(trial.lines) == 2
