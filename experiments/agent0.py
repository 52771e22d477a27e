"""Agent0 on sums with a calculator: what the executor gains by its tool, and what the curriculum's rewards add."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from redqueen.games.tools import Calculator, Limits, ToolReply
from redqueen.questions.small.tool_sums import ToolSums
from redqueen.recipes.proposers.agent0 import recipe as agent0
from redqueen.trials.experiment import Experiment, Training, versus
from redqueen.trials.starts import Start, ToolSchool, rehearse, warmed
from redqueen.types import Demonstration

STEPS, ROUNDS = 60, 3
HARD = "accuracy/3_digits"
PARTS = {"calls not paid": {"per_call": 0.0}, "repetition not fined": {"repetition": 0.0}}


def rehearsal(count: int, rng: Random) -> Sequence[tuple[ToolReply, Demonstration]]:
    """Returns sums written, and sums worked out with or without the calculator."""
    games = {"proposer": ToolReply("proposer"), "solver": ToolReply("solver", (Calculator(),), Limits(4, 5))}
    return [(games[shown.role], shown) for shown in ToolSums().demonstrations(count, rng)]


TOOL_PLAY = Experiment(
    title="Agent0 on sums with a calculator",
    asked="Does paying calls and fining repetition teach the executor more, and does the curriculum have to learn?",
    trial=Training(agent0.train, evaluate_every=STEPS // ROUNDS),
    config=agent0.Config(
        learner=warmed(max_completion_length=40),
        steps=STEPS,
        curriculum_steps=STEPS // ROUNDS // 3,
        executor_steps=STEPS // ROUNDS - STEPS // ROUNDS // 3,
        pool=192,
    ),
    starts={"learner.model": Start(ToolSchool("tool_sums", rehearsal, steps=1600, rest=400), rehearse)},
    variants={"Agent0": {}, **PARTS, "no tool": {"tool": "none"}, "curriculum frozen": {"curriculum": "frozen"}},
    figures=(
        *(f"{when}{kind}" for kind in (HARD, "accuracy/4_digits") for when in ("first ", "")),
        *(f"{when} polls/calls" for when in ("first", "late")),
        "late polls/label_accuracy",
    ),
    compared=versus("Agent0", (*PARTS, "curriculum frozen"), (HARD, "accuracy/4_digits")),
    controls=("curriculum frozen",),
)
