"""ReMix: part of each batch is from the last policies, until gains get dear (Liang et al. 2025, arXiv:2507.06892).

Who says what is right: the check of the question set, or the rules of a game.

Until step T a share p of the groups of a batch was played by the last N policies, each step takes several updates, and
the pull is to two policies at once:

    r = policy / policy that wrote the token,  w = policy as the update begins / the same writer,  u = r / w
    loss     -min(w u A, w clip(u, 1 - eps, 1 + eps) A)
    pull     lambda KL(policy || base) + (1 - lambda) KL(policy || last)
    lambda   1 for 50 steps, then .1 less every 10 steps, at least 1/2

which is one divergence, from the mixture lambda log base + (1 - lambda) log last. At step T the policy is born again:
it is the new base, and what follows has fresh attempts alone and one update a step. So a step before T plays 1 - p of
what one after it plays.

Watch `completion_length` and `entropy`: old tokens of ratio above 1 carry negative advantages more often, so replies
grow short and stop to look again, and after some 200 steps without a rebirth they collapse. Controls: `--old 0` and
`--updates-per-batch 1`, each by itself, `--rebirth 0` never, `--least 1` pulls to the base alone.

Differences: the published clip is of r to w +- eps, so of u to 1 +- eps / w. Weights are held to 2 (`--correct tis`;
`none` clips r itself around 1). beta, the entropy bonus and the rates are not published, nor is how old attempts are
credited: here within their own group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from redqueen.credit.rewards import score
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.credit.remix.steps import Anchor, Window, apart
from redqueen.runs.run import Run
from redqueen.runs.sources import source
from redqueen.settings.learner import Flat
from redqueen.settings.learning_step import LearningStep
from redqueen.settings.limits import AnyCount, Count, OnlyWith, Several, Share
from redqueen.settings.update import Update
from redqueen.types import Mean


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m")
    questions: Annotated[str, OnlyWith("game", "")] = "sums"
    game: str = ""  # in place of questions
    steps: Count = 200
    tasks: Count = 16  # groups in a batch
    attempts: Several = 8  # G
    old: Share = 0.4  # p: of the groups of a batch
    window: Count = 2  # N: steps that a group is kept
    rebirth: AnyCount = 100  # T, after which all is fresh; 0 is never
    least: Share = 0.5  # of lambda
    truncated_score: Annotated[Truncated, OnlyWith("game", "")] = "wrong"
    """of an attempt that was cut off: wrong, graded as it is, unknown"""
    problems: Annotated[Count, OnlyWith("game", "")] = 64  # held out, of each level
    update: Update = Update()
    paper = Update(
        estimator="group",
        scale="group",
        loss="ppo",
        clip_low=0.2,
        clip_high=0.2,
        aggregate="token",
        kl=0.01,
        kl_estimator="k2",
        correct="tis",
        updates_per_batch=2,
    )
    learns_from_older = True


def train(config: Config, run: Run) -> Policy:
    learner = config.learner.build(run.derived("learner"))
    tasks = source(config, learner, run)
    window = Window(config.window)
    anchor = Anchor(learner, config.least)
    step = LearningStep(config, [learner], listed=tasks.listed, reference=anchor)

    for number in run.steps(config.steps, [learner], [window, anchor, *step.parts], tasks.measures):
        reborn = 0 < config.rebirth <= number
        anchor.begin(number, rebirth=number == config.rebirth)
        old = [] if reborn else window.draw(round(config.old * config.tasks), run.rng)
        drawn = tasks.draw(config.tasks - len(old), run.rng)
        groups = tasks.judged(attempts(tasks.game, drawn, learner, config.attempts, run.rng))
        fresh = step.shaped(score(groups, tasks.reward))
        trajectories = [*fresh, *apart(old, len(groups))]
        advantages = step.estimate(trajectories)
        batch = step.pack(trajectories, advantages)
        metrics = step.update(learner, batch, run.rng, passes=1 if reborn else None)
        window.observe(fresh)
        run.report(learner, fresh, advantages[: len(fresh)], metrics)
        run.note({"old": Mean(len(old) / config.tasks, config.tasks), "knobs/lambda": anchor.share})
    return learner
