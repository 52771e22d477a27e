"""Bot play in a catalogue of items: own talks beside ratings alone, critiques heard or not, by one rule or another."""

from __future__ import annotations

from typing import Any

from redqueen.recipes.games.bot_play import recipe
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Difference, Experiment, Training, versus

TALKS, RATINGS, UNHEARD, RANDOM, RELEASED = (
    "own talks",
    "ratings alone",
    "critiques unheard",
    "a seeker at random",
    "aspects of the wanted item",
)
FOUND, WITHOUT, OTHER, TRUE = "found", "unheard/found", "other_seeker/found", "true_aspects"
COMPARED = (
    *versus(TALKS, (RATINGS, UNHEARD), (FOUND, OTHER)),
    Difference(TALKS, RATINGS, FOUND, WITHOUT),
    Difference(TALKS, TALKS, FOUND, WITHOUT),
    Difference(RANDOM, RATINGS, FOUND, WITHOUT),
    *versus(TALKS, (RANDOM,), (FOUND, OTHER)),
    *versus(TALKS, (RELEASED,), (TRUE,)),
)
FIGURES = (FOUND, OTHER, WITHOUT, "recommendations", TRUE)
ASKED = "Is more found in ten turns after bot play than before, under another rule too, and is what is said true?"
NOTE = (
    "Four rounds, the first of which is before the talks: ratings alone goes on with that. critiques unheard plays as "
    "many talks and is taught the same targets, but is not told what was refused; it is measured where it is told, as "
    "all are, and where none are (unheard/found). other_seeker: critiques at random, for the variant with a seeker at "
    "random the most popular wrong aspect."
)


def variants(updates: int, game: str) -> dict[str, dict[str, Any]]:
    """The variants of trainings with so many `updates` in this game."""
    return {
        TALKS: {},
        RATINGS: {"updates": updates, "tasks": 2048},
        UNHEARD: {"game": f"{game},heard=false"},
        RANDOM: {"seeker": "random"},
        RELEASED: {"aspects": "wanted"},
    }


TABLE = Experiment(
    title="24 items, 8 aspects, tables",
    asked=ASKED,
    trial=Training(recipe.train, evaluate_every=40),
    config=recipe.Config(),
    variants=variants(160, "critique:remember=false"),
    figures=FIGURES,
    compared=COMPARED,
    controls=(RATINGS, UNHEARD),
    seeds=5,
    notes=(NOTE,),
)
TINY = "critique:items=60,aspects=12,remember=false"
HELD_OUT = Experiment(
    title="60 items, 12 aspects, tiny transformers, wishes held out",
    asked=ASKED,
    trial=Training(recipe.train, evaluate_every=60),
    config=recipe.Config(
        Learner(model="tiny:hidden=64,layers=2", learning_rate=2e-3),
        TINY,
        steps=240,
        updates=60,
        replies_per_update=128,
        measured=128,
    ),
    variants=variants(240, TINY),
    figures=FIGURES,
    compared=COMPARED,
    controls=(RATINGS, UNHEARD),
    seeds=5,
    notes=(NOTE, "512 pairs of a wanted item and two of its aspects are talked about, 128 others measure."),
)
