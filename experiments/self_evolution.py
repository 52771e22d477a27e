"""SELF on instructions with four constraints each, which a program checks, by a model that was taught to find what is
broken and to mend it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from experiments._starts import imitating
from experiments.spar import NAME
from redqueen.players.language.writing import Writer
from redqueen.questions.asking import judgements_of
from redqueen.recipes.self_training.self_evolution import recipe, steps
from redqueen.recipes.self_training.self_evolution.steps import Refinement
from redqueen.trials.controls import swapped
from redqueen.trials.experiment import Difference, Experiment, Training, Trial, versus
from redqueen.trials.starts import warmed
from redqueen.types import Group, Task

ALL, RIGHT, SAME, DEALT, LAST = (
    *("everything is kept", "the right ones are kept", "nothing is mended"),
    *("verdicts dealt anew", "goes on from the last"),
)


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
    title="SELF on instructions with constraints",
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
        "Late: the mean of the last fifth of the figures. In demonstrations .35 of the answers are right, .6 of the "
        "mended ones, and .95 of the criticisms.",
    ),
)
