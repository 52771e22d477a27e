"""ExIt: to improve on one's own attempts step by step is trained by single steps (2025, arXiv:2509.04575).

Who says what is right: the check of the question set, or the rules of a game.

A policy that is to improve its answer K times need not be trained on K steps at once: a problem with the history of
attempts at it is a task of its own. Histories whose attempts earned the most varied returns are continued, so that they
grow deeper where there is something to learn:

    r  = max(0, (q - q') / (1 - q'))           q the quality of an attempt, q' of the one before it (0 at a problem)
    S  = variance of the returns of the group   which a history inherits that one of its attempts continues
    with chance p a slot of the step draws a history m ~ softmax(kappa S), else a problem
    A  = (r - mean) / deviation                 over the G attempts at one problem or history

A solved history (q = 1) is no task. A full buffer lets the history of lowest S go. With chance p_div the request is for
another approach in place of a correction.

Variances of returns lie below 1/4: kappa 1 draws nearly evenly (the re-implementation's), 8 tells them apart. The
figures `quality_after/K` are of chains of K attempts at held-out problems, longer than what is trained. Controls:
`--history-share 0` trains on problems alone, `--kappa 0` draws histories evenly.

Differences: kappa, p, p_div and the sizes of the paper are not public. A history shows its last `remembered` attempts.
Attempts are not paid for lying far apart (an option there). In a game an attempt is continued by `continued(episode)`,
and its quality is the fact `quality`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from redqueen.credit.rewards import score
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.curricula.exit.measures import Chains
from redqueen.recipes.curricula.exit.steps import Histories, improvement
from redqueen.runs.run import Run
from redqueen.runs.sources import source
from redqueen.settings.learner import Flat
from redqueen.settings.learning_step import LearningStep
from redqueen.settings.limits import Amount, Count, OnlyWith, Several, Share
from redqueen.settings.update import Update


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m")
    questions: Annotated[str, OnlyWith("game", "")] = "sums"
    game: str = ""  # in place of questions
    steps: Count = 200
    tasks: Count = 8  # problems and histories, a step
    attempts: Several = 8  # G
    history_share: Share = 0.5  # p
    kappa: Amount = 8.0
    buffer: Count = 512  # histories
    least: Count = 16  # histories that there must be before one is drawn
    another_share: Annotated[Share, OnlyWith("game", "")] = 0.2  # p_div
    remembered: Annotated[Count, OnlyWith("game", "")] = 2  # attempts that a history shows
    chain: Count = 4  # attempts in a row that are measured
    truncated_score: Annotated[Truncated, OnlyWith("game", "")] = "wrong"
    """of an attempt that was cut off: wrong, graded as it is, unknown"""
    problems: Count = 64  # held out, of each level; in a game, chains that are measured
    update: Update = Update()
    paper = Update(estimator="group", scale="group", loss="ppo", clip_low=0.2, clip_high=0.2, aggregate="token")
    batch = (("tasks", "attempts"),)


def train(config: Config, run: Run) -> Policy:
    learner = config.learner.build(run.derived("learner"))
    tasks = source(config, learner, run)
    histories = Histories(config, tasks.game)
    chains = Chains(tasks, learner, histories.continued, config, run.tests)
    step = LearningStep(config, [learner], listed=tasks.listed)

    for _ in run.steps(config.steps, [learner], [histories, *step.parts], [*tasks.measures, chains]):
        drawn = histories.draw(tasks.draw, config.tasks, run.rng)
        groups = tasks.judged(attempts(tasks.game, drawn, learner, config.attempts, run.rng))
        histories.observe(groups, run.rng)
        trajectories = step.shaped(score(groups, improvement))
        advantages = step.estimate(trajectories)
        batch = step.pack(trajectories, advantages)
        metrics = step.update(learner, batch, run.rng)
        run.report(learner, trajectories, advantages, metrics)
        run.note(histories.metrics())
    return learner
