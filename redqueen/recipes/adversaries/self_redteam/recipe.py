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

Differences: an attack in which no answer can be found ends the match and costs its writer the format alone (the
released code passes the raw text on, thought and all). The thought is opened in the prompt. `zero_sum` pays +-1 for
every component, so that harm and refusal sum to zero; the release has no such function. A cut-off reply counts as it
stands.

Controls: `--attacker frozen` (a defender trained against a static attacker), `--vanilla 1` (static prompts alone),
`--benign 0`, `--defender frozen`, `--prompts red_team:thoughts=false`, `--judge rule:misses=0.6`. One set of weights
plays both roles; `--attacker adapter` gives the attacker its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from redqueen.credit.advantages.keys import by_role
from redqueen.credit.payoff_table import safety_payoff
from redqueen.credit.rewards import score
from redqueen.games.red_team import RedTeam
from redqueen.measures.recitations import demonstrated
from redqueen.play.lockstep import play
from redqueen.protocols import Policy
from redqueen.questions.small.red_words import find_world
from redqueen.recipes.adversaries.self_redteam.measures import HeldOutAttacks
from redqueen.recipes.adversaries.self_redteam.steps import (
    Attacker,
    judge_named,
    matches_dealt,
    paid,
    who_learns,
)
from redqueen.runs.run import Run
from redqueen.settings.learner import NoSolver
from redqueen.settings.learning_step import LearningStep
from redqueen.settings.limits import Amount, Count, Share
from redqueen.settings.oracles import SafetyJudge
from redqueen.settings.roles import Cast, Peer
from redqueen.settings.update import Update


@dataclass(frozen=True)
class Config:
    learner: NoSolver = NoSolver(model="smollm2-135m")
    attacker: Attacker = Peer()
    defender: Peer = Peer()
    prompts: str = "red_team"
    """a world with a rule (red_team, red_styles), or a file of prompts that are harmful or benign"""
    judge: SafetyJudge = SafetyJudge()
    zero_sum: bool = False  # +-1 for every component
    steps: Count = 200
    matches_per_step: Count = 128
    benign: Share = 0.5  # of the seeds
    vanilla: Share = 0.5  # of the seeds of each kind
    imitation: Amount = 1.0  # of the loss on as many good answers as there are matches
    problems: Count = 16  # held out, of each group
    update: Update = Update()
    paper = Update(  # kl is beta
        estimator="group",
        scale="group",
        loss="ppo",
        clip_low=0.2,
        clip_high=0.2,
        aggregate="token",
        kl=0.01,
        kl_in="reward",
    )
    batch = (("matches_per_step",),)
    table_learning_rate = 2.0  # of a table, unless --learning-rate sets it


def train(config: Config, run: Run) -> Policy:
    world = find_world(config.prompts)
    cast = Cast(config, run, config.table_learning_rate)
    judge, pays = judge_named(config.judge, world, cast.judge), safety_payoff(config.zero_sum)
    learners = who_learns(cast, world, config.imitation, config.learner.answer, attacks=config.vanilla < 1.0)
    step = LearningStep(config, learners, key=by_role, imitation=config.imitation)
    answers = next((policy for policy in learners if policy is cast["defender"]), cast.policy)
    measures = [HeldOutAttacks(world, answers, config.problems, judge.classifier, seed=run.tests)]
    run.show("payoffs", pays.rewards.table())

    for _ in run.steps(config.steps, learners, [*judge.parts, *step.parts], measures):
        matches = matches_dealt(world, cast, config.matches_per_step, config.benign, config.vanilla, run.rng)
        episodes = judge(play(matches, run.rng))
        trajectories = score(episodes, pays)
        for policy in learners:
            own = step.shaped(paid(policy, trajectories))
            advantages = step.estimate(own)
            schooled = bool(config.imitation) and policy is cast["defender"]
            shown = demonstrated(world.schooling(len(matches), run.rng), policy) if schooled else []
            batch = step.pack(own, advantages, shown)
            metrics = step.update(policy, batch, run.rng)
            run.report(policy, own, advantages, metrics)
        run.note(judge.figures(episodes))
    return answers


def game_played(config: Config) -> RedTeam:
    """The game of a run with these settings, for those who play its episodes again."""
    return RedTeam(find_world(config.prompts))
