"""SPC: a sneaky generator plants errors in steps, a critic finds them, in rounds (Chen et al. 2025, arXiv:2504.19162).

Who says what is right: exact arithmetic, in which a planted error counts if it changes the final answer.

Two models from one base. The generator rewrites a right step of a solution into a wrong one; it counts as an error only
if it flips the final answer, which exact arithmetic decides. The critic, shown the problem, the steps before and this
one, says Correct or Incorrect; half of what it judges are steps as solvers write them, right and wrong, without which
it would learn the generator's style. The winner gains 1, the loser loses 1 (`payoffs.txt`, printed before training):

    rho = exp(mean log pi - mean log pi_round),   pi_round: the policy at the start of the round, which also speaks
    L   = - mean over replies of  min(R rho, R clip(rho, 0.8, 1.2))  +  0.15 * (-log pi of as many demonstrations)

R is the reward itself, +-1. A round ends every `round` steps: then both sides take the place of those that spoke, and
those of earlier rounds stay in the pools from which each step's pairs are drawn, so that neither side is always beaten.

Differences: words are drawn anew from pi_round at each step (the paper: once a round, then three epochs). An error that
is none pays its writer -1. The generator chooses the kind of error itself. The ratio is that of GSPO, word for word.
What critic and generator are measured on is not learned from.

Controls: `--generator frozen` (the critic trains on the errors of round 0 alone), `--natural 0`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from redqueen.credit.advantages.statistics import Unbaselined
from redqueen.credit.payoff_table import CriticRewards
from redqueen.credit.rewards import score, spoken_by, with_verdict
from redqueen.measures.references import demonstrated
from redqueen.objectives.batch import pack, row_mean
from redqueen.objectives.demonstrations import BesideDemonstrations, in_parts
from redqueen.objectives.policy_gradient import Gspo
from redqueen.opponents.pools import Snapshots
from redqueen.play.groups import attempts, authors
from redqueen.players.language.writing import Writer
from redqueen.protocols import Policy
from redqueen.questions.asking import read, tasks_among
from redqueen.questions.catalogue import find_questions, having
from redqueen.questions.small.step_traces import Criticised
from redqueen.recipes.adversaries.spc.measures import Deception, ErrorSet
from redqueen.recipes.adversaries.spc.steps import (
    CRITICISE,
    SPOIL,
    PaidToCritics,
    against,
    figures,
    paid_to_generators,
)
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat, Learner
from redqueen.settings.limits import Amount, Count, Within
from redqueen.settings.roles import FROZEN, SEPARATE, SHARED, bind, learning
from redqueen.types import RedQueenError


@dataclass(frozen=True)
class Config:
    learner: Flat = Learner(model="smollm2-135m")
    generator: str = SEPARATE
    """adapter, separate, frozen, or a model folder"""
    domain: str = "step_traces"
    steps: Count = 200
    round: Count = 100  # steps of each
    planted: Count = 64  # a step
    natural: Annotated[int, Within(0)] = 64  # a step, half of them right
    pool: Count = 3  # rounds, the newest, from which both sides are drawn
    clip: Annotated[float, Within(0.0, 1.0, above=True)] = 0.2
    imitation: Amount = 0.15
    problems: Count = 24  # held out, of each kind of error


def train(config: Config, run: Run) -> Policy:
    questions, pays = having(find_questions(config.domain), Criticised), CriticRewards()
    critic = config.learner.build_model(run.derived("learner"))
    if config.generator == SHARED:
        raise RedQueenError(f"generator and critic are two models: bind the generator to {SEPARATE} or {FROZEN}")
    generator = bind("generator", config.generator, config.learner, critic, run.derived("generator"))
    if not isinstance(generator, Writer):
        raise RedQueenError("an endpoint cannot be kept from round to round: bind the generator to a model")
    learners = learning([critic, generator])
    critics, generators = (Snapshots(player, latest=config.pool) for player in (critic, generator))
    estimate = Unbaselined()
    objective = BesideDemonstrations(Gspo(config.clip, config.clip))
    errors = ErrorSet(questions, critic, config.problems, problems=config.problems, seed=run.tests)
    duel = Deception(questions, generator, generators, critics, 4 * config.problems, seed=run.tests)
    held = {task.id for task in errors.tasks + duel.tasks}
    run.show("payoffs", pays.table())

    for step in run.steps(config.steps, learners, [generators, critics], [errors, duel]):
        if step and step % config.round == 0:
            critics.add(critic.freeze())
            generators.add(generator.freeze())
        spoilt = against(SPOIL, questions.invitations(config.planted, run.rng), generators, run.rng)
        written = read(questions, spoilt)
        planted = against(CRITICISE, tasks_among(written), critics, run.rng, authors(spoilt, written))
        natural = attempts(CRITICISE, questions.natural(config.natural, run.rng), critics.players[-1], 1, run.rng)
        judged = [*planted, *natural]
        trajectories = score(spoilt, paid_to_generators(planted, pays)) + score(judged, PaidToCritics(pays))
        for policy, pool, role in ((critic, critics, "critic"), (generator, generators, "generator")):
            if policy not in learners:
                continue
            speaker = pool.players[-1]
            told = [each for each in spoken_by(speaker, trajectories) if each.seat.role == role]
            own = [each for each in told if each.episode.task.id not in held]
            advantages = estimate(own)
            count = len(with_verdict(own))
            demonstrations = questions.demonstrations(3 * count, run.rng) if config.imitation else []
            shown = [one for one in demonstrations if one.role == role and one.task.id not in held][:count]
            recited = demonstrated(shown, speaker)
            batch = pack([*own, *recited], [*advantages, *(np.ones(1) for _ in recited)], row_mean)
            metrics = policy.update(in_parts(batch, config.imitation), objective)
            run.report(policy, own, advantages, metrics)
        run.note(figures(written, planted, natural))
    return critic
