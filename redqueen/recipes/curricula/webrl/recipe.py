"""WebRL: tasks grow out of failures, and a pull to the last phase holds what was learned (Qi et al., arXiv:2411.02337).

Who says what is right: the world, or a judge of outcomes who sees task, acts and last view (`--judge`).

In each phase the tasks that failed seed new ones, the critic keeps those that are neither hopeless nor done, and the
policy at its start is the reference. Acts of earlier successes that this policy would nearly take are replayed:

    kept      new tasks with .05 <= V(first view) <= .75
    replayed  acts of successes with .5 < exp(mean log policy) <= .95
    L         mean over acts of (beta log(policy / reference) - A)^2,   A = R - V(view)

A task is set in hindsight: the setter acts in the world from where a failed task begins, and what it has changed is the
goal, so that every new task can be done; its wording is the setter's. `--setter drawn` takes acts at random and words
the change as the world does; any chat model may set instead, `--setter frozen`, a folder or an endpoint. A judge is
trained with `cold_start --questions done:site` and named by its folder. `--as-coded` is the released trainer's
loss: acts that are worse than expected have no part. Controls: `--growth fixed` keeps the first tasks, `--growth drawn`
takes all of the world's own, `--replayed 0`, `--reference initial`.

A table learns each task by itself, and all that can be done is new to it; only a `--model` carries over.

Differences: the policy learns after every batch (there once a phase, from all it played). A is that of the final result
(in the paper mixed with that of the next step). The critic is one head taught by squared error (there two, by
cross-entropy, of which the lower counts). New tasks can be done by construction (there a model is asked). A task that
was set and is done at every attempt of a phase leaves. L is taken over 2 beta^2, which moves no minimum: a step by
AdamW is the same, one of a table another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from redqueen.credit.rewards import payoff, score
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import PROPOSE
from redqueen.recipes.curricula.webrl.steps import Course, Judge, Regression
from redqueen.runs.run import Run
from redqueen.runs.sources import source
from redqueen.settings.learner import Flat
from redqueen.settings.limits import Count, OnlyWith, Positive, Within
from redqueen.settings.roles import Cast, Plays, Role, Still


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat()
    judge: Annotated[Role, Still(("world",))] = Role("world")
    """world (the game's own scores), shared, frozen, a model folder, http://HOST/v1#MODEL; it does not learn"""
    setter: Annotated[Role, Still(("drawn",)), Plays("proposer"), OnlyWith("growth", "evolved")] = Role("drawn")
    """drawn (acts at random), shared, frozen, a model folder, http://HOST/v1#MODEL; it does not learn"""
    game: str = "acting:site"
    growth: Literal["evolved", "fixed", "drawn"] = "evolved"  # of the tasks after the first phase
    seeds: Count = 12  # tasks of the first phase
    steps: Count = 160
    phase: Count = 40  # steps
    tasks: Count = 16  # a step
    attempts: Count = 1  # at each
    proposals: Annotated[Count, OnlyWith("growth", "evolved")] = 64  # a phase
    shown: Annotated[Count, OnlyWith("growth", "evolved")] = 10  # failures, in a request
    band: Annotated[tuple[float, float], OnlyWith("growth", "evolved")] = (0.05, 0.75)  # of the value of a new task
    replayed: Annotated[float, Within(0.0, 0.9)] = 0.5  # of a batch, at most
    window: tuple[float, float] = (0.5, 0.95)  # of the chance of an act that is replayed
    beta: Annotated[Positive, OnlyWith("as_coded", False)] = 1.0
    reference: Literal["last", "initial"] = "last"
    as_coded: bool = False
    table_learning_rate = 4.0  # of a table, unless --learning-rate sets it
    batch = (("tasks", "attempts"),)
    learns_from_older = True


def train(config: Config, run: Run) -> Policy:
    cast = Cast(config, run, config.table_learning_rate)
    learner = cast.policy
    tasks = source(config, learner, run)
    course, judge = Course(config, tasks.game), Judge(config, cast)
    setter = course.wanderer if config.setter.player == "drawn" else cast["setter"]
    step = Regression(config, learner)

    for number in run.steps(config.steps, [learner], [course, judge, *step.parts], tasks.measures):
        if number % config.phase == 0:
            invitations = course.invited(number, run.rng)
            proposals = attempts(PROPOSE, invitations, setter, 1, run.rng)
            course.grow(invitations, proposals, learner, step.critic, run.rng)
            step.reference.refresh()
        groups = judge(attempts(tasks.game, course.draw(run.rng), learner, config.attempts, run.rng), run.rng)
        trajectories = score(groups, payoff)
        mixed = [*trajectories, *course.replayed(trajectories, run.rng)]
        advantages = step.estimate(mixed)
        batch = step.pack(mixed, advantages)
        metrics = step.update(learner, batch)
        course.observe(trajectories, number)
        run.report(learner, trajectories, advantages[: len(trajectories)], metrics)
        run.note(course.metrics() | judge.metrics())
    return learner
