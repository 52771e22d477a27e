"""A solver that verifies its own solutions: what it is asked about them, and what its verdicts are worth.

solutions = graded(questions, attempts(SOLVE, tasks, solver, 8, rng))
verdicts  = judged(attempts(VERIFY, asked_about(solutions, 16, rng), solver, 1, rng))
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from redqueen.credit.advantages.keys import by_group, by_role
from redqueen.credit.advantages.statistics import WithCritic
from redqueen.games.single_reply import SingleReply
from redqueen.play.groups import episodes_of, with_facts
from redqueen.players.language.writing import on_this_machine
from redqueen.players.transformer.critic import ValueHead
from redqueen.protocols import Policy
from redqueen.questions.asking import judgements_of, said
from redqueen.questions.verifying import about_solution, verdict
from redqueen.types import Episode, Group, Mean, Metrics, RedQueenError, Seat, Task, Trajectory, mean_of

VERIFY = SingleReply("verifier")
RIGHT, WRONG, UNREADABLE = 1.0, -0.5, -1.0  # what a verdict earns


def about(solution: Episode) -> Task:
    """The verifier's task about a graded solution."""
    (reply,) = said([solution])
    return about_solution(solution.task, reply, bool(solution.outcome.facts["right"]))


def asked_about(solutions: Sequence[Group], count: int, rng: Random) -> list[Task]:
    """Up to `count` of the graded solutions to be verified, as many right as wrong ones, so one less where it is odd:
    else a verifier that always says what is commoner would be paid for it. Solutions without an answer
    or of which nobody knows are left out."""
    known = [each for each in episodes_of(solutions) if each.outcome.facts["right"] is not None]
    readable = [each for each in known if said([each])[0].strip()]
    sides = [[each for each in readable if bool(each.outcome.facts["right"]) == side] for side in (True, False)]
    half = min(count // 2, *map(len, sides))
    return [about(each) for side in sides for each in rng.sample(side, half)]


@dataclass(frozen=True)
class Drawn:
    """`asked_about` with its count. Raises RedQueenError for one alone: a right and a wrong solution go together."""

    count: int

    def __post_init__(self) -> None:
        if self.count == 1:
            raise RedQueenError("--verifications come in twos, a right and a wrong solution: say 0, or 2 or more")

    def __call__(self, solutions: Sequence[Group], rng: Random) -> list[Task]:
        return asked_about(solutions, self.count, rng)


def whitened_critic(learner: Policy, learning_rate: float) -> WithCritic:
    """Advantages against what a critic at the end of each prompt expects, whitened over the tokens of the batch: PPO
    with gamma = lambda = 1."""
    return WithCritic(ValueHead(on_this_machine(learner, "the critic reads its hidden states"), learning_rate))


def compared(trajectory: Trajectory, turn: int) -> Hashable:
    """The key of an estimator without a critic: solutions are compared with those to the same problem, verdicts with
    all verdicts."""
    return (by_role if trajectory.seat.role == VERIFY.role else by_group)(trajectory, turn)


def judged(verifications: Sequence[Group]) -> list[Group]:
    """The verifications with the fact `verdict`: "right", "wrong", or None where it cannot be read."""
    return with_facts(verifications, [{"verdict": verdict(text)} for text in judgements_of(verifications)])


def earned(episode: Episode) -> dict[Seat, np.ndarray]:
    """The reward of a judged verification: whether its verdict is the right one."""
    given, due = episode.outcome.facts["verdict"], episode.task.answer
    mark = UNREADABLE if given is None else RIGHT if given == due else WRONG
    return {seat: np.array([mark]) for seat in episode.seats}


def skill(verifications: Sequence[Group]) -> Metrics:
    """What judged verifications come to: `balanced_accuracy`, the mean of `accepted_right` and `refused_wrong`, the
    shares of right and wrong solutions that were called so (an unreadable verdict calls nothing), and `unreadable`.
    Figures without a verification to compute them from are left out."""
    found: Metrics = {}
    called = [(each.task.answer, each.outcome.facts["verdict"]) for each in episodes_of(verifications)]
    if called:
        found["unreadable"] = mean_of(given is None for _, given in called)
    for name, side in (("accepted_right", "right"), ("refused_wrong", "wrong")):
        hits = [given == due for due, given in called if due == side]
        if hits:
            found[name] = mean_of(hits)
    if "accepted_right" in found and "refused_wrong" in found:
        found["balanced_accuracy"] = Mean((found["accepted_right"] + found["refused_wrong"]) / 2, len(called))
    return found


def trust(verifications: Group) -> float:
    """The share of the verdicts on a solution that call it right: the weight of its vote."""
    return float(np.mean([each.outcome.facts["verdict"] == "right" for each in verifications.attempts]))
