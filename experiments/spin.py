"""SPIN: in expectation on tables, where the truth is known, and on texts of a Markov chain."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from random import Random

from redqueen.credit.rewards import payoff, score
from redqueen.demonstrations.gold import recited
from redqueen.measures.divergence import Coverage, DataDivergence, Divergence, question
from redqueen.objectives.batch import beside, pack_pairs
from redqueen.objectives.preference import Dpo
from redqueen.objectives.references import Reference
from redqueen.play.lockstep import play
from redqueen.players.tabular import TabularPolicy
from redqueen.questions.small.known import Known
from redqueen.recipes.self_training import cold_start
from redqueen.recipes.self_training.spin import recipe as spin
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Difference, Experiment, Measuring, Training, versus
from redqueen.trials.starts import Start, warmed
from redqueen.types import Batch, Metrics

# --- SPIN in expectation ---------------------------------------------------------------------

RATE, UPDATES = 16.0, 100  # of a table's gradient descent, and steps of an iteration


def expected_pairs(domain: Known, learner: TabularPolicy) -> Batch:
    """Every pair of different answers, the first as the data's and the second as the policy's, each with its chance:
    the batch of SPIN in expectation."""
    episodes = play(recited([domain.task(answer) for answer in domain.answers], learner), Random(0))
    sides = score(episodes, payoff)
    (policy,) = learner.probabilities([question(domain.task())])
    pairs = [(a, b) for a in range(domain.outcomes) for b in range(domain.outcomes) if a != b]
    weights = [float(domain.distribution[a] * policy[b]) for a, b in pairs]
    return pack_pairs([sides[a] for a, _ in pairs], [sides[b] for _, b in pairs], weights=weights)


def spin_in_expectation(
    domain: Known, beta: float, iterations: int, updates: int = UPDATES, rate: float = RATE
) -> list[Metrics]:
    """[iterations + 1] what is measured of SPIN from a uniform table, before the first iteration and after each:
    `data_kl`, `coverage` and the alarms."""
    learner = TabularPolicy(rate / max(1.0, beta * beta))
    reference = Reference(learner)
    tests = domain.problems("outcome", 200, Random(0))
    watch = Divergence([DataDivergence(domain, learner, tests), Coverage(learner, tests)])
    found = [watch()]
    for _ in range(iterations):
        reference.refresh()
        batch = expected_pairs(domain, learner)
        batch = beside(batch, reference.likelihoods(batch))
        for _ in range(updates):
            learner.update(batch, Dpo(beta))
        found.append(watch())
    return found


@dataclass(frozen=True)
class Expected:
    """SPIN in expectation, from a uniform table."""

    beta: float = 1.0
    iterations: int = 4
    updates: int = UPDATES


def expected(config: Expected, seed: int) -> Metrics:
    """Returns the divergence after each iteration, whether it ever rose, and whether the alarm rang."""
    found = spin_in_expectation(Known(seed=seed), config.beta, config.iterations, config.updates)
    kl = [round(each["data_kl"], 9) for each in found]
    named = {f"KL after {number}": value for number, value in enumerate(kl)}
    rises = any(later > before for before, later in pairwise(kl))
    rang = any(each["alarm/coverage"] for each in found)
    return named | {"KL at the end": kl[-1], "rises": float(rises), "alarm": float(rang)}


SPIN_EXPECTED = Experiment(
    title="SPIN in expectation",
    asked="Does KL(data || policy) fall in every iteration, and with which beta?",
    trial=Measuring(expected),
    config=Expected(),
    variants={f"beta {beta:g}": {"beta": beta} for beta in (1.0, 2.0, 5.0, 0.1)},
    figures=(*(f"KL after {number}" for number in range(5)), "rises", "alarm"),
    compared=versus("beta 0.1", ("beta 1", "beta 2", "beta 5"), ("KL at the end",)),
    controls=("beta 0.1",),
    notes=("Twenty outcomes, a distribution for each seed, all pairs weighed by their chances, a uniform start.",),
)

# --- data of a Markov chain ------------------------------------------------------------------

CHAIN = cold_start.Config(
    Learner(model="tiny:hidden=64,layers=2", max_completion_length=16, learning_rate=2e-3),
    questions="redqueen.questions.small.known:Chain",
    steps=100,
    demonstrations_per_step=64,
    rest=30,
    problems=16,
)


STEPS = 300
SPIN_CHAIN = Experiment(
    title="SPIN on known data",
    asked="How near does a small model come to the data in six iterations, by beta?",
    trial=Training(spin.train, evaluate_every=STEPS // 6),
    config=spin.Config(
        warmed(3e-4),
        questions=CHAIN.questions,
        steps=STEPS,
        updates=STEPS // 6,
        tasks=1600,
        passes=1,
        remembered=1,
        beta=5.0,
        most_margin=1e9,
        problems=512,
    ),
    starts={"learner.model": Start(CHAIN)},
    variants={"beta 5": {}, "beta 1": {"beta": 1.0}, "beta 0.1": {"beta": 0.1}},
    figures=(
        *(f"{when}{name}" for name in ("data_kl", "told_apart", "coverage") for when in ("first ", "")),
        *("held_out/preference_accuracy", "accuracy", "alarm/coverage"),
    ),
    compared=(
        Difference("beta 5", "beta 5", "data_kl", "first data_kl"),
        *versus("beta 5", ("beta 1", "beta 0.1"), ("data_kl",)),
    ),
    controls=("beta 0.1",),
    notes=("Texts of twelve letters from a Markov chain of twelve.",),
)
