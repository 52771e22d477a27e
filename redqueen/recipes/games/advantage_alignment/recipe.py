"""Advantage alignment: social dilemmas, cooperation that cannot be exploited (Piche et al. 2025, arXiv:2511.19405).

Who says what is right: the rules of the game.

Each seat of a repeated game is paid what falls to it. Plain policy gradient then learns to defect, since nobody's
credit holds what its own kindness teaches the other. The paper adds the other's advantage, weighed by how one has
fared so far (Duque et al. 2024, arXiv:2406.14662), round t by round:

    G(t)  = r(t) + gamma G(t + 1)
    A(t)  = G(t) - mean of G(t) over the other matches of the same environment seed and seat (no deviation)
    A*(t) = A(t) + beta w(t) A_other(t),      w(t) = sum over k < t of gamma^(t - k) A(k)

    L = - mean over own tokens of  A* log pi  -  c H(pi)  +  k KL_k3(pi || initial policy)

Opponents: with chance 1/2 the learner itself, else one of up to 30 past selves, of which every tenth step adds one.
Their tokens are never trained on, but their advantages are needed and made like the learner's.

The settings are the memory-one dilemma's; Trust-and-Split has gamma 0.96, beta 2, scale 100, kl 0.001, no entropy.
Controls: `--beta 0` is the naive policy gradient.

Differences: w is the paper's; its released code multiplies it by gamma once more. Fresh tokens only, so the ratio that
the paper truncates at 2 is 1. Seats alternate from match to match,
not from group to group. Illegal replies fall under the game's own rule; there is no guided second try.
"""

from __future__ import annotations

from dataclasses import dataclass

from redqueen.credit.rewards import per_largest_score, score, spoken_by
from redqueen.curricula.dealt import Sampled
from redqueen.games.catalogue import find_game
from redqueen.objectives.batch import beside, pack
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.objectives.regularizers import with_entropy, with_k3
from redqueen.opponents.pools import Snapshots
from redqueen.play.lockstep import play
from redqueen.play.seating import rotate
from redqueen.protocols import Policy
from redqueen.recipes.games.advantage_alignment.measures import SelfPlay
from redqueen.recipes.games.advantage_alignment.steps import aligned
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat, Learner
from redqueen.settings.limits import Amount, Count, Positive, Several, Share


@dataclass(frozen=True)
class Config:
    learner: Flat = Learner()
    game: str = "last_round"
    steps: Count = 200  # up to 3000 in the paper
    matches_per_step: Count = 64  # 128 in the paper's dilemma, 64 in Trust-and-Split
    attempts: Several = 64  # matches of one environment seed (8 in Trust-and-Split)
    beta: Amount = 0.5
    discount: Share = 0.9  # gamma
    scale: Positive = 5.0  # what rewards are divided by
    entropy: Amount = 0.01  # c
    kl: Amount = 0.0  # k
    current: Share = 0.5  # chance of the learner itself as the opponent, below 1
    snapshot_every: Count = 10
    pool_size: Count = 30
    table_learning_rate = 5.0  # of a table, unless --learning-rate sets it


def train(config: Config, run: Run) -> Policy:
    game = find_game(config.game)
    curriculum = Sampled(game.tasks())
    learner = config.learner.build(run.derived("learner"), config.table_learning_rate)
    opponents = Snapshots(learner, capacity=config.pool_size, current=config.current)
    reward = per_largest_score([game], [config.scale])
    estimate = aligned(config.beta, config.discount)
    initial = learner.freeze()
    objective = with_k3(with_entropy(Reinforce(), config.entropy), config.kl)
    measures = [SelfPlay(game, learner, seed=run.tests)]

    for step in run.steps(config.steps, [learner], [opponents], measures):
        deals = curriculum.draw(-(-config.matches_per_step // config.attempts), run.rng)
        tasks = [deals[number // config.attempts] for number in range(config.matches_per_step)]
        matches = rotate(game, tasks, learner, opponents, run.rng, start=step * config.matches_per_step)
        trajectories = score(play(matches, run.rng), reward)
        credit = dict(zip(map(id, trajectories), estimate(trajectories), strict=True))
        own = spoken_by(learner, trajectories)
        advantages = [credit[id(trajectory)] for trajectory in own]
        batch = pack(own, advantages)
        if config.kl:
            batch = beside(batch, initial.likelihoods(batch))
        metrics = learner.update(batch, objective)
        if (step + 1) % config.snapshot_every == 0:
            opponents.add(learner.freeze())
        run.report(learner, own, advantages, metrics)
    return learner
