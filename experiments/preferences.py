"""Preferences and data of which the truth is known: what SPIN, SPPO, SPO and Nash-MD reach, and what others miss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from random import Random
from typing import Any

import numpy as np
from rich.console import Console

from redqueen.checks.preferences import ByReward
from redqueen.credit.advantages.keys import by_group
from redqueen.credit.group_rewards import WinRate
from redqueen.credit.pairs import best_and_worst
from redqueen.credit.rewards import payoff, score
from redqueen.demonstrations.gold import recited
from redqueen.measures.accuracy import held_out
from redqueen.measures.divergence import Alarms, Coverage, DataDivergence, question
from redqueen.measures.intervals import bootstrap_interval
from redqueen.measures.preferences import PreferenceGame, compared, preferred
from redqueen.objectives.batch import beside, pack_pairs, pack_samples
from redqueen.objectives.preference import Dpo, Sppo
from redqueen.objectives.references import Reference
from redqueen.objectives.rounds import Round
from redqueen.play import groups
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.players.tabular import TabularPolicy
from redqueen.protocols import Objective, Policy, PreferenceOracle
from redqueen.questions import comparisons
from redqueen.questions.asking import SOLVE, evenly, said
from redqueen.questions.small.growing import Growing
from redqueen.questions.small.known import Known
from redqueen.questions.small.matchups import Matchups
from redqueen.recipes.preferences import iterative_dpo, nash_md, spo, sppo
from redqueen.recipes.self_training import cold_start, spin
from redqueen.settings.learner import Learner
from redqueen.trials.paired import difference, moved, table, trained, warm, warmed
from redqueen.trials.sheets import Bench, Result, Rows
from redqueen.types import Batch, Metrics, Task

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
    watch = Alarms([DataDivergence(domain, learner, tests), Coverage(learner, tests)])
    found = [watch()]
    for _ in range(iterations):
        reference.refresh()
        batch = expected_pairs(domain, learner)
        batch = beside(batch, reference.likelihoods(batch))
        for _ in range(updates):
            learner.update(batch, Dpo(beta))
        found.append(watch())
    return found


def spin_expected(options: Bench, console: Console) -> Result:
    """KL(data || policy) over the iterations of SPIN in expectation, and whether the alarm rings."""
    rows: Rows = []
    for beta in (1.0, 2.0, 5.0, 0.1):
        runs = [
            spin_in_expectation(Known(seed=seed), beta, 4, options.steps or UPDATES) for seed in range(options.seeds)
        ]
        divergences = np.array([[each["data_kl"] for each in run] for run in runs])
        rung = sum(any(each["alarm/coverage"] for each in run) for run in runs)
        falls = sum(bool(np.all(np.diff(each.round(9)) <= 0)) for each in divergences)
        shown = (", ".join(f"{value:.4f}" for value in divergences.mean(axis=0)), f"{falls} of {len(runs)}")
        rows.append((f"{beta:g}", *shown, f"{rung} of {len(runs)}"))
        console.print(f"  beta {beta:g}: {shown[0]}", highlight=False)
    headings = ("beta", "KL(data || policy) at the start and after each iteration", "never rises", "alarm rings")
    note = f"Twenty outcomes, {options.seeds} distributions, all pairs weighed by their chances, a uniform start."
    return "SPIN in expectation", headings, rows, note


# --- tables of preferences -------------------------------------------------------------------


def sppo_in_expectation(game: Matchups, eta: float, iterations: int, updates: int = 30, rate: float = 2.0) -> Metrics:
    """What is measured of SPPO from a uniform table after so many iterations, each of which regresses every answer,
    weighed by its chance, on what it wins against the policy: `exploitability`, `distance` and their averages over the
    iterates (`PreferenceGame`)."""
    learner = TabularPolicy(rate * eta * eta)
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


@dataclass(frozen=True)
class BradleyTerry:
    """The reward model that a table's comparisons make: scores of highest likelihood where all pairs are compared
    alike. An oracle for `--oracle experiments.preferences:BradleyTerry:biased`."""

    table: str = "biased"
    name: str = field(default="bradley_terry", repr=False)

    @cached_property
    def scores(self) -> np.ndarray:
        """[K], their mean zero."""
        wins = Matchups(self.table).wins
        scores = np.zeros(len(wins))
        for _ in range(2_000):
            believed = 1.0 / (1.0 + np.exp(scores[None, :] - scores[:, None]))
            scores = scores + 0.2 * (wins - believed).sum(axis=1)
        return scores

    def __call__(self, tasks: Sequence[Task], first: Sequence[str], second: Sequence[str], rng: Random) -> np.ndarray:
        known = dict(zip(Matchups(self.table).task().choices, self.scores.tolist(), strict=True))
        oracle: PreferenceOracle = ByReward(lambda tasks, answers: [known[answer] for answer in answers])
        return oracle(tasks, first, second, rng)


def preference_tables(options: Bench, console: Console) -> Result:
    """What each method makes of preferences that circle, of noisy labels, and of a transitive table."""
    share = (options.steps or 3000) / 3000
    rows: Rows = []
    for name, (recipe, every, config) in table_variants(share).items():
        trials = trained(recipe, {name: config}, options.seeds, console, evaluate_every=every)
        rows += table(trials, ("exploitability", "average_exploitability", "average_distance"))
    note = (
        f"Tables of logits from a uniform start, {options.seeds} seeds. `biased` has its equilibrium at 2/9, 3/9, 4/9, "
        f"0; no single answer of it is less exploitable than 0.2. Averages are of the iterates, all alike."
    )
    headings = ("method", "exploitability, last", "exploitability, average", "L1 of the average to the equilibrium")
    return "Preferences that circle", headings, rows, note


def table_variants(share: float = 1.0) -> Mapping[str, tuple[str, int, Any]]:
    """Recipe, steps between measurements, config; `share` of the usual number of steps."""
    place, fitted = "redqueen.questions.small.matchups:Matchups", "experiments.preferences:BradleyTerry"
    spo_ = spo.Config(Learner(), questions=place, steps=round(3000 * share), tasks=4, problems=1)
    noisy, ranked = f"{place}:biased,labels=true,noise=0.2", f"{place}:transitive"
    sppo_ = sppo.Config(
        Learner(learning_rate=0.875), place, steps=round(2500 * share), updates=5, passes=5, problems=1, eta=0.5
    )
    dpo = iterative_dpo.Config(
        Learner(learning_rate=40.0), place, steps=round(400 * share), updates=10, tasks=64, attempts=2, problems=1
    )
    dpo = replace(dpo, beta=0.5, passes=10, pairs_per_update=64)
    nash = nash_md.Config(Learner(learning_rate=1.0), place, steps=round(1000 * share), kl=0.05, problems=1)
    return {
        "SPO": ("spo", 5, spo_),
        "SPO, 20 % random labels": ("spo", 5, replace(spo_, questions=noisy)),
        "Bradley-Terry reward model": ("spo", 5, replace(spo_, oracle=f"{fitted}:biased")),
        "SPPO": ("sppo", 5, replace(sppo_, tasks=128, replies_per_update=640)),
        "DPO, reference last": ("iterative_dpo", 10, replace(dpo, reference="last")),
        "DPO, reference initial": ("iterative_dpo", 10, dpo),
        "Nash-MD": ("nash_md", 5, nash),
        "SPO, transitive": ("spo", 5, replace(spo_, questions=ranked)),
        "Bradley-Terry, transitive": ("spo", 5, replace(spo_, questions=ranked, oracle=f"{fitted}:transitive")),
    }


# --- data of a Markov chain ------------------------------------------------------------------

CHAIN = cold_start.Config(
    Learner(model="tiny:hidden=64,layers=2", max_completion_length=16, learning_rate=2e-3),
    questions="redqueen.questions.small.known:Chain",
    steps=100,
    demonstrations_per_step=64,
    rest=30,
    problems=16,
)


def spin_chain(options: Bench, console: Console) -> Result:
    """How far a small model is from the data after six iterations of SPIN, by beta."""
    learner = warmed(warm(CHAIN), learning_rate=3e-4)
    steps = options.steps or 300
    config = spin.Config(learner, questions=CHAIN.questions, steps=steps, updates=max(1, steps // 6), tasks=1600)
    config = replace(config, passes=1, remembered=1, beta=5.0, most_margin=1e9, problems=512)
    variants = {
        "SPIN, beta 5": config,
        "SPIN, beta 1": replace(config, beta=1.0),
        "SPIN, beta 0.1": replace(config, beta=0.1),
    }
    trials = trained("spin", variants, options.seeds, console, evaluate_every=config.updates)
    rows = [
        (
            name,
            *(moved(group, f"first {key}", key) for key in ("data_kl", "told_apart", "coverage")),
            *(row[1:]),
        )
        for (name, group), row in zip(
            trials.items(), table(trials, ("held_out/preference_accuracy", "accuracy", "alarm/coverage")), strict=True
        )
    ]
    headings = (
        *("method", "KL(data || policy), nats", "told apart by the best judge", "coverage, nats a word"),
        *("own discriminator, held out", "well-formed", "alarm rings"),
    )
    note = f"{options.seeds} seeds from one warm start; texts of twelve letters from a Markov chain of twelve."
    return (
        "SPIN on known data",
        headings,
        rows,
        f"{note} {difference(trials, 'SPIN, beta 5', 'SPIN, beta 0.1', 'data_kl')}.",
    )


# --- what SPPO and DPO do to the same pairs --------------------------------------------------


def chosen_and_rejected(options: Bench, console: Console) -> Result:
    """Three iterations of SPPO on sums of a few numbers, and DPO on the pairs that SPPO's policy wrote, each iteration
    from the same weights: how the likelihood of the best and of the worst replies moves, and who wins."""
    folder = warm(SUMS)
    found: dict[str, list[float]] = {}
    for seed in range(options.seeds):
        for name, value in one_comparison(folder, seed, options.steps or 40).items():
            found.setdefault(name, []).append(value)
        console.print(f"  seed {seed}: wins {found['wins'][-1]:.3f}", highlight=False)
    rows: Rows = []
    for method in ("SPPO", "DPO"):
        moves = (
            str(bootstrap_interval(found[f"{method} {side} {iteration}"], seed=0))
            for side in ("chosen", "rejected")
            for iteration in range(3)
        )
        rows.append((method, *moves))
    headings = ("method", *(f"{side}, iteration {n}" for side in ("chosen", "rejected") for n in (1, 2, 3)))
    wins = bootstrap_interval(found["wins"], seed=0)
    note = (
        f"Change of log-probability in nats a reply, means over the pairs of an iteration, {options.seeds} seeds. "
        f"SPPO's third iterate is preferred to the start at {wins} of held-out prompts under the oracle."
    )
    return "What SPPO and DPO do to the same pairs", headings, rows, note


SUMS = cold_start.Config(
    Learner(model="tiny:hidden=64,layers=2", max_completion_length=8, learning_rate=2e-3),
    questions="growing",
    steps=500,
    demonstrations_per_step=64,
    rest=150,
    problems=16,
)


def one_comparison(folder: str, seed: int, updates: int, prompts: int = 96, attempts: int = 5) -> Metrics:
    """The figures of one seed: "SPPO chosen 0" and so on, and `wins` of the last iterate against the first."""
    domain, rng = Growing(), Random(seed)
    oracle = ByReward(domain.rewards, sharpness=10.0)
    learner = warmed(folder, learning_rate=3e-4, max_completion_length=8).build_model(seed)
    other = warmed(folder, learning_rate=3e-4, max_completion_length=8).build_model(seed)
    start, figures = learner.freeze(), Metrics()
    for iteration in range(3):
        tasks = evenly(domain, prompts, rng)
        tries = comparisons.compared(oracle, groups.attempts(SOLVE, tasks, learner, attempts, rng), rng)
        replies = score(tries, WinRate(beside_itself=True))
        best, worst = best_and_worst(replies, by_group)
        pairs = pack_pairs(best, worst)
        reference = learner.freeze()
        pairs = beside(pairs, reference.likelihoods(pairs))
        samples = pack_samples(replies, [float(reply.rewards.sum()) - 0.5 for reply in replies])
        samples = beside(samples, reference.likelihoods(samples))
        other.restore(learner.state())
        _fitted(other, pairs, Dpo(0.1), 32, updates, rng)
        _fitted(learner, samples, Sppo(10.0), 80, updates, rng)
        for method, policy in (("SPPO", learner), ("DPO", other)):
            moves = compared(policy, pairs)
            figures[f"{method} chosen {iteration}"] = moves["chosen_ratio"]
            figures[f"{method} rejected {iteration}"] = moves["rejected_ratio"]
    tests = [task for group in held_out(domain, 128, seed=seed + 1).values() for task in group]
    ours, theirs = (said(play(alone(SOLVE, tests, player), Random(seed))) for player in (learner, start))
    return figures | {"wins": preferred(oracle, tests, ours, theirs, Random(seed))}


def _fitted(policy: Policy, batch: Batch, objective: Objective, count: int, updates: int, rng: Random) -> None:
    round_ = Round(passes=updates)
    round_.renew(batch)
    for _ in range(updates):
        if round_.open:
            policy.update(round_.draw(count, rng), objective)
