"""SPEAR: the policy imitates its own good attempts, more and more (Qin et al. 2025, arXiv:2509.22601).

Who says what is right: the check of the question set, or the rules of a game.

Early, a bonus for each call of a tool widens what is tried. Late, a second update of each step imitates attempts that
were good when they were made, as far as they are good by what is usual now:

    bonus(t) = min(1, bonus calls) (1 + cos(pi t / T1)) / 2          0 from step T1 on
    kept: attempts with A > 0, for `tolerance` steps
    A' = R - P50           P50 the median of the means of the latest groups; those with A' > 0 are replayed
    gamma(t) = (1 - cos(pi t / T)) / 2                               the weight of A', 1 from step T on

The replay waits until there are 1.5 times `capacity` of them, takes as many at random as the largest power of two
allows, and empties the memory. Of the tokens whose advantage and log-probability go together most, a share loses its
advantage in both updates (`--mute-covariance`). Where all replayed attempts earned the same, no covariance differs from
0 and nothing is muted there: in the paper's agents too.

`--ratio writer` clips a replayed token against the policy that wrote it, as the released code does: what has grown
already is then silent. `--ratio start` begins at 1. Controls: `--capacity 0` replays nothing, `--bonus 0` pays no call.

Differences: the groups of lowest deviation are not left out, and no reply is muted for its form: `--group-band`,
`--truncated-loss mute`. The capacity fits small batches (2048 there). With dynamic batches the released code replays
the last fresh minibatch in place of the memory, an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from redqueen.credit.rewards import score
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.credit.spear.steps import CallBonus, Memory, begun_at_one
from redqueen.runs.run import Run
from redqueen.runs.sources import source
from redqueen.settings.learner import Flat
from redqueen.settings.learning_step import LearningStep
from redqueen.settings.limits import Amount, AnyCount, Count, OnlyWith, Several
from redqueen.settings.update import Update


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m")
    questions: Annotated[str, OnlyWith("game", "")] = "sums"
    game: str = ""  # in place of questions
    steps: Count = 200
    tasks: Count = 16  # a step (32 in the paper)
    attempts: Several = 8  # G
    bonus: Amount = 0.1  # for a call of a tool
    bonus_steps: Count = 200  # T1
    capacity: AnyCount = 32  # attempts that are replayed at about a time; 0 is no replay
    tolerance: Count = 10  # steps that an attempt is kept
    rise: Count = 100  # T: steps until a replay counts in full
    ratio: Literal["start", "writer"] = "start"  # what a replayed token's ratio is to
    truncated_score: Annotated[Truncated, OnlyWith("game", "")] = "wrong"
    """of an attempt that was cut off: wrong, graded as it is, unknown"""
    problems: Annotated[Count, OnlyWith("game", "")] = 64  # held out, of each level
    update: Update = Update()
    paper = Update(
        estimator="group",
        scale="none",
        loss="ppo",
        clip_low=0.2,
        clip_high=0.28,
        dual_clip=10.0,
        aggregate="constant",
        mute_covariance=0.02,
    )
    batch = (("tasks", "attempts"),)
    pays_in_parts = True
    learns_from_older = True


def train(config: Config, run: Run) -> Policy:
    learner = config.learner.build(run.derived("learner"))
    tasks = source(config, learner, run)
    memory = Memory(config.capacity, config.tolerance, config.rise)
    step = LearningStep(config, [learner], listed=tasks.listed)

    for number in run.steps(config.steps, [learner], [memory, *step.parts], tasks.measures):
        drawn = tasks.draw(config.tasks, run.rng)
        groups = tasks.judged(attempts(tasks.game, drawn, learner, config.attempts, run.rng))
        bonus = CallBonus(config.bonus, number, config.bonus_steps)
        trajectories = step.shaped(score(groups, tasks.reward, bonus))
        advantages = step.estimate(trajectories)
        batch = step.pack(trajectories, advantages)
        metrics = step.update(learner, batch, run.rng)
        memory.observe(trajectories, advantages, number)
        if again := memory.replay(number, run.rng):
            old = step.pack(*again)
            old = begun_at_one(learner, old) if config.ratio == "start" else old
            step.update(learner, old, run.rng)
        run.report(learner, trajectories, advantages, metrics)
        run.note(memory.metrics())
    return learner
