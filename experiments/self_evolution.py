"""SELF on sums that are often added without carrying, by a model that was taught to find the column and to mend it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from experiments._starts import imitating
from redqueen.demonstrations.refinement import about, again
from redqueen.players.language.writing import Writer
from redqueen.questions.asking import judgements_of
from redqueen.questions.small.sums import Sums
from redqueen.questions.taught import Taught, TaughtProposable, taught
from redqueen.recipes.self_training.self_evolution import recipe, steps
from redqueen.recipes.self_training.self_evolution.steps import Refinement
from redqueen.trials.controls import swapped
from redqueen.trials.experiment import Difference, Experiment, Training, Trial, versus
from redqueen.trials.starts import warmed
from redqueen.types import SOLVER, Demonstration, Group, Task

NAME = "experiments.self_evolution:criticised"
ALL, RIGHT, SAME, DEALT, LAST = (
    *("everything is kept", "the right ones are kept", "nothing is mended"),
    *("verdicts dealt anew", "goes on from the last"),
)
ACCEPTED = {True: 0.85, False: 0.3}  # how often the critic of the demonstrations accepts a right and a wrong answer
MENDS = 0.85  # how often the demonstrated solver is right after criticism


def criticism(task: Task, answer: str, right: bool, rng: Random) -> str:
    """The first column in which an answer differs from the right one, and wrong; or fine, and right."""
    if rng.random() < ACCEPTED[right]:
        return "fine\nright"
    pairs = list(zip(task.answer, answer, strict=False))
    wrong = next((place for place, (one, other) in enumerate(pairs, 1) if one != other), len(pairs) + 1)
    return f"column {wrong}\nwrong"


def criticising(solved: Sequence[Demonstration], right: Sequence[bool], count: int, rng: Random) -> list[Demonstration]:
    """In turns criticisms of answers, and answers that are mended after them."""
    found = []
    for number, (one, true) in enumerate(zip(solved, right, strict=True)):
        said = criticism(one.task, one.text, true, rng)
        if number % 2:
            mended = one.task.answer if rng.random() < MENDS else one.text
            found.append(Demonstration(SOLVER, again(one.task, one.text, said), mended))
        else:
            found.append(Demonstration("critic", about(one.task, one.text), said))
    return found[:count]


def criticised() -> Taught | TaughtProposable:
    """Returns sums of up to two digits, of which half are demonstrated as if nothing were carried."""
    return taught(Sums(digits=2, lengths=(0.4, 0.6), slips=(0.5, 0.6)), criticising, "criticised")


class Unmended(Refinement):
    """The same whose answers stay as they are: what the critic accepts of them is learned."""

    def _mended(self, tasks: Sequence[Task], groups: Sequence[Group], learner: Writer, rng: Random) -> list[Group]:
        return list(groups)


def dealt_anew(groups: Sequence[Group]) -> list[str]:
    """What was said, dealt to other answers: as many are accepted, and it does not matter which."""
    found = judgements_of(groups)
    Random(groups[0].number).shuffle(found)
    return found


@dataclass(frozen=True)
class Method:
    """SELF, or the same without mending, or by verdicts of other answers."""

    self_evolution: recipe.Config
    mends: bool = True
    dealt: bool = False


@dataclass(frozen=True)
class OneSeed:
    def __call__(self, config: Method, seed: int, folder: Path) -> Trial:
        with (
            swapped(recipe, {"Refinement": Refinement if config.mends else Unmended}),
            swapped(steps, {"judgements_of": dealt_anew if config.dealt else judgements_of}),
        ):
            return Training(recipe.train, evaluate_every=40)(config.self_evolution, seed, folder)


ROUNDS = Experiment(
    title="SELF on sums without carrying",
    asked="Does what its own critic accepts of its mended answers teach a model to answer better at once?",
    trial=OneSeed(),
    config=Method(
        recipe.Config(
            warmed(5e-4, max_completion_length=16),
            questions=NAME,
            steps=120,
            updates=40,
            tasks=64,
            truncated_score="wrong",
        )
    ),
    starts={"self_evolution.learner.model": imitating(NAME, 16)},
    variants={
        "SELF": {},
        ALL: {"self_evolution.keep": "all"},
        RIGHT: {"self_evolution.keep": "right"},
        SAME: {"mends": False, "self_evolution.attempts": 6},
        DEALT: {"dealt": True},
        LAST: {"self_evolution.start": "last"},
    },
    figures=(
        *("first accuracy", "accuracy", "pass@8", "first answers_right", "first mended_right", "first kept_right"),
        *("first acceptance_ratio", "first needed_ratio", "late acceptance_ratio", "late kept_right", "late kept"),
    ),
    compared=(
        *versus("SELF", (ALL, RIGHT, SAME, DEALT, LAST), ("accuracy", "pass@8")),
        Difference("SELF", "SELF", "accuracy", "first accuracy"),
        Difference("SELF", "SELF", "first kept_right", "first mended_right"),
    ),
    controls=(ALL, RIGHT, SAME, DEALT),
    seeds=5,
    one_start=True,
    notes=(
        "Three rounds of 40 updates. An answer is four replies: itself, a criticism, the mended one, a criticism of "
        "that. Where nothing is mended it is three, and there are six answers to each question and not four.",
        "Late: the mean of the last fifth of the figures. Sums of up to two digits, half of them demonstrated as if "
        "nothing were carried; the demonstrated critic accepts .85 of the right answers and .3 of the wrong ones.",
    ),
)
