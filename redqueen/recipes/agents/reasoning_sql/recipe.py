"""Reasoning-SQL: a query is paid for its rows, and for its parts where these are wrong (2025, arXiv:2503.23157).

Who says what is right: the rows of the known query, in two databases.

Where a model rarely writes a query with the right rows most groups are all wrong and teach nothing. Five partial
rewards tell wrong queries apart, each from 0 to 1, of a query q with the known one g:

    syntax    1 where q runs
    schema    |used(q) and used(g)| / |used(q) or used(g)|     used: the tables, and the columns of each, that are read
    ngram     the same of the pairs of neighbouring words
    judged    what a `--judge` says, who is shown the question and q, asked where q is wrong alone
    form      1 for an answer in the stated format that was not cut off

    summed    R = 3 execution + syntax + schema + ngram + 2 judged + form
    gated     R = 1 where the rows are right, else gate (weighted mean of the partial rewards)
    A = (R - mean) / deviation               over the G attempts at one question

The parts of `summed` can outweigh the rows, so that a query which is wrong in all the right words may beat one that is
right in others; no wrong query beats a right one where `gated`, the default. Controls: `--reward execution`, and
`--reward ngram`, which pays resemblance alone.

Figures: `sql/NAME`, each part before it is weighed. `--game` is any game whose tasks hold `tables` and the `query`
that is known: `working:sql` (the agent may look at rows first), a file of questions `working:sql(file=train.jsonl)`.

Differences: the weights are not in the part of the paper that is public, nor is the judge's prompt. Right are rows in
two databases of one schema (one there). The schema of a query that does not run is that of the names in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from redqueen.credit.rewards import score
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.recipes.agents.reasoning_sql.steps import Composite, Judged, figures, of_queries
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.learning_step import LearningStep
from redqueen.settings.limits import Amount, Count, OnlyWith, Several, Share
from redqueen.settings.roles import Cast, Role, Still
from redqueen.settings.update import Update

WEIGHED = OnlyWith("reward", ("gated", "summed"))


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m", max_completion_length=96)
    game: str = "working:sql"
    judge: Annotated[Role, Still(("none",))] = Role("none")
    reward: Literal["gated", "summed", "execution", "ngram"] = "gated"
    gate: Annotated[Share, OnlyWith("reward", "gated")] = 0.5  # the most that a wrong query earns
    execution: Annotated[Amount, OnlyWith("reward", "summed")] = 3.0  # the weight of each part
    syntax: Annotated[Amount, WEIGHED] = 1.0
    schema: Annotated[Amount, WEIGHED] = 1.0
    ngram: Annotated[Amount, WEIGHED] = 1.0
    judged: Annotated[Amount, WEIGHED] = 2.0  # without a judge 0
    form: Annotated[Amount, WEIGHED] = 1.0
    steps: Count = 120
    tasks: Count = 16  # a step
    attempts: Several = 8  # G
    problems: Count = 100  # held out
    update: Update = Update()
    paper = Update(estimator="group", scale="group", loss="ppo", clip_low=0.2, clip_high=0.2, aggregate="token")
    batch = (("tasks", "attempts"),)


def train(config: Config, run: Run) -> Policy:
    cast = Cast(config, run)
    learner, judged = cast.learner, Judged(config, cast)
    tasks = of_queries(config, learner, run.tests)
    reward = Composite(config)
    step = LearningStep(config, [learner])

    for _ in run.steps(config.steps, [learner], step.parts, tasks.measures):
        drawn = tasks.draw(config.tasks, run.rng)
        groups = judged(attempts(tasks.game, drawn, learner, config.attempts, run.rng), run.rng)
        trajectories = step.shaped(score(groups, reward))
        advantages = step.estimate(trajectories)
        batch = step.pack(trajectories, advantages)
        metrics = step.update(learner, batch, run.rng)
        run.report(learner, trajectories, advantages, metrics)
        run.note(figures(groups))
    return learner
