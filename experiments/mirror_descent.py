"""Mirror descent by its closed form: beside a gradient step in a table, and with a language model fitted to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Literal

from experiments.spiral import FROM_FIRST_WEIGHTS
from redqueen.games.talk import told
from redqueen.protocols import Play, Policy
from redqueen.recipes.games import magnetic
from redqueen.recipes.games.mirror_descent import recipe
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner
from redqueen.settings.optimization import Optimization
from redqueen.trials.experiment import Experiment, Training, Trial, versus
from redqueen.types import Ask, Outcome, Seat, Task

LAST, AVERAGE, LATE = "exploitability", "average_exploitability", "late_average_exploitability"
HIGHEST = "highest in the last third"
HALF = {"pull": 0.5, "last_pull": 0.05}  # of the default
IN_KUHN = recipe.Config(steps=60, pull=0.5, last_pull=0.05)
FIRST, SECOND = Seat("first"), Seat("second")


@dataclass(frozen=True)
class Method:
    """One of two recipes with its own settings, at 61,440 games."""

    recipe: str = "mirror_descent"


def train(config: Method, run: Run) -> Policy:
    """Trains a table by the recipe that is named."""
    if config.recipe == "magnetic":
        return magnetic.train(magnetic.Config(steps=480, matches_per_step=128), run)
    return recipe.train(replace(IN_KUHN, matches_per_step=1024), run)


def highest(trial: Trial) -> float:
    """Returns the highest exploitability measured in the last third of the steps."""
    values = [line[LAST] for line in trial.lines if LAST in line]
    return float(max(values[-max(1, len(values) // 3) :]))


KUHN = Experiment(
    title="Kuhn poker, tabular",
    asked="Is the last iterate less exploitable by the closed form than by a gradient step, at equal games?",
    trial=Training(train, evaluate_every=2),
    config=Method(),
    variants={name: {"recipe": name} for name in ("magnetic", "mirror_descent")},
    figures=(LAST, HIGHEST, AVERAGE, LATE),
    compared=versus("magnetic", ("mirror_descent",), (LAST, HIGHEST, AVERAGE, LATE)),
    controls=("magnetic",),
    derived={HIGHEST: highest},
    notes=("magnetic: 480 updates of 128 games; mirror_descent: 60 of 1,024.",),
    seeds=10,
)


@dataclass(frozen=True)
class Throws:
    """Both choose at once; `payoffs[own][other]` is what the first player wins of the second."""

    name: str
    choices: tuple[str, ...]
    payoffs: tuple[tuple[float, ...], ...]
    roles: tuple[str, ...] = ("first", "second")
    zero_sum: bool = True

    def tasks(self) -> list[Task]:
        return [Task("only")]

    def play(self, task: Task, rng: Random) -> Play:
        asks = [Ask(seat, told(f"{self.name}: you are {seat}. Your choice?"), self.choices) for seat in (FIRST, SECOND)]
        one, other = [self.choices.index(reply.text) for reply in (yield asks)]
        won = self.payoffs[one][other]
        return Outcome({FIRST: won, SECOND: -won})


def pennies() -> Throws:
    """Matching pennies, two of them where both say tails."""
    return Throws("pennies", ("heads", "tails"), ((-1.0, 1.0), (1.0, -2.0)))


def stakes() -> Throws:
    """Rock, paper, scissors: paper wins one, rock two, scissors three."""
    return Throws("stakes", ("rock", "paper", "scissors"), ((0.0, -1.0, 2.0), (1.0, 0.0, -3.0), (-2.0, 3.0, 0.0)))


def circling(game: str) -> Experiment:
    """The default pull and half of it in a game without a pure equilibrium."""
    return Experiment(
        title=f"{game.capitalize()}, tabular: the pull",
        asked="Does the default pull keep play near the equilibrium where half of it runs in circles?",
        trial=Training(recipe.train, evaluate_every=2),
        config=recipe.Config(game=f"{Path(__file__)}:{game}", steps=60, matches_per_step=512),
        variants={"default": {}, "half of the pull": HALF},
        figures=(LAST, HIGHEST),
        compared=versus("default", ("half of the pull",), (LAST, HIGHEST)),
        controls=("half of the pull",),
        derived={HIGHEST: highest},
        seeds=10,
        first_seed=2,
        notes=("The pull was chosen by simulations of both games with other seeds, and of Kuhn poker.",),
    )


PENNIES, STAKES = circling("pennies"), circling("stakes")


def adapted(optimizer: Literal["adamw", "natural"], learning_rate: float | None = None, layers: int = 8) -> Learner:
    """SmolLM2 with an adapter in its last layers."""
    tuned = Optimization(optimizer=optimizer, lora_layers=layers)
    return Learner(model="smollm2-135m", learning_rate=learning_rate, optimization=tuned)


LANGUAGE = Experiment(
    title="SmolLM2-135M-Instruct in Kuhn poker",
    asked="Does a language model follow the closed form by AdamW as it does by the natural gradient?",
    trial=Training(recipe.train, evaluate_every=2),
    config=replace(IN_KUHN, matches_per_step=4096),
    variants={
        "adamw": {"learner": adapted("adamw", 1e-4), "updates": 4},
        "natural": {"learner": adapted("natural")},
    },
    figures=(LAST, HIGHEST, AVERAGE, LATE),
    compared=versus("adamw", ("natural",), (LAST, HIGHEST, LATE)),
    controls=("adamw",),
    derived={HIGHEST: highest},
    notes=("Four updates of AdamW (learning rate 1e-4) cost about as much as one natural update.",),
)
LEDUC = Experiment(
    title="SmolLM2-135M-Instruct in Leduc poker",
    asked="How near to an equilibrium does a language model come in a game of 288 states, and how near a table?",
    trial=Training(recipe.train, evaluate_every=4),
    config=recipe.Config(
        game="leduc_poker",
        steps=24,
        matches_per_step=0,
        step_size=0.8,
        last_step_size=0.2,
        pull=3.0,
        last_pull=0.3,
    ),
    variants={
        "table": {},
        "adamw": {"learner": adapted("adamw", 1e-4, 4), "updates": 2},
        "natural": {"learner": adapted("natural", layers=4)},
    },
    figures=("nash_conv", LAST, AVERAGE, LATE),
    compared=versus("table", ("adamw", "natural"), ("nash_conv", LATE)),
    controls=("table",),
    notes=(
        "NashConv is the sum over both seats, exploitability its half; uniform play has 4.747. Values of replies are "
        "exact everywhere, and no match is played; sizes and pulls were chosen by simulations of the table with noise "
        "of .1 in every log-odds, as a network follows it, and not by runs of the model.",
        "The natural gradient takes a backward pass for each of the 388 log-odds a step.",
    ),
    seeds=3,
)
PARTS, WHOLE, NARROW, ONE_UPDATE = "minibatches", "all positions at once", "first weights of .02", "one update"
BOARD = Experiment(
    title="Tic-tac-toe, a tiny transformer made from nothing",
    asked="Does a transformer that follows the closed form come to lose one game in twenty to uniform play, and to a "
    "regret of .05?",
    trial=Training(recipe.train, evaluate_every=4),
    config=recipe.Config(
        FROM_FIRST_WEIGHTS,
        game="tic_tac_toe",
        steps=12,
        matches_per_step=0,
        updates=12,
        minibatches=64,
        step_size=4.0,
        last_step_size=4.0,
        pull=0.05,
        last_pull=0.05,
    ),
    variants={
        PARTS: {},
        WHOLE: {"minibatches": 1},
        NARROW: {"learner.model": "tiny:heads=8"},
        ONE_UPDATE: {"steps": 1, "updates": 1, "minibatches": 1},
    },
    figures=("minimax_regret_mean", "minimax_regret_reached", "payoff/uniform", "losses/uniform"),
    compared=versus(PARTS, (WHOLE, NARROW, ONE_UPDATE), ("losses/uniform", "minimax_regret_mean")),
    controls=(WHOLE, NARROW, ONE_UPDATE),
    notes=(
        "12 steps, 12 passes in each over all 4,520 positions, with exact values of all replies between players who "
        "follow the policy: no match is played, and no perfect play is shown. 128 games against uniform play, both "
        "seats. Settings were chosen on seed 0.",
    ),
    seeds=5,
    first_seed=1,
)
