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

Differences: replies are drawn anew from pi_round at each step (the paper: once a round, then three epochs). An error
that is none pays its writer -1. The generator chooses the kind of error itself. The ratio is GSPO's, token by token.
What critic and generator are measured on is not learned from.

Controls: `--generator frozen` (the critic trains on the errors of round 0 alone), `--natural 0`.
"""

from __future__ import annotations

from dataclasses import dataclass

from redqueen.credit.advantages.keys import by_role
from redqueen.credit.advantages.statistics import Unbaselined
from redqueen.credit.rewards import score
from redqueen.play.groups import attempts, authors
from redqueen.protocols import Policy
from redqueen.questions.asking import read, tasks_among
from redqueen.recipes.adversaries.spc.measures import Measured
from redqueen.recipes.adversaries.spc.steps import Pay, against, criticised, figures, lessons, sides
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner, NoSolver
from redqueen.settings.limits import Amount, AnyCount, Count
from redqueen.settings.roles import Cast, Role
from redqueen.settings.update import Update


@dataclass(frozen=True)
class Config:
    learner: NoSolver = Learner(model="smollm2-135m")
    generator: Role = Role("separate")
    """adapter, separate, frozen, or a model folder"""
    questions: str = "step_traces"
    steps: Count = 200
    round: Count = 100  # steps of each
    planted: Count = 64  # a step
    natural: AnyCount = 64  # a step, half of them right
    pool: Count = 3  # rounds, the newest, from which both sides are drawn
    imitation: Amount = 0.15
    problems: Count = 24  # held out, of each kind of error
    update: Update = Update()
    paper = Update(loss="gspo", clip_low=0.2, clip_high=0.2, aggregate="row")
    learns_from_older = True  # than itself: pi_round


def train(config: Config, run: Run) -> Policy:
    questions, pay = criticised(config.questions), Pay()
    cast = Cast(config, run)
    critic, generator = sides(cast, config.pool)
    step = cast.learning_step(by_role, Unbaselined(), config.imitation)
    measured = Measured(questions, critic, generator, config.problems, run.tests)
    run.show("payoffs", pay.rewards.table())

    for number in run.steps(config.steps, cast.learning, [generator.pool, critic.pool, *step.parts], [measured]):
        if number and number % config.round == 0:
            critic.end_round()
            generator.end_round()
        spoilt = against(generator, questions.invitations(config.planted, run.rng), run.rng)
        written = read(questions, spoilt)
        planted = against(critic, tasks_among(written), run.rng, authors(spoilt, written))
        natural = attempts(critic.game, questions.natural(config.natural, run.rng), critic.speaker, 1, run.rng)
        trajectories = score(spoilt, pay.generators(planted)) + score([*planted, *natural], pay)
        for side in (critic, generator):
            if side.policy in cast.learning:
                own, shown = lessons(side, trajectories, questions, measured.held, bool(config.imitation), run.rng)
                own = step.shaped(own)
                advantages = step.estimate(own)  # R is the reward itself
                batch = step.pack(own, advantages, shown)
                metrics = step.update(side.policy, batch, run.rng)
                run.report(side.policy, own, advantages, metrics)
        run.note(figures(written, planted, natural))
    return cast.learner
