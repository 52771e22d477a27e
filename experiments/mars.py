"""MARS: what turns, roles and the order of sum and mean are worth, and cooperative games in the mix."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from types import MappingProxyType

import numpy as np

from redqueen.credit.advantages.keys import by_game, by_game_and_role
from redqueen.credit.advantages.statistics import GroupRelative, MovingBaseline, RewardToGo, centred_turns
from redqueen.games.mini_hanabi import MiniHanabi
from redqueen.games.talk import ask, told
from redqueen.play.lockstep import play
from redqueen.play.seating import mirror
from redqueen.protocols import AdvantageEstimator, Key, Play, Policy
from redqueen.recipes.games import mars
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner
from redqueen.settings.update import Update
from redqueen.trials.experiment import Changes, Experiment, Training, Trial, versus
from redqueen.types import Metrics, Outcome, Seat, Task, Trajectory

TURNS, MATCHES, NO_ROLES = "turn by turn, each role", "the whole match", "turn by turn, no roles"
MEAN_FIRST, DIVIDED, MOVING = "mean before sum", "divided by the deviation", "SPIRAL's moving average"
ENOUGH = 0.95
DOORS_IN_ALL = 16


@dataclass(frozen=True)
class MeanFirst:
    """Rewards less their mean over all turns of a key, then summed from each turn on: credit that depends on how many
    turns are left, as in the released code."""

    key: Key

    def __call__(self, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
        found: dict[Hashable, list[float]] = defaultdict(list)
        for each in trajectories:
            for turn, reward in enumerate(each.rewards):
                found[self.key(each, turn)].append(float(reward))
        means = {key: float(np.mean(rewards)) for key, rewards in found.items()}
        shifted = []
        for each in trajectories:
            own = [means[self.key(each, turn)] for turn in range(len(each.turns))]
            shifted.append(replace(each, rewards=each.rewards - np.array(own)))
        return [RewardToGo()(each) for each in shifted]


ESTIMATORS: Mapping[str, Callable[[], AdvantageEstimator]] = MappingProxyType(
    {
        TURNS: lambda: centred_turns(by_game_and_role),
        MATCHES: lambda: GroupRelative(by_game_and_role, divide_by_deviation=False),
        NO_ROLES: lambda: centred_turns(by_game),
        MEAN_FIRST: lambda: MeanFirst(by_game_and_role),
        DIVIDED: lambda: GroupRelative(by_game_and_role, RewardToGo()),
        MOVING: lambda: MovingBaseline(by_game_and_role),
    }
)


@dataclass(frozen=True)
class Estimated:
    """The method with the estimator of this name."""

    method: mars.Config
    estimator: str = TURNS


def train(config: Estimated, run: Run) -> Policy:
    return mars.train(config.method, run, ESTIMATORS[config.estimator]())


@dataclass(frozen=True)
class Doors:
    """A walk through doors, each of which pays at once: 1 if it is the right one of two, -1 if not."""

    doors: int = 4
    roles: tuple[str, ...] = field(default=("walker",), init=False)
    perfect_information: bool = field(default=True, init=False)

    @property
    def name(self) -> str:
        return f"doors({self.doors})"

    def tasks(self) -> list[Task]:
        return [Task("walk")]

    def play(self, task: Task, rng: Random) -> Play:
        seat, gains = Seat("walker"), []
        for number in range(self.doors):
            said = yield from ask(seat, told(f"Door {number + 1}: left or right?"), ("left", "right"))
            gains.append((number, {str(seat): 1.0 if said == ("left", "right")[number % 2] else -1.0}))
        return Outcome({seat: sum(gain[str(seat)] for _, gain in gains)}, {"gains": tuple(gains)})


def steps_until(trial: Trial) -> float:
    """The first step at which 95 % of the doors were right; one more than the last where none was."""
    most = DOORS_IN_ALL * (2 * ENOUGH - 1)
    for line in trial.lines:
        if line["reward/walker"] >= most:
            return float(line["step"])
    return float(len(trial.lines))


ALIKE: Mapping[str, Changes] = {name: {"estimator": name} for name in ESTIMATORS}
PLAIN = Update(kl=0.0, format_bonus=0.0, updates_per_batch=1)
DOORS = Experiment(
    title="Doors that pay at once",
    asked="How much sooner is each door learned where a turn is credited with what came after it alone?",
    trial=Training(train),
    config=Estimated(
        mars.Config(
            games=(f"experiments.mars:Doors:doors={DOORS_IN_ALL}",),
            largest_scores=(1.0,),
            steps=150,
            matches_per_game=4,
            update=PLAIN,
        )
    ),
    variants={name: ALIKE[name] for name in (TURNS, MATCHES, MEAN_FIRST, DIVIDED)},
    figures=("steps until 95 %", "late reward/walker", "late gradient_norm"),
    compared=versus(TURNS, (MATCHES, MEAN_FIRST), ("steps until 95 %", "late reward/walker")),
    controls=(MATCHES, MEAN_FIRST),
    derived={"steps until 95 %": steps_until},
    notes=("A table, 4 walks through 16 doors an update; every door pays 1 or -1 at once.",),
    seeds=10,
)

BOTH = ("tic_tac_toe", "kuhn_poker")
HANABI = MiniHanabi()


def together(learner: Policy, seed: int) -> Metrics:
    """What two of the policy score together in the small Hanabi, of 4."""
    tasks = HANABI.tasks()
    episodes = play(mirror(HANABI, [tasks[number % len(tasks)] for number in range(128)], learner), Random(seed))
    return {"hanabi": float(np.mean([next(iter(each.outcome.scores.values())) for each in episodes]))}


FIGURES = ("kuhn_poker/exploitability", "kuhn_poker/average_exploitability", "tic_tac_toe/losses/uniform", "hanabi")
MIX = Experiment(
    title="Three games, tables",
    asked="What do turn-level credit, means by role, the sum before the mean and a cooperative game in the mix bring?",
    trial=Training(train, evaluate_every=25, read=together),
    config=Estimated(mars.Config(Learner("tabular", learning_rate=20.0), steps=300)),
    variants={
        **ALIKE,
        "without Hanabi": {"method.games": BOTH, "method.largest_scores": (1.0, 2.0)},
    },
    figures=(*FIGURES, "late gradient_norm"),
    compared=versus(TURNS, (MATCHES, NO_ROLES, MEAN_FIRST, MOVING, "without Hanabi"), FIGURES),
    controls=(MATCHES, NO_ROLES, MEAN_FIRST, MOVING, "without Hanabi"),
    notes=(
        "A rate of 20, chosen on a seed that is not among these; at 2 hardly anything is learned in 150 steps. Tables "
        "share nothing between games, so that a game in the mix can help no other one here; 32 games of each an "
        "update. Tokens, KL and clip as in the method. Uniform play of the small Hanabi scores about 1.45 of 4.",
    ),
    seeds=10,
)
