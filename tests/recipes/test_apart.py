"""No recipe learns from a problem that it is measured on, whoever comes upon it."""

from dataclasses import replace
from itertools import count, cycle
from random import Random
from types import SimpleNamespace

import pytest

from experiments.absolute_zero import Controlled
from experiments.absolute_zero import train as controlled
from redqueen.curricula.held_out import apart_from, held_out
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.questions.asking import SOLVE
from redqueen.questions.catalogue import find_questions
from redqueen.recipes.curricula import sec
from redqueen.recipes.preferences import iterative_dpo, nash_md, spo, sppo
from redqueen.recipes.preferences.self_rewarding import recipe as self_rewarding
from redqueen.recipes.proposers.absolute_zero import recipe as absolute_zero
from redqueen.recipes.proposers.agent0 import recipe as agent0
from redqueen.recipes.proposers.eva import recipe as eva
from redqueen.recipes.proposers.multi_agent_evolve import recipe as multi_agent_evolve
from redqueen.recipes.proposers.pasodoble import recipe as pasodoble
from redqueen.recipes.proposers.r_zero import recipe as r_zero
from redqueen.recipes.proposers.sws import recipe as sws
from redqueen.runs.run import Run, Schedule
from redqueen.settings.learner import Learner
from redqueen.settings.roles import Role

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=32)
MAE = {"questions": "judged:sums", "proposals": 8, "tasks": 8, "attempts": 2, "repeats": 2}
LABELS = {"proposer_steps": 1, "solver_steps": 2, "proposals": 4, "pool": 32, "votes": 8, "tasks": 8, "attempts": 4}
SWS = {"questions": "sums", "preliminary": 1, "synthesis": 1, "proposals": 32, "tasks": 8, "data": 8, "slope": 1.0}


def dealt(config, run):
    return controlled(Controlled(config, config.steps, dealt=True), run)


DEALT = SimpleNamespace(Config=absolute_zero.Config, train=dealt, __name__="dealt")
TRAININGS = [
    (absolute_zero, {"questions": "sums", "proposals": 8, "tasks": 8, "attempts": 2}),
    (DEALT, {"questions": "sums", "proposals": 2, "tasks": 32, "attempts": 2}),
    (multi_agent_evolve, MAE),
    (r_zero, {"questions": "sums", **LABELS}),
    (agent0, {"questions": "tool_sums", **LABELS}),
    (sws, SWS),
    (pasodoble, {"questions": "facts", "passages": 2, "proposals": 8, "attempts": 8}),
    (pasodoble, {"questions": "facts", "passages": 2, "proposals": 8, "attempts": 8, "phase": 1}),
    (eva, {"questions": "growing", "rewriter": Role("rule"), "tasks": 16, "attempts": 2}),
    (sec, {"questions": "sums", "tasks": 32, "attempts": 2}),
]


def scripted(monkeypatch, known):
    """Every policy proposes the known problems, one after the other, tests and others; gives their answers five times
    of eight; and judges all to be good."""
    written = [f"{task.prompt}\n{task.answer}" if "? " in task.id else task.id for task in known]  # facts: with answers
    proposals, number = cycle(written), count()
    answers = {task.prompt: task.answer for task in known}

    def line(ask):
        if ask.seat.role == "proposer":
            return next(proposals)
        if ask.seat.role == "judge":
            return "<score>10</score>"
        right = answers.get(ask.messages[-1].text.split("\n")[-1], "7")
        return right if next(number) % 8 < 5 else "0"

    def reply(policy, asks):
        return [replace(policy.recite(ask, line(ask)), version=policy.version) for ask in asks]

    monkeypatch.setattr(TransformerPolicy, "reply", reply)


@pytest.mark.slow
@pytest.mark.parametrize(("recipe", "settings"), TRAININGS, ids=lambda each: getattr(each, "__name__", None))
def test_what_is_measured_is_not_learned_from(recipe, settings, tmp_path, monkeypatch):
    domain, learned = find_questions(settings["questions"]), []
    seeds = domain.seeds() if recipe in (absolute_zero, DEALT, multi_agent_evolve) else ()  # which they learn from
    tests = held_out(domain, 64, seeds)
    level = domain.levels[0]  # so small that many of its problems are held out
    others = apart_from(tests, domain.problems(level, 200, Random(9)))
    assert len(others) < 150
    scripted(monkeypatch, [task for pair in zip(tests[level], others, strict=False) for task in pair])
    report = Run.report

    def spied(run, policy, trajectories, *rest, **named):
        learned.extend(each.episode.task for each in trajectories if each.seat.role == "solver")
        report(run, policy, trajectories, *rest, **named)

    monkeypatch.setattr(Run, "report", spied)
    config = recipe.Config(learner=TINY, steps=4, **settings)
    recipe.train(config, Run(tmp_path, 0, Schedule(100, 100, record_episodes=0)))
    assert len({task.prompt for task in learned}) > 3
    assert apart_from(tests, learned) == learned


@pytest.mark.slow
@pytest.mark.parametrize("recipe", [spo, sppo, nash_md, iterative_dpo, self_rewarding])
def test_others_are_dealt_in_place_of_what_is_held_out(recipe, tmp_path, monkeypatch):
    """Half of all sums of one digit are held out."""
    domain, tests, asked = find_questions("sums:digits=1"), held_out(find_questions("sums:digits=1"), 64), []
    attempts = recipe.attempts

    def spied(game, tasks, *rest):
        asked.extend([list(tasks)] if game is SOLVE else [])
        return attempts(game, tasks, *rest)

    monkeypatch.setattr(recipe, "attempts", spied)
    # an untrained judge says nothing that can be read
    monkeypatch.setattr("redqueen.recipes.preferences.self_rewarding.steps.PATIENCE", 10**6)
    learner = Learner(model="tiny:hidden=16,heads=2", max_completion_length=4)
    config = recipe.Config(learner=learner, questions="sums:digits=1", steps=1, tasks=16)
    recipe.train(config, Run(tmp_path, 0, Schedule(100, 100, record_episodes=0)))
    assert len(apart_from(tests, domain.problems("1_digits", 100, Random(9)))) < 70
    assert asked
    assert all(len(tasks) == 16 and apart_from(tests, tasks) == tasks for tasks in asked)
