"""Magnetic self-play: a pull to a magnet makes the last iterate converge (Sokota et al., 2023, arXiv:2206.05825).

Who says what is right: the rules of the game.

Self-play policy gradient circles around the equilibrium of a game with hidden information. Magnetic
mirror descent (Sokota et al., 2023, arXiv:2206.05825) and R-NaD (Perolat et al., 2022,
arXiv:2206.15378) add a pull towards a magnet rho; the pulled game has one equilibrium, which the last
iterate reaches, and it moves to an equilibrium of the game itself as the magnet follows or as the pull weakens:

    L = - E[ A log pi(a | s) ]  +  alpha_k E[ KL(pi(. | s) || rho(. | s)) ]

    rho      the policy as it was at the last step divisible by `magnet_every` (R-NaD's outer loop); with 0
             uniform for good (then the KL is log K minus the entropy, and the pull must fall further)
    alpha_k  falls by equal factors from `pull` towards `last_pull`, which a step after the last would have

The advantage is the return minus a moving average kept for each seat and what it was shown first in the
match, which all its turns share. Where legal replies are listed, KL and entropy are exact sums over them; over
free text the entropy is that of each token under the whole vocabulary, and the KL is estimated from the
sampled token by k2, whose gradient is that of this KL in expectation (its value is not).

Differences from the papers: a gradient step in place of the closed-form mirror step, its size annealed
with the pull; the pull acts where play came, not at every information state.
"""

from __future__ import annotations

from dataclasses import dataclass

from redqueen.credit.advantages.keys import by_information_state
from redqueen.credit.advantages.statistics import MovingBaseline
from redqueen.credit.rewards import payoff, score, spoken_by
from redqueen.curricula.dealt import Enumerated
from redqueen.games.catalogue import find_game
from redqueen.measures.of_games import usual_measures
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.objectives.references import Reference
from redqueen.objectives.regularizers import near_reference, with_entropy
from redqueen.play.lockstep import play
from redqueen.play.seating import mirror
from redqueen.protocols import Policy
from redqueen.runs.run import Run
from redqueen.schedules import anneal
from redqueen.settings.learner import Flat, Learner
from redqueen.settings.limits import AnyCount, Count, Positive, Share


@dataclass(frozen=True)
class Config:
    learner: Flat = Learner()
    game: str = "kuhn_poker"
    steps: Count = 400
    matches_per_step: Count = 128
    baseline_decay: Share = 0.9
    pull: Positive = 0.5  # alpha at the first step
    last_pull: Positive = 0.2  # alpha after the last
    last_learning_rate: Positive = 0.125  # after the last step, as a share of the first
    magnet_every: AnyCount = 50  # steps between moves of the magnet; 0 keeps it uniform
    table_learning_rate = 8.0  # of a table, unless --learning-rate sets it


def train(config: Config, run: Run) -> Policy:
    game = find_game(config.game)
    curriculum = Enumerated(game.tasks())
    learner = config.learner.build(run.derived("learner"), config.table_learning_rate)
    first_learning_rate = learner.learning_rate
    magnet = Reference(learner)
    estimate = MovingBaseline(by_information_state, decay=config.baseline_decay, debias=True)
    measures = usual_measures(game, learner, run.tests)

    for step in run.steps(config.steps, [learner], [magnet, estimate], measures):
        done = step / config.steps
        pull = anneal(config.pull, config.last_pull, done)
        learner.learning_rate = first_learning_rate * anneal(1.0, config.last_learning_rate, done)
        matches = mirror(game, curriculum.draw(config.matches_per_step, run.rng), learner)
        trajectories = spoken_by(learner, score(play(matches, run.rng), payoff))
        advantages = estimate(trajectories)
        batch = pack(trajectories, advantages)
        objective = with_entropy(Reinforce(), pull)
        if config.magnet_every:
            if step % config.magnet_every == 0:
                magnet.refresh()
            batch = magnet.rated(batch)
            objective = near_reference(Reinforce(), pull, batch)
        metrics = learner.update(batch, objective)
        run.report(learner, trajectories, advantages, metrics | {"pull": pull, "learning_rate": learner.learning_rate})
    return learner
