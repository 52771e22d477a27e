"""Search Self-Play in a closed world: whether the reader keeps wrong questions out, and what its questions teach."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from random import Random

from redqueen.games.tools import Limits, ToolReply
from redqueen.questions.small.knowledge import Knowledge
from redqueen.recipes.proposers.search_self_play.recipe import Config, train
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Experiment, Training, versus
from redqueen.trials.starts import Start, ToolSchool, rehearse, warmed
from redqueen.types import Demonstration, Task

WORLDS = 100  # other than the one that is searched in training, so that nothing of it is known


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


# who cannot repeat a name cannot search for it; a tiny model learns to from lists of names alone
COPYING = Start(
    ToolSchool("knowledge", names, Learner(model="tiny:hidden=64,layers=3"), steps=1200, demonstrations=32, rest=1),
    rehearse,
)
SEARCHING = Start(
    ToolSchool("knowledge", rehearsal, warmed(1e-3), steps=1600, demonstrations=32, rest=500), rehearse, after=COPYING
)
ABLE = Config(warmed(max_completion_length=64), steps=240)  # asks, searches and answers, mostly in one hop
FIXED = "the first step's questions"
MEASURED = tuple(f"{figure}/{hops}_hops" for hops in (1, 2, 3) for figure in ("accuracy", "pass@8"))

SEARCH_PLAY = Experiment(
    title="Search Self-Play in a world of 500 facts",
    asked="Does the gate keep wrong questions out, and does self-play teach more than the questions of a fixed set?",
    trial=Training(train),
    config=ABLE,
    starts={"learner.model": SEARCHING},
    one_start=True,
    variants={
        "Search Self-Play": {},
        "rivals shown": {"gate": "rivals"},
        "without the gate": {"gate": "none"},
        FIXED: {"fixed": True},
    },
    figures=(
        *("first accuracy/2_hops", "accuracy/1_hops", "accuracy/2_hops", "first accepted/hops", "late accepted/hops"),
        *("late accepted", "late accepted/right", "late asked/wrong"),
    ),
    compared=(
        *versus("Search Self-Play", (FIXED, "without the gate"), ("accuracy/2_hops",)),
        *versus("rivals shown", ("Search Self-Play",), ("late accepted/right",)),
    ),
    controls=(FIXED, "without the gate"),
    notes=("The first step's questions are few, about eleven: as a control they are weak.",),
)
SEARCH_FRONTIER = Experiment(
    title="Search Self-Play beside a frozen proposer",
    asked="What is it worth to the solver that the proposer learns to ask farther?",
    trial=Training(train),
    config=ABLE,
    starts={"learner.model": SEARCHING},
    one_start=True,
    variants={"Search Self-Play": {}, "proposer frozen": {"proposer.player": "frozen"}},
    figures=(*MEASURED, "first accepted/hops", "late accepted/hops", "late accepted/right"),
    compared=versus("Search Self-Play", ("proposer frozen",), MEASURED[2:]),
    controls=("proposer frozen",),
)
