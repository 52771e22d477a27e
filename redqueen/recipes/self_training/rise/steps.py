"""A solver that verifies its own solutions: what it is asked about them, and what its verdicts are worth.

solutions = graded(domain, play(alone(SOLVE, tasks, solver, 8), rng))
verdicts  = judged(play(alone(VERIFY, asked_about(solutions, 16, rng), solver), rng))
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from redqueen.credit.rewards import marked
from redqueen.games.single_reply import SingleReply
from redqueen.questions.asking import said
from redqueen.questions.verifying import about_solution, verdict
from redqueen.types import Episode, Metrics, Task

VERIFY = SingleReply("verifier")
EARNED = (1.0, -0.5, -1.0)  # a verdict that is right, wrong, unreadable


def about(solution: Episode) -> Task:
    """What a verifier is shown of a graded solution."""
    (reply,) = said([solution])
    return about_solution(solution.task, reply, bool(solution.outcome.facts["right"]))


def asked_about(solutions: Sequence[Episode], count: int, rng: Random) -> list[Task]:
    """Up to `count` of the graded solutions to be verified, as many right as wrong ones, so one less where it is odd:
    else a verifier that always says what is commoner would be paid for it. Solutions without an answer are left out."""
    readable = [each for each in solutions if said([each])[0].strip()]
    sides = [[each for each in readable if bool(each.outcome.facts["right"]) == side] for side in (True, False)]
    half = min(count // 2, *map(len, sides))
    return [about(each) for side in sides for each in rng.sample(side, half)]


def judged(verifications: Sequence[Episode], earned: tuple[float, float, float] = EARNED) -> list[Episode]:
    """The verifications with what each verdict earns, and the fact `verdict`: "right", "wrong", or None where it
    cannot be read."""
    verdicts = [verdict(text) for text in said(verifications)]
    right, wrong, unreadable = earned
    marks = [
        unreadable if given is None else right if given == each.task.answer else wrong
        for given, each in zip(verdicts, verifications, strict=True)
    ]
    return marked(verifications, marks, [{"verdict": given} for given in verdicts])


def skill(verifications: Sequence[Episode]) -> Metrics:
    """What judged verifications come to: `balanced_accuracy`, the mean of `accepted_right` and `refused_wrong`, the
    shares of right and wrong solutions that were called so (an unreadable verdict calls nothing), and `unreadable`.
    Figures that nothing bears on are left out."""
    found: Metrics = {}
    called = [(each.task.answer, each.outcome.facts["verdict"]) for each in verifications]
    if called:
        found["unreadable"] = float(np.mean([given is None for _, given in called]))
    for name, side in (("accepted_right", "right"), ("refused_wrong", "wrong")):
        hits = [given == due for due, given in called if due == side]
        if hits:
            found[name] = float(np.mean(hits))
    if "accepted_right" in found and "refused_wrong" in found:
        found["balanced_accuracy"] = (found["accepted_right"] + found["refused_wrong"]) / 2
    return found


def trust(verifications: Sequence[Episode], times: int) -> np.ndarray:
    """[n] the share of `times` verdicts in a row that call one solution right: the weight of its vote."""
    called = [float(each.outcome.facts["verdict"] == "right") for each in verifications]
    return np.asarray(np.array(called, dtype=np.float64).reshape(-1, times).mean(axis=1))
