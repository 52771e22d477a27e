"""Which replies a model learns from, and the balance of right and unlike ones that says so (B-STaR, 2412.17256)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Protocol

import numpy as np

from redqueen.checks.votes import confidence
from redqueen.credit.outcomes import number, whole_reply
from redqueen.curricula.held_out import Apart, training_levels
from redqueen.measures.alarms import Alarm, Alarms, Ringing
from redqueen.play.groups import attempts
from redqueen.players.language.writing import Writer
from redqueen.protocols import Questions
from redqueen.questions.asking import SOLVE, evenly, graded
from redqueen.questions.verdicts import Truncated, check_known
from redqueen.types import SOLVER, Group, Metrics, RedQueenError, Task, mean_of

SECOND = 0.2  # what the confidence of a reply (0 to 1) adds to its verdict
FEW_WAYS = Alarm(
    "few_ways",
    "one_way",
    "of {value:.0%} of the tasks at most one right reply was kept: the balance score then asks for the likeliest reply "
    "and no other (replies that show their working can differ: --answer boxed)",
    limit=0.5,
)


class Settings(Protocol):
    """What the choice of the knobs reads of a Config."""

    @property
    def temperatures(self) -> tuple[float, ...]: ...
    @property
    def thresholds(self) -> tuple[float, ...]: ...
    @property
    def kept(self) -> float: ...
    @property
    def wanted(self) -> int: ...
    @property
    def attempts(self) -> int: ...
    @property
    def truncated_score(self) -> Truncated: ...


@dataclass(frozen=True)
class Rated:
    """One reply to a task: its text, its verdict, and its score."""

    text: str
    right: bool
    score: float  # NaN without a verdict


@dataclass(frozen=True)
class Choice:
    """A threshold of the score, how many replies of a task are kept at most, and the mean balance score with them."""

    threshold: float
    most: int
    balance: float


def balance(right: Sequence[bool], wanted: int = 8) -> float:
    """min(c / wanted, 1) * c / n of the n different replies that were kept of a task, c of them right; 0 of none."""
    found = sum(right)
    return min(found / wanted, 1.0) * found / len(right) if right else 0.0


def rated(group: Group) -> list[Rated]:
    """The attempts of a graded group with their scores: 1 for a right answer, and a fifth of `votes.confidence`."""
    found = []
    for each in group.attempts:
        reply, right = each.turns[-1].reply, number(each.outcome.facts["right"])
        sure = confidence(reply) if reply.logprobs.size else 0.0
        found.append(Rated(whole_reply(each), right == 1.0, right + SECOND * sure))
    return found


def selected(task: Sequence[Rated], threshold: float, most: int) -> list[int]:
    """The places of the `most` replies of highest score above the threshold, of equal texts the best alone; in the
    order of their scores, the first of equals first."""
    order = sorted((at for at, each in enumerate(task) if each.score > threshold), key=lambda at: -task[at].score)
    different = {task[at].text: at for at in reversed(order)}
    return [at for at in order if different[task[at].text] == at][:most]


def best_choice(tasks: Sequence[Sequence[Rated]], thresholds: Sequence[float], kept: float, wanted: int) -> Choice:
    """The threshold of highest mean balance score, the first of equals; where nothing is right, so that all have a
    balance of 0, the highest threshold. With each, `most` is the least number with
    which `kept` replies a task are selected, or that selects all. A task of which nothing is selected counts 0."""
    choices = []
    for threshold in thresholds:
        ranked = [[task[at].right for at in selected(task, threshold, len(task))] for task in tasks]
        longest = max(1, *map(len, ranked))
        enough = (k for k in range(1, longest) if sum(len(each[:k]) for each in ranked) >= kept * len(tasks))
        most = next(enough, longest)
        choices.append(Choice(threshold, most, float(np.mean([balance(each[:most], wanted) for each in ranked]))))
    if not any(each.balance for each in choices):
        return max(choices, key=lambda each: each.threshold)
    return max(choices, key=lambda each: each.balance)


def tempered(policy: Writer, temperature: float) -> Writer:
    """A frozen copy of the policy that solves at another temperature. What it says is learned as said: its
    log-probabilities are not those of the policy."""
    copy = policy.freeze()
    copy.speaks(SOLVER, replace(copy.spoken_in(SOLVER), temperature=temperature))
    copy.temperature = temperature
    return copy


def set_apart(questions: Questions, count: int, tests: Apart, seed: int) -> list[Task]:
    """`count` development tasks, none held out. Raises RedQueenError where they leave none to learn from."""
    drawn = evenly(questions, count, Random(seed), tests)
    try:
        evenly(questions, len(training_levels(questions)), Random(0), {**tests, "development": drawn})
    except RedQueenError as error:
        different = len({task.id for task in drawn})
        raise RedQueenError(
            f"{count} development tasks leave nothing of {questions.name} to learn from, which has about {different} "
            f"that are not held out: fewer, such as --development {max(1, different // 4)}"
        ) from error
    return drawn


class Knobs(Ringing):
    """Sets the temperature on the labelled `development` tasks, and the threshold and the number of replies on those
    that were sampled for training. Where there is one temperature, nothing is played to choose it. Raises RedQueenError
    for tasks without answers."""

    def __init__(self, settings: Settings, questions: Questions, development: Sequence[Task]) -> None:
        if not settings.temperatures or not settings.thresholds:
            raise RedQueenError("--temperatures and --thresholds need a value each, such as 1.0 and 0.0")
        if min(settings.temperatures) <= 0.0:
            raise RedQueenError(f"--temperatures must be positive, not {min(settings.temperatures):g}")
        check_known(questions, {"": development}, "evol_rl learns from the votes of the attempts, ")
        self._settings, self._questions, self._development = settings, questions, development
        self._figures: Metrics = {}
        self._alarms = Alarms([FEW_WAYS], quiet=True)

    def sampler(self, learner: Writer, rng: Random) -> Writer:
        """The learner as it is now, at the temperature at which its replies to the development tasks are in the best
        balance, the first of equals."""
        warm = [tempered(learner, each) for each in self._settings.temperatures]
        found = [self._choice(self._tried(each, rng)).balance for each in warm] if len(warm) > 1 else [0.0]
        self._figures = {"knobs/temperature": self._settings.temperatures[int(np.argmax(found))]}
        return warm[int(np.argmax(found))]

    def select(self, groups: Sequence[Group]) -> list[np.ndarray]:
        """[1] for each attempt: 1 if it is to be learned from, else 0."""
        tasks = [rated(group) for group in groups]
        choice = self._choice(tasks)
        places = [selected(task, choice.threshold, choice.most) for task in tasks]
        right = [[task[at].right for at in found] for task, found in zip(tasks, places, strict=True)]
        self._figures |= {
            "knobs/threshold": choice.threshold,
            "knobs/most": choice.most,
            "balance": mean_of([balance(each, self._settings.wanted) for each in right]),
            "selected": mean_of([len(each) for each in right]),
            "one_way": mean_of([sum(each) <= 1 for each in right]),
        }
        if any(right):
            self._figures["selected_right"] = mean_of([each for task in right for each in task])
        self._figures |= self._alarms.observe({"one_way": float(self._figures["one_way"])})
        chosen = [set(found) for found in places]
        return [
            np.array([float(at in found)]) for found, task in zip(chosen, tasks, strict=True) for at in range(len(task))
        ]

    def _choice(self, tasks: Sequence[Sequence[Rated]]) -> Choice:
        return best_choice(tasks, self._settings.thresholds, self._settings.kept, self._settings.wanted)

    def _tried(self, player: Writer, rng: Random) -> list[list[Rated]]:
        tries = attempts(SOLVE, self._development, player, self._settings.attempts, rng)
        groups = graded(self._questions, tries, self._settings.truncated_score)
        return [rated(group) for group in groups]

    def metrics(self) -> Metrics:
        """What was chosen since the last call, and the alarm; nothing where nothing was."""
        found, self._figures = self._figures, {}
        return found
