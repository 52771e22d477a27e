"""R3: even groups are repaired by replay, repeated mistakes are shown again (arXiv:2601.19620).

Who says what is right: the check of the question set, or the rules of a game.

A group whose attempts are all wrong, or all right, teaches nothing. R3 gives it a difference in three ways:

    replay       the latest attempt at the task that fared otherwise joins the group (cross-context replay), and
                 A = (R - mean) / (alpha deviation)     over the mixed group: alpha scales all its members
    reflection   a task whose latest attempts earned less than tau in the mean is also asked with an old wrong reply
                 beside it and the request to find the mistake, as a group of its own
    ranking      replies of an unsolved group that were cut off, which nobody can grade, are ranked by their entropy:
                 i beats j where its peak is higher and its mean is lower; the k-th of N earns R_max (1 - k / (N - 1)),
                 equals the mean of theirs. The peak is the mean of the top share p of a reply's token entropies

A right reply also earns 1 - l / L, l its tokens and L the longest reply. Replay takes tasks that come again: a file of
questions, the deals of a game. A replayed token's ratio begins at 1 in this update: a clip against its writer would
silence what has already grown.

Ranking pays a reply for being cut off, though never as much as an answer: an alarm rings where most are. With few
tokens that is easier than an answer: of SmolLM2's replies of 32 tokens all ended so and none was right, with `--rank 0`
.17 were (three seeds, experiments/results/r3.md). Controls:
`--even-groups keep`, `--reflect-below 0`, `--rank 0` turn the three off; all of them and `--brevity 0` is GRPO.

Differences: alpha, tau, p, R_max, the size of the groups and the rates are not published: those here are ours. One
attempt is replayed a group, of 4 kept right and 4 kept wrong for 200 steps. L is the longest reply (32768 there).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from redqueen.credit.rewards import score
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.credit.r3.steps import Brevity, Ranking, Reflections
from redqueen.runs.run import Run
from redqueen.runs.sources import source
from redqueen.settings.learner import Flat
from redqueen.settings.learning_step import LearningStep
from redqueen.settings.limits import Amount, Count, OnlyWith, Positive, Several, Share
from redqueen.settings.update import Update


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m")
    questions: Annotated[str, OnlyWith("game", "")] = "sums"
    game: str = ""  # in place of questions
    steps: Count = 200
    tasks: Count = 16  # a step
    attempts: Several = 8  # G
    alpha: Positive = 1.0  # times the deviation of a group that an earlier attempt joined
    reflect_below: Annotated[Share, OnlyWith("game", "")] = 0.25
    """tau: mean result of the latest attempts at a task below which an old mistake is shown with it; 0 is never"""
    rank: Share = 0.1  # R_max; 0 is no ranking
    top: Share = 0.2  # p
    brevity: Amount = 1.0  # times 1 - l / L, paid to what is right
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
        even_groups="replay",
    )
    pays_in_parts = True


def train(config: Config, run: Run) -> Policy:
    learner = config.learner.build(run.derived("learner"))
    tasks = source(config, learner, run)
    reflections = Reflections(0.0 if config.game else config.reflect_below)
    brevity = Brevity(config.brevity, config.learner.longest_reply(tasks.listed))
    ranking = Ranking(learner, config.rank, config.top)
    step = LearningStep(config, [learner], listed=tasks.listed, joined=config.alpha)

    for _ in run.steps(config.steps, [learner], [reflections, ranking, *step.parts], tasks.measures):
        drawn = tasks.draw(config.tasks, run.rng)
        drawn += reflections.on(drawn)
        groups = tasks.judged(attempts(tasks.game, drawn, learner, config.attempts, run.rng))
        reflections.observe(groups)
        trajectories = ranking(step.shaped(score(groups, tasks.reward, brevity)))
        advantages = step.estimate(trajectories)
        batch = step.pack(trajectories, advantages)
        metrics = step.update(learner, batch, run.rng)
        run.report(learner, trajectories, advantages, metrics)
        run.note(reflections.metrics(groups) | ranking.metrics())
    return learner
