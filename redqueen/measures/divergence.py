"""Whether a policy that learns from replies degenerates: its coverage, its repetition, figures that diverge.

Samples can look better while a policy falls apart, and a margin may grow while both of its sides fall. So the
likelihood of held-out answers is always measured with the replies, and `Divergence` says when something runs away.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from redqueen.credit.outcomes import verdicts
from redqueen.credit.rewards import payoff, score
from redqueen.demonstrations.gold import gold_reply, recited
from redqueen.measures.accuracy import on_problems, spread
from redqueen.measures.alarms import Alarm, Alarms
from redqueen.objectives.batch import pack
from redqueen.play.groups import attempts, episodes_of
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.protocols import LimitsReplies, Measure, Policy, Questions, State, StatesBasis, has, shaped
from redqueen.questions.asking import SOLVE, graded
from redqueen.questions.small.known import KnownData
from redqueen.questions.verdicts import share_right
from redqueen.types import Ask, Basis, Batch, Group, Mean, Metrics, Task, Trajectory, mean_of

# --- held-out answers and replies ------------------------------------------------------------


class Coverage:
    """`coverage`: the mean log-probability of a token of held-out gold answers, in nats a token. Where the tasks have
    no answers, of what the learner said to them before it was trained. It falls when a policy narrows, whatever its
    samples look like."""

    def __init__(self, learner: Policy, tests: Sequence[Task], seed: int = 0) -> None:
        self._learner = learner
        self._tests = tests
        self._seed = seed
        self._batch: Batch | None = None

    def __call__(self) -> Metrics:
        if self._batch is None:
            self._batch = self._known()
        rated = self._learner.likelihoods(self._batch).logprobs
        return {"coverage": Mean(float((self._batch.loss_weights * rated).sum()), len(self._batch))}

    def limit(self, replies: int) -> None:
        self._tests = spread(self._tests, replies)
        self._batch = self._known()

    def _known(self) -> Batch:
        written = [task for task in self._tests if gold_reply(task)]
        matches = recited(written, self._learner) if written else alone(SOLVE, self._tests, self._learner)
        trajectories = score(play(matches, Random(self._seed)), payoff)
        return pack(trajectories, [np.ones(1)] * len(trajectories))

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None


class Replies:
    """One reply of the learner to each held-out task, on the same seeds every time: `accuracy` by the set's check, of
    the tasks that have an answer, `reply_length` in tokens, and `repeated_4grams`, `distinct_2grams` (see the
    functions). With the `start`, the learner before it was trained, also `kl_from_start`: the mean of log learner - log
    start over the replies, an unbiased estimate of KL(learner || start) in nats a reply."""

    def __init__(
        self, questions: Questions, learner: Policy, tests: Sequence[Task], seed: int = 0, start: Policy | None = None
    ) -> None:
        self._questions = questions
        self._learner = learner
        self._tests = tests
        self._seed = seed
        self._start = start

    def __call__(self) -> Metrics:
        groups = attempts(SOLVE, self._tests, self._learner, 1, Random(self._seed))
        tokens = [tuple(episode.turns[0].reply.tokens.tolist()) for episode in episodes_of(groups)]
        found = {
            "reply_length": mean_of(len(each) for each in tokens),
            "repeated_4grams": Mean(repeated_ngrams(tokens, 4), len(tokens)),
            "distinct_2grams": Mean(distinct_ngrams(tokens, 2), len(tokens)),
        }
        return self._accuracy(groups) | self._moved(groups) | found

    def basis(self) -> dict[str, Basis]:
        return {"accuracy": on_problems([task for task in self._tests if task.answer])}

    def limit(self, replies: int) -> None:
        self._tests = spread(self._tests, replies)

    def _moved(self, groups: Sequence[Group]) -> Metrics:
        """How far the learner is from the start, both rated alike: 0 while they are one."""
        if self._start is None:
            return {}
        trajectories = score(groups, payoff)
        batch = pack(trajectories, [np.ones(len(each.turns)) for each in trajectories])
        gaps = self._learner.likelihoods(batch).logprobs - self._start.likelihoods(batch).logprobs
        total = float(gaps[batch.loss_weights != 0].sum())
        return {"kl_from_start": Mean(total / len(trajectories), len(trajectories))}

    def _accuracy(self, groups: Sequence[Group]) -> Metrics:
        """Nothing where no task has an answer."""
        known = graded(self._questions, [group for group in groups if group.task.answer])
        return share_right("accuracy", [right for group in known for right in verdicts(group).tolist()])

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None


def repeated_ngrams(replies: Iterable[Sequence[int]], size: int) -> float:
    """The share of n-grams that were said before in the same reply, over all replies: 0 where nobody repeats, near 1
    for a loop (Welleck et al. 2020, arXiv:1908.04319). 0 where every reply is shorter."""
    grams = [_ngrams(reply, size) for reply in replies]
    total = sum(map(len, grams))
    return 1.0 - sum(len(set(each)) for each in grams) / total if total else 0.0


def distinct_ngrams(replies: Iterable[Sequence[int]], size: int) -> float:
    """Different n-grams over all n-grams of all replies (distinct-n, Li et al. 2016, arXiv:1510.03055): it falls where
    the replies become one. 0 where every reply is shorter."""
    grams = [gram for reply in replies for gram in _ngrams(reply, size)]
    return len(set(grams)) / len(grams) if grams else 0.0


def _ngrams(reply: Sequence[int], size: int) -> list[tuple[int, ...]]:
    return [tuple(reply[at : at + size]) for at in range(len(reply) - size + 1)]


# --- known data ------------------------------------------------------------------------------


class DataDivergence:
    """How far the learner is from data whose distribution is known. `data_kl` is KL(data || learner) in nats a reply:
    exact where the answers are listed, else a mean over held-out answers. `told_apart` is how often the best judge
    there can be, who knows both distributions, picks the data's answer from a pair of it and a fresh reply: 0.5 where
    nobody can tell them apart; equal answers count a half."""

    def __init__(self, questions: KnownData, learner: Policy, tests: Sequence[Task], seed: int = 0) -> None:
        self._questions = questions
        self._learner = learner
        self._tests = tests
        self._seed = seed
        self._gold = self._recited()

    def limit(self, replies: int) -> None:
        self._tests = spread(self._tests, replies)
        self._gold = self._recited()

    def _recited(self) -> list[Trajectory]:
        return score(play(recited(self._tests, self._learner), Random(self._seed)), payoff)

    def __call__(self) -> Metrics:
        replies = score(play(alone(SOLVE, self._tests, self._learner), Random(self._seed)), payoff)
        gold, own = self._evidence(self._gold), self._evidence(replies)
        wins = np.where(np.isclose(gold, own), 0.5, gold > own)
        return {"data_kl": Mean(self._divergence(gold), len(gold)), "told_apart": mean_of(wins)}

    def _evidence(self, trajectories: Sequence[Trajectory]) -> np.ndarray:
        """[n] log data - log learner of each whole reply."""
        known = [self._questions.log_likelihood(trajectory.turns[0].reply.text) for trajectory in trajectories]
        return np.asarray(np.array(known) - whole_replies(self._learner, trajectories))

    def _divergence(self, of_gold: np.ndarray) -> float:
        ask = question(self._tests[0])
        if not (ask.choices and self._learner.open):
            return float(of_gold.mean())
        (policy,) = self._learner.probabilities([ask])
        data = np.array([self._questions.log_likelihood(choice) for choice in ask.choices])
        return float(np.sum(np.exp(data) * (data - np.log(policy))))

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None


def whole_replies(policy: Policy, trajectories: Sequence[Trajectory]) -> np.ndarray:
    """[n] the log-probability under a policy of each trajectory of one turn, in nats."""
    batch = pack(trajectories, [np.ones(1)] * len(trajectories))
    assert len(batch) == len(trajectories), "every reply has a token that was sampled freely"
    own = batch.loss_weights != 0
    rated = policy.likelihoods(batch).logprobs
    return np.array([float(value) for value in (rated * own).sum(dim=1)])


# --- alarms ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Limits:
    """How far a figure may go before its alarm fires: see `Divergence`."""

    coverage: float = 0.5  # nats a token below the start
    margin: float = 20.0  # nats
    chosen: float = 10.0  # nats that the chosen replies have lost, in the mean
    length: float = 2.0  # times the length at the start


def _watched(limits: Limits) -> tuple[Alarm, ...]:
    """The alarms of `Divergence`; `coverage_lost` and `length_growth` are relative to the first measurement."""
    return (
        Alarm(
            "coverage",
            "coverage_lost",
            "held-out answers have lost {value:.2f} nats a token since the start, above {limit:g}",
            limits.coverage,
        ),
        Alarm(
            "length",
            "length_growth",
            "replies are {value:.1f} times as long as at the start, above {limit:g}",
            limits.length,
        ),
        Alarm(
            "margin",
            "preference_margin",
            "the margin of chosen over rejected replies is {value:.1f} nats, above {limit:g}",
            limits.margin,
        ),
        Alarm(
            "chosen",
            "chosen_ratio",
            "the log-ratio of chosen replies is {value:.1f} nats, below {limit:g}",
            -limits.chosen,
            below=True,
        ),
    )


class Divergence:
    """All figures of `measures`, and whether training diverges: `alarm/coverage` 1.0 while the likelihood of held-out
    answers is far below its start, `alarm/length` while the replies are far longer than at the start; and of updates,
    which are shown to `observe`, `alarm/margin` while the margin explodes and `alarm/chosen` while the chosen replies
    fall with the rejected ones. 0.0 otherwise; nothing of what was not measured."""

    def __init__(self, measures: Sequence[Measure], limits: Limits = Limits()) -> None:
        self._measures = tuple(measures)
        self._watched = _watched(limits)
        self._alarms = Alarms(self._watched)
        self._start: Metrics = {}

    def __call__(self) -> Metrics:
        found: Metrics = {}
        for measure in self._measures:
            found |= measure()
        for name in ("coverage", "reply_length"):
            if name in found:
                self._start.setdefault(name, found[name])
        return found | self.observe(self._since_start(found))

    def observe(self, metrics: Metrics) -> Metrics:
        """Figures of the alarms that watch the figures in `metrics`, which are those of a measurement or of an
        update."""
        fired = self._alarms.observe(metrics)
        names = [f"alarm/{alarm.name}" for alarm in self._watched if alarm.figure in metrics]
        return {name: fired[name] for name in names}

    def alarms(self) -> list[str]:
        """Messages of all firing alarms; empty if none fires."""
        return self._alarms.alarms()

    def basis(self) -> dict[str, Basis]:
        stated = [measure.basis() for measure in self._measures if has(measure, StatesBasis)]
        return {name: found for each in stated for name, found in each.items()}

    def limit(self, replies: int) -> None:
        """Of each of the measures."""
        for measure in self._measures:
            if has(measure, LimitsReplies):
                measure.limit(replies)

    def _since_start(self, found: Metrics) -> Metrics:
        figures = dict(found)
        if "coverage" in found:
            figures["coverage_lost"] = self._start["coverage"] - found["coverage"]
        if "reply_length" in found:
            figures["length_growth"] = found["reply_length"] / max(self._start["reply_length"], 1e-9)
        return figures

    def state(self) -> State:
        return {
            "start": dict(self._start),
            "alarms": self._alarms.state(),
            "measures": [measure.state() for measure in self._measures],
        }

    def restore(self, state: State) -> None:
        shaped(
            state, {"start": {...: (int, float)}, "alarms": dict, "measures": [dict]}, "the distance from the start: "
        )
        self._start = dict(state["start"])
        self._alarms.restore(state["alarms"])
        for measure, each in zip(self._measures, state["measures"], strict=True):
            measure.restore(each)


def question(task: Task) -> Ask:
    """What a solver of the task is asked."""
    asks: list[Ask] = next(SOLVE.play(task, Random(0)))
    return asks[0]
