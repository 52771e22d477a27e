"""Pragmatic synthesis: whether examples that are chosen for a listener are understood better, on held-out patterns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from redqueen.protocols import Policy
from redqueen.recipes.games.pragmatic_synthesis import recipe
from redqueen.recipes.games.pragmatic_synthesis.measures import exact_share
from redqueen.recipes.games.pragmatic_synthesis.steps import Choose, at_random, for_another, game_of, rational
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner
from redqueen.settings.roles import Role
from redqueen.trials.experiment import Difference, Experiment, Training, Trial, versus

GAME = "by_example:letters=3,apart=4"
RATIONAL, RANDOM, OTHER = "rational speech acts", "a true example at random", "the best for another pattern"
CHOICES: Mapping[str, Choose] = MappingProxyType(
    {"rational": rational, "at_random": at_random, "for_another": for_another}
)


@dataclass(frozen=True)
class Controlled:
    """The method, and how an example is chosen from those that were sampled."""

    method: recipe.Config
    choose: Literal["rational", "at_random", "for_another"] = "rational"


def train(config: Controlled, run: Run) -> Policy:
    """The method with the choice that the variant asks for."""
    return recipe.train(config.method, run, CHOICES[config.choose])


def of_exact(trial: Trial) -> float:
    """Returns what the listener names as a share of what exact rational speech acts do."""
    game = game_of(GAME)
    return float(trial.final["understood"]) / exact_share(game, [task.facts["pattern"] for task in game.held_out()])


HELD_OUT = Experiment(
    title="Held-out patterns, two tiny transformers",
    asked="Are patterns that were never taught understood better from examples that are chosen for a listener?",
    trial=Training(train, evaluate_every=80),
    config=Controlled(
        recipe.Config(
            Learner(model="tiny:hidden=64,layers=2", learning_rate=2e-3),
            Role("separate"),
            GAME,
            steps=320,
            updates=80,
            literal=400,
            tasks=123,
            attempts=32,
            replies_per_update=64,
        )
    ),
    variants={RATIONAL: {}, RANDOM: {"choose": "at_random"}, OTHER: {"choose": "for_another"}},
    figures=("understood", "understood_random", "share of exact", "first understood"),
    compared=(
        *versus(RATIONAL, (RANDOM, OTHER), ("understood",)),
        Difference(RATIONAL, RATIONAL, "understood", "understood_random"),
    ),
    controls=(RANDOM, OTHER),
    derived={"share of exact": of_exact},
    seeds=5,
    notes=(
        "164 patterns of up to two atoms over three letters, of which 41 are held out: no speaker was taught to show "
        "them, and no listener to name them. A literal round with 400 sets of random examples, and three rounds with a "
        "set for each of the 123 others. The controls choose from the same samples, in as many sets and updates, and "
        "restart as often. share of exact: of what a speaker and a listener name who know all patterns and reason "
        "about each other without sampling.",
    ),
)
