"""Absolute Zero: what the solver gains, and what the proposer has to do with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Literal

import numpy as np

from experiments import sec
from redqueen.chance import derive
from redqueen.credit.learnability import FailureShare, HardButSolved, Shape
from redqueen.curricula.held_out import held_out, labelled, training_levels
from redqueen.curricula.store import TaskStore
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.protocols import Policy
from redqueen.questions.asking import PROPOSE, read, seeds_of, tasks_among
from redqueen.questions.catalogue import find_questions
from redqueen.questions.small.sums import Sums
from redqueen.questions.triplets import KINDS
from redqueen.recipes.proposers.absolute_zero import recipe as absolute_zero
from redqueen.recipes.proposers.absolute_zero.steps import Rewards
from redqueen.recipes.self_training import cold_start
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner
from redqueen.settings.roles import Role
from redqueen.trials.experiment import Changes, Experiment, Training, versus
from redqueen.trials.starts import Start, further, warmed
from redqueen.types import Metrics, Task

# --- controls that are other parts of a method than its own ----------------------------------

PROBLEMS = 1024  # of each level, at most


@dataclass(frozen=True)
class Controlled:
    """A method, and what an experimenter changes in it that is no setting of the method."""

    method: Any  # its Config
    steps: int
    pays: Literal["as stated", "by chance", "for unsolved", "without difficulty"] = "as stated"
    at_the_ends: float = 0.0  # what a task pays that no attempt, or every attempt, solves
    novelty: float = 0.0  # what is paid for a task that is new
    dealt: bool = False  # the solver learns from the question set's own problems, all levels alike

    @property
    def config(self) -> Any:
        return replace(self.method, steps=self.steps)


class Closed:
    """A screen that keeps out every task."""

    refusal = "closed"

    def prepare(self, tasks: Sequence[Task]) -> None:
        return None

    def reason(self, task: Task) -> str:
        return "only the problems that were dealt are held"

    def hold(self, tasks: Sequence[Task]) -> None:
        return None

    def release(self, tasks: Sequence[Task]) -> None:
        return None


def dealt_store(config: Any, run: Run) -> TaskStore:
    """A store of the problems of `config.questions` but for those held out, from which each level is drawn alike, and
    to which nothing that is proposed is added."""
    questions = find_questions(config.questions)
    tests = held_out(questions, config.problems, seeds_of(questions), run.tests)
    store = TaskStore()
    for level in training_levels(questions):
        problems = labelled(questions, [level], PROBLEMS, tests, derive(run.seed, "dealt", level))
        store.add([replace(task, weight=1.0 / len(problems)) for task in problems], origin="dealt")
    store.screens = (Closed(),)
    return store


# --- what is asked ---------------------------------------------------------------------------

TINY = Learner(model="tiny:hidden=96,layers=3", max_completion_length=12)
SUMS = Start(cold_start.Config(learner=TINY))
EXPRESSIONS = "expressions:largest=3"
ABLE = Start(
    cold_start.Config(
        learner=replace(TINY, max_completion_length=20, learning_rate=2e-3),
        questions=f"{EXPRESSIONS},skill=1",
        steps=1500,
    )
)
# a short second stage in which nearly every answer shown is wrong: the ability stays and is hardly ever used, as in a
# pretrained model whose habits are bad
SPOILT = further(ABLE, f"{EXPRESSIONS},skill=0.01", 80, 40, 128, learning_rate=3e-4, max_completion_length=20)
CONTROLS: dict[str, Changes] = {
    "proposer frozen": {"method.proposer": Role("frozen")},
    "random reward": {"pays": "by chance"},
    "problems dealt evenly": {"method.proposer": Role("frozen"), "dealt": True},
}
PAID = {"at_the_ends": -0.5}
ENDS = "at_the_ends is -0.5: what a task pays that no attempt, or every attempt, solves, as in the released code."
PROPOSED = tuple(f"late proposals/{name}" for name in ("valid_share", "distinct_share", "entropy", "solve_rate"))


def train(config: Controlled, run: Run) -> Policy:
    """The method with the rewards and the store that the variant asks for."""

    def by_chance(scores: np.ndarray) -> float:
        return run.rng.random()

    shapes: dict[str, Shape] = {
        "as stated": HardButSolved(config.at_the_ends),
        "by chance": by_chance,
        "for unsolved": FailureShare(pay_unsolved=True),  # 1 - r, also where r = 0
    }
    store = dealt_store(config.config, run) if config.dealt else None
    return absolute_zero.train(config.config, run, Rewards(shapes[config.pays], config.novelty), store)


SELF_TAUGHT = Experiment(
    title="Absolute Zero on expressions, from one seed",
    asked="From the identity alone, does the solver gain more than with a proposer that does not learn?",
    trial=Training(train),
    config=Controlled(
        absolute_zero.Config(
            learner=warmed(5e-4, max_completion_length=20), questions=EXPRESSIONS, proposals=16, tasks=64
        ),
        steps=160,
    ),
    starts={"method.learner.model": SPOILT},
    one_start=True,
    variants={"Absolute Zero": {}, **CONTROLS},
    figures=(*(f"{figure}/{kind}" for figure in ("accuracy", "pass@8") for kind in KINDS), *PROPOSED),
    compared=versus("Absolute Zero", tuple(CONTROLS), ("accuracy", "pass@8")),
    controls=("proposer frozen", "random reward"),
    notes=("No task from outside but the identity, save where problems are dealt.",),
)
NOVEL_PROPOSALS = replace(
    SELF_TAUGHT,
    title="Absolute Zero on expressions, from one seed, with novelty",
    asked="Does a reward for tasks unlike those before make the learned proposer better than a frozen one?",
    variants={"with novelty": {"novelty": 0.5}, "proposer frozen": {"method.proposer": Role("frozen")}},
    compared=versus("with novelty", ("proposer frozen",), ("accuracy", "pass@8")),
    controls=("proposer frozen",),
)
DIGIT_PLAY = Experiment(
    title="Absolute Zero on sums, with its controls",
    asked="Does the solver gain more where the proposer learns, and what does the proposer come to ask?",
    trial=Training(train),
    config=Controlled(
        absolute_zero.Config(learner=warmed(max_completion_length=12), questions="sums", proposals=32, tasks=64),
        steps=200,
    ),
    starts={"method.learner.model": SUMS},
    one_start=True,
    variants={
        "Absolute Zero": PAID,
        **CONTROLS,
        "1 - r, unsolved tasks paid": {"pays": "for unsolved"},
        "with novelty": {**PAID, "novelty": 0.5},
    },
    figures=("accuracy/2_digits", "pass@8/2_digits", "accuracy/3_digits", *PROPOSED),
    compared=(
        *versus("Absolute Zero", ("proposer frozen", "random reward"), ("accuracy/2_digits",)),
        *versus("1 - r, unsolved tasks paid", ("Absolute Zero",), ("late proposals/solve_rate",)),
    ),
    controls=("proposer frozen", "random reward"),
    notes=(ENDS,),
)

# --- a proposer that asks what is easy -------------------------------------------------------

EASY = "experiments.absolute_zero:easy_asks"
HARDEST = "3_digits"
ASKED = f"asked/{HARDEST}"
WRITTEN = 512  # sums, to see what a proposer asks


def easy_asks() -> Sums:
    """Returns the ladder's sums, of which 85 in 100 that are proposed have one digit, and two have three."""
    return replace(sec.ladder(), asked=(0.85, 0.13, 0.02), name="easy_asks")


def asked(proposer: Policy, seed: int) -> Metrics:
    """Returns the share of sums of three digits among all that a proposer writes."""
    domain = easy_asks()
    invitations = [domain.invite("sum", (), number) for number in range(WRITTEN)]
    tasks = tasks_among(read(domain, play(alone(PROPOSE, invitations, proposer), Random(seed))))
    return {ASKED: sum(task.facts["digits"] == domain.digits for task in tasks) / WRITTEN}


ALIKE = {"method.questions": sec.LADDER, "method.learner.model": further(sec.ABLE, sec.LADDER, 100, 50)}
FRONTIER = Experiment(
    title="Absolute Zero on sums, from a proposer that asks what is easy",
    asked="What is it worth that a proposer learns, where it asks what is easy at first and where it asks all alike?",
    trial=Training(train, read=asked),
    config=Controlled(
        absolute_zero.Config(learner=warmed(max_completion_length=12), questions=EASY, proposals=32, tasks=64),
        steps=160,
    ),
    starts={"method.learner.model": further(sec.ABLE, EASY, 100, 50)},
    one_start=True,
    variants={
        "asks what is easy, learns": PAID,
        **CONTROLS,
        "asks all alike, learns": {**ALIKE, **PAID},
        "asks all alike, frozen": {**ALIKE, "method.proposer": Role("frozen")},
    },
    figures=(
        *("accuracy", "pass@8", f"first accuracy/{HARDEST}", f"accuracy/{HARDEST}", f"pass@8/{HARDEST}"),
        *(ASKED, "late proposals/solve_rate"),
    ),
    compared=(
        *versus("asks what is easy, learns", tuple(CONTROLS), (f"accuracy/{HARDEST}", f"pass@8/{HARDEST}")),
        *versus("asks all alike, learns", ("asks all alike, frozen",), (f"accuracy/{HARDEST}", f"pass@8/{HARDEST}")),
    ),
    controls=("proposer frozen", "random reward", "asks all alike, frozen"),
    notes=(
        ENDS,
        f"{ASKED} is read from the solver's weights at the end, of {WRITTEN} sums: a frozen proposer goes on asking as "
        "the start does.",
    ),
)
