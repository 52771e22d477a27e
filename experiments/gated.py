"""G-RA: a reward for the way that waits for the outcome, on a corridor with something to farm and one with halves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

import numpy as np

from redqueen.credit.advantages.keys import by_task_and_role
from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.rewards import Gated, payoff, score, spoken_turns
from redqueen.games.corridor import WALKER, Corridor
from redqueen.measures.of_games import usual_measures
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.players.tabular import TabularPolicy
from redqueen.protocols import Policy, Reward
from redqueen.runs.run import Run
from redqueen.trials.experiment import Experiment, Training, Trial, versus
from redqueen.types import Episode, Seat, Turn

PAY = 0.1  # for each turn that is paid for
ATTEMPTS = 32  # at each of two doors


def moved(turns: tuple[Turn, ...]) -> list[int]:
    """How many steps nearer the door each turn came, 0 or less where it did not."""
    found, behind = [], 0
    for turn in turns:
        step = {"go": 1, "stay": 0, "back": -1 if behind else 0}[turn.reply.text]
        behind += step
        found.append(step)
    return found


def stays(episode: Episode) -> dict[Seat, np.ndarray]:
    """`PAY` for each turn in which nothing is done."""
    return {seat: PAY * (np.array(moved(turns)) == 0) for seat, turns in spoken_turns(episode).items()}


def nearer(episode: Episode) -> dict[Seat, np.ndarray]:
    """`PAY` for each turn that comes nearer the door."""
    return {seat: PAY * (np.array(moved(turns)) > 0) for seat, turns in spoken_turns(episode).items()}


def halves(episode: Episode) -> dict[Seat, np.ndarray]:
    """1 on the last turn where the door was reached, and a half where half of the way was gone at some time."""
    found = {}
    for seat, turns in spoken_turns(episode).items():
        way, rewards = episode.task.facts["steps"], np.zeros(len(turns))
        gone = int(np.cumsum(moved(turns)).max())
        rewards[-1] = 1.0 if gone == way else 0.5 * (2 * gone >= way)
        found[seat] = rewards
    return found


@dataclass(frozen=True)
class Kind:
    """A corridor, what its outcome pays, what else is paid, and the least outcome at which the gate opens."""

    corridor: Corridor
    outcome: Reward
    beside: Reward
    least: float


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "farm": Kind(Corridor(5, 8, 10, clock=False), payoff, stays, 1.0),
        "halves": Kind(Corridor(7, 10, 14, clock=False), halves, nearer, 0.5),
    }
)


@dataclass(frozen=True)
class Config:
    """A corridor and how the two rewards are joined."""

    kind: Literal["farm", "halves"] = "farm"
    joined: Literal["gated", "summed", "outcome"] = "gated"
    steps: int = 300
    learning_rate: float = 5.0

    def rewards(self) -> tuple[Reward, ...]:
        """What is added up."""
        kind = KINDS[self.kind]
        gated = Gated(kind.beside, kind.outcome, kind.least)
        return {"gated": (kind.outcome, gated), "summed": (kind.outcome, kind.beside), "outcome": (kind.outcome,)}[
            self.joined
        ]


def train(config: Config, run: Run) -> Policy:
    """Policy gradients against the mean of the attempts at a door."""
    game, rewards = KINDS[config.kind].corridor, config.rewards()
    learner = TabularPolicy(learning_rate=config.learning_rate)
    estimate, objective = GroupRelative(by_task_and_role, divide_by_deviation=False), Reinforce()
    for _ in run.steps(config.steps, [learner], [], usual_measures(game, learner, run.tests)):
        episodes = play(alone(game, game.tasks(), learner, ATTEMPTS), run.rng)
        trajectories = score(episodes, *rewards)
        advantages = estimate(trajectories)
        metrics = learner.update(pack(trajectories, advantages), objective)
        run.report(learner, trajectories, advantages, metrics)
        run.note({"buffer/reached": float(np.mean([each.outcome.scores[WALKER] for each in episodes]))})
    return learner


def over_the_run(trial: Trial) -> float:
    """The share of walks that reached the door, the mean over all steps."""
    return float(np.mean([line["buffer/reached"] for line in trial.lines]))


GATED, SUMMED, ALONE = "gated", "summed", "the outcome alone"
FIGURES = ("late buffer/reached", "reached over the run")

FARM = Experiment(
    title="Something to farm",
    asked="Does a gate keep a reward for standing still from buying failures?",
    trial=Training(train, evaluate_every=300),
    config=Config(),
    variants={GATED: {}, SUMMED: {"joined": "summed"}, ALONE: {"joined": "outcome"}},
    figures=FIGURES,
    compared=versus(GATED, (SUMMED, ALONE), FIGURES),
    controls=(SUMMED, ALONE),
    derived={"reached over the run": over_the_run},
    seeds=10,
    notes=(
        "Doors 5 and 7 steps away, 10 turns, 32 attempts at each door in a step. To stand still pays .1 a turn, as "
        "much over ten turns as the door; behind a gate it pays where the door was reached.",
    ),
)
HALVES = replace(
    FARM,
    title="What a gate buys",
    asked="Where half of the way pays a half, does a bonus for coming nearer, behind that half, save attempts?",
    config=Config(kind="halves"),
    notes=("Doors 7 and 9 steps away, 14 turns; to come a step nearer pays .1, behind a gate where half was gone.",),
)
