"""Whether a proposer is going wrong: figures of its proposals step by step, and alarms with names.

    health = ProposerHealth()
    metrics |= health.check([Proposed("3 + 4 = ?", solve_rate=0.5, answer="7"), Proposed("", refused="unreadable")])
    for line in health.alarms(): print(line)

What a step does not know (no oracle, no judge, no solve rates) is left out of the figures, and an alarm over it
neither fires nor is reset. An alarm over a share fires only where the share, over all these steps, is past its limit by
more than chance.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import isnan, nan
from statistics import fmean

import numpy as np

from redqueen.checks.leaks import leaks
from redqueen.measures.alarms import Alarm, Alarms, at_least
from redqueen.protocols import COUNT, FINITE, State, shaped
from redqueen.types import Mean, Metrics, RedQueenError


@dataclass(frozen=True)
class Proposed:
    """What became of one proposal. What is not known keeps its default and is not counted."""

    text: str  # what the solver is shown; blank where no proposal could be read
    refused: str = ""  # the reason in a word or two; "" where it was accepted
    cut_off: bool = False  # whether it ended at the reply's length
    solve_rate: float = nan  # share of the scored attempts that succeeded
    answer: str = ""  # what counts as right: looked for in the text and the hint
    hint: str = ""  # what else the solver is shown
    hidden: bool = True  # whether a good question keeps its answer to itself: 1+0 does not
    answer_right: bool | None = None  # whether an oracle agrees with the answer
    judged: float = nan  # mean score that a judge gave the attempts, 0 to 1
    actual: float = nan  # mean score that an oracle gives the same attempts, 0 to 1


@dataclass(frozen=True)
class Limits:
    """Past which figure, and after how many steps in a row, an alarm fires."""

    steps: int = 5
    lowest_entropy: float = 0.7  # nats over the window: log 2, as if fewer than two kinds were proposed
    lowest_distinct_share: float = 0.5  # of a step; Absolute Zero at small scale sank from 1.0 to 0.66 in 200 steps
    lowest_valid_share: float = 0.5  # SSP's penalty for invalid proposals drove it to zero
    largest_unsolvable_share: float = 0.6  # solved by no attempt
    largest_trivial_share: float = 0.6  # solved by every attempt
    largest_unscored_share: float = 1.0  # no attempt has a verdict; never passed: votes and judges may pay
    largest_drift: float = 0.3  # of the mean solve rate since the first window, either way
    largest_inflation: float = 0.1  # of the judge's mean score over the oracle's
    lowest_label_accuracy: float = 0.6  # below it, majority labels made a small solver worse
    largest_leak_share: float = 0.05


NOTHING_VALID = Alarm(
    "nothing_valid", "refused", "none of the last {proposed} proposals can be taken ({reasons}){cut}", limit=0.85
)
UNTAUGHT = ": a cold start shows how they are written (redqueen train cold_start --proposals 0.5 --questions FILE)"
_MANY = 0.1  # share of the refused proposals that were cut off, from which it is said
# the trials of each share; the others are no shares of independent trials
TRIALS = {
    "valid_share": "proposed",
    "label_accuracy": "labels",
    "unsolvable_share": "scored",
    "trivial_share": "scored",
    "unscored_share": "valid",
    "leak_share": "valid",
}
ENDS = {  # what the message of an alarm ends on
    "invalid": "{cut}",  # see `_cut_off`
    "unscored": ": nobody knows what is right, so that they pay for their form alone and teach nothing; r_zero and "
    "agent0 vote, multi_agent_evolve asks a judge, a generator knows (--questions reasoning_gym:...)",
}

# of which proposals a figure of `ProposerHealth.check` is a mean; of the valid ones where it is not listed
_BASES = {
    **dict.fromkeys(
        ("valid_share", "refused", "distinct_share", "entropy", "window_entropy", "seen_share"), "proposed"
    ),
    **dict.fromkeys(
        ("solve_rate", "solve_rates", "solve_rate_drift", "unsolvable_share", "trivial_share"),
        "scored",
    ),
    **dict.fromkeys(("judge_score", "judge_inflation"), "judged"),
    "label_accuracy": "labels",
}


def _watched(limits: Limits) -> list[Alarm]:
    """The alarms over the figures of `ProposerHealth.check`."""
    low = (
        ("collapse", "window_entropy", "the entropy of late proposals", limits.lowest_entropy),
        ("repetition", "distinct_share", "the share of distinct proposals", limits.lowest_distinct_share),
        ("invalid", "valid_share", "the share of valid proposals", limits.lowest_valid_share),
        ("harder", "solve_rate_drift", "the drift of the solve rate", -limits.largest_drift),
        ("labels", "label_accuracy", "the share of right answers", limits.lowest_label_accuracy),
    )
    high = (
        ("unsolvable", "unsolvable_share", "the share that no attempt solves", limits.largest_unsolvable_share),
        ("trivial", "trivial_share", "the share that every attempt solves", limits.largest_trivial_share),
        ("easier", "solve_rate_drift", "the drift of the solve rate", limits.largest_drift),
        ("unscored", "unscored_share", "the share that no attempt has a verdict on", limits.largest_unscored_share),
        ("inflation", "judge_inflation", "the judge's score over the oracle's", limits.largest_inflation),
        ("leaks", "leak_share", "the share that gives its answer away", limits.largest_leak_share),
    )
    below, above = (f"{{value:.2f}}, {side} {{limit:g}} for {{steps}} steps" for side in ("below", "above"))
    return [
        Alarm(
            name,
            figure,
            f"{says} is {side}{ENDS.get(name, '')}",
            limit,
            limits.steps,
            is_low,
            TRIALS.get(figure, ""),
        )
        for is_low, side, rows in ((True, below, low), (False, above, high))
        for name, figure, says, limit in rows
    ]


_STATE = {
    "late": [{...: COUNT}],
    "first": [FINITE],
    "alarms": dict,
    "empty": dict,
    "refused?": {...: COUNT},
}


class ProposerHealth:
    """Figures of every step's proposals, and what has been past its limit for too long.

    Figures are named `proposals/...`, alarms `alarm/...`, 1 while one fires. `feature` says what makes two
    proposals one kind; the `window` is a number of steps.
    """

    def __init__(self, limits: Limits = Limits(), feature: Callable[[str], str] = str.strip, window: int = 10) -> None:
        if window < 1:
            raise RedQueenError(f"a window holds at least 1 step, not {window}")
        self.feature, self.window = feature, window
        self._alarms = Alarms(_watched(limits))
        self._empty = Alarms([NOTHING_VALID], quiet=True)
        self._refused: Counter[str] = Counter()  # reasons, since a proposal was last valid
        self._faults: deque[tuple[int, int]] = deque(maxlen=window)  # of each of the last steps: refused, cut off
        self._late: deque[Counter[str]] = deque(maxlen=window)  # the kinds of each of the last steps
        self._first: list[float] = []  # the mean solve rates of the first window

    def check(self, proposals: Sequence[Proposed]) -> Metrics:
        """The figures of one step. Shares lie in [0, 1], entropies are in nats.

        valid_share, refused/REASON           of all proposals
        distinct_share, entropy               of the readable ones of this step, by their kind
        window_entropy, seen_share            of the window; how many of this step were proposed within it before
        solve_rate, solve_rates/A-B, unsolvable_share, trivial_share, solve_rate_drift, unscored_share
                                              of the valid ones; the drift is since the first window
        judge_score, judge_inflation          where a judge spoke, and an oracle of the same attempts
        label_accuracy                        where an oracle knows the answer
        leak_share, leaks/KIND                of the valid ones, by `leaks`
        """
        if not proposals:
            return {}
        valid = [proposal for proposal in proposals if not proposal.refused]
        refused = [proposal.cut_off for proposal in proposals if proposal.refused]
        self._faults.append((len(refused), sum(refused)))
        figures = {
            **_validity(proposals, len(valid)),
            **self._variety(proposals),
            **self._difficulty(valid),
            **_judgement(valid),
            **_leakage(valid),
        }
        counts = _counts(len(proposals), valid)
        of = {name: counts[_BASES.get(name.partition("/")[0], "valid")] for name in figures}
        named = {f"proposals/{name}": Mean(value, of[name]) for name, value in figures.items()}
        told: dict[str, float | str] = {**figures, **counts, "cut": _cut_off(self._faults)}
        return named | self._alarms.observe(told) | self._none_valid(proposals, bool(valid))

    def alarms(self) -> list[str]:
        """Messages of all firing alarms; empty if none fires."""
        return [*self._empty.alarms(), *self._alarms.alarms()]

    def _none_valid(self, proposals: Sequence[Proposed], valid: bool) -> Metrics:
        """`alarm/nothing_valid` from the first step on in which it fires: surely more than 85 % are refused, and all
        were since a proposal was last valid."""
        self._refused = Counter() if valid else self._refused + _refusals(proposals)
        count = self._refused.total()
        reasons = ", ".join(f"{reason} {times}" for reason, times in self._refused.most_common())
        cut = _cut_off(self._faults)
        if not cut and reasons.startswith("no question"):
            cut = UNTAUGHT
        told: dict[str, float | str] = {"proposed": count, "reasons": reasons, "cut": cut}
        return self._empty.observe({"refused": at_least(count, count), **told})

    def _variety(self, proposals: Sequence[Proposed]) -> Metrics:
        kinds = Counter(self.feature(proposal.text) for proposal in proposals if proposal.text.strip())
        if not kinds:
            return {}
        before = set().union(*self._late)
        self._late.append(kinds)
        count = kinds.total()
        return {
            "distinct_share": len(kinds) / count,
            "entropy": _entropy(kinds),
            "window_entropy": _entropy(sum(self._late, Counter())),
            "seen_share": sum(times for kind, times in kinds.items() if kind in before) / count,
        }

    def _difficulty(self, valid: Sequence[Proposed]) -> Metrics:
        rates = np.array([proposal.solve_rate for proposal in valid if not isnan(proposal.solve_rate)])
        if not len(rates):
            return {"unscored_share": 1.0} if valid else {}
        mean = float(rates.mean())
        if len(self._first) < self.window:
            self._first.append(mean)
        counts, edges = np.histogram(rates, bins=5, range=(0.0, 1.0))
        return {
            "solve_rate": mean,
            "solve_rate_drift": mean - fmean(self._first),
            "unsolvable_share": float((rates == 0.0).mean()),
            "trivial_share": float((rates == 1.0).mean()),
            "unscored_share": 1.0 - len(rates) / len(valid),
            **{
                f"solve_rates/{low:.1f}-{high:.1f}": int(count) / len(rates)
                for count, low, high in zip(counts, edges, edges[1:], strict=False)
            },
        }

    def state(self) -> State:
        return {
            "late": [dict(kinds) for kinds in self._late],
            "first": list(self._first),
            "alarms": self._alarms.state(),
            "empty": self._empty.state(),
            "refused": dict(self._refused),
            "faults": list(self._faults),
        }

    def restore(self, state: State) -> None:
        shaped(state, _STATE, "the health of the proposer: ")
        self._late = deque((Counter(kinds) for kinds in state["late"]), maxlen=self.window)
        self._first = list(state["first"])
        self._alarms.restore(state["alarms"])
        self._empty.restore(state["empty"])
        self._refused = Counter(state.get("refused", {}))
        self._faults = deque(map(tuple, state.get("faults", [])), maxlen=self.window)  # older checkpoints have none


def _counts(proposals: int, valid: Sequence[Proposed]) -> dict[str, int]:
    """How many proposals figures rest on."""
    return {
        "proposed": proposals,
        "valid": len(valid),
        "scored": sum(not isnan(proposal.solve_rate) for proposal in valid),
        "labels": sum(proposal.answer_right is not None for proposal in valid),
        "judged": sum(not isnan(proposal.judged) for proposal in valid),
    }


def _validity(proposals: Sequence[Proposed], valid: int) -> Metrics:
    count = len(proposals)
    refused = {f"refused/{reason}": times / count for reason, times in sorted(_refusals(proposals).items())}
    return {"valid_share": valid / count, **refused}


def _cut_off(faults: Iterable[tuple[int, int]]) -> str:
    """How many of the refused proposals of these steps were cut off, and what would help; "" where few were."""
    refused, cut = (sum(each) for each in zip(*faults, strict=True))
    if not refused or cut <= _MANY * refused:
        return ""
    return (
        f"; {cut} of {refused} refused ones were cut off: allow the proposer longer replies, --max-completion-length "
        "(of a role alone --proposer.max-completion-length), or ask for shorter ones"
    )


def _refusals(proposals: Sequence[Proposed]) -> Counter[str]:
    return Counter(proposal.refused for proposal in proposals if proposal.refused)


def _judgement(valid: Sequence[Proposed]) -> Metrics:
    """The judge against the oracle, and the oracle on the answers."""
    figures: Metrics = {}
    judged = [proposal for proposal in valid if not isnan(proposal.judged)]
    both = [proposal.judged - proposal.actual for proposal in judged if not isnan(proposal.actual)]
    right = [proposal.answer_right for proposal in valid if proposal.answer_right is not None]
    if judged:
        figures["judge_score"] = fmean(proposal.judged for proposal in judged)
    if both:
        figures["judge_inflation"] = fmean(both)
    if right:
        figures["label_accuracy"] = fmean(right)
    return figures


def _leakage(valid: Sequence[Proposed]) -> Metrics:
    if not valid:
        return {}
    found = [leaks(proposal.text, proposal.answer, proposal.hint, proposal.hidden) for proposal in valid]
    kinds = Counter(kind for each in found for kind in each)
    share = sum(bool(each) for each in found) / len(valid)
    return {"leak_share": share, **{f"leaks/{kind}": times / len(valid) for kind, times in sorted(kinds.items())}}


def _entropy(counts: Counter[str]) -> float:
    """In nats: log K where K kinds are equally frequent."""
    shares = np.array(list(counts.values())) / counts.total()
    return float(max(0.0, -(shares * np.log(shares)).sum()))
