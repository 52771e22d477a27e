"""SPaR on instructions with four constraints each, which a program checks, by a model that was taught to mend."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

import numpy as np

from experiments._starts import imitating
from redqueen.credit.advantages.keys import by_group
from redqueen.credit.pairs import Pairs, against, best_and_worst, closest
from redqueen.demonstrations.refinement import about, again
from redqueen.players.language.writing import Writer
from redqueen.protocols import Player
from redqueen.recipes.preferences.spar import recipe
from redqueen.recipes.preferences.spar import steps as of_spar
from redqueen.recipes.preferences.spar.steps import Judged, Search, Tree, pairs
from redqueen.trials.controls import swapped
from redqueen.trials.experiment import Difference, Experiment, Training, Trial, versus
from redqueen.trials.starts import warmed
from redqueen.types import SOLVER, Demonstration, Episode, Task, Trajectory

NAME = "experiments.spar:Constrained"
WORDS = "abcdefghij"
OTHER, DRAWN, ALIKE, DEALT, RIGHT, STILL = (
    *("another reply loses", "drawn apart", "the most alike", "verdicts dealt anew"),
    *("the check decides", "the refiner stays as it is"),
)
_ASKED = re.compile(r"(\d) words, has (\w), no (\w), ends (\w)")


def failing(task: Task, answer: str) -> str:
    """The first constraint of a task that an answer breaks: words, has, no or ends; "" where it keeps all."""
    found = _ASKED.search(task.prompt)
    assert found is not None, "a task of this set"
    count, has, without, ends = found.groups()
    words = answer.split()
    kept = {
        "words": len(words) == int(count) and all(len(word) == 1 and word in WORDS for word in words),
        "has": has in words,
        "no": without not in words,
        "ends": words[-1:] == [ends],
    }
    return next((name for name, holds in kept.items() if not holds), "")


@dataclass(frozen=True)
class Constrained:
    """Instructions "4 words, has d, no b, ends f". In demonstrations answers are right with the chance `skill`, mended
    ones with `mends`, and what critics say, of as many right as wrong ones, with `judges`."""

    skill: float = 0.35
    mends: float = 0.6
    judges: float = 0.95
    name: str = field(default="constrained", repr=False)
    levels: tuple[str, ...] = field(default=("four",), repr=False)

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        return [self._task(rng) for _ in range(count)]

    def _task(self, rng: Random) -> Task:
        count, (has, without, ends) = rng.choice((3, 4, 5)), rng.sample(WORDS, 3)
        prompt = f"{count} words, has {has}, no {without}, ends {ends}"
        allowed = [word for word in WORDS if word != without]
        words = [rng.choice(allowed) for _ in range(count - 1)]
        words[rng.randrange(count - 1)] = has
        return Task(prompt, "instruction", prompt, " ".join([*words, ends]))

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        return [not failing(*pair) for pair in zip(tasks, answers, strict=True)]

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        """A quarter answers, a quarter mended answers, half criticisms."""
        return [self._shown(number % 4, self._task(rng), rng) for number in range(count)]

    def _shown(self, kind: int, task: Task, rng: Random) -> Demonstration:
        given = task.answer if rng.random() < (0.5 if kind % 2 else self.skill) else spoilt(task.answer, rng)
        if kind == 0:
            return Demonstration(SOLVER, task, given)
        if kind % 2:
            return Demonstration("critic", about(task, given), self._criticism(task, given, rng))
        wrong = spoilt(task.answer, rng)
        mended = task.answer if rng.random() < self.mends else spoilt(wrong, rng)
        return Demonstration(SOLVER, again(task, wrong, self._criticism(task, wrong, rng)), mended)

    def _criticism(self, task: Task, answer: str, rng: Random) -> str:
        broken = failing(task, answer)
        if rng.random() >= self.judges:
            broken = "" if broken else rng.choice(("words", "has", "no", "ends"))
        return f"{broken}\nwrong" if broken else "fine\nright"


def spoilt(answer: str, rng: Random) -> str:
    """An answer with a word exchanged, left out, or one more."""
    words = answer.split()
    at, way = rng.randrange(len(words)), rng.randrange(3)
    words[at : at + (way != 2)] = [] if way == 1 and len(words) > 1 else [rng.choice(WORDS)]
    return " ".join(words)


class Untreed(Search):
    """The same without a search: replies are judged, none is edited."""

    def _level(self, trees: Sequence[Tree], refiner: Player, rng: Random) -> None:
        for tree in trees:
            tree.kept = []


class Dealt(Search):
    """The same, in which each reply of a level has the criticisms of another one."""

    def judged(
        self, episodes: Sequence[Episode], critic: Player, rng: Random, tasks: Sequence[Task] = ()
    ) -> list[Judged]:
        found = super().judged(episodes, critic, rng, tasks)
        others = rng.sample(found, len(found))
        pairs = zip(found, others, strict=True)
        return [each._replace(criticisms=other.criticisms, value=other.value) for each, other in pairs]


def accepted(replies: Sequence[Trajectory]) -> list[Trajectory]:
    """The replies with a reward of 1 where most criticisms accept them, 0 where most do not, NaN where as many do."""
    signs = [np.sign(each.rewards - 0.5) / 2.0 + 0.5 for each in replies]
    return [
        replace(each, rewards=np.where(sign == 0.5, np.nan, sign)) for each, sign in zip(replies, signs, strict=True)
    ]


def drawn_apart(trees: Sequence[Tree], replies: Sequence[Trajectory], learner: Writer) -> Pairs:
    """The first accepted and the first rejected reply of each group."""
    return best_and_worst(accepted(replies))


def most_alike(trees: Sequence[Tree], replies: Sequence[Trajectory], learner: Writer) -> Pairs:
    """The accepted and the rejected reply of each group that differ least."""
    return closest(accepted(replies), by_group)


def another_loses(trees: Sequence[Tree], replies: Sequence[Trajectory], learner: Writer) -> Pairs:
    """The edits found, and another rejected reply to the same question than the one that each mends."""
    chosen, rejected = pairs(trees, replies, learner)
    found = []
    for edit, mended in zip(chosen, rejected, strict=True):
        others = [
            each
            for each in replies
            if each.group == mended.group and each is not mended and float(each.rewards.sum()) < 0.5
        ]
        found += [(edit, others[0])] if others else []
    return against([edit for edit, _ in found], [other for _, other in found])


Pairing = Callable[[Sequence[Tree], Sequence[Trajectory], Writer], Pairs]
PAIRS: dict[str, tuple[type[Search], Pairing]] = {
    "tree": (Search, pairs),
    OTHER: (Search, another_loses),
    DRAWN: (Untreed, drawn_apart),
    ALIKE: (Untreed, most_alike),
    DEALT: (Dealt, pairs),
}


@dataclass(frozen=True)
class Method:
    """SPaR, with its own pairs or with those of `PAIRS`."""

    spar: recipe.Config
    pairs: str = "tree"


@dataclass(frozen=True)
class OneSeed:
    def __call__(self, config: Method, seed: int, folder: Path) -> Trial:
        search, paired = PAIRS[config.pairs]
        with swapped(recipe, {"Search": search}), swapped(of_spar, {"pairs": paired}):
            return Training(recipe.train, evaluate_every=20)(config.spar, seed, folder)


TREES = Experiment(
    title="SPaR on instructions with constraints",
    asked="Do pairs of a failed reply and its own edit teach more than pairs of replies that were drawn apart?",
    trial=OneSeed(),
    config=Method(
        recipe.Config(
            warmed(3e-4, max_completion_length=16), questions=NAME, steps=120, updates=40, tasks=48, problems=64
        )
    ),
    starts={"spar.learner.model": imitating(NAME, 16, steps=3000, rest=1000)},
    variants={
        "SPaR": {},
        OTHER: {"pairs": OTHER},
        DRAWN: {"pairs": DRAWN, "spar.attempts": 8},
        ALIKE: {"pairs": ALIKE, "spar.attempts": 8},
        DEALT: {"pairs": DEALT},
        RIGHT: {"spar.keep": "right"},
        STILL: {"spar.refiner.player": "frozen"},
    },
    figures=(
        *("first accuracy", "accuracy", "first repaired", "first repaired_right", "late repaired_right"),
        *("first pairs_right", "late pairs_right", "first likeness", "first edits", "first round/pairs"),
        *("first judge_accuracy", "late judge_accuracy", "late reply_length"),
    ),
    compared=(
        *versus("SPaR", (OTHER, DRAWN, ALIKE, DEALT, RIGHT, STILL), ("accuracy",)),
        Difference("SPaR", "SPaR", "accuracy", "first accuracy"),
    ),
    controls=(OTHER, DRAWN, ALIKE, DEALT, RIGHT),
    seeds=5,
    one_start=True,
    notes=(
        "Three iterations of 40 updates. Drawn apart and the most alike: 8 replies to each question in place of 5 and "
        "their edits (`edits`, of a search), so that about as many are judged.",
        "Late: the mean of the last fifth of the figures.",
    ),
)
