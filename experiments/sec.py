"""SEC beside other orders of training: a staircase of ten levels on a table, and sums for a tiny model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from random import Random
from statistics import fmean

import numpy as np

from redqueen.chance import derive
from redqueen.credit.advantages.keys import by_task_and_role
from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.rewards import payoff, score
from redqueen.curricula.bandit import SelfEvolving, dealt_by
from redqueen.games.talk import told
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.players.tabular import TabularPolicy
from redqueen.protocols import Play
from redqueen.questions.small.sums import Sums
from redqueen.recipes.curricula import sec
from redqueen.recipes.self_training import cold_start
from redqueen.settings.learner import Learner
from redqueen.settings.update import Update
from redqueen.trials.experiment import Difference, Experiment, Measuring, Training, Trial, versus
from redqueen.trials.starts import Start, further, warmed
from redqueen.types import Ask, Metrics, Outcome, Seat, Task

LEVELS = 10
DOORS = ("left", "straight on", "right", "down")
MASTERED = 0.9  # chance to climb
SLOTS, ATTEMPTS = 10, 8  # of a step
STEPS = 100
LEARNING_RATE = 10.0
CLIMBER = Seat("climber")


# --- the staircase ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Staircase:
    """On every stair one door of four leads on, always the same one; a wrong door ends the climb. Level n has n
    stairs, is climbed from the bottom, and only its top is scored.

    The asks name the stair and not the level, so that what is learned on a short climb begins a long one. A table
    that knows nothing climbs level n once in 4^n attempts: a level is out of reach until most of the one before
    it is known, and it is then learned by policy gradient like any other.
    """

    levels: int = LEVELS
    seed: int = 0  # of which door is right
    name: str = field(default="staircase", init=False)
    roles: tuple[str, ...] = field(default=("climber",), init=False)

    def tasks(self) -> list[Task]:
        return [Task(f"level {n}", f"level {n}", facts={"height": n}) for n in range(1, self.levels + 1)]

    def play(self, task: Task, rng: Random) -> Play:
        for stair in range(task.facts["height"]):
            (reply,) = yield [at(stair)]
            if reply.text != self.door(stair):
                return Outcome({CLIMBER: 0.0}, {"reached": stair})
        return Outcome({CLIMBER: 1.0}, {"reached": task.facts["height"]})

    def door(self, stair: int) -> str:
        return DOORS[derive(self.seed, "door", stair) % len(DOORS)]


def at(stair: int) -> Ask:
    return Ask(CLIMBER, told(f"You stand before stair {stair}. Which door?"), DOORS)


def chances_to_climb(learner: TabularPolicy, game: Staircase) -> np.ndarray:
    """[levels] exact, from the table."""
    rated = learner.probabilities([at(stair) for stair in range(game.levels)])
    right = [chances[DOORS.index(game.door(stair))] for stair, chances in enumerate(rated)]
    return np.cumprod(right)


# --- the orders ------------------------------------------------------------------------------

Order = Callable[[Sequence[Task], SelfEvolving, float, Random], list[Task]]
"""(levels from easy to hard, bandit, share of the steps that is done, rng) -> the tasks of a step, SLOTS of them."""


def bandit(levels: Sequence[Task], arms: SelfEvolving, done: float, rng: Random) -> list[Task]:
    return arms.draw(SLOTS, rng)


def uniform(levels: Sequence[Task], arms: SelfEvolving, done: float, rng: Random) -> list[Task]:
    return [rng.choice(levels) for _ in range(SLOTS)]


def easy_to_hard(levels: Sequence[Task], arms: SelfEvolving, done: float, rng: Random) -> list[Task]:
    """As many steps for each level, the last one for whatever is left."""
    return [levels[min(int(done * len(levels)), len(levels) - 1)]] * SLOTS


def hard_to_easy(levels: Sequence[Task], arms: SelfEvolving, done: float, rng: Random) -> list[Task]:
    return easy_to_hard(levels[::-1], arms, done, rng)


ORDERS: Mapping[str, Order] = {
    "SEC": bandit,
    "uniform": uniform,
    "easy to hard": easy_to_hard,
    "hard to easy": hard_to_easy,
}


@dataclass(frozen=True)
class Climb:
    """One training."""

    mastered: tuple[int, ...]  # [steps] levels mastered after each
    drawn: tuple[float, ...]  # [steps] the mean level that was trained on

    @property
    def whole(self) -> float:
        """The number of steps after which every level was mastered for the first time."""
        return next((step + 1.0 for step, count in enumerate(self.mastered) if count == LEVELS), inf)


def climb(order: Order, seed: int, steps: int, longer: int = 0) -> Climb:
    """Trains a table on one staircase by GRPO, its levels drawn in this order, for `steps` steps and `longer` more."""
    game, rng = Staircase(seed=seed), Random(seed)
    levels = game.tasks()
    arms = SelfEvolving(dealt_by(levels, lambda task: task.kind))
    learner, estimate, objective = TabularPolicy(LEARNING_RATE), GroupRelative(by_task_and_role), Reinforce()
    mastered, drawn = [], []
    for step in range(steps + longer):
        tasks = order(levels, arms, step / steps, rng)
        trajectories = score(play(alone(game, tasks, learner, ATTEMPTS), rng), payoff)
        advantages = estimate(trajectories)
        learner.update(pack(trajectories, advantages), objective)
        arms.observe_advantages(trajectories, advantages)
        mastered.append(int((chances_to_climb(learner, game) >= MASTERED).sum()))
        drawn.append(fmean(1 + levels.index(task) for task in tasks))
    return Climb(tuple(mastered), tuple(drawn))


@dataclass(frozen=True)
class Climbing:
    """In which order the levels of a staircase are climbed, and how long."""

    order: str = "SEC"
    steps: int = STEPS


def climbed(config: Climbing, seed: int) -> Metrics:
    """Returns the levels mastered after the steps, and after how many steps all were first."""
    found = climb(ORDERS[config.order], seed, config.steps, config.steps // 2)
    whole = min(found.whole, config.steps + config.steps // 2 + 1.0)
    return {"levels mastered": float(found.mastered[config.steps - 1]), "steps to all ten": whole}


STAIRCASE = Experiment(
    title="Staircase of ten levels, tabular",
    asked="Does the bandit master ten levels that build on one another, and sooner than levels drawn at random?",
    trial=Measuring(climbed),
    config=Climbing(),
    variants={name: {"order": name} for name in ORDERS},
    figures=("levels mastered", "steps to all ten"),
    compared=versus("SEC", tuple(ORDERS)[1:], ("levels mastered", "steps to all ten")),
    controls=("uniform", "easy to hard"),
    notes=(
        f"{STEPS} steps of {SLOTS} climbs with {ATTEMPTS} attempts each, then half as many more, for the steps to all "
        f"ten alone; one more than all where they were never mastered. Mastered: a chance of {MASTERED:g}.",
    ),
)

# --- sums ------------------------------------------------------------------------------------

ABLE = Start(
    cold_start.Config(
        Learner(model="tiny:hidden=96,layers=3,initializer_range=0.1"),
        questions="experiments.sec:carried",
        steps=2000,
        rest=800,
    )
)
LADDER = "experiments.sec:ladder"
SHARP = 0.1  # tau: advantages of RLOO are at most about .57 on the average
RANDOM = 1e9  # all arms alike


def carried() -> Sums:
    """Sums of one to three digits in which nothing is forgotten."""
    return Sums(digits=3, lengths=(0.15, 0.25, 0.60), slips=(0.0, 0.0, 0.0), name="carried")


def ladder() -> Sums:
    """The same, of which a model that can add is shown how to forget to carry: the longer a sum, the more often."""
    return Sums(digits=3, lengths=(0.25, 0.35, 0.40), slips=(0.30, 0.70, 0.95), name="ladder")


def drawn(trial: Trial, fifth: int) -> float:
    """Returns the chance by which a sum of three digits was drawn, the mean over a fifth of the steps, from 0."""
    chances = [line["bandit/chance/3_digits"] for line in trial.lines if "bandit/chance/3_digits" in line]
    count = max(1, len(chances) // 5)
    return fmean(chances[fifth * count : (fifth + 1) * count])


HARDEST = "three digits drawn, "
SUMS = Experiment(
    title="Self-evolving curriculum, sums",
    asked="Are the hardest sums learned better where the bandit draws the levels than where chance does?",
    trial=Training(sec.train, evaluate_every=30),
    config=sec.Config(warmed(), questions=LADDER, steps=120, tau=SHARP, update=Update(estimator="leave-one-out")),
    starts={"learner.model": further(ABLE, LADDER, 100, 50)},
    variants={"SEC": {}, "random order": {"tau": RANDOM}},
    figures=(
        "accuracy",
        *(f"accuracy/{level}" for level in ladder().levels),
        *(f"{HARDEST}{when} fifth" for when in ("first", "last")),
    ),
    compared=(
        *versus("SEC", ("random order",), ("accuracy", f"accuracy/{ladder().levels[-1]}")),
        Difference("SEC", "SEC", f"{HARDEST}last fifth", f"{HARDEST}first fifth"),
    ),
    controls=("random order",),
    derived={
        f"{HARDEST}first fifth": partial(drawn, fifth=0),
        f"{HARDEST}last fifth": partial(drawn, fifth=4),
    },
    notes=(
        "Under RLOO: where one attempt in eight is right its advantages are .44 as great as where half are, those that "
        "are divided by a deviation .66.",
    ),
    seeds=5,
)
UNDER_GRPO = replace(
    SUMS,
    title="Self-evolving curriculum on sums under GRPO",
    asked="Are they with the recipe's own estimator and temperature?",
    config=sec.Config(warmed(), questions=LADDER, steps=120),
    notes=(),
)
