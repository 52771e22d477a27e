"""Fictitious self-play: the learner plays its past selves (Heinrich et al., 2015, ICML).

Who says what is right: the rules of the game.

SPIRAL uses the same pool of opponents (arXiv:2506.24119, section 5).
Each step the learner meets one self drawn uniformly from its last 25 snapshots, as first and as second player
equally often; only its own tokens train it. Playing best against the average of the past, the average
itself approaches equilibrium, while the last iterate need not:

    A = R - b[game, role]    as in SPIRAL;    opponent ~ uniform over {self at step 0, n, 2n, ...}

The average policy, which weighs every iterate by how often it reaches a state, is measured as the last iterate is.
Differs from `spiral` in the pool, the line that adds to it, and the seats that alternate. A best response is
approximated by one gradient step, not by training to convergence.

With `staleness` above 0 matches stay in flight over several updates (`play/flow.py`), and a token that
an older self wrote counts by the ratio of the likelihoods, at most 2: a truncated importance weight.
"""

from __future__ import annotations

from dataclasses import dataclass

from redqueen.credit.advantages.keys import by_game_and_role
from redqueen.credit.advantages.statistics import MovingBaseline
from redqueen.credit.rewards import payoff, score, spoken_by
from redqueen.curricula.dealt import Sampled
from redqueen.games.catalogue import find_game
from redqueen.measures.of_games import lists_choices, usual_measures
from redqueen.objectives.batch import ConstantMean, pack
from redqueen.objectives.policy_gradient import Cispo, Reinforce
from redqueen.opponents.pools import Snapshots
from redqueen.play.flow import Flow
from redqueen.play.seating import rotate
from redqueen.protocols import Policy
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat, Learner
from redqueen.settings.limits import AnyCount, Count, Share


@dataclass(frozen=True)
class Config:
    learner: Flat = Learner()
    game: str = "kuhn_poker"
    steps: Count = 400
    matches_per_step: Count = 128
    baseline_decay: Share = 0.95
    snapshot_every: Count = 5  # steps
    pool_size: Count = 25  # snapshots; the oldest leave first
    staleness: AnyCount = 0  # calls after which a match must be over


def train(config: Config, run: Run) -> Policy:
    game = find_game(config.game)
    curriculum = Sampled(game.tasks())
    learner = config.learner.build(run.derived("learner"))
    opponents = Snapshots(learner, capacity=config.pool_size)
    estimate = MovingBaseline(by_game_and_role, decay=config.baseline_decay)
    objective = Cispo(above_one=1.0) if config.staleness else Reinforce()
    flow = Flow([game], learner, config.matches_per_step, config.staleness, lambda: opponents.players)
    weigh = ConstantMean(config.learner.longest_reply(lists_choices(game)))
    measures = usual_measures(game, learner, run.tests)

    for step in run.steps(config.steps, [learner], [opponents, estimate, flow], measures):
        if step % config.snapshot_every == 0 and step:
            opponents.add(learner.freeze())
        tasks = curriculum.draw(flow.room, run.rng)
        matches = rotate(game, tasks, learner, opponents, run.rng, start=step * config.matches_per_step)
        trajectories = spoken_by(learner, score(flow.play(matches, run.rng), payoff))
        advantages = estimate(trajectories)
        metrics = learner.update(pack(trajectories, advantages, weigh), objective)
        run.report(learner, trajectories, advantages, metrics | flow.metrics())
    return learner
