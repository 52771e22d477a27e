"""SPPO in expectation, where the equilibrium is known; and beside DPO on the same pairs."""

from experiments import sppo
from experiments.sppo import Compared, one_comparison, sppo_in_expectation
from redqueen.curricula.held_out import held_out
from redqueen.questions.small.growing import Growing
from redqueen.questions.small.matchups import Matchups
from redqueen.settings.learner import Learner


def test_sppo_in_expectation_averages_to_the_equilibrium():
    found = sppo_in_expectation(Matchups("biased"), eta=0.5, iterations=150, updates=6, rate=3.5)
    assert found["average_exploitability"] < 0.03
    assert found["exploitability"] > found["average_exploitability"]


def test_neither_method_trains_on_the_problems_that_measure(monkeypatch):
    play, trained_on = sppo.groups.attempts, set()

    def attempts(game, tasks, *others):
        trained_on.update(task.id for task in tasks)
        return play(game, tasks, *others)

    monkeypatch.setattr(sppo.groups, "attempts", attempts)
    small = Learner(model="tiny:hidden=16,heads=2", max_completion_length=2)
    config = Compared(small, updates=1, prompts=48, attempts=2, times=1)
    figures = one_comparison(config, seed=3)
    tests = {task.id for group in held_out(Growing(), config.problems, seed=3).values() for task in group}
    assert len(trained_on) > 30 and not trained_on & tests
    assert 0.0 <= figures["wins"] <= 1.0
