"""Search Self-Play in a closed world: whether the reader keeps wrong questions out, and what its questions teach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from random import Random

from rich.console import Console

from redqueen.games.tools import Limits, ToolReply
from redqueen.questions.small.knowledge import Knowledge
from redqueen.recipes.proposers.search_self_play import recipe as search_self_play
from redqueen.settings.learner import Learner
from redqueen.settings.roles import Role
from redqueen.trials.paired import difference, table, trained, warmed
from redqueen.trials.sheets import Bench, Result
from redqueen.trials.starts import ToolStart, warm_with_tools
from redqueen.types import Demonstration, Task

COPYING = ToolStart("knowledge", Learner(model="tiny:hidden=64,layers=3"), steps=1200, demonstrations=32, rest=1)
"""Who cannot repeat a name cannot search for it; a tiny model learns to from lists of names alone."""
WORLDS = 100  # other than the one that is searched in training, so that nothing of it is known


def start(base: str) -> ToolStart:
    """A model that can repeat names is shown how to search."""
    return ToolStart("knowledge", warmed(base, learning_rate=1e-3), steps=1600, demonstrations=32, rest=500)


def names(count: int, rng: Random) -> Sequence[tuple[ToolReply, Demonstration]]:
    """Names of other worlds, to be said again."""
    return [(ToolReply("solver"), _said_again(_world(rng.randint(1, WORLDS)), rng)) for _ in range(count)]


def _said_again(world: Knowledge, rng: Random) -> Demonstration:
    listed = " ".join(rng.choices(world.wanted, k=rng.randint(4, 16)))
    return Demonstration("solver", Task(f"names {listed}", "names", f"Say: {listed}"), f" {listed}")


@cache
def _world(seed: int) -> Knowledge:
    return Knowledge(seed=seed, hops=(0.6, 0.3, 0.1), skill=(0.9, 0.4, 0.2), careful=0.9)


def rehearsal(count: int, rng: Random) -> Sequence[tuple[ToolReply, Demonstration]]:
    """Questions asked and answered in other worlds, with searches in their documents."""
    shown = []
    for _ in range(count // 8):
        world = _world(rng.randint(1, WORLDS))
        for each in world.demonstrations(8, rng):
            shown.append((ToolReply(each.role, (world.search,), Limits(4, 5, 1000)), each))
    return shown


def able_to_search(options: Bench) -> search_self_play.Config:
    """From a start that can ask, search and answer, mostly in one hop."""
    folder = warm_with_tools(start(warm_with_tools(COPYING, names)), rehearsal)
    return search_self_play.Config(warmed(folder, max_completion_length=64), steps=options.steps or 240)


FIXED = "the first step's questions"


def search_play(options: Bench, console: Console) -> Result:
    """Self-play, the same with a stricter gate and with none, and reinforcement on the questions of the first step."""
    plain = able_to_search(options)
    variants = {
        "Search Self-Play": plain,
        "rivals shown": replace(plain, gate="rivals"),
        "without the gate": replace(plain, gate="none"),
        FIXED: replace(plain, fixed=True),
    }
    trials = trained("search_self_play", variants, options.seeds, console)
    figures = (
        "first accuracy/2_hops",
        "accuracy/1_hops",
        "accuracy/2_hops",
        "first accepted/hops",
        "late accepted/hops",
        "late accepted",
        "late accepted/right",
        "late asked/wrong",
    )
    note = (
        f"{options.seeds} paired seeds, {plain.steps} steps. "
        f"{difference(trials, 'Search Self-Play', FIXED, 'accuracy/2_hops')}. "
        f"{difference(trials, 'rivals shown', 'Search Self-Play', 'late accepted/right')}."
    )
    return "Search Self-Play in a world of 500 facts", ("variant", *figures), table(trials, figures), note


def search_frontier(options: Bench, console: Console) -> Result:
    """What it is worth to the solver that the proposer learns to ask farther."""
    plain = able_to_search(options)
    variants = {"Search Self-Play": plain, "proposer frozen": replace(plain, proposer=Role("frozen"))}
    trials = trained("search_self_play", variants, options.seeds, console)
    measured = [f"{figure}/{hops}_hops" for hops in (1, 2, 3) for figure in ("accuracy", "pass@8")]
    begun = ", ".join(f"{trials['Search Self-Play'][0].first(name):.3f}" for name in measured)
    compared = [difference(trials, "Search Self-Play", "proposer frozen", name) for name in measured[2:]]
    note = f"{options.seeds} paired seeds, {plain.steps} steps; at first {begun}. {'. '.join(compared)}."
    figures = (*measured, "first accepted/hops", "late accepted/hops", "late accepted/right")
    return "Search Self-Play beside a frozen proposer", ("variant", *figures), table(trials, figures), note
