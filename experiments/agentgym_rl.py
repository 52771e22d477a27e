"""ScalingInter-RL: whether a horizon that grows saves turns, on a corridor with doors near and far."""

from __future__ import annotations

import numpy as np

from redqueen.games.corridor import CHOICES, WALKER, Corridor
from redqueen.games.talk import told
from redqueen.players.tabular import TabularPolicy
from redqueen.protocols import Policy
from redqueen.recipes.curricula.agentgym_rl.recipe import Config, train
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Experiment, Training, Trial, versus
from redqueen.types import Ask, Metrics

GAME = Corridor(clock=False)
FAR = (8, 10)


def chance_to_reach(chances: dict[int, tuple[float, float]], steps: int, turns: int) -> float:
    """The chance to reach a door that is `steps` away within `turns`, where (go, back) has these `chances` at each
    distance."""
    here = np.zeros(steps + 1)  # by distance
    here[steps] = 1.0
    for _ in range(turns):
        after = here.copy()
        for distance in range(1, steps + 1):
            go, back = chances[distance]
            moved = min(distance + 1, steps)
            after[distance] -= here[distance] * (go + back * (moved != distance))
            after[distance - 1] += here[distance] * go
            after[moved] += here[distance] * back * (moved != distance)
        here = after
    return float(here[0])


def reached(learner: Policy, seed: int) -> Metrics:
    """The exact chance to reach a door within the turns of the game, the means over all doors and over the far ones."""
    assert isinstance(learner, TabularPolicy), "the chance is read from a table"
    asks = [Ask(WALKER, told(f"Steps to the door: {at}."), CHOICES) for at in range(1, GAME.farthest + 1)]
    found = learner.probabilities(asks)
    moves = {at + 1: (float(each[0]), float(each[2])) for at, each in enumerate(found)}
    doors = {steps: chance_to_reach(moves, steps, GAME.turns) for steps in (2, 4, 6, 8, 10)}
    return {"reached": float(np.mean(list(doors.values()))), "reached far": float(np.mean([doors[at] for at in FAR]))}


def turns_played(trial: Trial) -> float:
    """How many turns were played in all."""
    return float(sum(line["episodes"] * line["turns_per_episode"] for line in trial.lines))


HORIZON = Experiment(
    title="A horizon that grows, on a corridor, tabular",
    asked="At about equally many turns, does a horizon of 5, then 10, then 20 turns reach more doors than one length?",
    trial=Training(train, read=reached),
    config=Config(Learner(learning_rate=1.0), game="corridor:clock=false", stage=60, tasks=5, attempts=16, steps=235),
    variants={
        "5, 10, 20": {},
        "5": {"horizons": (5,), "steps": 430},
        "10": {"horizons": (10,), "steps": 235},
        "20": {"horizons": (20,), "steps": 138},
        "20, 10, 5": {"horizons": (20, 10, 5), "stage": 40, "steps": 260},
    },
    figures=("reached", "reached far", "turns"),
    compared=versus("5, 10, 20", ("5", "10", "20", "20, 10, 5"), ("reached", "reached far")),
    controls=("20", "20, 10, 5"),
    derived={"turns": turns_played},
    seeds=5,
    notes=(
        "The chances are exact, from the table, within 20 turns. The numbers of steps were chosen on seed 0 so that "
        "each variant plays about 150,000 turns; `turns` says how many they were.",
    ),
)
