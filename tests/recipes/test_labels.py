"""Where nobody knows the answers, the majority's label is what is paid and what the alarm is about; what a domain knows
is for figures alone."""

from dataclasses import replace

import pytest

from redqueen.measures.accuracy import HeldOut
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.recipes.proposers.agent0 import recipe as agent0
from redqueen.recipes.proposers.r_zero import recipe as r_zero
from redqueen.runs.run import Run, Schedule, read_metrics
from redqueen.settings.learner import Learner
from redqueen.settings.roles import Role

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=32)
SMALL = {"proposer_steps": 1, "solver_steps": 1, "proposals": 4, "pool": 8, "tasks": 4, "attempts": 8}
WRONG = "-77"


def speaking(monkeypatch, line):
    def reply(policy, asks):
        return [replace(policy.recite(ask, line(ask)), version=policy.version) for ask in asks]

    monkeypatch.setattr(TransformerPolicy, "reply", reply)
    monkeypatch.setattr(HeldOut, "__call__", lambda self: {"accuracy": 0.0})


def mostly_wrong(ask):
    """Proposes x+k for x=3; six of ten say -77, the others the truth."""
    if ask.seat.role == "proposer":
        return f"x+{ask.seed % 50} for x=3"
    before, _, rest = ask.messages[-1].text.split("\n")[-1].partition("What is x+")
    number = rest.partition(" ")[0]
    if before or not number.isdigit() or not rest.endswith("for x=3?"):
        return "nothing"
    return str(int(number) + 3) if ask.seed % 10 < 4 else WRONG


@pytest.mark.parametrize(("recipe", "settings", "paid"), [(agent0, SMALL, (1.0, 0.0)), (r_zero, SMALL, (1.0, 0.1))])
def test_the_label_is_paid_and_the_truth_is_not(recipe, settings, paid, tmp_path, monkeypatch):
    """`expressions` works answers out: its oracle does not look at the label."""
    speaking(monkeypatch, mostly_wrong)
    earned, report = {}, Run.report

    def spied(run, policy, trajectories, *rest, **named):
        for each in trajectories:
            if each.seat.role == "solver" and each.episode.task.answer == WRONG:
                earned.setdefault(each.turns[-1].reply.text == WRONG, set()).add(float(each.rewards.sum()))
        report(run, policy, trajectories, *rest, **named)

    monkeypatch.setattr(Run, "report", spied)
    config = recipe.Config(learner=TINY, questions="expressions", steps=2, votes=10, **settings)
    recipe.train(config, Run(tmp_path, 0, Schedule(100, 100, record_episodes=0)))
    assert {said: [pytest.approx(each) for each in rewards] for said, rewards in earned.items()} == {
        True: [paid[0]],
        False: [paid[1]],
    }


def easy_right_hard_wrong(ask):
    """Sums of which all agree on the right answer, out of the band; and harder ones of which six in ten say 7."""
    if ask.seat.role == "proposer":
        return f"{ask.seed % 900 + 100}+{ask.seed % 7 if ask.seed % 10 < 7 else ask.seed % 70 + 10}"
    text = ask.messages[-1].text.split("\n")[-1]
    first, second = text.removeprefix("What is ").rstrip("=?").split("+")
    if len(second) == 1:
        right = str(int(first) + int(second))
        return right if "=" in text else right[::-1]  # last digit first, where no tool is at hand
    return "7" if ask.seed % 10 < 6 else str(ask.seed % 1000)


IN_TURNS = {"proposer_steps": 6, "solver_steps": 1, "proposals": 32, "pool": 32, "tasks": 2, "attempts": 2}
STILL = {"proposer": Role("frozen"), "solver_steps": 1, "pool": 32, "tasks": 2, "attempts": 2}
TURNS = [(recipe, settings) for recipe in (r_zero, agent0) for settings in (IN_TURNS, STILL)]


@pytest.mark.slow
@pytest.mark.parametrize(("recipe", "settings"), TURNS, ids=["r_zero", "r_zero frozen", "agent0", "agent0 frozen"])
def test_the_alarm_is_about_the_labels_that_are_learned_from(recipe, settings, tmp_path, monkeypatch):
    speaking(monkeypatch, easy_right_hard_wrong)
    recipe.train(
        recipe.Config(learner=TINY, steps=7, votes=10, **settings),
        Run(tmp_path, 0, Schedule(100, 100, record_episodes=0)),
    )
    lines = read_metrics(tmp_path)
    assert {line["proposals/label_accuracy"] for line in lines} == {0.0}
    assert [line["alarm/labels"] for line in lines] == [0.0] * 4 + [1.0] * 3
