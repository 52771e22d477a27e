"""AgentGym-RL: episodes may be short at first and grow longer in stages (Xi et al. 2025, arXiv:2509.08755).

Who says what is right: the rules of the game.

An agent that may act for long from the start spends its turns on wandering, and its rewards are rare; one that may
never act for long learns near tasks alone. ScalingInter-RL lets the horizon grow with the step t, by nothing else:

    h(t) = H[min(t / stage, len(H) - 1)]        turns of an episode, t / stage rounded down
    A    = (R - mean) / deviation               over the G episodes of one deal, R the score at the end
    L    = GRPO's, with beta KL(policy || start)

`--horizons` are H, `--stage` how many steps each lasts; the last lasts to the end, and should be the horizon that
counts: a game is measured with the turns that it has itself. One horizon alone is plain GRPO at that length, and
`--horizons 20 10 5` the schedule backwards. Schedules are to be compared at equal turns played (`turns_per_episode`
times `episodes`), not at equal updates.

An episode that its horizon ends scores as it stands, 0 where nothing was reached: `--cut muted` learns nothing from it.
The figure `cut` is their share. The game needs `within(turns)`, as corridor, the
games of TextArena and worlds in which one acts (`--game acting:site`) have it.

Differences: an error of the environment ends the run (there it scores 0). The horizon follows from the step, so that a
resumed run is in the stage that it left (there a counter is a stage too far after a resume at its end). The worlds of
AgentGym are servers of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from redqueen.credit.rewards import score
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.recipes.curricula.agentgym_rl.steps import Horizons
from redqueen.runs.run import Run
from redqueen.runs.sources import source
from redqueen.settings.learner import Learner
from redqueen.settings.learning_step import LearningStep
from redqueen.settings.limits import Count, Several
from redqueen.settings.update import Update


@dataclass(frozen=True)
class Config:
    learner: Learner = Learner()
    game: str = "corridor"
    horizons: tuple[int, ...] = (5, 10, 20)  # H
    stage: Count = 100  # steps
    cut: Literal["failed", "muted"] = "failed"  # an episode that was ended by its horizon
    steps: Count = 300
    tasks: Count = 8  # deals a step (16 to 32 in the paper)
    attempts: Several = 8  # G
    update: Update = Update()
    paper = Update(  # kl is beta
        estimator="group", scale="group", loss="ppo", clip_low=0.2, clip_high=0.2, aggregate="token", kl=0.001
    )
    batch = (("tasks", "attempts"),)


def train(config: Config, run: Run) -> Policy:
    learner = config.learner.build(run.derived("learner"))
    tasks = source(config, learner, run)
    horizons = Horizons(tasks.game, config.horizons, config.stage, config.cut)
    step = LearningStep(config, [learner], listed=tasks.listed)

    for number in run.steps(config.steps, [learner], step.parts, tasks.measures):
        game, dealt = horizons.at(number), horizons.dealt(tasks.draw(config.tasks, run.rng), number)
        groups = attempts(game, dealt, learner, config.attempts, run.rng)
        trajectories = step.shaped(score(groups, tasks.reward))
        advantages = horizons.kept(trajectories, step.estimate(trajectories))
        batch = step.pack(trajectories, advantages)
        metrics = step.update(learner, batch, run.rng)
        run.report(learner, trajectories, advantages, metrics)
        run.note(horizons.metrics(number, groups))
    return learner
