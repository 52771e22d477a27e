"""First steps: a table learns tic-tac-toe by playing itself, in ten seconds.

Who says what is right: the rules of the game.

There is no paper, nothing is new and nothing is left out: the five verbs, plain REINFORCE, and a baseline
for each first position of a seat, which all its moves of a match share. Read this file before the others.

    A = R - b[first position],    L = - mean of  A * log pi(move | position)
"""

from __future__ import annotations

from dataclasses import dataclass

from redqueen.credit.advantages.keys import by_information_state
from redqueen.credit.advantages.statistics import MovingBaseline
from redqueen.credit.rewards import payoff, score, spoken_by
from redqueen.curricula.dealt import Sampled
from redqueen.games.tic_tac_toe import TicTacToe
from redqueen.measures.of_games import usual_measures
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.play.lockstep import play
from redqueen.play.seating import mirror
from redqueen.players.tabular import TabularPolicy
from redqueen.protocols import Policy
from redqueen.runs.run import Run
from redqueen.settings.limits import Amount, Count, Share


@dataclass(frozen=True)
class Config:
    steps: Count = 160
    matches_per_step: Count = 48
    learning_rate: Amount = 100.0  # a gradient is spread over some five hundred positions
    baseline_decay: Share = 0.9


def train(config: Config, run: Run) -> Policy:
    game = TicTacToe()
    curriculum = Sampled(game.tasks())
    learner = TabularPolicy(learning_rate=config.learning_rate)
    estimate = MovingBaseline(by_information_state, decay=config.baseline_decay, debias=True)
    objective = Reinforce()

    for _ in run.steps(config.steps, [learner], [estimate], usual_measures(game, learner, run.tests)):
        tasks = curriculum.draw(config.matches_per_step, run.rng)
        episodes = play(mirror(game, tasks, learner), run.rng)  # play
        trajectories = spoken_by(learner, score(episodes, payoff))  # score
        advantages = estimate(trajectories)  # estimate
        batch = pack(trajectories, advantages)  # pack
        metrics = learner.update(batch, objective)  # update
        run.report(learner, trajectories, advantages, metrics)
    return learner
