"""ReTool on sums with a calculator: what the tool is worth to reinforcement, and its results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from redqueen.demonstrations.rehearsal import Equipped
from redqueen.games.tools import Calculator, Limits, ToolReply
from redqueen.protocols import Player
from redqueen.questions.small.tool_sums import ToolSums
from redqueen.recipes.agents.retool import recipe
from redqueen.trials.controls import swapped
from redqueen.trials.experiment import Experiment, Training, Trial, versus
from redqueen.trials.starts import Start, ToolSchool, rehearse, warmed
from redqueen.types import Demonstration

HARD = "accuracy/3_digits"
SHUFFLED = "results of other sums"


def rehearsal(count: int, rng: Random) -> Sequence[tuple[ToolReply, Demonstration]]:
    """Returns sums worked out with or without the calculator."""
    game = ToolReply("solver", (Calculator(),), Limits(4, 6))
    shown = [one for one in ToolSums().demonstrations(2 * count, rng) if one.role == "solver"]
    return [(game, one) for one in shown[:count]]


@dataclass
class Shuffled:
    """A calculator that returns what the call before was to return."""

    inner: Calculator = field(default_factory=Calculator)
    name: str = "calculate"
    usage: str = Calculator().usage
    last: str = "7"

    def __call__(self, text: str) -> str:
        due = self.inner(text)
        said, self.last = self.last, due
        return said


def with_shuffled(config: recipe.Config, solver: Player) -> Equipped:
    """The solver with a calculator whose results are those of other sums."""
    return Equipped(solver, ToolReply("solver", (Shuffled(),), Limits(config.calls, config.calls + 2)))


@dataclass(frozen=True)
class Method:
    """ReTool, or the same with another tool."""

    retool: recipe.Config
    shuffled: bool = False


@dataclass(frozen=True)
class OneSeed:
    def __call__(self, config: Method, seed: int, folder: Path) -> Trial:
        parts = {"equipped": with_shuffled} if config.shuffled else {}
        with swapped(recipe, parts):
            return Training(recipe.train)(config.retool, seed, folder)


CALCULATOR = Experiment(
    title="ReTool on sums with a calculator",
    asked="Does a policy that calls a tool now and then learn from outcomes alone when to call it?",
    trial=OneSeed(),
    config=Method(
        recipe.Config(warmed(3e-4, max_completion_length=32), questions="tool_sums", steps=35, tasks=8, problems=32)
    ),
    starts={"retool.learner.model": Start(ToolSchool("tool_sums", rehearsal, steps=800, rest=300), rehearse)},
    variants={
        "ReTool": {},
        "text alone": {"retool.tool": "none"},
        SHUFFLED: {"shuffled": True},
        "calls are paid": {"retool.tried": -0.6},
    },
    figures=(
        *(HARD, "accuracy/4_digits", "accuracy", "first calls", "late calls", "late calls_of_wrong"),
        "late calls_failed",
    ),
    compared=versus("ReTool", ("text alone", SHUFFLED, "calls are paid"), (HARD, "accuracy/4_digits")),
    controls=("text alone", SHUFFLED),
    one_start=True,
    seeds=5,
)
