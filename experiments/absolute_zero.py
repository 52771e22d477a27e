"""Absolute Zero: what the solver gains, and what the proposer has to do with it."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from experiments import sec
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.protocols import Policy
from redqueen.questions.asking import PROPOSE, read, tasks_among
from redqueen.questions.small.sums import Sums
from redqueen.questions.triplets import KINDS
from redqueen.recipes.proposers import absolute_zero
from redqueen.recipes.self_training import cold_start
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Changes, Experiment, Training, versus
from redqueen.trials.starts import Start, further, warmed
from redqueen.types import Metrics

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
    "proposer frozen": {"proposer": "frozen"},
    "random reward": {"question_reward": "random"},
    "problems dealt evenly": {"proposer": "frozen", "dealt": 1.0},
}
PAID = {"at_the_ends": -0.5}
ENDS = "at_the_ends is -0.5: what a task pays that no attempt, or every attempt, solves, as in the released code."
PROPOSED = tuple(f"late proposals/{name}" for name in ("valid_share", "distinct_share", "entropy", "solve_rate"))

SELF_TAUGHT = Experiment(
    title="Absolute Zero on expressions, from one seed",
    asked="From the identity alone, does the solver gain more than with a proposer that does not learn?",
    trial=Training(absolute_zero.train),
    config=absolute_zero.Config(
        learner=warmed(5e-4, max_completion_length=20), domain=EXPRESSIONS, steps=160, proposals=16, attempts=64
    ),
    starts={"learner.model": SPOILT},
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
    variants={"with novelty": {"novelty": 0.5}, "proposer frozen": {"proposer": "frozen"}},
    compared=versus("with novelty", ("proposer frozen",), ("accuracy", "pass@8")),
    controls=("proposer frozen",),
)
DIGIT_PLAY = Experiment(
    title="Absolute Zero on sums, with its controls",
    asked="Does the solver gain more where the proposer learns, and what does the proposer come to ask?",
    trial=Training(absolute_zero.train),
    config=absolute_zero.Config(
        learner=warmed(max_completion_length=12), domain="sums", steps=200, proposals=32, attempts=64
    ),
    starts={"learner.model": SUMS},
    variants={
        "Absolute Zero": PAID,
        **CONTROLS,
        "1 - r, unsolved tasks paid": {"question_reward": "pay-unsolved"},
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


def asked(proposer: Policy) -> Metrics:
    """Returns the share of sums of three digits among all that a proposer writes."""
    domain = easy_asks()
    invitations = [domain.invite("sum", (), number) for number in range(WRITTEN)]
    tasks = tasks_among(read(domain, play(alone(PROPOSE, invitations, proposer), Random(0))))
    return {ASKED: sum(task.facts["digits"] == domain.digits for task in tasks) / WRITTEN}


ALIKE = {"domain": sec.LADDER, "learner.model": further(sec.ABLE, sec.LADDER, 100, 50)}
FRONTIER = Experiment(
    title="Absolute Zero on sums, from a proposer that asks what is easy",
    asked="What is it worth that a proposer learns, where it asks what is easy at first and where it asks all alike?",
    trial=Training(absolute_zero.train, read=asked),
    config=absolute_zero.Config(
        learner=warmed(max_completion_length=12), domain=EASY, steps=160, proposals=32, attempts=64
    ),
    starts={"learner.model": further(sec.ABLE, EASY, 100, 50)},
    variants={
        "asks what is easy, learns": PAID,
        **CONTROLS,
        "asks all alike, learns": {**ALIKE, **PAID},
        "asks all alike, frozen": {**ALIKE, "proposer": "frozen"},
    },
    figures=("accuracy", "pass@8", f"accuracy/{HARDEST}", f"pass@8/{HARDEST}", ASKED, "late proposals/solve_rate"),
    compared=(
        *versus("asks what is easy, learns", tuple(CONTROLS), (f"accuracy/{HARDEST}", f"pass@8/{HARDEST}")),
        *versus("asks all alike, learns", ("asks all alike, frozen",), (f"accuracy/{HARDEST}", f"pass@8/{HARDEST}")),
    ),
    controls=("proposer frozen", "random reward", "asks all alike, frozen"),
    notes=(ENDS,),
)
