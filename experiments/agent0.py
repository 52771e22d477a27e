"""Agent0 on sums with a calculator: what the executor gains by its tool, and what the curriculum's rewards add."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from redqueen.credit.novelty import Repetition
from redqueen.games.tools import Calculator, Limits, ToolReply
from redqueen.protocols import Policy
from redqueen.questions.small.tool_sums import ToolSums
from redqueen.recipes.proposers.agent0 import recipe as agent0
from redqueen.recipes.proposers.agent0.steps import Rewards
from redqueen.runs.run import Run
from redqueen.settings.roles import Role
from redqueen.trials.experiment import Changes, Difference, Experiment, Training, versus
from redqueen.trials.starts import Start, ToolSchool, rehearse, warmed
from redqueen.types import Demonstration

STEPS, ROUNDS = 60, 3
HARD = "accuracy/3_digits"
ROUND = STEPS // ROUNDS
PROPOSER_STEPS = ROUND // 3
PARTS: dict[str, Changes] = {"calls not paid": {"method.per_call": 0.0}, "repetition not fined": {"repetition": 0.0}}
FROZEN = {
    "method.proposer": Role("frozen"),
    "method.proposer_steps": agent0.Config().proposer_steps,  # without effect: all steps are the solver's
    "steps": ROUNDS * (ROUND - PROPOSER_STEPS),  # as many updates of the solver
}


def rehearsal(count: int, rng: Random) -> Sequence[tuple[ToolReply, Demonstration]]:
    """Returns sums written, and sums worked out with or without the calculator."""
    games = {"proposer": ToolReply("proposer"), "solver": ToolReply("solver", (Calculator(),), Limits(4, 5))}
    return [(games[shown.role], shown) for shown in ToolSums().demonstrations(count, rng)]


@dataclass(frozen=True)
class Controlled:
    """Agent0, and how far repetition is fined, which is 1 in the paper."""

    method: agent0.Config
    steps: int
    repetition: float = 1.0


def train(config: Controlled, run: Run) -> Policy:
    """Agent0 with the fine that the variant asks for."""
    method = replace(config.method, steps=config.steps)
    fined = Repetition(config.repetition)
    return agent0.train(
        method, run, Rewards(method.band, method.per_call, method.most_calls, fined, method.truncated_score)
    )


TOOL_PLAY = Experiment(
    title="Agent0 on sums with a calculator",
    asked="Does paying calls and fining repetition teach the executor more, and does the curriculum have to learn?",
    trial=Training(train, evaluate_every=ROUND),
    config=Controlled(
        agent0.Config(
            learner=warmed(max_completion_length=40),
            proposer_steps=PROPOSER_STEPS,
            solver_steps=ROUND - PROPOSER_STEPS,
            pool=192,
        ),
        steps=STEPS,
    ),
    starts={"method.learner.model": Start(ToolSchool("tool_sums", rehearsal, steps=1600, rest=400), rehearse)},
    one_start=True,
    variants={"Agent0": {}, **PARTS, "no tool": {"method.tool": "none"}, "proposer frozen": FROZEN},
    figures=(
        *(f"{when}{kind}" for kind in (HARD, "accuracy/4_digits") for when in ("first ", "")),
        *(f"{when} polls/calls" for when in ("first", "late")),
        "late label_accuracy",
    ),
    compared=(
        Difference("Agent0", "Agent0", HARD, f"first {HARD}"),
        Difference("Agent0", "Agent0", "late polls/calls", "first polls/calls"),
        *versus("Agent0", (*PARTS, "no tool", "proposer frozen"), (HARD, "accuracy/4_digits")),
    ),
    controls=("proposer frozen",),
)
