"""DRIVE: first many problems with few attempts, then the hardest with many (Zhu et al. 2025, arXiv:2511.06307).

Who says what is right: the check of the question set, or the rules of a game.

Problems that are hardly ever solved need many attempts before one succeeds, and that one is then said loudly. With G
attempts at a problem that is solved with chance p,

    chance of a success in the group    1 - (1 - p)^G              p = 1/120: .065 for G = 8, .415 for G = 64
    A of a single success               (G - 1) / sqrt(G)          2.475 for G = 8, 7.875 for G = 64

So the run has two stages of GRPO, with equally many attempts a step by default. The first (`first_stage` steps) draws
all problems alike and attempts each a few times, which keeps the policy varied and shows what is hard. The second
keeps the `pool` problems that were solved least, and attempts the hardest of them many times; their order is renewed
with each step's results, and the hardest stay to the end.

A problem that nobody can solve, because its check is wrong, is the hardest of all: after `give_up` attempts without
any success it leaves the pool. `--focus any` draws the second stage's problems from all of them, which shows what many
attempts alone do; `--first-stage` equal to `--steps` is GRPO.

Differences: both stages have the same longest reply (24 and 32 thousand tokens in the paper). The threshold of a low
pass rate, the size of the pool and how often it is ranked are not published; giving up is ours. The demonstrations
that the paper begins with are `cold_start`'s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from redqueen.credit.rewards import score
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.curricula.drive.steps import Stages
from redqueen.runs.run import Run
from redqueen.runs.sources import source
from redqueen.settings.learner import Flat
from redqueen.settings.learning_step import LearningStep
from redqueen.settings.limits import Count, OnlyWith, Several
from redqueen.settings.update import Update


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m")
    questions: Annotated[str, OnlyWith("game", "")] = "sums"
    game: str = ""  # in place of questions
    steps: Count = 200
    first_stage: Count = 100  # steps over all problems
    tasks: Count = 16  # a step of the first stage
    attempts: Several = 8  # G there
    hard_tasks: Count = 2  # a step of the second stage
    hard_attempts: Several = 64  # G there
    focus: Literal["hardest", "any"] = "hardest"  # what the second stage draws
    pool: Count = 64  # problems that are kept for it
    give_up: Count = 4096  # attempts without a success, after which a problem leaves the pool
    truncated_score: Annotated[Truncated, OnlyWith("game", "")] = "wrong"
    """of an attempt that was cut off: wrong, graded as it is, unknown"""
    problems: Annotated[Count, OnlyWith("game", "")] = 64  # held out, of each level
    update: Update = Update()
    paper = Update(estimator="group", scale="group", loss="ppo", clip_low=0.2, clip_high=0.28, aggregate="token")
    batch = (("tasks", "attempts"), ("hard_tasks", "hard_attempts"))


def train(config: Config, run: Run) -> Policy:
    learner = config.learner.build(run.derived("learner"))
    tasks = source(config, learner, run)
    stages = Stages(config)
    step = LearningStep(config, [learner], listed=tasks.listed)

    for number in run.steps(config.steps, [learner], [stages, *step.parts], tasks.measures):
        if number < config.first_stage:
            drawn, count = tasks.draw(config.tasks, run.rng), config.attempts
        else:
            drawn, count = stages.hard(tasks.draw, run.rng), config.hard_attempts
        groups = tasks.judged(attempts(tasks.game, drawn, learner, count, run.rng))
        stages.observe(groups)
        trajectories = step.shaped(score(groups, tasks.reward))
        advantages = step.estimate(trajectories)
        batch = step.pack(trajectories, advantages)
        metrics = step.update(learner, batch, run.rng)
        run.report(learner, trajectories, advantages, metrics)
        run.note(stages.metrics(groups))
    return learner
