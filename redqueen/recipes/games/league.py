"""League self-play (AlphaStar, Vinyals et al., 2019, Nature 575, methods "Multi-agent learning").

Who says what is right: the rules of the game.

A learner alone forgets how to beat what it no longer plays, and never meets what would beat it. In a league it meets
itself, its past selves, bots, and exploiters: policies that train against the learner as it is now and nobody else.
Whom the learner meets is drawn by prioritised fictitious self-play, those it loses to first:

    P(opponent b) ~ (1 - p[b])^2         p[b]: the learner's win rate against b, by the league's payoff matrix

An exploiter that wins `done_at` of its games, or has tried for `patience` steps, is frozen into the league and starts
anew. Against the best reply to itself the learner follows the gradient of what it can lose at worst, which self-play
alone does not. Its learning rate falls and theirs does not, so the reply gets ever better. `make experiments
NAME=league` says what that brings in Kuhn poker, and that past selves alone bring most of it.

Differs from the paper: one learner; policy gradient with a moving baseline (for each seat and what it was shown first
in the match) and an entropy bonus in place of V-trace and imitation; no league exploiters; no 15 % of the matches
against past players that it no longer beats (they are drawn by P like all others); an exploiter starts anew from the
learner (from imitation in the paper); win rates fade by `Payoffs`. The learner also meets exploiters as they
are now, among those it draws and in the matches that they arrange. From these it learns too: with one exploiter, up to
half of what it learns from is not drawn by P.
"""

from __future__ import annotations

from dataclasses import dataclass

from redqueen.credit.advantages.keys import by_information_state
from redqueen.credit.advantages.statistics import MovingBaseline
from redqueen.credit.rewards import payoff, score, spoken_by
from redqueen.curricula.dealt import Enumerated
from redqueen.games.catalogue import find_game
from redqueen.measures.of_games import usual_measures
from redqueen.opponents.league import League
from redqueen.play.lockstep import play
from redqueen.play.seating import rotate
from redqueen.protocols import Policy
from redqueen.runs.named_players import find_player
from redqueen.runs.run import Run
from redqueen.schedules import anneal
from redqueen.settings.learner import Flat, Learner
from redqueen.settings.learning_step import LearningStep
from redqueen.settings.limits import AnyCount, Count, Positive, Share
from redqueen.settings.update import Update


@dataclass(frozen=True)
class Config:
    learner: Flat = Learner()
    game: str = "kuhn_poker"
    steps: Count = 400
    matches_per_step: Count = 128  # that the learner arranges, and each exploiter; it learns from all in which it sits
    exploiters: AnyCount = 1
    untrained: bool = False  # an exploiter starts anew as it was made, not as the learner is now
    done_at: Share = 0.7
    patience: Count = 100  # steps
    fixed: tuple[str, ...] = ()  # further opponents: those that `redqueen list players` names
    current: Share = 0.0  # chance of meeting itself (0.35 in the paper)
    by_rating: bool = False  # win rates as ratings have them, not as they were counted
    snapshot_every: Count = 25  # steps
    pool_size: Count = 50  # past selves; the least informative leave first
    baseline_decay: Share = 0.9
    last_learning_rate: Positive = 0.1  # the learner's after the last step, as a share of the first
    update: Update = Update()
    paper = Update(loss="reinforce", aggregate="token", entropy=0.05)
    of_its_estimator = ("baseline_decay",)
    table_learning_rate = 8.0  # of a table, unless --learning-rate sets it


def train(config: Config, run: Run) -> Policy:
    game = find_game(config.game)
    curriculum = Enumerated(game.tasks())
    learner = config.learner.build(run.derived("learner"), config.table_learning_rate)
    names = [f"exploiter_{number}" for number in range(config.exploiters)]
    exploiters = [config.learner.build_beside(learner, run.derived(name), name) for name in names]
    untrained = {each.name: each.state() for each in exploiters}
    league = League(
        learner,
        exploiters,
        [find_player(spec, game) for spec in config.fixed],
        current=config.current,
        capacity=config.pool_size,
        by_rating=config.by_rating,
        done_at=config.done_at,
        patience=config.patience,
    )
    first_learning_rate = learner.learning_rate
    policies = [learner, *exploiters]
    baselines = [MovingBaseline(by_information_state, decay=config.baseline_decay, debias=True) for _ in policies]
    updates = [
        LearningStep(config, [policy], key=by_information_state, estimate=baseline)
        for policy, baseline in zip(policies, baselines, strict=True)
    ]
    kept = [part for step in updates for part in step.parts]
    measures = usual_measures(game, learner, run.tests)

    for number in run.steps(config.steps, policies, [league, *kept], measures):
        if number % config.snapshot_every == 0 and number:
            league.add(learner.freeze())
        for exploiter in league.done():
            league.add(exploiter.freeze())
            start = untrained[exploiter.name] if config.untrained else learner.state()
            exploiter.restore({**start, "name": exploiter.name, "version": exploiter.version})
            league.begin_anew(exploiter)
        learner.learning_rate = first_learning_rate * anneal(1.0, config.last_learning_rate, number / config.steps)
        done = number * config.matches_per_step  # the roles go on in turn
        matches = rotate(game, curriculum.draw(config.matches_per_step, run.rng), learner, league, run.rng, done)
        for exploiter in exploiters:
            tasks = curriculum.draw(config.matches_per_step, run.rng)
            matches += rotate(game, tasks, exploiter, league.against(exploiter), run.rng, done)
        episodes = play(matches, run.rng)
        league.observe(episodes)
        for policy, step in zip(policies, updates, strict=True):
            trajectories = step.shaped(spoken_by(policy, score(episodes, payoff)))
            advantages = step.estimate(trajectories)
            metrics = step.update(policy, step.pack(trajectories, advantages), run.rng)
            run.report(policy, trajectories, advantages, metrics)
        run.note(league.metrics())
        if (number + 1) % config.snapshot_every == 0:
            run.keep("league", league.table())
    return learner
