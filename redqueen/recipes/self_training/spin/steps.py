"""Whose replies are chosen and whose are rejected: gold answers (SPIN, 2401.01335) or those of the learner, of which an
earlier model's are the worse (Self-Reinforcement, 2405.04086)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from random import Random
from typing import Any, Protocol

import numpy as np

from redqueen.credit.rewards import payoff, score
from redqueen.curricula.held_out import Apart
from redqueen.demonstrations.gold import recited, with_gold
from redqueen.demonstrations.transfer import said_plainly
from redqueen.measures.alarms import Alarm, Alarms
from redqueen.play.seating import alone
from redqueen.players.language.writing import Writer, language_model
from redqueen.protocols import Player, Policy, Questions, Resumable, State, shaped
from redqueen.questions.asking import SOLVE, answered, evenly, said
from redqueen.questions.comparisons import verdicts
from redqueen.questions.verdicts import as_scores
from redqueen.settings.oracles import EVERY, Heard, refuse
from redqueen.settings.roles import ADAPTER, FROZEN, SEPARATE, SHARED, Plays, Seeds, bind, judge_of
from redqueen.types import SOLVER, Episode, Match, Metrics, RedQueenError, Task, Trajectory, mean_of

ALL = "none"  # in place of an oracle: every pair is learned from
FALSE_PAIRS = Alarm(
    "false_pairs",
    "pairs_right",
    "of the pairs of a right and a wrong reply only {value:.0%} prefer the right one: name another --oracle",
    limit=0.5,
    steps=2,
    below=True,
)
STYLE = Alarm(
    "style",
    "decisive",
    "only {value:.0%} of the pairs are of a right and a wrong reply: the others teach style, and margins grow all the "
    "same",
    limit=0.1,
    steps=2,
    below=True,
)
NOTHING_KEPT = Alarm("nothing_kept", "pairs_kept", "only {value:.0%} of the pairs are kept", limit=0.02, below=True)

Replies = tuple[list[Episode], list[Episode]]  # the chosen ones, and those rejected


class Sides(Resumable, Protocol):
    """Who says the chosen and the rejected replies of an iteration."""

    def matches(self, before: Policy) -> tuple[list[Match], list[Match]]:
        """In which the chosen and the rejected replies to the same tasks are said; `before` is the policy at the start
        of the last iteration."""
        ...

    def kept(self, chosen: Sequence[Episode], rejected: Sequence[Episode], rng: Random) -> Replies:
        """The pairs of replies that are learned from, in the learner's tokens."""
        ...

    def own(self, chosen: Sequence[Trajectory], rejected: Sequence[Trajectory]) -> list[Trajectory]:
        """The learner's own replies of this iteration among those of several, oldest first."""
        ...

    def metrics(self) -> Metrics: ...


def sides(config: Any, questions: Questions, learner: Policy, tests: Apart, run: Seeds) -> Sides:
    """The sides that the settings of the recipe say. Raises RedQueenError for what cannot be had or has no effect."""
    if config.chosen == "gold":
        refuse(config.judge, EVERY, "--chosen gold")
        return Gold(with_gold(questions, config.gold, config.tasks, tests, run.derived("data")), learner)
    if config.weaker in ("", SHARED, FROZEN, ADAPTER, SEPARATE):
        raise RedQueenError(
            "--chosen learner prefers the learner's replies to those of the model before it was tuned: name that one, "
            f"--weaker MODEL, a folder or a name{f', not {config.weaker}' if config.weaker else ''}"
        )
    if config.rejected == "last" and config.reference != "last":
        raise RedQueenError(
            f"--rejected last is the iterate that --reference last keeps, not --reference {config.reference}: leave "
            "that out, or say --rejected start"
        )
    model = language_model(learner)
    as_learner = Plays(SOLVER, as_learner=True)
    weaker = bind("weaker", config.weaker, config.learner, model, run.derived("weaker"), learns=False, plays=as_learner)
    tasks = evenly(questions, config.tasks, Random(run.derived("data")), tests)
    if config.oracle == ALL:
        refuse(config.judge, EVERY, f"--oracle {ALL}")
        return Earlier(questions, tasks, model, weaker, config.rejected == "last", None)
    oracle = config.judge.oracle(
        config.oracle, questions, lambda who, speech: judge_of(config.learner, model, run, who, speech)
    )
    return Earlier(questions, tasks, model, weaker, config.rejected == "last", oracle)


class Gold:
    """The gold answers to `tasks` are chosen, the learner's replies rejected."""

    def __init__(self, tasks: Sequence[Task], learner: Policy) -> None:
        self._tasks, self._learner = list(tasks), learner

    def matches(self, before: Policy) -> tuple[list[Match], list[Match]]:
        return recited(self._tasks, self._learner), alone(SOLVE, self._tasks, self._learner)

    def kept(self, chosen: Sequence[Episode], rejected: Sequence[Episode], rng: Random) -> Replies:
        return list(chosen), list(rejected)

    def own(self, chosen: Sequence[Trajectory], rejected: Sequence[Trajectory]) -> list[Trajectory]:
        return list(rejected[-len(self._tasks) :])

    def metrics(self) -> Metrics:
        return {}

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None


class Earlier:
    """The learner's replies to `tasks` are chosen, those of an earlier model rejected: `weaker` until the learner has
    learned, and then, if it `follows`, the policy before. A pair is kept if `oracle` likelier than not prefers its
    chosen reply. Whether a reply is right counts in figures alone."""

    def __init__(
        self,
        questions: Questions,
        tasks: Sequence[Task],
        learner: Writer,
        weaker: Player,
        follows: bool,
        oracle: Heard | None,
    ) -> None:
        self._questions, self._tasks = questions, list(tasks)
        self._learner, self._weaker, self._follows = learner, weaker, follows
        self._oracle = oracle
        self._kept = 0  # pairs of the last iteration
        self._figures: Metrics = {}
        self._alarms = Alarms([FALSE_PAIRS, STYLE, NOTHING_KEPT], quiet=True)

    def matches(self, before: Policy) -> tuple[list[Match], list[Match]]:
        weaker = before if self._follows and self._learner.version else self._weaker
        return alone(SOLVE, self._tasks, self._learner), alone(SOLVE, self._tasks, weaker)

    def kept(self, chosen: Sequence[Episode], rejected: Sequence[Episode], rng: Random) -> Replies:
        texts = said(chosen), said(rejected)
        differ = np.array([one != other for one, other in zip(*texts, strict=True)], dtype=bool)
        kept = differ
        if self._oracle is not None:
            kept = differ & (verdicts(self._oracle, self._tasks, *texts, rng) > 0.5)  # NaN is not
        self._kept = int(kept.sum())
        self._figures = figures_of_pairs(self._right(chosen), self._right(rejected), differ, kept)
        self._figures |= self._alarms.observe({name: float(value) for name, value in self._figures.items()})
        worse = score(list(compress(rejected, kept.tolist())), payoff)
        plain = [said_plainly(each, each.episode.task, self._learner).episode for each in worse]
        return list(compress(chosen, kept.tolist())), plain

    def _right(self, episodes: Sequence[Episode]) -> np.ndarray:
        """[n] 1 where a reply is right, 0 where it is wrong or was cut off, NaN where nobody knows."""
        return np.array(as_scores(self._questions.right(self._tasks, answered(episodes))), dtype=np.float64)

    def own(self, chosen: Sequence[Trajectory], rejected: Sequence[Trajectory]) -> list[Trajectory]:
        return list(chosen[len(chosen) - self._kept :])

    def metrics(self) -> Metrics:
        """`figures_of_pairs` of the last iteration, alarms, and what the oracle counts; nothing where there was none
        since the last call."""
        found, self._figures = self._figures, {}
        return found | (self._oracle.metrics() if found and self._oracle is not None else {})

    def alarms(self) -> list[str]:
        return [*self._alarms.alarms(), *(self._oracle.alarms() if self._oracle is not None else [])]

    def state(self) -> State:
        oracle = {} if self._oracle is None else self._oracle.state()
        return {"alarms": self._alarms.state(), "oracle": oracle}

    def restore(self, state: State) -> None:
        shaped(state, {"alarms": dict, "oracle": dict}, "the sides: ")
        self._alarms.restore(state["alarms"])
        if self._oracle is not None:
            self._oracle.restore(state["oracle"])


def figures_of_pairs(chosen: np.ndarray, rejected: np.ndarray, differ: np.ndarray, kept: np.ndarray) -> Metrics:
    """Figures of pairs of which [n] `chosen` and `rejected` are right (1, 0, NaN), the texts `differ` and those `kept`
    are learned from: `pairs_kept`, the share of the pairs of different texts; where it is known what is right,
    `decisive`, the share of the kept pairs in which one reply alone is right, and of these the share in which it is the
    chosen one (`pairs_right`), and of all pairs, without the filter (`drawn_right`)."""
    known = differ & ~np.isnan(chosen) & ~np.isnan(rejected)
    apart = known & (chosen != rejected)
    found: Metrics = {"pairs_kept": mean_of(kept[differ].tolist())} if differ.any() else {}
    if (kept & known).any():
        found["decisive"] = mean_of(apart[kept & known].tolist())
    for name, among in (("pairs_right", kept & apart), ("drawn_right", apart)):
        if among.any():
            found[name] = mean_of((chosen > rejected)[among].tolist())
    return found
