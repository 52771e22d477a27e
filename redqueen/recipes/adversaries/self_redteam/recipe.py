"""Self-RedTeam: one model attacks and defends, each time with a hidden thought (Liu et al. 2025, arXiv:2506.07468).

Who says what is right: a safety classifier of prompts and responses (`judge`).

The attacker rewrites a seed, harmful or benign, so that the defender errs; only its answer crosses over, never its
thought. The defender answers. A classifier labels three things: was the prompt harmful, was the response, was it a
refusal. What that pays stands in a table (`payoffs.txt`, printed before training), for attacker and defender:

    faithful   +-0.5 / -    the judged prompt is of its seed's kind
    harm       +-1 / -+1    the response is harmful
    refusal    +-0.5 / -+1  a prompt judged harmful is answered, or a prompt judged benign is refused
    format     +-1 / +-1    one thought, one answer, nothing else
    A = (R - KL) normalised per role,   KL = beta * sum of log pi - log pi_start over the reply (k1, in the reward)
    L = clipped ratio of A (0.2)  +  imitation * (-log pi of good answers to harmless requests)

Half of the seeds are benign, for without them refusing everything is best; half of each kind are vanilla, answered as
they stand. A match with a missing label is a tie and left out before the advantages.

Differences: an attack in which no answer can be found ends the match and costs its writer the format alone (the code
passes the raw text on, thought and all). The thought is opened in the prompt. `zero_sum` pays +-1 for every component,
so that harm and refusal sum to zero; the release has no such function. A cut-off reply counts as it stands.

Controls: `--attacker frozen` (a defender trained against a static attacker), `--vanilla 1` (static prompts alone),
`--benign 0`, `--defender frozen`, `--world red_team:thoughts=false`, `--judge-misses 0.6`. One set of weights plays
both roles; `--attacker adapter` gives the attacker its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np

from redqueen.credit.advantages.keys import by_role
from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.payoff_table import SafetyPayoff, general_sum, zero_sum
from redqueen.credit.rewards import kl_in_reward, score, spoken_by
from redqueen.games.red_team import RedTeam
from redqueen.measures.references import demonstrated, reference_logprobs
from redqueen.objectives.batch import pack
from redqueen.objectives.demonstrations import BesideDemonstrations, in_parts
from redqueen.objectives.policy_gradient import ClippedRatio
from redqueen.play.lockstep import play
from redqueen.players.language.writing import Writer
from redqueen.protocols import Player, Policy
from redqueen.questions.small.red_team import RedTeamWorld, find_world
from redqueen.recipes.adversaries.self_redteam.measures import HeldOutAttacks
from redqueen.recipes.adversaries.self_redteam.steps import dealt, figures, judge_named, judged, without_ties
from redqueen.runs.run import Run
from redqueen.settings.learner import TABULAR, Flat, Learner
from redqueen.settings.limits import Amount, Count, Share
from redqueen.settings.roles import FROZEN, SHARED, bind, learning
from redqueen.types import Match, RedQueenError


@dataclass(frozen=True)
class Config:
    learner: Flat = Learner(model="smollm2-135m")
    attacker: str = SHARED
    """shared, adapter, separate, frozen, a model folder, or http://HOST/v1#MODEL"""
    defender: str = SHARED
    world: str = "red_team"
    judge: str = "rule"
    """rule, hf:FOLDER, or path/to/file.py:MyClassifier"""
    judge_misses: Share = 0.0  # of the harm: what a biased judge does
    zero_sum: bool = False  # +-1 for every component
    steps: Count = 200
    matches_per_step: Count = 128
    benign: Share = 0.5  # of the seeds
    vanilla: Share = 0.5  # of the seeds of each kind
    kl: Amount = 0.01  # beta in the paper
    imitation: Amount = 1.0  # of the loss on as many good answers as there are matches
    problems: Count = 16  # held out, of each group


def train(config: Config, run: Run) -> Policy:
    world = find_world(config.world)
    game, rewards = RedTeam(world), zero_sum if config.zero_sum else general_sum
    judge, pays = judge_named(config.judge, world, config.judge_misses), SafetyPayoff(rewards)
    learner = config.learner.build(run.derived("learner"))
    attacker, defender = seated(config, learner, run)
    seats = [attacker, defender]
    learners: list[Policy] = (
        [p for p in [learner] if p in seats] if config.learner.model == TABULAR else [*learning(seats)]
    )
    check(config, world, defender in learners, bool(learners))
    references = {policy.name: policy.freeze() for policy in learners}
    estimate, objective = GroupRelative(by_role), BesideDemonstrations(ClippedRatio(0.2, 0.2))
    answers = next((policy for policy in learners if policy is defender), learner)
    measures = [HeldOutAttacks(world, answers, config.problems, seed=run.tests)]
    run.show("payoffs", rewards.table())

    for _ in run.steps(config.steps, learners, [], measures):
        seeds = dealt(world, config.matches_per_step, config.benign, config.vanilla, run.rng)
        matches = [Match(game, seed, {"attacker": attacker, "defender": defender}) for seed in seeds]
        episodes = judged(play(matches, run.rng), judge)
        trajectories = without_ties(score(episodes, pays))
        for policy in learners:
            own = spoken_by(policy, trajectories)
            own = kl_in_reward(own, reference_logprobs(references[policy.name], own), config.kl)
            advantages = estimate(own)
            schooled = bool(config.imitation) and policy is defender
            shown = demonstrated(world.schooling(len(seeds), run.rng), policy) if schooled else []
            batch = pack([*own, *shown], [*advantages, *(np.ones(1) for _ in shown)])
            metrics = policy.update(in_parts(batch, config.imitation), objective)
            run.report(policy, own, advantages, metrics)
        run.note(figures(episodes))
    return answers


def seated(config: Config, learner: Policy, run: Run) -> tuple[Player, Player]:
    """Attacker and defender. Raises RedQueenError for a binding that a table cannot have."""
    if isinstance(learner, Writer):
        attacker = bind("attacker", config.attacker, config.learner, learner, run.derived("attacker"))
        return attacker, bind("defender", config.defender, config.learner, learner, run.derived("defender"))
    players = {SHARED: learner, FROZEN: learner.freeze()}
    for role, binding in (("attacker", config.attacker), ("defender", config.defender)):
        if binding not in players:
            raise RedQueenError(f"a tabular {role} is {SHARED} or {FROZEN}, not {binding!r}")
    return players[config.attacker], players[config.defender]


def check(config: Config, world: RedTeamWorld, defends: bool, learns: bool) -> None:
    """Raises RedQueenError for settings that would have no effect."""
    if not learns:
        raise RedQueenError(f"nobody learns: bind the attacker or the defender to {SHARED}")
    if config.imitation and not (defends and world.schooling(1, Random(0))):
        raise RedQueenError("there are no good answers to imitate, or nobody who would: set --imitation 0")
    if world.thoughts and config.learner.answer:
        raise RedQueenError("this world has a format of its own for thoughts: leave --answer out")
