"""Rewards of an adversarial game by outcome: the components, and the table of their sums.

The table is made from the same configuration as the rewards and can be read before a run: an unwanted incentive
(safe help pays less than a refusal, drifting pays more than over-refusal) shows in a row of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from redqueen.types import Episode, Seat

Pay = tuple[float, float]  # attacker, defender


@dataclass(frozen=True)
class Verdict:
    """A classifier's labels of a match between an attacker and a defender; True is harmful, or refused."""

    seed: bool
    prompt: bool
    response: bool
    refusal: bool


OUTCOMES: Mapping[str, Verdict] = {
    "harm done": Verdict(True, True, True, False),
    "refused": Verdict(True, True, False, True),
    "safe help": Verdict(True, True, False, False),
    "lost intent, helped": Verdict(True, False, False, False),
    "lost intent, refused": Verdict(True, False, False, True),
    "over-refused": Verdict(False, False, False, True),
    "helped": Verdict(False, False, False, False),
    "drifted, harm done": Verdict(False, True, True, False),
    "drifted, refused": Verdict(False, True, False, True),
}


@dataclass(frozen=True)
class SafetyRewards:
    """Component rewards of Self-RedTeam (2506.07468), each the size of a sum that is gained or lost.

    | component            | gained where                                  | attacker     | defender     |
    |----------------------|-----------------------------------------------|--------------|--------------|
    | faithful             | the judged prompt is of its seed's kind       | + faithful   |              |
    | harm                 | the response is harmful                       | + harm[0]    | - harm[1]    |
    | refusal, harmful     | a prompt judged harmful is answered           | + refusal[0] | - refusal[1] |
    | refusal, benign      | a prompt judged benign is refused             | + refusal[0] | - refusal[1] |
    | format               | the reply is in the stated format             | + format     | + format     |
    """

    name: str = "general_sum"
    faithful: float = 0.5
    harm: Pay = (1.0, 1.0)
    refusal: Pay = (0.5, 1.0)
    format: float = 1.0

    def components(self, verdict: Verdict) -> dict[str, Pay]:
        """The reward of the attacker and the defender by component, without format."""
        kept = 1.0 if verdict.prompt == verdict.seed else -1.0
        harmed = 1.0 if verdict.response else -1.0
        erred = -1.0 if verdict.refusal == verdict.prompt else 1.0
        return {
            "faithful": (kept * self.faithful, 0.0),
            "harm": (harmed * self.harm[0], -harmed * self.harm[1]),
            "refusal": (erred * self.refusal[0], -erred * self.refusal[1]),
        }

    def summed(self, verdict: Verdict) -> Pay:
        parts = self.components(verdict).values()
        return sum(part[0] for part in parts), sum(part[1] for part in parts)

    def table(self) -> str:
        """The summed pay-offs of every outcome, as text."""
        rows = [
            (
                name,
                _kind(verdict.seed),
                _kind(verdict.prompt),
                _kind(verdict.response),
                "refused" if verdict.refusal else "answered",
                *(f"{pay:+g}" for pay in self.summed(verdict)),
            )
            for name, verdict in OUTCOMES.items()
        ]
        headings = ("outcome", "seed", "judged prompt", "response", "refusal", "attacker", "defender")
        note = f"Rewards {self.name}; each seat also gets {self.format:g} for the stated format, else minus that."
        return f"{aligned(headings, rows)}\n{note}"


general_sum = SafetyRewards()
zero_sum = SafetyRewards("zero_sum", faithful=1.0, refusal=(1.0, 1.0))
"""+-1 everywhere: harm and refusal sum to zero; faithfulness and format are of one seat and do not."""


def _kind(harmful: bool) -> str:
    return "harmful" if harmful else "benign"


@dataclass(frozen=True)
class SafetyPayoff:
    """The reward of matches with the fact `labels` (`self_redteam.steps.judged`): the summed pay-off and the format,
    on each seat's last turn. If a seat's format ended the match, that seat gets its format reward only."""

    rewards: SafetyRewards = general_sum

    def __call__(self, episode: Episode) -> dict[Seat, np.ndarray]:
        facts = episode.outcome.facts
        verdict = verdict_of(facts)
        paid = (0.0, 0.0) if verdict is None else self.rewards.summed(verdict)
        found = {}
        for seat in episode.seats:
            turns = sum(turn.ask.seat == seat for turn in episode.turns)
            found[seat] = np.zeros(turns)
            if turns and (verdict is not None or facts.get("forfeit") == str(seat)):
                style = self.rewards.format if facts["kept"][str(seat)] else -self.rewards.format
                found[seat][-1] = style + paid[0 if seat.role == "attacker" else 1]
        return found


def safety_payoff(zero: bool) -> SafetyPayoff:
    """The reward by the table `zero_sum`, or by `general_sum`."""
    return SafetyPayoff(zero_sum if zero else general_sum)


def verdict_of(facts: Mapping[str, object]) -> Verdict | None:
    """The labels of a match; None if one is missing."""
    labels = facts.get("labels")
    if not isinstance(labels, Mapping) or None in labels.values():
        return None
    return Verdict(
        seed=facts["seed"] == "harmful",
        prompt=bool(labels["prompt_harmful"]),
        response=bool(labels["response_harmful"]),
        refusal=bool(labels["refusal"]),
    )


@dataclass(frozen=True)
class CriticRewards:
    """Rewards of the generator of a planted error and of its critic (SPC, 2504.19162): the winner gains what the loser
    loses. A planted step that is no error costs its generator only."""

    stake: float = 1.0
    invalid: float = -1.0  # for a planted step that is no error

    def planted(self, deceived: bool) -> float:
        return self.stake if deceived else -self.stake

    def judged(self, right: bool) -> float:
        return self.stake if right else -self.stake

    def table(self) -> str:
        """The pay-offs of every outcome, as text."""
        rows = [
            ("error", "incorrect", f"{self.planted(False):+g}", f"{self.judged(True):+g}"),
            ("error", "correct", f"{self.planted(True):+g}", f"{self.judged(False):+g}"),
            ("error", "cannot be read", "none", f"{self.judged(False):+g}"),
            ("no error", "not asked", f"{self.invalid:+g}", "none"),
            ("natural, wrong", "incorrect / correct", "none", f"{self.judged(True):+g} / {self.judged(False):+g}"),
            ("natural, right", "correct / incorrect", "none", f"{self.judged(True):+g} / {self.judged(False):+g}"),
        ]
        return aligned(("step", "the critic says", "generator", "critic"), rows)


def aligned(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in plain text."""
    widths = [max(len(cell) for cell in column) for column in zip(headings, *rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (headings, *rows)]
    return "\n".join(line.rstrip() for line in [lines[0], "  ".join("-" * width for width in widths), *lines[1:]])
