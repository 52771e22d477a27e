"""Agent0 from one warm start: what the executor gains by its tool, and what the curriculum agent's rewards add."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from rich.console import Console

from redqueen.games.tools import Calculator, Limits, ToolReply
from redqueen.questions.small.tool_sums import ToolSums
from redqueen.recipes.proposers.agent0 import recipe as agent0
from redqueen.trials.paired import difference, table, trained, warmed
from redqueen.trials.sheets import Bench, Result
from redqueen.trials.starts import ToolStart, warm_with_tools
from redqueen.types import Demonstration

START = ToolStart("tool_sums", steps=1600, rest=400)
ROUNDS = 3
HARD = "accuracy/3_digits"


def rehearsal(count: int, rng: Random) -> Sequence[tuple[ToolReply, Demonstration]]:
    """Sums written, and sums worked out with or without the calculator."""
    games = {"proposer": ToolReply("proposer"), "solver": ToolReply("solver", (Calculator(),), Limits(4, 5))}
    return [(games[shown.role], shown) for shown in ToolSums().demonstrations(count, rng)]


def tool_play(options: Bench, console: Console) -> Result:
    """Sums with a calculator in three rounds, and without each part of the curriculum agent's reward."""
    steps = options.steps or 60
    plain = agent0.Config(
        learner=warmed(warm_with_tools(START, rehearsal), max_completion_length=40),
        steps=steps,
        curriculum_steps=max(1, steps // ROUNDS // 3),
        executor_steps=steps // ROUNDS - max(1, steps // ROUNDS // 3),
        pool=192,
    )
    variants = {
        "Agent0": plain,
        "calls not paid": replace(plain, per_call=0.0),
        "repetition not fined": replace(plain, repetition=0.0),
        "no tool": replace(plain, tool="none"),
        "curriculum frozen": replace(plain, curriculum="frozen"),
    }
    trials = trained("agent0", variants, options.seeds, console, evaluate_every=steps // ROUNDS)
    figures = (
        "first accuracy/3_digits",
        "accuracy/3_digits",
        "first accuracy/4_digits",
        "accuracy/4_digits",
        "first polls/calls",
        "late polls/calls",
        "late polls/label_accuracy",
    )
    measured = [[line for line in (*trial.lines, trial.final) if HARD in line] for trial in trials["Agent0"]]
    rounds = ["/".join(f"{line[HARD]:.2f}" for line in lines) for lines in measured]
    note = (
        f"{options.seeds} paired seeds, {steps} steps in {ROUNDS} rounds. Three digits before each round and after the "
        f"last, seed by seed: {', '.join(rounds)}. "
        f"{difference(trials, 'Agent0', 'calls not paid', HARD)}. "
        f"{difference(trials, 'Agent0', 'repetition not fined', HARD)}."
    )
    return "Agent0 on sums with a calculator", ("variant", *figures), table(trials, figures), note
