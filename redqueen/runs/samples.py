"""What became of every reply that a run sampled: one table, whose cells sum to all that was sampled.

    samples = Samples()
    with told_of_episodes(samples.take):
        ...                                     # play and measure
        samples.use(trajectories, advantages)   # what an update is made of
        line["samples"] = samples.close(names)  # once a step: {"learned": [60, 3, 1], "equal": [20, 0, 0], ...}

A reply is counted in the step in which its match is over, once: by what became of it (`FATES`, the first that fits) and
by its form (`FORMS`). Replies that were given to a player, not sampled, are in no cell; nor are calls of judges that
sit at no table. Matches in flight (`--staleness`) are counted once they are handed over.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from redqueen.credit.rewards import has_verdict, with_verdict
from redqueen.types import Episode, Mean, Metrics, Reply, Trajectory, Turn

FATES = {
    "learned": "in an update, with an advantage other than zero",
    "equal": "in an update, with an advantage of zero: no better and no worse than what it is compared with",
    "no_verdict": "handed to an update, without a verdict",
    "skipped": "of a policy that learns, in no update of its step: filtered, refused, not drawn, or only looked at",
    "others": "of another player: an opponent, a past self, a frozen role",
    "measured": "sampled to measure, by any player",
}
FORMS = ("whole", "cut off", "unreadable")
NEGLIGIBLE = 1e-9  # an advantage

Counts = dict[str, list[int]]  # by fate: how many of each form


class Samples:
    """Counts the replies of a run, step by step. See the module."""

    def __init__(self) -> None:
        self.measuring = False
        self._measured = [0] * len(FORMS)
        self._sampled: dict[
            int, Turn
        ] = {}  # by id, since equal matches share a reply; held, so that no other gets the same
        self._fates: dict[int, str] = {}
        self._used: list[Turn] = []
        self._episodes: list[Episode] = []  # whose replies were sampled to learn from, or by others meanwhile

    def take(self, episode: Episode) -> None:
        """Counts the replies of a finished match."""
        if not self.measuring:
            self._episodes.append(episode)
        for turn in episode.turns:
            if turn.reply.recited:
                continue
            if self.measuring:
                self._measured[_form(turn.reply)] += 1
            else:
                self._sampled[id(turn)] = turn

    def use(self, trajectories: Sequence[Trajectory], advantages: Sequence[np.ndarray]) -> None:
        """Takes in what an update is made of. A reply that is in several keeps the best that becomes of it."""
        order = list(FATES)
        for trajectory, given in zip(trajectories, advantages, strict=True):
            known = has_verdict(trajectory)
            for turn, advantage in zip(trajectory.turns, given, strict=True):
                fate = "no_verdict" if not known else "learned" if abs(advantage) > NEGLIGIBLE else "equal"
                found = self._fates.get(id(turn), fate)
                self._fates[id(turn)] = min(found, fate, key=order.index)
                self._used.append(turn)

    def unused(self, learners: Collection[str], most: int) -> list[Episode]:
        """Up to `most` matches of different tasks, with a last turn of a policy that learns that was in no update of
        the step."""
        skipped = {
            each.task.id: each
            for each in reversed(self._episodes)
            if each.turns
            and not each.turns[-1].reply.recited
            and each.turns[-1].reply.player in learners
            and id(each.turns[-1]) not in self._fates
        }
        return list(skipped.values())[::-1][:most]

    def close(self, learners: Collection[str]) -> Counts:
        """The counts of the step that ends; `learners` are the names of the policies that learn. Fates of none are left
        out."""
        counts: Counts = {fate: [0] * len(FORMS) for fate in FATES}
        counts["measured"] = self._measured
        for key, turn in self._sampled.items():
            fate = self._fates.get(key, "skipped" if turn.reply.player in learners else "others")
            counts[fate][_form(turn.reply)] += 1
        self._measured, self._sampled, self._fates, self._used = [0] * len(FORMS), {}, {}, []
        self._episodes = []
        return {fate: found for fate, found in counts.items() if any(found)}


def _form(reply: Reply) -> int:
    return 1 if reply.truncated else 2 if reply.malformed else 0


def total(lines: Sequence[Mapping[str, Any]]) -> Counts:
    """The counts of several steps together, each fate in its place."""
    found: Counts = {fate: [0] * len(FORMS) for fate in FATES}
    for line in lines:
        for fate, counts in line.get("samples", {}).items():
            if fate in found:
                found[fate] = [old + new for old, new in zip(found[fate], counts, strict=True)]
    return {fate: counts for fate, counts in found.items() if any(counts)}


def rested(figures: Metrics, trajectories: Sequence[Trajectory]) -> Metrics:
    """The figures of an update, each a `Mean` that says how many samples it rests on: attempts of the role (or with the
    part) that have a verdict for a reward, replies or episodes for what is a mean of these, and for all that the update
    returned the attempts that it was made of."""
    known = with_verdict(trajectories)
    replies = sum(len(trajectory.turns) for trajectory in trajectories)
    episodes = len({id(trajectory.episode) for trajectory in trajectories})
    counts = dict.fromkeys(figures, len(trajectories))
    counts |= dict.fromkeys(("malformed", "truncated", "completion_length"), replies)
    counts |= dict.fromkeys(("episodes", "turns_per_episode", "forfeits"), episodes)
    for name in figures:
        if name.startswith("reward/"):
            word = name.removeprefix("reward/")
            own = sum(each.seat.role == word for each in known)
            counts[name] = own or sum(word in each.parts for each in known)
    return {name: value if isinstance(value, Mean) else Mean(value, counts[name]) for name, value in figures.items()}
