"""What a policy has learned from preferences: how far it is from an equilibrium, what it tells apart, whom it beats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Protocol

import numpy as np

from redqueen.chance import derive
from redqueen.credit.pairs import against
from redqueen.credit.rewards import payoff, score
from redqueen.curricula.held_out import HELD_OUT, held_out
from redqueen.demonstrations.gold import recited
from redqueen.measures.accuracy import spread
from redqueen.measures.divergence import Coverage, DataDivergence, Divergence, Replies, question
from redqueen.objectives.batch import beside, pack_pairs
from redqueen.objectives.preference import Dpo
from redqueen.objectives.references import Reference
from redqueen.opponents.pools import Snapshots
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.protocols import (
    AMOUNT,
    COUNT,
    Measure,
    Player,
    Policy,
    PreferenceOracle,
    Questions,
    Row,
    State,
    has,
    shaped,
)
from redqueen.questions.asking import SOLVE, said
from redqueen.questions.comparisons import verdicts
from redqueen.questions.dataset import Preferring, recitations
from redqueen.questions.small.known import KnownData
from redqueen.questions.small.matchups import exploitability
from redqueen.types import SOLVER, Ask, Basis, Batch, Match, Mean, Metrics, Reply, Task

_HELD = 1e-3  # how strongly the coefficients of a regression on lengths are held towards 0

# --- known preferences -----------------------------------------------------------------------


class KnownPreferences(Protocol):
    """A question whose answers are listed, and of which it is known how often each is preferred to each other one."""

    @property
    def wins(self) -> np.ndarray: ...  # [K, K]
    @property
    def equilibrium(self) -> np.ndarray: ...  # [K]
    def task(self) -> Task: ...


class PreferenceGame:
    """Where the learner is in a game of known preferences, exactly: `exploitability` (how much more often than not the
    best answer wins against it) and `distance` to the equilibrium (L1), for the learner as it is now and for two
    averages of what was measured so far: `average_` counts all alike, `late_average_` the n-th n times."""

    def __init__(self, game: KnownPreferences, learner: Policy) -> None:
        self._game = game
        self._learner = learner
        self._ask = question(game.task())
        self._sums = np.zeros((2, len(game.wins)))  # alike, linearly
        self._count = 0

    def __call__(self) -> Metrics:
        (now,) = self._learner.probabilities([self._ask])
        self._count += 1
        self._sums = self._sums + np.stack([now, self._count * now])
        averages = self._sums / self._sums.sum(axis=1, keepdims=True)
        return (
            self._figures("", now)
            | self._figures("average_", averages[0])
            | self._figures("late_average_", averages[1])
        )

    def basis(self) -> dict[str, Basis]:
        wins = self._game.wins
        uniform = exploitability(wins, np.full(len(wins), 1.0 / len(wins)))
        found = Basis(exact=True, references={"uniform answers": uniform, "an equilibrium": 0.0})
        sides = ("", "average_", "late_average_")
        far = {f"{which}distance": Basis(exact=True) for which in sides}
        return far | {f"{which}exploitability": found for which in sides}

    def _figures(self, which: str, policy: np.ndarray) -> Metrics:
        return {
            f"{which}exploitability": exploitability(self._game.wins, policy),
            f"{which}distance": float(np.abs(policy - self._game.equilibrium).sum()),
        }

    def state(self) -> State:
        return {"sums": self._sums.tolist(), "count": self._count}

    def restore(self, state: State) -> None:
        shaped(
            state, {"sums": Row(*[Row(*[AMOUNT] * self._sums.shape[1])] * 2), "count": COUNT}, "the average policies: "
        )
        self._sums, self._count = np.array(state["sums"]), state["count"]


def regularised_equilibrium(wins: np.ndarray, reference: np.ndarray, tau: float, steps: int = 100_000) -> np.ndarray:
    """[K] the one policy that is its own best answer where each side pays tau KL(policy || reference): the fixed point
    of policy in proportion to reference exp(wins policy / tau), which small steps of mirror descent reach (Munos et
    al. 2023, arXiv:2312.00886, section 4)."""
    logits, rate = np.log(reference), min(0.05, tau * tau)
    chances = np.asarray(reference, dtype=np.float64)
    for _ in range(steps):
        chances = np.exp(logits - logits.max())
        chances = chances / chances.sum()
        logits = (1.0 - rate) * logits + rate * (np.log(reference) + wins @ chances / tau)
    return chances


# --- held-out pairs -------------------------------------------------------------------------


class HeldOutPairs:
    """Whether the learner tells held-out gold answers from replies of its reference, by log policy - log reference:
    `held_out/preference_accuracy` (0.5 where it cannot), `held_out/preference_margin`, `held_out/chosen_ratio` and
    `held_out/rejected_ratio`, the means of `objectives.preference`. The pairs are made anew at every measurement from
    the reference as it then is; nothing where the reference says what is written."""

    def __init__(
        self, learner: Policy, reference: Reference, tests: Mapping[str, Sequence[Task]], seed: int = 0
    ) -> None:
        self._learner = learner
        self._reference = reference
        self._tests = [task for group in tests.values() for task in group]
        self._gold = score(play(recited(self._tests, learner), Random(seed)), payoff)
        self._seed = seed

    def limit(self, replies: int) -> None:
        self._tests = spread(self._tests, replies)
        self._gold = score(play(recited(self._tests, self._learner), Random(self._seed)), payoff)

    def __call__(self) -> Metrics:
        rival = _Under(self._learner.name, self._reference.policy)
        replies = score(play(alone(SOLVE, self._tests, rival), Random(self._seed)), payoff)
        pairs = against(self._gold, replies)
        batch = pack_pairs(pairs.chosen, pairs.rejected)
        if not len(batch):
            return {}
        batch = beside(batch, self._reference.likelihoods(batch))
        return {f"held_out/{name}": value for name, value in compared(self._learner, batch).items()}

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None


class HeldOutPreferences:
    """Whether the learner prefers as the held-out pairs of a data set do, by log policy - log reference: the figures of
    `HeldOutPairs`. The pairs are the same at every measurement, and so is the reference, which rates them at the first;
    nothing where none are held out."""

    def __init__(self, questions: Preferring, learner: Policy, reference: Reference, count: int, seed: int = 0) -> None:
        pairs = questions.preferences(HELD_OUT, count, Random(seed)) if HELD_OUT in questions.levels else []
        chosen, rejected = (score(play(side, Random(seed)), payoff) for side in recitations(pairs, learner))
        self._learner = learner
        self._reference = reference
        kept = against(chosen, rejected)
        self._batch = pack_pairs(kept.chosen, kept.rejected)

    def __call__(self) -> Metrics:
        if not len(self._batch):
            return {}
        if self._batch.reference is None:
            self._batch = beside(self._batch, self._reference.likelihoods(self._batch))
        return {f"held_out/{name}": value for name, value in compared(self._learner, self._batch).items()}

    def basis(self) -> dict[str, Basis]:
        found = Basis(count=len(self._batch) // 2, of="held-out pairs", references={"the start": 0.5})
        return {"held_out/preference_accuracy": found} if len(self._batch) else {}

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None


@dataclass(frozen=True)
class _Under:
    """A frozen copy that speaks under the learner's name, so that both sides of a pair are one player's to rate."""

    name: str
    player: Player

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [replace(reply, player=self.name) for reply in self.player.reply(asks)]


def compared(policy: Policy, batch: Batch) -> Metrics:
    """Figures of a policy on preference pairs with reference log-probabilities, without learning: `preference_accuracy`
    (0.5 if both sides of all pairs have moved alike), `preference_margin`, `chosen_ratio` and `rejected_ratio`."""
    _, figures = Dpo()(policy.likelihoods(batch), batch)
    kept = {name: figures[name] for name in ("preference_margin", "chosen_ratio", "rejected_ratio")}
    still = kept["preference_margin"] == 0.0 and figures["preference_accuracy"] == 0.0
    found = {"preference_accuracy": 0.5 if still else figures["preference_accuracy"], **kept}
    return {name: Mean(value, len(batch) // 2) for name, value in found.items()}


class AgainstStart:
    """How often the learner's replies to held-out tasks are preferred to those that it gave at the start (at `limit`,
    or else at the first measurement):
    `wins/last`, and with `iterates` `wins/average` for their average, of which each task meets one at random. Equal
    replies count a half; where the oracle has no verdict the task is left out. `wins/length_controlled` is `wins/last`
    at equal lengths (`length_controlled`); `wins/chosen_length` and `wins/rejected_length` are the mean lengths of the
    preferred and of the other replies, in characters."""

    def __init__(
        self,
        oracle: PreferenceOracle,
        learner: Policy,
        tests: Mapping[str, Sequence[Task]],
        iterates: Snapshots | None = None,
        seed: int = 0,
    ) -> None:
        self._oracle = oracle
        self._learner = learner
        self._tests = [task for group in tests.values() for task in group]
        self._iterates = iterates
        self._seed = seed
        self._start: list[str] | None = None

    def limit(self, replies: int) -> None:
        self._tests = spread(self._tests, replies)
        self._start = self._said([self._learner] * len(self._tests), "start")

    def __call__(self) -> Metrics:
        start = self._start = self._start or self._said([self._learner] * len(self._tests), "start")
        sides: dict[str, Sequence[Player]] = {"last": [self._learner] * len(self._tests)}
        if self._iterates is not None:
            rng = Random(derive(self._seed, "iterates"))
            sides["average"] = [self._iterates.draw(rng) for _ in self._tests]
        rates = dict[str, float]()
        for name, players in sides.items():
            ours = self._said(players, name)
            wins = verdicts(self._oracle, self._tests, ours, start, Random(derive(self._seed, "oracle")))
            if known := int((~np.isnan(wins)).sum()):
                rates[f"wins/{name}"] = Mean(float(np.nanmean(wins)), known)
                rates |= self._by_length(wins, ours, start) if name == "last" else {}
        return rates

    def _by_length(self, wins: np.ndarray, ours: Sequence[str], start: Sequence[str]) -> Metrics:
        known = ~np.isnan(wins)
        wins = wins[known]
        lengths, others = (np.array([len(text) for text in side])[known] for side in (ours, start))
        return {
            "wins/length_controlled": Mean(length_controlled(wins, lengths, others), len(wins)),
            "wins/chosen_length": Mean(float((wins * lengths + (1.0 - wins) * others).mean()), len(wins)),
            "wins/rejected_length": Mean(float((wins * others + (1.0 - wins) * lengths).mean()), len(wins)),
        }

    def basis(self) -> dict[str, Basis]:
        found = Basis(count=len(self._tests), of="held-out problems", references={"the start": 0.5})
        return dict.fromkeys(("wins/last", "wins/average", "wins/length_controlled"), found)

    def _said(self, players: Sequence[Player], which: str) -> list[str]:
        matches = [Match(SOLVE, task, {SOLVER: player}) for task, player in zip(self._tests, players, strict=True)]
        return said(play(matches, Random(derive(self._seed, which))))

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None


def preferred(
    oracle: PreferenceOracle, tasks: Sequence[Task], ours: Sequence[str], theirs: Sequence[str], rng: Random
) -> float:
    """The share of tasks at which our answer is preferred; equal answers count a half and nobody is asked. NaN where
    the oracle has no verdict at all."""
    wins = verdicts(oracle, tasks, ours, theirs, rng)
    known = wins[~np.isnan(wins)]
    return float(known.mean()) if len(known) else float("nan")


def length_controlled(wins: np.ndarray, ours: np.ndarray, theirs: np.ndarray) -> float:
    """The win rate that remains where both replies are equally long: sigmoid(a) of the logistic regression of `wins`
    ([n], 0 to 1) on a + b tanh(d), d the difference of the lengths over its deviation (Dubois et al. 2024,
    arXiv:2404.04475, without its terms for the difficulty of each question). Both coefficients are held slightly
    towards 0, so that it is finite where all is won."""
    gaps = np.asarray(ours, dtype=np.float64) - theirs
    spread = float(gaps.std())
    shown = np.stack([np.ones(len(gaps)), np.tanh(gaps / spread) if spread else np.zeros(len(gaps))])  # [2, n]
    found = np.zeros(2)
    for _ in range(50):
        chances = 1.0 / (1.0 + np.exp(-found @ shown))
        slope = shown @ (wins - chances) - _HELD * found
        bend = (shown * (chances * (1.0 - chances))) @ shown.T + _HELD * np.eye(2)
        step = np.linalg.solve(bend, slope)
        found = found + step / max(1.0, float(np.abs(step).max()))
        if float(np.abs(step).max()) < 1e-10:
            break
    return float(1.0 / (1.0 + np.exp(-found[0])))


# --- what suits a question set ---------------------------------------------------------------------


def watched(
    questions: Questions, learner: Policy, tests: Mapping[str, Sequence[Task]], seed: int, *others: Measure
) -> Divergence:
    """The measures that every training by preferences has, with the distance from the start, which is the learner as it
    is now; those of known preferences and known data where the set has these and the learner can be read; and others,
    all under `Divergence`. `seed` is that of the replies which are sampled for them, the same at every measurement."""
    tasks = [task for group in tests.values() for task in group]
    measures: list[Measure] = [
        Coverage(learner, tasks, seed),
        Replies(questions, learner, tasks, seed, learner.freeze()),
    ]
    if has(questions, KnownData):
        measures.append(DataDivergence(questions, learner, tasks, seed))
    if has(questions, KnownPreferences) and learner.open:
        measures.append(PreferenceGame(questions, learner))
    return Divergence([*measures, *others])


def wins_against_start(
    questions: Questions,
    learner: Policy,
    oracle: PreferenceOracle,
    problems: int,
    seed: int,
    pool_size: int | None = None,
) -> tuple[dict[str, list[Task]], Snapshots, Divergence]:
    """`problems` held-out tasks of each level, a pool of the learner's iterates (the last `pool_size`), and the
    measures of a training by preferences on these tasks: those of `watched`, and how often the learner and the average
    of its iterates win against the start (`AgainstStart`)."""
    tests, iterates = held_out(questions, problems, seed=seed), Snapshots(learner, pool_size)
    wins = AgainstStart(oracle, learner, tests, iterates, seed)
    return tests, iterates, watched(questions, learner, tests, seed, wins)


def told_apart(
    questions: Questions, learner: Policy, reference: Reference, problems: int, seed: int, by_gold: bool
) -> tuple[dict[str, list[Task]], Divergence]:
    """`problems` held-out tasks of each level, and the measures of a training by replies on them: those of `watched`,
    and in a training by gold answers whether these are told from replies of the reference (`HeldOutPairs`)."""
    tests = held_out(questions, problems, seed=seed)
    told = [HeldOutPairs(learner, reference, tests, seed)] if by_gold else []
    return tests, watched(questions, learner, tests, seed, *told)


def pairs_told_apart(
    questions: Preferring, learner: Policy, reference: Reference, problems: int, seed: int
) -> tuple[dict[str, list[Task]], Divergence]:
    """`problems` held-out tasks of each level, and the measures of a training by known pairs on them: those of
    `watched`, and whether the learner prefers as held-out pairs do (`HeldOutPreferences`)."""
    tests = held_out(questions, problems, seed=seed)
    told = HeldOutPreferences(questions, learner, reference, problems, seed)
    return tests, watched(questions, learner, tests, seed, told)
