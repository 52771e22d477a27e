"""Search Self-Play in a closed world: whether the reader keeps wrong questions out, and what its questions teach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import Literal

from redqueen.checks.retrieval import Fault
from redqueen.curricula.held_out import Apart, apart_from, held_out
from redqueen.games.tools import Limits, ToolReply
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import read, tasks_among
from redqueen.questions.small.knowledge import Knowledge
from redqueen.recipes.proposers.search_self_play import recipe
from redqueen.recipes.proposers.search_self_play.steps import Grounds, Pool, Rewards, Written, equipped, questions_of
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner
from redqueen.settings.roles import Cast, Role
from redqueen.trials.experiment import NEVER, Experiment, Training, versus
from redqueen.trials.starts import Start, ToolSchool, rehearse, warmed
from redqueen.types import Demonstration, Group, Refusal, Task

# --- controls that are other parts of a method than its own ----------------------------------


@dataclass(frozen=True)
class Controlled:
    """The method, and what an experimenter changes in it that is no setting of the method."""

    method: recipe.Config
    steps: int
    gate: Literal["noise", "rivals", "none"] = "noise"
    invalid: float = 0.0  # what an invalid question costs, 0 or below
    fixed: bool = False  # nothing is asked but the questions that pass at the start

    @property
    def config(self) -> recipe.Config:
        return replace(self.method, steps=self.steps)


@dataclass(frozen=True)
class Ungated(Grounds):
    """The rules of form alone decide."""

    def checked(self, written: Sequence[Task | Refusal], proposals: Sequence[Group], rng: Random) -> Written:
        return self.formed(written, proposals, self.found(proposals))


@dataclass(frozen=True)
class Shut(Grounds):
    """No question passes."""

    def checked(self, written: Sequence[Task | Refusal], proposals: Sequence[Group], rng: Random) -> Written:
        return [Refusal("fixed") for _ in written]


@dataclass(frozen=True)
class AgainstRivals(Grounds):
    """The reader must come to the answer again where the documents most like those found stand next to them."""

    rivals: int = 3  # like each that was found

    def checked(self, written: Sequence[Task | Refusal], proposals: Sequence[Group], rng: Random) -> Written:
        found = self.found(proposals)
        passed = self.answered(self.formed(written, proposals, found), found, found, rng)
        more = [each + self.questions.documents.like(each, self.rivals) for each in found]
        again = self.answered(passed, found, more, rng)
        ambiguous = Refusal(str(Fault.SEVERAL_ANSWERS))
        return [
            ambiguous if isinstance(before, Task) and isinstance(after, Refusal) else before
            for before, after in zip(passed, again, strict=True)
        ]


GATES: dict[str, type[Grounds]] = {"noise": Grounds, "rivals": AgainstRivals, "none": Ungated}


def first_questions(config: recipe.Config, run: Run) -> Pool:
    """A pool that is never cleared, of the questions that pass among as many as are asked for until one is cleared."""
    questions, cast, rng = questions_of(config), Cast(config, run), Random(run.derived("first questions"))
    grounds, game = Grounds(questions, noise=config.noise), equipped(config, cast.learner).game
    invitations = grounds.invited(config.pool_steps * config.proposals, rng)
    proposals = attempts(game.of("proposer"), invitations, cast["proposer"], 1, rng)
    passed = grounds.checked(read(questions, proposals), proposals, rng)
    pool = Pool(NEVER)
    pool.add(apart_from(held_out(questions, config.problems, seed=run.tests), tasks_among(passed)))
    return pool


def train(config: Controlled, run: Run) -> Policy:
    """The method with the rewards, the grounds and the pool that the variant asks for."""
    method, questions = config.config, questions_of(config.method)
    if config.fixed:
        method = replace(method, proposer=Role("frozen"))
    gate = Shut if config.fixed else GATES[config.gate]
    pool = first_questions(method, run) if config.fixed else None
    return recipe.train(method, run, Rewards(config.invalid), gate(questions, noise=method.noise), pool)


# --- what is asked ---------------------------------------------------------------------------


def measured(config: Controlled, seed: int) -> Apart:
    """The test questions, which are asked in other worlds too, where they have other answers."""
    return held_out(questions_of(config.method), config.method.problems, seed=seed)


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
# asks, searches and answers, mostly in one hop
ABLE = Controlled(recipe.Config(warmed(max_completion_length=64)), steps=240)
FIXED = "the start's questions"
MEASURED = tuple(f"{figure}/{hops}_hops" for hops in (1, 2, 3) for figure in ("accuracy", "pass@8"))

SEARCH_PLAY = Experiment(
    title="Search Self-Play in a world of 500 facts",
    asked="Does the gate keep wrong questions out, and does self-play teach more than the questions of a fixed set?",
    trial=Training(train),
    config=ABLE,
    starts={"method.learner.model": SEARCHING},
    one_start=True,
    measured=measured,
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
    notes=("The start's questions are those that pass of 320; nobody proposes then, and each is met again and again.",),
)
SEARCH_FRONTIER = Experiment(
    title="Search Self-Play beside a frozen proposer",
    asked="What is it worth to the solver that the proposer learns to ask farther?",
    trial=Training(train),
    config=ABLE,
    starts={"method.learner.model": SEARCHING},
    one_start=True,
    measured=measured,
    variants={"Search Self-Play": {}, "proposer frozen": {"method.proposer": Role("frozen")}},
    figures=(*MEASURED, "first accepted/hops", "late accepted/hops", "late accepted/right"),
    compared=versus("Search Self-Play", ("proposer frozen",), MEASURED[2:]),
    controls=("proposer frozen",),
)
