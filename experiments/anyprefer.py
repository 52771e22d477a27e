"""Anyprefer on sums: a judge of known skill with a calculator, a gate on pairs, and advice where no pair is useful."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from experiments._starts import imitating
from redqueen.demonstrations.transfer import aided
from redqueen.questions.fenced import texts_in
from redqueen.questions.small.sums import Sums
from redqueen.recipes.preferences.self_rewarding import recipe
from redqueen.settings.roles import Seeds
from redqueen.trials.controls import swapped
from redqueen.trials.experiment import Difference, Experiment, Training, Trial, versus
from redqueen.trials.starts import warmed
from redqueen.types import SOLVER, Ask, Demonstration, Reply, Task

NAME = "experiments.anyprefer:Advised"
ADVICE = "Carry."
ALL, NO_TOOL, NO_GATE, COIN, NO_ADVICE, KNOWN, ALONE = (
    *("tool, gate and advice", "no tool", "no gate, no advice", "a gate by a coin", "no advice"),
    *("a judge that knows", "no tool, no gate, no advice"),
)
SUM = re.compile(r"What is (\d+)\+(\d+)\?")


@dataclass(frozen=True)
class Advised:
    """Sums of up to two digits. Half of the demonstrations are given advice, and slip in .05; the others in .45."""

    inner: Sums = field(default=Sums(digits=2, lengths=(0.4, 0.6), slips=(0.4, 0.5)), repr=False)
    heeding: Sums = field(default=Sums(digits=2, lengths=(0.4, 0.6), slips=(0.05, 0.05)), repr=False)
    name: str = field(default="advised sums", repr=False)

    @property
    def levels(self) -> tuple[str, ...]:
        return self.inner.levels

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        return self.inner.problems(level, count, rng)

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        return self.inner.right(tasks, answers)

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        """Solutions, in turn without and with advice."""
        found: list[Demonstration] = []
        while len(found) < count:
            advice = len(found) % 2 == 1
            (one, *_) = [
                each for each in (self.heeding if advice else self.inner).demonstrations(3, rng) if each.role == SOLVER
            ]
            found.append(Demonstration(SOLVER, aided(one.task, ADVICE) if advice else one.task, one.text))
        return found


@dataclass(frozen=True)
class Judge:
    """Tells a right answer from a wrong one with chance `skill`, less .1 for each of its digits but the first, and
    with a calculator, which it asks first, with chance `sure`. Each time it is asked it may err anew."""

    skill: float
    sure: float
    gate_knows: bool
    name: str = "judge"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._said(ask, Random(ask.seed)), self.name) for ask in asks]

    def _said(self, ask: Ask, rng: Random) -> str:
        shown = next(message.text for message in ask.messages if SUM.search(message.text))
        texts = texts_in(shown)
        first, second = SUM.findall(texts[0] if texts else shown)[-1]
        if "Write one sentence" in shown:
            return ADVICE
        if "</calculate>" in ask.stops and not any("<information>" in message.text for message in ask.messages):
            return f"<calculate>{first}+{second}</calculate>"
        chance = self.sure if "</calculate>" in ask.stops else 0.0
        truth = str(int(first) + int(second))[::-1]
        right = [self._right(each, truth, chance, rng) for each in texts[1:]]
        if len(right) == 1:
            return f"<score>{8 if right[0] else 3}</score>"
        better, worse = right
        useful = better and not worse if self.gate_knows else rng.random() < 0.5
        return f"<score>{9 if useful else 5}</score>"

    def _right(self, answer: str, truth: str, sure: float, rng: Random) -> bool:
        """Whether it takes an answer for a right one."""
        skill = sure or max(0.5, self.skill - 0.1 * (len(answer) - 1))
        return (answer == truth) == (rng.random() < skill)


@dataclass(frozen=True)
class Method:
    """Anyprefer, with what its judge knows."""

    anyprefer: recipe.Config
    skill: float = 0.8
    sure: float = 0.95
    gate_knows: bool = True


class Seats:
    """The learner of the settings, and the judge."""

    def __init__(self, method: Method, config: Any, run: Seeds) -> None:
        self.learner = config.learner.build_model(run.derived("learner"))
        self._judge = Judge(method.skill, method.sure, method.gate_knows)

    def __getitem__(self, role: str) -> Judge:
        return self._judge


@dataclass(frozen=True)
class OneSeed:
    def __call__(self, config: Method, seed: int, folder: Path) -> Trial:
        parts: Mapping[str, Any] = {"Cast": lambda settings, run: Seats(config, settings, run)}
        with swapped(recipe, parts):
            return Training(recipe.train, evaluate_every=40)(config.anyprefer, seed, folder)


PAIRS = Experiment(
    title="Anyprefer on sums",
    asked="Do a judge's tool, a gate on pairs and advice make better pairs, and a better model?",
    trial=OneSeed(),
    config=Method(
        recipe.Config(
            warmed(2e-4, max_completion_length=8),
            tool="calculator",
            useful=8,
            rewrites=2,
            questions=NAME,
            steps=120,
            updates=40,
            tasks=400,
            invented=0.0,
            attempts=5,
            repeats=1,
        )
    ),
    starts={"anyprefer.learner.model": imitating(NAME, 8)},
    variants={
        ALL: {},
        NO_TOOL: {"anyprefer.tool": "none"},
        NO_GATE: {"anyprefer.useful": 0, "anyprefer.rewrites": 0},
        COIN: {"gate_knows": False},
        NO_ADVICE: {"anyprefer.rewrites": 0},
        ALONE: {"anyprefer.tool": "none", "anyprefer.useful": 0, "anyprefer.rewrites": 0},
        KNOWN: {"sure": 1.0},
    },
    figures=(
        *("first accuracy", "accuracy", "first pairs_right", "late pairs_right", "first decisive", "late decisive"),
        *("first pairs_kept", "first advised", "late advised"),
    ),
    compared=(
        *versus(ALL, (NO_TOOL, NO_GATE, COIN, NO_ADVICE, ALONE, KNOWN), ("accuracy", "first pairs_right")),
        Difference(ALL, ALL, "accuracy", "first accuracy"),
    ),
    controls=(NO_TOOL, NO_GATE, COIN, NO_ADVICE),
    seeds=10,
    one_start=True,
    notes=(
        "Three iterations of 40 updates, 400 prompts and five replies each. Sums of up to two digits, .45 of which are "
        "demonstrated as if nothing were carried, with advice .05. The judge is a rule: it tells right from wrong in "
        ".8 of the answers of one digit, .7 of two, .6 of three, with the calculator in .95; each time it errs anew.",
        "A gate by a coin keeps half of the pairs, whatever they are.",
    ),
)
