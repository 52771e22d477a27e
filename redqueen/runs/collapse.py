"""Whether a run is losing what it had: alarms over its figures, and the measurement that was best.

    collapse = Collapse()                     once a run
    collapse.measured(line)                   true where this measurement is the best so far
    metrics |= collapse.check(line)           `alarm/...`, 1 while one rings
    for text in collapse.alarms(): print(text)

What a line does not hold (no measurement, no entropy, no win rates) neither rings an alarm nor resets it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any, Literal

from redqueen.protocols import State
from redqueen.types import Metrics, RedQueenError

LOW_IS_GOOD = ("exploitability", "nash_conv", "regret", "perplexity")
HIGH_IS_GOOD = ("accuracy", "pass@", "payoff/", "win_rate/", "rating/", "held_out/", "coverage", "reward/")
# what is watched where nobody says otherwise, the first that a run measures; of several games that of the first
USUAL = ("exploitability", "sampled_exploitability", "minimax_regret_reached", "accuracy", "payoff/uniform")


@dataclass(frozen=True)
class Watch:
    """What counts as a collapse, and what is done about it."""

    on_collapse: Literal["warn", "stop", "roll_back"] = "warn"
    """an alarm is shown; or ends the run; or takes everything back to the best measurement and goes on from there"""
    score: str = ""
    """the figure that says how good the run is: by default exploitability, regret or accuracy, what is there"""
    keep_best: bool = False
    """keep a checkpoint of the best measurement, RUN@best; always so where collapses are rolled back"""
    lost_share: float = 0.5
    """of what the score had gained since the start, or of the start where that is more: if so much is gone, ..."""
    measurements: int = 3
    """... over so many measurements in a row, the score has fallen"""
    lowest_entropy: float = 0.02
    highest_entropy: float = 1.5
    """the entropy is gone, or the words fall apart, beyond these shares of the entropy of the first step"""
    alarm_steps: int = 20
    """in a row, before an alarm over entropy or opponents rings"""
    most_roll_backs: int = 3
    """the next collapse ends the run"""

    def __post_init__(self) -> None:
        least = {"measurements": 1, "alarm_steps": 1, "most_roll_backs": 0}
        for name, smallest in least.items():
            if getattr(self, name) < smallest:
                flag = "--" + name.replace("_", "-")
                raise RedQueenError(f"{flag} must be at least {smallest}, not {getattr(self, name)}")
        if not self.lost_share > 0.0 or not 0.0 <= self.lowest_entropy < 1.0 < self.highest_entropy:
            raise RedQueenError(
                "--lost-share must be above 0, --lowest-entropy from 0 to below 1, --highest-entropy above 1"
            )
        if self.score:
            direction(self.score)

    @property
    def keeps_best(self) -> bool:
        return self.keep_best or self.on_collapse == "roll_back"


def direction(name: str) -> float:
    """1 where a high value of a figure is good, -1 where a low one is. Raises RedQueenError where that is not known."""
    if any(word in name for word in LOW_IS_GOOD):
        return -1.0
    if any(word in name for word in HIGH_IS_GOOD):
        return 1.0
    known = ", ".join((*LOW_IS_GOOD, *HIGH_IS_GOOD))
    raise RedQueenError(
        f"whether a high {name!r} is good is not known: choose a --score with one of {known} in its name"
    )


class Collapse:
    """See the module. Remembers the first and the best score, and how long each limit has been passed."""

    def __init__(self, watch: Watch = Watch()) -> None:
        self.watch = watch
        self.best_step: int | None = None
        self.roll_backs = 0
        self._score = watch.score
        self._scores: list[float] = []  # the last of them, higher is better; the first and the best beside them
        self._first = self._best = 0.0
        self._entropies: dict[str, float] = {}  # by what stands before a learner's figures, at its first step
        self._past: dict[str, int] = {}  # alarm -> steps, or measurements, in a row
        self._said: dict[str, str] = {}

    def measured(self, line: Mapping[str, Any]) -> bool:
        """Takes in a measurement, with the figures of the step before it, such as ratings; true where its score is the
        best so far, the first included. A score that is not finite says nothing. Raises RedQueenError where the
        figures after the first step lack the user's score, or any usual one where the best checkpoint is kept."""
        self._score = self._score or _usual(line)
        missing = self.watch.score not in line if self.watch.score else self.watch.keeps_best and not self._score
        if missing and line["step"] and self.best_step is None:
            known = [name for name in line if any(word in name for word in (*LOW_IS_GOOD, *HIGH_IS_GOOD))]
            wanted = (
                repr(self.watch.score) if self.watch.score else "a usual score, by which the best checkpoint is known"
            )
            raise RedQueenError(f"this run does not measure {wanted}: --score is one of {', '.join(known)}")
        if not isfinite(line.get(self._score, nan)):
            return False
        score = direction(self._score) * float(line[self._score])
        if self.best_step is None:
            self._first = self._best = score
        elif score <= self._best:
            self._add(score)
            return False
        self._best, self.best_step = score, int(line["step"])
        self._add(score)
        return True

    def check(self, line: Mapping[str, Any]) -> Metrics:
        """The alarms of a finished step."""
        easiest = line.get("win_rate/easiest")
        for learner, entropy in _entropies(line).items():
            first = self._entropies[learner] = self._entropies.get(learner, 0.0) or entropy
            share = entropy / first if first else 1.0
            says = f"the entropy is {entropy:.3g}, {share:.0%} of the first step's"
            self._count(f"{learner}entropy_gone", share < self.watch.lowest_entropy, says)
            self._count(f"{learner}entropy_rises", share > self.watch.highest_entropy, says)
        if easiest is not None:
            median = float(line["win_rate/median"])
            says = f"the learner wins {easiest:.0%} against one opponent and {median:.0%} against most"
            self._count("one_opponent", easiest > 0.9 and median < 0.45, says)
        return {f"alarm/{name}": float(self._rings(name)) for name in self._past}

    def alarms(self) -> list[str]:
        """A line for each alarm that rings."""
        return [f"{name.replace('_', ' ')}: {self._said[name]}" for name in self._past if self._rings(name)]

    def calm(self) -> None:
        """What was counted up to now is void: the run was taken back, or goes on although it was stopped."""
        self._scores, self._past = [], {}

    def _add(self, score: float) -> None:
        count = self.watch.measurements
        self._scores = [*self._scores, score][-count:]
        had, lost = max(self._best - self._first, abs(self._first)), self._best - max(self._scores)
        sign = direction(self._score)
        says = f"{self._score} is {sign * score:.4g}, after {sign * self._best:.4g} at step {self.best_step}"
        self._said["score_falls"] = f"{says} and {sign * self._first:.4g} at the start"
        self._past["score_falls"] = int(len(self._scores) == count and lost > self.watch.lost_share * had)

    def _count(self, name: str, past: bool, says: str) -> None:
        self._past[name] = self._past.get(name, 0) + 1 if past else 0
        self._said[name] = f"{says}, for {self._past[name]} steps"

    def _rings(self, name: str) -> bool:
        return self._past[name] >= (1 if name == "score_falls" else self.watch.alarm_steps)

    def state(self) -> State:
        names = ("best_step", "roll_backs", "_score", "_scores", "_first", "_best", "_entropies", "_past", "_said")
        return {name.lstrip("_"): getattr(self, name) for name in names}

    def restore(self, state: State) -> None:
        self.best_step, self.roll_backs = state["best_step"], state["roll_backs"]
        self._score, self._scores = state["score"], list(state["scores"])
        self._first, self._best, self._entropies = state["first"], state["best"], dict(state.get("entropies", {}))
        self._past, self._said = dict(state["past"]), dict(state["said"])


def _usual(line: Mapping[str, Any]) -> str:
    """The first usual score of a line, under its own name or as the last part of one ("GAME/exploitability"); "" where
    there is none."""
    return next((name for usual in USUAL for name in line if f"/{name}".endswith(f"/{usual}")), "")


def _entropies(line: Mapping[str, Any]) -> dict[str, float]:
    """The entropy of every learner's own words in an update, by what stands before its figures: "" or "solver/"."""
    learners = [key.removesuffix("entropy") for key in line if key == "entropy" or key.endswith("/entropy")]
    return {each: float(line[f"{each}entropy"]) for each in learners if not each or f"{each}loss" in line}
