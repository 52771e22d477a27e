"""Advantages weighted by how long an action took (arXiv:2509.01684), where quick actions are collected more often."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np

from redqueen.chance import derive
from redqueen.credit.advantages.keys import everything
from redqueen.credit.advantages.statistics import GroupRelative, Unbaselined
from redqueen.credit.durations import weighed_by_duration
from redqueen.games.talk import told
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.players.tabular import TabularPolicy
from redqueen.trials.experiment import Experiment, Measuring, versus
from redqueen.types import Ask, Episode, Metrics, Outcome, Reply, Seat, Task, Trajectory, Turn

SEAT = Seat("actor")
ARMS = {"first": (0.5, 1.0), "second": (0.6, 1.0), "slow": (0.8, 10.0)}  # mean pay, seconds
NOISE = 0.1
WINDOW = 10.0  # seconds
ASK = Ask(SEAT, told("Which arm?"), tuple(ARMS))


@dataclass(frozen=True)
class Collecting:
    """How actions are collected and credited. In a window an actor repeats its action until the time is over; an actor
    that runs on takes one action after the other."""

    windows: bool = True
    weighted: bool = True
    baseline: bool = False
    updates: int = 200
    actors: int = 64
    learning_rate: float = 2.0


def trained(config: Collecting, seed: int) -> Metrics:
    """The chance of the slow arm, which pays most, after the updates."""
    learner = TabularPolicy(config.learning_rate)
    estimate = GroupRelative(everything, divide_by_deviation=False) if config.baseline else Unbaselined()
    for update in range(config.updates):
        rng = Random(derive(seed, update))
        asks = [Ask(ASK.seat, ASK.messages, ASK.choices, (), rng.getrandbits(63)) for _ in range(config.actors)]
        done = [
            _taken(ask, reply, rng)
            for ask, reply in zip(asks, learner.reply(asks), strict=True)
            for _ in range(int(WINDOW / ARMS[reply.text][1]) if config.windows else 1)
        ]
        advantages = estimate(done)
        if config.weighted:
            advantages = weighed_by_duration(done, advantages, most=WINDOW)
        learner.update(pack(done, advantages), Reinforce())
    return dict(zip(ARMS, learner.probabilities([ASK])[0].tolist(), strict=True))


def _taken(ask: Ask, reply: Reply, rng: Random) -> Trajectory:
    """A finished action."""
    mean, seconds = ARMS[reply.text]
    pay = mean + rng.uniform(-NOISE, NOISE)
    turns = (Turn(ask, reply),)
    outcome = Outcome({SEAT: pay}, {"durations": {str(SEAT): [seconds]}})
    return Trajectory(Episode("arms", Task("arms"), ask.seed, turns, outcome, (SEAT,)), SEAT, turns, np.array([pay]))


WEIGHTED, PLAIN = "windows, weighted", "windows"
DURATIONS = Experiment(
    title="Three arms, one of them slow",
    asked="Where does a weight for durations change which action is learned?",
    trial=Measuring(trained),
    config=Collecting(),
    variants={
        WEIGHTED: {},
        PLAIN: {"weighted": False},
        "windows, baseline, weighted": {"baseline": True},
        "windows, baseline": {"baseline": True, "weighted": False},
        "running, weighted": {"windows": False},
        "running": {"windows": False, "weighted": False},
        "running, baseline, weighted": {"windows": False, "baseline": True},
        "running, baseline": {"windows": False, "baseline": True, "weighted": False},
    },
    figures=("slow", "second"),
    compared=(
        *versus(WEIGHTED, (PLAIN,), ("slow",)),
        *versus("windows, baseline, weighted", ("windows, baseline",), ("slow",)),
        *versus("running, weighted", ("running",), ("slow",)),
        *versus("running, baseline, weighted", ("running, baseline",), ("slow",)),
    ),
    controls=(PLAIN, "windows, baseline", "running", "running, baseline"),
    seeds=10,
    first_seed=1,
    notes=(
        "64 actors, 200 updates. Arms pay .5, .6 and .8, by up to .1 more or less, and take 1, 1 and 10 seconds; a "
        "window has 10. The last is the best to learn: each action is paid as it is, whatever it takes.",
    ),
)
