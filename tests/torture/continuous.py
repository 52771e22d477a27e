"""A training whose matches are played without rounds, for `tests/torture/share.py`. There is no paper."""

from __future__ import annotations

from dataclasses import dataclass

from redqueen.credit.advantages.statistics import MovingBaseline
from redqueen.credit.rewards import payoff, score
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.play.continuous import play
from redqueen.play.seating import mirror
from redqueen.protocols import Policy
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner


@dataclass(frozen=True)
class Config:
    learner: Learner = Learner(model="tiny:hidden=16,heads=2", answer="boxed", max_completion_length=4)
    steps: int = 4
    tasks: int = 3


def train(config: Config, run: Run) -> Policy:
    game, learner = KuhnPoker(), config.learner.build_model(run.derived("learner"))
    estimate, objective = MovingBaseline(), Reinforce()
    for _ in run.steps(config.steps, [learner], [estimate]):
        tasks = run.rng.sample(game.tasks(), config.tasks)
        trajectories = score(play(mirror(game, tasks, learner), run.rng, at_once=2), payoff)
        advantages = estimate(trajectories)
        metrics = learner.update(pack(trajectories, advantages), objective)
        run.report(learner, trajectories, advantages, metrics)
    return learner
