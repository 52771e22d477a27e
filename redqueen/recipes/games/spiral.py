"""SPIRAL: self-play on zero-sum games (Liu et al., 2025, arXiv:2506.24119).

Who says what is right: the rules of the game.

One policy plays both roles of a two-player zero-sum game against its current self. The advantage
of a trajectory is its return minus a moving average kept for its game and role (role-conditioned
advantage estimation, RAE), because the roles of a game are not equally easy and a shared baseline
would credit the seat rather than the play:

    A = R - b[game, role],    b[game, role] <- decay * b[game, role] + (1 - decay) * R

All turns of a trajectory share its advantage (discount 1), and every token of a turn counts one
over a constant length (no length normalisation). With further games (`--also`) the game of each match is drawn, and
what is measured stands under the name of its game. The policy takes one step on

    L = - mean over turns of  sum over tokens  A * log pi(token)

With `--staleness 1` a step is played while the one before is learned from, with `--placement process` by a process of
its own (docs/update.md).

Differences from the paper: one update on each batch, so the clipped ratio of the paper's two inner
epochs is 1 throughout and plain REINFORCE is the same; the baseline is read before it is written,
as the released code has it; a forfeit costs the offender the stake and gives it to the other seat
(the released code: -1.5 and +0.5), which keeps the game zero-sum; scores are those of each game, not only their sign.
"""

from __future__ import annotations

from dataclasses import dataclass

from redqueen.credit.advantages.keys import by_game_and_role
from redqueen.credit.advantages.statistics import MovingBaseline
from redqueen.credit.rewards import payoff, score, spoken_by
from redqueen.curricula.dealt import Sampled
from redqueen.games.catalogue import find_game
from redqueen.measures.of_games import lists_choices, measures_of_games, usual_measures
from redqueen.play.ahead import Ahead
from redqueen.play.seating import mirror, shared_out
from redqueen.protocols import Policy
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat, Learner
from redqueen.settings.learning_step import LearningStep
from redqueen.settings.limits import Count, Share
from redqueen.settings.placement import PlayedAhead
from redqueen.settings.update import Update
from redqueen.types import Match


@dataclass(frozen=True)
class Config:
    learner: Flat = Learner()
    game: str = "kuhn_poker"
    also: tuple[str, ...] = ()  # further games of the same run
    steps: Count = 400
    matches_per_step: Count = 128
    baseline_decay: Share = 0.95  # alpha in the paper
    ahead: PlayedAhead = PlayedAhead()
    update: Update = Update()
    paper = Update(loss="reinforce", aggregate="constant")
    batch = (("matches_per_step",),)
    of_its_estimator = ("baseline_decay",)


def train(config: Config, run: Run) -> Policy:
    games = [find_game(name) for name in (config.game, *config.also)]
    curricula = [Sampled(game.tasks()) for game in games]
    learner = config.learner.build(run.derived("learner"))
    rae = MovingBaseline(by_game_and_role, decay=config.baseline_decay)
    listed = all(map(lists_choices, games))
    step = LearningStep(config, [learner], key=by_game_and_role, estimate=rae, listed=listed)
    measures = (
        measures_of_games(games, learner, run.tests) if config.also else usual_measures(games[0], learner, run.tests)
    )
    ahead = Ahead(learner, config.ahead.staleness, config.ahead.apart(learner), config.ahead.actors)

    def dealt() -> list[Match]:
        counts = shared_out(config.matches_per_step, len(games), run.rng)
        return [
            match
            for game, curriculum, count in zip(games, curricula, counts, strict=True)
            for match in mirror(game, curriculum.draw(count, run.rng), learner)
        ]

    for _ in run.steps(config.steps, [learner], [*step.parts, ahead], measures):
        episodes = ahead.play(dealt, run.rng)  # matches of the learner against itself
        trajectories = step.shaped(spoken_by(learner, score(episodes, payoff)))
        advantages = step.estimate(trajectories)
        batch = step.pack(trajectories, advantages)
        metrics = step.update(learner, batch, run.rng)
        run.report(learner, trajectories, advantages, metrics | ahead.metrics())
    return learner
