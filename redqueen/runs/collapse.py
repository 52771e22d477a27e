"""Whether a run is losing what it had: alarms over its figures, and the measurement that was best.

    collapse = Collapse()                     once a run
    collapse.measured(line)                   true where this measurement is the best so far
    metrics |= collapse.check(line)           `alarm/...`, 1 while one fires
    for text in collapse.alarms(): print(text)

What a line does not hold (no measurement, no entropy, no win rates) neither fires an alarm nor resets it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isfinite, isnan, nan
from typing import Any, Literal

from redqueen.measures.alarms import Alarm, Alarms
from redqueen.measures.figures import described
from redqueen.protocols import COUNT, FINITE, Maybe, State, shaped
from redqueen.types import Metrics, RedQueenError

# what is watched where nobody says otherwise, the first that a run measures; of several games that of the first
USUAL = (
    *("mean_score", "team_score", "exploitability", "sampled_exploitability", "minimax_regret_reached"),
    *("accuracy", "held_out_score", "held_out/preference_accuracy", "payoff/uniform"),
)


@dataclass(frozen=True)
class Watch:
    """What counts as a collapse, and what is done about it."""

    on_collapse: Literal["warn", "stop", "roll_back"] = "warn"
    """an alarm is shown; or ends the run; or takes everything back to the best measurement and goes on from there"""
    score: str = ""
    """the figure that says how good the run is; by default the first of exploitability, regret, accuracy, score"""
    keep_best: bool = False
    """keep a checkpoint of the best measurement, RUN@best; always so where collapses are rolled back"""
    lost_share: float = 0.5
    """share of its gain that the score may lose before the alarm (share of its first value where that is larger)"""
    measurements: int = 3
    """in a row with a score that low, before the alarm"""
    lowest_entropy: float = 0.02
    """share of the first step's entropy below which it counts as gone"""
    highest_entropy: float = 1.5
    """multiple of the first step's entropy above which the text counts as falling apart"""
    alarm_steps: int = 20
    """in a row, before an alarm on entropy or opponents rings"""
    most_roll_backs: int = 3
    """the next collapse ends the run"""

    def __post_init__(self) -> None:
        least = {"measurements": 1, "alarm_steps": 1, "most_roll_backs": 0}
        for name, smallest in least.items():
            if getattr(self, name) < smallest:
                flag = "--" + name.replace("_", "-")
                raise RedQueenError(f"{flag} must be at least {smallest}, not {getattr(self, name)}")
        if not self.lost_share > 0.0:
            raise RedQueenError(f"--lost-share must be above 0, not {self.lost_share:g}")
        if not 0.0 <= self.lowest_entropy < 1.0:
            raise RedQueenError(f"--lowest-entropy must be at least 0 and below 1, not {self.lowest_entropy:g}")
        if not self.highest_entropy > 1.0:
            raise RedQueenError(f"--highest-entropy must be above 1, not {self.highest_entropy:g}")
        if self.on_collapse != "roll_back" and self.most_roll_backs != type(self).most_roll_backs:
            raise RedQueenError("--most-roll-backs has no effect without --on-collapse roll_back: leave it out")
        if self.score:
            direction(self.score)

    @property
    def keeps_best(self) -> bool:
        return self.keep_best or self.on_collapse == "roll_back"


def direction(name: str) -> float:
    """1 where a high value of a figure is good, -1 where a low one is. Raises RedQueenError where that is not known."""
    better = described(name).better
    if not better:
        raise RedQueenError(
            f"whether a high {name!r} is good is not known: choose a --score such as accuracy, pass@8, payoff/uniform, "
            "reward/NAME, exploitability or minimax_regret_mean"
        )
    return 1.0 if better == "higher" else -1.0


def _of_a_run(watch: Watch) -> list[Alarm]:
    """The alarms over the score, and over opponents."""
    now, once = "{score_name} is {score:.4g}", "{best:.4g} at step {best_step} and {first:.4g} at the start"
    exploits = "the learner wins {easiest:.0%} against one opponent and {median:.0%} against most, for {steps} steps"
    return [
        Alarm("score_falls", "lost_share", f"{now}, after {once}", watch.lost_share, watch.measurements),
        Alarm("one_opponent", "wins_against_one", exploits, 0.9, watch.alarm_steps),
    ]


def _of_a_learner(learner: str, watch: Watch) -> list[Alarm]:
    """The alarms over the entropy of one learner, by what stands before its figures: "" or "solver/"."""
    message, share = "the entropy is {value:.0%} of the first step's, for {steps} steps", f"{learner}entropy_share"
    return [
        Alarm(f"{learner}entropy_gone", share, message, watch.lowest_entropy, watch.alarm_steps, below=True),
        Alarm(f"{learner}entropy_rises", share, message, watch.highest_entropy, watch.alarm_steps),
    ]


_STATE = {
    "best_step": Maybe(COUNT),
    "roll_backs": COUNT,
    "score": str,
    "first": FINITE,
    "best": FINITE,
    "entropies": {...: FINITE},
    "alarms": dict,
}


class Collapse:
    """See the module. Remembers the first and the best score, and how long each limit has been passed."""

    def __init__(self, watch: Watch = Watch()) -> None:
        self.watch = watch
        self.best_step: int | None = None
        self.roll_backs = 0
        self._score = watch.score
        self._first = self._best = 0.0  # higher is better
        self._entropies: dict[str, float] = {}  # by what stands before a learner's figures, at its first step
        self._alarms = Alarms(_of_a_run(watch))

    def measured(self, line: Mapping[str, Any]) -> bool:
        """Takes in a measurement, with the figures of the step before it, such as ratings; true where its score is the
        best so far, the first included. A score that is not finite says nothing. Raises RedQueenError where the
        first measurement lacks any usual score and the best checkpoint is kept, or the figures after the first step
        lack the user's score."""
        self._score = self._score or _usual(line)
        missing = self.watch.score not in line if self.watch.score else self.watch.keeps_best and not self._score
        known = [name for name in line if described(name).better]
        if missing and (line["step"] or (known and not self.watch.score)) and self.best_step is None:
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
            self._lose(score)
            return False
        self._best, self.best_step = score, int(line["step"])
        self._lose(score)
        return True

    def check(self, line: Mapping[str, Any]) -> Metrics:
        """The alarms of a finished step."""
        figures: Metrics = {}
        for learner, entropy in _entropies(line).items():
            if learner not in self._entropies:
                self._alarms.add(_of_a_learner(learner, self.watch))
            first = self._entropies[learner] = self._entropies.get(learner, 0.0) or entropy
            figures[f"{learner}entropy_share"] = entropy / first if first else 1.0
        if "win_rate/easiest" in line:
            easiest, median = float(line["win_rate/easiest"]), float(line["win_rate/median"])
            against_one = easiest if median < 0.45 else 0.0
            figures |= {"easiest": easiest, "median": median, "wins_against_one": against_one}
        return self._alarms.observe(figures)

    def alarms(self) -> list[str]:
        """Messages of all firing alarms; empty if none fires."""
        return self._alarms.alarms()

    def calm(self) -> None:
        """Voids what was counted up to now: the run was taken back, or goes on although it was stopped."""
        self._alarms.calm()

    def _lose(self, score: float) -> None:
        """Shows the alarm which share is lost of what the score gained, or of what it began with if that is more."""
        had, lost = max(self._best - self._first, abs(self._first)), self._best - score
        sign = direction(self._score)
        self._alarms.observe(
            {
                "lost_share": lost / had if had else inf if lost else 0.0,
                "score_name": self._score,
                "score": sign * score,
                "best": sign * self._best,
                "best_step": self.best_step or 0,
                "first": sign * self._first,
            }
        )

    def state(self) -> State:
        return {
            "best_step": self.best_step,
            "roll_backs": self.roll_backs,
            "score": self._score,
            "first": self._first,
            "best": self._best,
            "entropies": dict(self._entropies),
            "alarms": self._alarms.state(),
        }

    def restore(self, state: State) -> None:
        shaped(state, _STATE, "collapse: ")
        self.best_step, self.roll_backs, self._score = state["best_step"], state["roll_backs"], state["score"]
        self._first, self._best, self._entropies = state["first"], state["best"], dict(state["entropies"])
        of_learners = [alarm for learner in self._entropies for alarm in _of_a_learner(learner, self.watch)]
        self._alarms = Alarms([*_of_a_run(self.watch), *of_learners])
        self._alarms.restore(state["alarms"])


def _usual(line: Mapping[str, Any]) -> str:
    """The first usual score of a line, under its own name or as the last part of one ("GAME/exploitability"); "" where
    there is none."""
    return next((name for usual in USUAL for name in line if f"/{name}".endswith(f"/{usual}")), "")


def _entropies(line: Mapping[str, Any]) -> dict[str, float]:
    """The entropy of every learner's own tokens in an update, by what stands before its figures: "" or "solver/"; one
    that is NaN is left out."""
    learners = [key.removesuffix("entropy") for key in line if key == "entropy" or key.endswith("/entropy")]
    found = {each: float(line[f"{each}entropy"]) for each in learners if not each or f"{each}loss" in line}
    return {each: entropy for each, entropy in found.items() if not isnan(entropy)}
