"""MARS: turn-level self-play on a pool of strategic games (Yuan et al., 2025, arXiv:2510.15414; MARSHAL).

Who says what is right: the rules of each game.

One policy plays every seat of competitive and cooperative games. Credit is given turn by turn: the
return of turn k is the sum of the rewards from it on (what another seat's move earned me belongs to my
turn before it), and it is compared with the mean over all turns of the same game and role, because the
seats of a game expect different returns. Sum first, then centre; no division by a deviation:

    R[p, k] = sum of r[p, j] over j >= k,      A[p, k] = R[p, k] - mean over the batch of R[game, p, .]

    L = - mean over rows, then tokens, of  clip(A, ratio; 0.2, dual 1.4)  +  0.2 KL_k3(pi || initial policy)

Rewards are the game's, scaled so that the largest score of each game is one, plus 0.05 for each
well-formed turn and a penalty on long ones.

The ablation without the roles is `centred_turns(by_game)`: `experiments/mars.py` has it, and others.

Differences: the largest score of every game is one (the paper: up to four, with a KL coefficient as here, which so
weighs more). A row holds all turns of a seat that extend one another, and its loss is the mean over its tokens, as in
the released code (the paper: the mean over turns of their means). The estimator is the paper's; the released code
whitens token rewards before summing them and divides by a deviation after all. A forfeit costs the game's stake (the
released code: stake + 10 for the offender and nothing for the other seat, which one mistake then dominates). The length
penalty acts above `longest_reply` tokens only, as the released code has it.
"""

from __future__ import annotations

from dataclasses import dataclass

from redqueen.credit.advantages.keys import by_game_and_role
from redqueen.credit.advantages.statistics import centred_turns
from redqueen.credit.rewards import LengthPenalty, per_largest_score, score, spoken_by
from redqueen.curricula.dealt import Sampled
from redqueen.games.catalogue import find_game
from redqueen.measures.of_games import measures_of_games
from redqueen.play.lockstep import play
from redqueen.play.seating import mirror
from redqueen.protocols import AdvantageEstimator, Policy
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat, Learner
from redqueen.settings.learning_step import LearningStep
from redqueen.settings.limits import Count
from redqueen.settings.update import Update


@dataclass(frozen=True)
class Config:
    learner: Flat = Learner()
    games: tuple[str, ...] = ("tic_tac_toe", "kuhn_poker", "mini_hanabi")
    largest_scores: tuple[float, ...] = (1.0, 2.0, 4.0)  # of these games, to put them on one scale
    steps: Count = 200
    matches_per_game: Count = 32
    longest_reply: Count = 2048  # tokens, above 11
    update: Update = Update()
    paper = Update(
        format_bonus=0.05,
        loss="ppo",
        clip_low=0.2,
        clip_high=0.2,
        dual_clip=1.4,
        aggregate="row",
        kl=0.2,
        updates_per_batch=2,
    )
    batch = (("matches_per_game",),)


def train(config: Config, run: Run, estimate: AdvantageEstimator = centred_turns(by_game_and_role)) -> Policy:
    games = [find_game(name) for name in config.games]
    curricula = [Sampled(game.tasks()) for game in games]
    learner = config.learner.build(run.derived("learner"))
    step = LearningStep(config, [learner], key=by_game_and_role, estimate=estimate)
    rewards = per_largest_score(games, config.largest_scores), LengthPenalty(longest=config.longest_reply)
    measures = measures_of_games(games, learner, run.tests)

    for _ in run.steps(config.steps, [learner], step.parts, measures):
        matches = [
            match
            for game, curriculum in zip(games, curricula, strict=True)
            for match in mirror(game, curriculum.draw(config.matches_per_game, run.rng), learner)
        ]
        trajectories = step.shaped(spoken_by(learner, score(play(matches, run.rng), *rewards)))
        advantages = step.estimate(trajectories)
        batch = step.pack(trajectories, advantages)
        metrics = step.update(learner, batch, run.rng)
        run.report(learner, trajectories, advantages, metrics)
    return learner
