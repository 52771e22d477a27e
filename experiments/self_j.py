"""Self-J on sums: a judge that has learned to compare an answer with the right one, and then does without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from experiments._starts import imitating
from redqueen.protocols import Questions
from redqueen.questions.asking import graded
from redqueen.questions.fenced import about_score
from redqueen.questions.judging import HIGHEST, LOWEST
from redqueen.questions.small.sums import Sums
from redqueen.questions.taught import Taught, TaughtProposable, taught
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.labels.self_j import recipe, steps
from redqueen.trials.controls import swapped
from redqueen.trials.experiment import Difference, Experiment, Training, Trial, versus
from redqueen.trials.starts import warmed
from redqueen.types import Demonstration, Group

NAME = "experiments.self_j:compared"
ALONE, LIKE, SCORE, DEALT, UNTRAINED = (
    "no divergence",
    "likeness alone",
    "score alone",
    "answers dealt to other questions",
    "not trained",
)


def comparing(solved: Sequence[Demonstration], right: Sequence[bool], count: int, rng: Random) -> list[Demonstration]:
    """A judge that is shown the right answer compares, and without it guesses."""
    found = []
    for one, true in zip(solved, right, strict=True):
        aided = rng.random() < 0.7
        shown = about_score(one.task, one.text, rng, LOWEST, HIGHEST, reference=one.task.answer if aided else "")
        high = true if aided else rng.random() < 0.5
        found.append(Demonstration("judge", shown, str(rng.choice((7, 8, 9) if high else (0, 1, 2)))))
    return found[:count]


def compared() -> Taught | TaughtProposable:
    """Returns sums of up to two digits, of which .45 are demonstrated as if nothing were carried."""
    sums = Sums(digits=2, lengths=(0.4, 0.6), slips=(0.4, 0.5))
    return taught(sums, comparing, "compared")


@dataclass(frozen=True)
class Method:
    """Self-J, or the same with every answer labelled and shown at another question."""

    self_j: recipe.Config
    dealt: bool = False


def elsewhere(questions: Questions, groups: Sequence[Group], truncated: Truncated = "wrong") -> list[Group]:
    """The graded groups, with the tasks of their neighbours: what is judged then has nothing to do with the question,
    and its label stays."""
    found = graded(questions, groups, truncated)
    tasks = [group.task for group in found[1:] + found[:1]]
    return [
        replace(
            group,
            task=replace(task, answer=group.task.answer),
            attempts=tuple(replace(one, task=replace(task, answer=group.task.answer)) for one in group.attempts),
        )
        for group, task in zip(found, tasks, strict=True)
    ]


@dataclass(frozen=True)
class OneSeed:
    def __call__(self, config: Method, seed: int, folder: Path) -> Trial:
        with swapped(steps, {"graded": elsewhere if config.dealt else graded}):
            return Training(recipe.train)(config.self_j, seed, folder)


WITHHELD = Experiment(
    title="Self-J on sums",
    asked="Does a judge that was taught with right answers in view tell right from wrong without them?",
    trial=OneSeed(),
    config=Method(recipe.Config(warmed(5e-4, max_completion_length=8), questions=NAME, steps=100, tasks=8, attempts=4)),
    starts={"self_j.learner.model": imitating(NAME, 8)},
    variants={
        "Self-J": {},
        ALONE: {"self_j.distill": 0.0},
        LIKE: {"self_j.mix": 0.0, "self_j.likeness": "text"},
        SCORE: {"self_j.mix": 1.0},
        DEALT: {"dealt": True},
        UNTRAINED: {"self_j.learner.learning_rate": 1e-12},
    },
    figures=(
        *("held_out/judge_auc", "held_out/kept_all", "held_out/kept_half", "held_out/best_of@8"),
        *("first aided_auc", "late label_auc", "late aided_loss", "late plain_loss", "late distilled_kl"),
    ),
    compared=(
        *versus("Self-J", (ALONE, LIKE, SCORE, DEALT, UNTRAINED), ("held_out/judge_auc", "held_out/kept_half")),
        Difference("Self-J", "Self-J", "held_out/kept_half", "held_out/kept_all"),
        Difference("Self-J", "Self-J", "held_out/best_of@8", "held_out/kept_all"),
    ),
    controls=(DEALT, UNTRAINED),
    seeds=5,
    one_start=True,
    notes=(
        "Sums of up to two digits, two in five answered as if nothing were carried. The start has learned to compare "
        "an answer with the right one, and to guess without it. Updates and answers are the same everywhere.",
    ),
)
