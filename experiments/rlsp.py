"""RLSP on a table that thinks or answers: is searching found where only being right is paid?"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np

from redqueen.chance import derive
from redqueen.credit.advantages.keys import everything
from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.rewards import payoff, score, spoken_by
from redqueen.games.talk import told
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.play.lockstep import play
from redqueen.play.seating import mirror
from redqueen.players.tabular import TabularPolicy
from redqueen.protocols import Play
from redqueen.recipes.credit.rlsp.steps import Exploration
from redqueen.trials.experiment import Experiment, Measuring, versus
from redqueen.types import Ask, Metrics, Outcome, Seat, Task

SEAT = Seat("solver")
MOST = 10  # thoughts
THINK, ANSWER = "think", "answer"
THINKS_FIRST = 0.15  # how likely a table is at the start to think before it answers


@dataclass(frozen=True)
class Thoughts:
    """One thinks up to ten times and then answers: rarely right at once, most often after four to six thoughts."""

    right_is: float = 1.0  # what a right answer is paid
    name: str = "thoughts"
    roles: tuple[str, ...] = ("solver",)

    def tasks(self) -> list[Task]:
        return [Task("a task")]

    def play(self, task: Task, rng: Random) -> Play:
        for thoughts in range(MOST + 1):
            (reply,) = yield [asked(thoughts)]
            if reply.text == ANSWER:
                right = rng.random() < chance_right(thoughts)
                return Outcome({SEAT: self.right_is * right}, {"right": right})
        raise AssertionError("after the last thought there is only the answer")


def chance_right(thoughts: int) -> float:
    """How likely an answer is right after so many thoughts."""
    return 0.05 if thoughts < 4 else 0.7 if thoughts <= 6 else 0.3


def asked(thoughts: int) -> Ask:
    return Ask(SEAT, told(f"Thoughts so far: {thoughts}."), (THINK, ANSWER) if thoughts < MOST else (ANSWER,))


@dataclass(frozen=True)
class Paid:
    """What is paid: being right, searching at a price, or both."""

    outcome: bool = True
    price: float = 0.3  # lambda
    updates: int = 300
    attempts: int = 64
    learning_rate: float = 2.0


def trained(config: Paid, seed: int) -> Metrics:
    """Exact figures of the table after its updates."""
    game, learner = Thoughts(float(config.outcome)), TabularPolicy(config.learning_rate)
    learner.read([asked(0)])
    learner.restore({**learner.state(), "logits": [[np.log(THINKS_FIRST / (1.0 - THINKS_FIRST)), 0.0]]})
    search = Exploration(config.price, least=2)
    estimate = GroupRelative(everything, divide_by_deviation=False)
    for update in range(config.updates):
        matches = mirror(game, game.tasks() * config.attempts, learner)
        episodes = play(matches, Random(derive(seed, update)))
        trajectories = spoken_by(learner, score(episodes, payoff, search))
        learner.update(pack(trajectories, estimate(trajectories)), Reinforce())
    return measured(learner)


def measured(learner: TabularPolicy) -> Metrics:
    """How likely it is right, and how often it thinks, from its probabilities."""
    goes_on, right, thoughts = 1.0, 0.0, 0.0
    for number in range(MOST + 1):
        answers = 1.0 if number == MOST else float(learner.probabilities([asked(number)])[0][1])
        right += goes_on * answers * chance_right(number)
        goes_on *= 1.0 - answers
        thoughts += goes_on
    return {"right": right, "thoughts": thoughts}


BOTH, OUTCOME, SEARCH = "both, price .3", "being right alone", "searching alone"
THOUGHTS = Experiment(
    title="Thinking before an answer, tabular",
    asked="Does a bounded pay for searching find what being right alone does not, and is it farmed by itself?",
    trial=Measuring(trained),
    config=Paid(),
    variants={
        BOTH: {},
        "both, price .1": {"price": 0.1},
        "both, price 2": {"price": 2.0},
        OUTCOME: {"price": 0.0},
        SEARCH: {"outcome": False},
    },
    figures=("right", "thoughts"),
    compared=versus(BOTH, (OUTCOME, SEARCH, "both, price .1", "both, price 2"), ("right",)),
    controls=(OUTCOME, SEARCH),
    seeds=10,
    first_seed=1,
    notes=(
        "300 updates on 64 attempts, less their mean. An answer is right with .05 before the fourth thought, .7 after "
        "four to six, .3 beyond; at the start one thinks first with .15, then as likely as not: .06 are right. Figures "
        "are exact, from the table.",
    ),
)
