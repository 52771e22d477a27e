"""HCSP: skills one after the other, then who calls them, then both together (Zhang et al. 2025, arXiv:2505.04317).

Who says what is right: a coach's pay in the drills, the rules of the game after them.

A team is two policies: a captain who calls on events (`learner`), and players who do what was called (`skills`).

    1 drills     each skill in turn, in rallies that end with it: the skills before it play as they were learned.
                 A coach pays for steps toward a goal, for being there, for a set as called, a deep spike, a short tip
    2 strategy   the captain alone learns, by points against a population of past teams; the skills stay as they are
    3 both       both learn by points, each held near its end of stage 2 by a divergence (`--kl`), against that team

    A = R - b[what the seat was shown],   R(k) = r(k) + gamma R(k + 1),   L: clipped ratio 0.1

Teams of the population are met as the Nash equilibrium of their win rates has it (`--opponents nash`). The team joins
the population once the last `window` shares of points have a mean of `won` (stage 3: `won_by_both`) and a deviation of
at most `deviation`, after `least` steps; and after `most` in any case. It meets each team that is there in
`matches_per_step` rallies then, which say its win rates. A new team goes on from where it is.

Differences: `volley`, a small court in place of simulated drones; four skills with a policy together (the paper: eleven
with one each); a moving baseline in place of a critic with lambda 0.95; the divergence of choices in place of that of
Gaussians (coefficient 1e-4 there); no small pay for passes and hits in stage 2; learner and population change sides
within a step (the paper trains one side, then the other); the team joins after `most` steps whether it converged or
not, as there, but after fewer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from redqueen.credit.advantages.keys import by_information_state
from redqueen.credit.rewards import score
from redqueen.play.lockstep import play
from redqueen.protocols import Measure, Policy
from redqueen.recipes.games.hcsp.measures import Rivals
from redqueen.recipes.games.hcsp.steps import Stages, estimator, policy_of
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat, Learner
from redqueen.settings.learning_step import LearningStep
from redqueen.settings.limits import Amount, AnyCount, Count, Share
from redqueen.settings.update import Update


@dataclass(frozen=True)
class Config:
    learner: Flat = Learner()
    game: str = "volley:remember=false"
    steps: Count = 400
    matches_per_step: Count = 64
    drill_steps: AnyCount = 25  # of each of the four skills
    strategy_steps: AnyCount = 150  # what is left is for both
    opponents: Literal["nash", "uniform", "latest"] = "nash"
    population: Count = 8  # teams of stage 2; the oldest leave first
    won: Share = 0.9
    won_by_both: Share = 0.7
    deviation: Amount = 0.02
    window: Count = 10  # steps
    least: Count = 10  # 50 in the paper
    most: Count = 30  # 500 in the paper
    discount: Share = 0.995  # gamma
    baseline_decay: Share = 0.9
    update: Update = Update()
    paper = Update(
        loss="ppo",
        clip_low=0.1,
        clip_high=0.1,
        aggregate="row",
        kl=0.02,
        kl_estimator="exact",
        entropy=0.001,
        updates_per_batch=4,
    )
    batch = (("matches_per_step",),)
    listed = True
    of_its_estimator = ("discount", "baseline_decay")
    table_learning_rate = 120.0  # of a table, unless --learning-rate sets it


def train(config: Config, run: Run, measure: Callable[[Stages, int], Measure] = Rivals) -> Policy:
    captain = config.learner.build(run.derived("learner"), config.table_learning_rate)
    skills = config.learner.build_beside(captain, run.derived("skills"), "skills")
    stages, levels = Stages(config, captain, skills), (captain, skills)
    updates = [
        LearningStep(
            config,
            [level],
            key=by_information_state,
            estimate=estimator(config.discount, config.baseline_decay),
            listed=True,
            reference=leash,
        )
        for level, leash in zip(levels, stages.leashes, strict=True)
    ]
    kept = [part for step in updates for part in step.parts]
    measures = [measure(stages, run.tests)]

    for number in run.steps(config.steps, levels, [stages, *kept], measures):
        stages.begin(number)
        matches = stages.matches(config.matches_per_step, run.rng)
        episodes = play(matches, run.rng)
        for level, own in stages.learned(score(episodes, stages.reward)):
            policy, step = levels[level], updates[level]
            trajectories = step.shaped(own)
            advantages = step.estimate(trajectories)
            batch = step.pack(trajectories, advantages)
            metrics = step.update(policy, batch, run.rng)
            run.report(policy, trajectories, advantages, metrics)
        run.note(stages.observe(matches, episodes, run.rng))
    return captain


def plays(config: Config, role: str) -> str:
    """The name of the policy that takes a role of the game."""
    return policy_of(role)
