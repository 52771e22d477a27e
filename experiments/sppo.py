"""SPPO: in expectation on a table, and what it does to pairs that DPO learns from too."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

import numpy as np

from redqueen.checks.preferences import ByReward
from redqueen.credit.advantages.keys import by_group
from redqueen.credit.group_rewards import WinRate
from redqueen.credit.pairs import best_and_worst
from redqueen.credit.rewards import payoff, score
from redqueen.curricula.held_out import held_out
from redqueen.demonstrations.gold import recited
from redqueen.measures.divergence import question
from redqueen.measures.wins import PreferenceGame, compared, preferred
from redqueen.objectives.batch import beside, pack_pairs, pack_samples
from redqueen.objectives.preference import Dpo, Sppo
from redqueen.objectives.references import Reference
from redqueen.objectives.rounds import Round
from redqueen.play import groups
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.players.tabular import TabularPolicy
from redqueen.protocols import Objective, Policy
from redqueen.questions import comparisons
from redqueen.questions.asking import SOLVE, evenly, said
from redqueen.questions.small.growing import Growing
from redqueen.questions.small.matchups import Matchups, exploitability
from redqueen.recipes.self_training import cold_start
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Difference, Experiment, Made, Measuring, Rows, Table, versus
from redqueen.trials.starts import Start, warmed
from redqueen.types import Batch, Metrics


def sppo_in_expectation(game: Matchups, eta: float, iterations: int, updates: int = 30, rate: float = 2.0) -> Metrics:
    """What is measured of SPPO from a uniform table after `iterations` iterations, each of which regresses every
    answer, weighed by its chance, on what it wins against the policy: `exploitability`, `distance` and their averages
    over the iterates (`PreferenceGame`)."""
    learner = TabularPolicy(rate)
    reference, measure = Reference(learner), PreferenceGame(game, learner)
    answers = [replace(game.task(), answer=answer) for answer in game.task().choices]
    sides = score(play(recited(answers, learner), Random(0)), payoff)
    found = measure()
    for _ in range(iterations - 1):
        reference.refresh()
        (policy,) = learner.probabilities([question(game.task())])
        batch = pack_samples(sides, (game.wins @ policy - 0.5).tolist(), policy.tolist())
        batch = beside(batch, reference.likelihoods(batch))
        for _ in range(updates):
            learner.update(batch, Sppo(eta))
        found = measure()
    return found


def weighted_exactly(game: Matchups, eta: float, iterations: int) -> np.ndarray:
    """[K] the average of as many iterates of multiplicative weights, the step that each regression comes near to:
    chances times exp(eta wins), from uniform."""
    policy = np.full(len(game.wins), 1.0 / len(game.wins))
    total = policy.copy()
    for _ in range(iterations - 1):
        policy = policy * np.exp(eta * (game.wins @ policy))
        policy /= policy.sum()
        total += policy
    return total / iterations


# eta, updates of an iteration, iterations
FITTED = ((0.5, 30, 100), (0.5, 30, 400), (1.0, 30, 100), (1.0, 30, 200), (1.0, 30, 400), (1.0, 100, 400))


def in_expectation(repeats: int) -> Made:
    """Returns how far the average of the iterates is from the equilibrium, regressed and by exact steps."""
    game = Matchups("biased")
    rows: Rows = []
    for eta, updates, iterations in FITTED:
        found = sppo_in_expectation(game, eta, iterations, updates)
        exact = weighted_exactly(game, eta, iterations)
        own = (found["average_distance"], float(np.abs(exact - game.equilibrium).sum()))
        exploited = (found["average_exploitability"], exploitability(game.wins, exact))
        rows.append((f"{eta:g}", str(updates), str(iterations), *(f"{value:.3f}" for value in (*own, *exploited))))
    note = (
        "Nothing is drawn: every answer counts by its chance. L1: from the average of the iterates to the equilibrium. "
        "An update is one step at a rate of 2 on SPPO's regression; exact: multiplicative weights, which a regression "
        "to its end comes near to."
    )
    return ("eta", "updates", "iterations", "L1", "exact", "exploitability", "exact exploitability"), rows, note


SUMS = cold_start.Config(
    Learner(model="tiny:hidden=64,layers=2", max_completion_length=8, learning_rate=2e-3),
    questions="growing",
    steps=500,
    demonstrations_per_step=64,
    rest=150,
    problems=16,
)


@dataclass(frozen=True)
class Compared:
    """How long both methods fit the pairs that SPPO's policy wrote."""

    learner: Learner
    updates: int = 40  # an iteration
    prompts: int = 96
    attempts: int = 5
    questions: str = "growing"
    problems: int = 16  # held out, of each level: of two numbers there are 36
    times: int = 4  # each of them is answered in the end


def one_comparison(config: Compared, seed: int) -> Metrics:
    """The figures of one seed: "SPPO chosen 0" and so on, and `wins` of the last iterate against the first."""
    domain, rng = Growing(), Random(seed)
    oracle = ByReward(domain.rewards, sharpness=10.0)
    learner = config.learner.build_model(seed)
    other = config.learner.build_model(seed)
    tests = held_out(domain, config.problems, seed=seed)
    start, figures = learner.freeze(), Metrics()
    for iteration in range(3):
        tasks = evenly(domain, config.prompts, rng, tests)
        tries = comparisons.compared(oracle, groups.attempts(SOLVE, tasks, learner, config.attempts, rng), rng)
        replies = score(tries, WinRate(beside_itself=True))
        best, worst = best_and_worst(replies, by_group)
        pairs = pack_pairs(best, worst)
        reference = learner.freeze()
        pairs = beside(pairs, reference.likelihoods(pairs))
        samples = pack_samples(replies, [float(reply.rewards.sum()) - 0.5 for reply in replies])
        samples = beside(samples, reference.likelihoods(samples))
        other.restore(learner.state())
        _fitted(other, pairs, Dpo(0.1), 32, config.updates, rng)
        _fitted(learner, samples, Sppo(10.0), 80, config.updates, rng)
        for method, policy in (("SPPO", learner), ("DPO", other)):
            moves = compared(policy, pairs)
            figures[f"{method} chosen {iteration}"] = moves["chosen_ratio"]
            figures[f"{method} rejected {iteration}"] = moves["rejected_ratio"]
    asked = [task for group in tests.values() for task in group for _ in range(config.times)]
    ours, theirs = (said(play(alone(SOLVE, asked, player), Random(seed))) for player in (learner, start))
    return figures | {"wins": preferred(oracle, asked, ours, theirs, Random(seed))}


def _fitted(policy: Policy, batch: Batch, objective: Objective, count: int, updates: int, rng: Random) -> None:
    round_ = Round(passes=updates)
    round_.renew(batch)
    for _ in range(updates):
        if round_.open:
            policy.update(round_.draw(count, rng), objective)


MOVED = tuple(f"{method} {side} {n}" for method in ("SPPO", "DPO") for side in ("chosen", "rejected") for n in range(3))
BOTH = Experiment(
    title="What SPPO and DPO do to the same pairs",
    asked="Does SPPO keep the likelihood of the chosen replies up where DPO lets that of both fall?",
    trial=Measuring(one_comparison),
    config=Compared(warmed(3e-4, max_completion_length=8)),
    starts={"learner.model": Start(SUMS)},
    variants={"three iterations": {}, "hardly fitted": {"updates": 1}},
    figures=(*MOVED, "wins"),
    compared=(
        *(
            Difference("three iterations", "three iterations", f"SPPO {side} {n}", f"DPO {side} {n}")
            for side in ("chosen", "rejected")
            for n in range(3)
        ),
        *versus("three iterations", ("hardly fitted",), ("wins",)),
    ),
    controls=("hardly fitted",),
    notes=(
        "Change of log-probability in nats a reply, means over the pairs of an iteration, which SPPO's policy wrote. "
        "wins: the share of replies to held-out prompts, four to each, in which SPPO's third iterate is preferred to "
        "the start under the oracle.",
    ),
)
IN_EXPECTATION = Table(
    "SPPO in expectation at eta 1",
    "How near does the average of SPPO's iterates come to the equilibrium, and is it eta or the fit that keeps it off?",
    in_expectation,
)
