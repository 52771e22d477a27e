"""Who agrees with the majority, and what EVOL-RL pays for it (2509.15194)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Literal

import numpy as np

from redqueen.checks.votes import by_value
from redqueen.credit.group_rewards import OfGroup, correct, for_its_seat
from redqueen.credit.novelty import bleu
from redqueen.credit.outcomes import answers, cut_off, whole_reply
from redqueen.measures.unseen import OF_VOTES, Unseen
from redqueen.protocols import Questions, State
from redqueen.questions.asking import graded
from redqueen.questions.labels import held_to_majority
from redqueen.questions.verdicts import Truncated
from redqueen.texts import tokens
from redqueen.types import Group, Metrics, RedQueenError, Trajectory, mean_of

Labels = Literal["majority", "known", "shuffled"]

ALIKE = 1e-9  # differences of novelty that are rounding


@dataclass(frozen=True)
class Banded:
    """The reward of each attempt by its class and its novelty within the class (section 3.2 and the released code's
    reward manager): +-3/4, moved by `width` times at most a quarter; -1 without an answer, which one that was cut off
    has only where `truncated` ones are graded. NaN for one that was cut off where these are unknown, and for an
    answer where nobody knows whether it is right: there is a tie, or where the `labels` are known the question set has
    no verdict."""

    width: float = 1.0
    truncated: Truncated = "wrong"

    def of_group(self, group: Group) -> OfGroup:
        ((_, right),) = correct.of_group(group)["right"].items()
        texts = [tokens(whole_reply(each)) for each in group.attempts]
        found = map(by_value, answers(group.attempts, self.truncated))
        said = np.array([bool(text and answer) for text, answer in zip(texts, found, strict=True)])
        ignored = np.array([self.truncated == "unknown" and cut_off(each) for each in group.attempts])
        given = said & ~np.isnan(right)
        earned = np.where(ignored | (said & np.isnan(right)), np.nan, -1.0)
        if given.sum() > 1:
            alike = bleu([text for text, counts in zip(texts, given, strict=True) if counts])
            earned[given] = banded(right[given] == 1.0, alike, self.width)
        return for_its_seat(group, {"banded": earned})


def banded(agrees: np.ndarray, alike: np.ndarray, width: float = 1.0) -> np.ndarray:
    """[n] rewards from [n] bool, who agrees with the label, and [n, n] similarities from 0 to 1: in [1/2, 1] for those
    who agree and in [-1, -1/2] for the others, in the order of their novelty within the class. n is at least 2."""
    novelty, place = novelties(agrees, alike), np.full(len(agrees), 0.5)
    for own in (agrees, ~agrees):
        least, most = novelty[own].min(initial=np.inf), novelty[own].max(initial=-np.inf)
        if own.sum() == 1:
            place[own] = 1.0
        elif most - least > ALIKE:
            place[own] = (novelty[own] - least) / (most - least)
    return np.where(agrees, 0.75, -0.75) + width * (place / 2.0 - 0.25)


def novelties(agrees: np.ndarray, alike: np.ndarray) -> np.ndarray:
    """[n] 1 - half the mean similarity to the others of the own class (to all others for one that is alone in it) -
    half the greatest similarity to any other."""
    others = ~np.eye(len(agrees), dtype=bool)
    own = others & (agrees[:, None] == agrees[None, :])
    compared = np.where(own.any(axis=1, keepdims=True), own, others)
    mean = (alike * compared).sum(axis=1) / compared.sum(axis=1)
    nearest = np.where(others, alike, 0.0).max(axis=1)
    return np.asarray(1.0 - mean / 2.0 - nearest / 2.0)


class Consensus:
    """Gives each attempt its verdict by the majority of its group (by the question set where `labels` are known), says
    which are learned from, the first `kept` of its `votes` attempts, and measures the accuracy of the votes. What the
    question set says about the majorities is measured and never paid, unless `labels` are known. Raises RedQueenError
    where more attempts are to be kept than vote."""

    def __init__(self, questions: Questions, labels: Labels, votes: int, kept: int, truncated: Truncated) -> None:
        if kept > votes:
            raise RedQueenError(
                f"--attempts {kept} of --votes {votes} attempts cannot be learned from: let at least {kept} vote"
            )
        self._questions = questions
        self._labels = labels
        self._among, self._kept = votes, kept
        self._truncated: Truncated = truncated
        self._votes: list[Group] = []  # since the last `metrics`
        self._unseen = Unseen(questions, truncated, OF_VOTES)

    def __call__(self, groups: Sequence[Group]) -> list[Group]:
        self._votes += groups
        if self._labels == "known":
            return graded(self._questions, groups, self._truncated)
        return held_to_majority(groups, self._truncated)

    def kept(self, trajectories: Sequence[Trajectory], rng: Random) -> list[Trajectory]:
        """Of the trajectories of whole groups those that are learned from, with their rewards dealt anew among them
        where the labels are shuffled."""
        kept = [each for place, each in enumerate(trajectories) if place % self._among < self._kept]
        if self._labels != "shuffled":
            return kept
        rewards = [each.rewards for each in kept]
        rng.shuffle(rewards)
        return [replace(each, rewards=own, parts={}) for each, own in zip(kept, rewards, strict=True)]

    def metrics(self) -> Metrics:
        """Figures of the votes since the last call, which no reward sees (`Unseen`), and `unlike`, the mean of 1 - the
        similarity of two replies to a question."""
        groups, self._votes = self._votes, []
        self._unseen.observe(groups)
        return self._unseen.metrics() | {"unlike": mean_of([unlikeness(group) for group in groups])}

    def alarms(self) -> list[str]:
        return self._unseen.alarms()

    def state(self) -> State:
        return self._unseen.state()

    def restore(self, state: State) -> None:
        self._unseen.restore(state)


def unlikeness(group: Group) -> float:
    """1 - the mean similarity of two replies of a group; 1 where fewer than two say anything."""
    texts = [found for each in group.attempts if (found := tokens(whole_reply(each)))]
    if len(texts) < 2:
        return 1.0
    return 1.0 - float(bleu(texts)[~np.eye(len(texts), dtype=bool)].mean())
