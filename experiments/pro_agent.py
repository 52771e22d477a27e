"""ProAgent in a kitchen: whether a belief about a partner that nobody knows is worth soup; nothing of it is trained."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Literal

import numpy as np

from redqueen.games.cooks import KINDS, Cook, Planner, view_of
from redqueen.games.mini_kitchen import SEATS, MiniKitchen
from redqueen.games.proactive import Proactive, accuracy_of
from redqueen.play.lockstep import play
from redqueen.protocols import Player
from redqueen.recipes.games.marft import recipe as marft
from redqueen.runs.run import Run, Schedule
from redqueen.trials.experiment import Experiment, Measuring, versus
from redqueen.types import Ask, Match, Message, Metrics, Reply, mean_of

PROACTIVE, FIXED, ALONE, STRANGER, SELF_PLAY = (
    "belief, corrected",
    "belief, not corrected",
    "no belief",
    "belief about another",
    "trained by self-play",
)


@dataclass(frozen=True)
class Asked:
    """Who cooks with each of the five partners, in how many matches, and how the one by self-play is trained."""

    player: Literal["proactive", "fixed", "alone", "stranger", "self_play"] = "proactive"
    matches: int = 20  # with each partner
    slips: float = 0.1  # of the partners
    steps: int = 100
    matches_per_step: int = 16


@dataclass(frozen=True)
class Stranger:
    """A planner whose belief is about a cook of another kind than its partner."""

    kind: str
    name: str = "stranger"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        told = [f" You believe that your partner's next skill is {KINDS[self.kind](view_of(a).turned)}." for a in asks]
        return Planner().reply([_with(ask, ask.messages[0].text + text) for ask, text in zip(asks, told, strict=True)])


@dataclass(frozen=True)
class Forgetful:
    """A player that was trained without remembering, shown the last thing that each cook did."""

    player: Player
    name: str = "forgetful"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return self.player.reply([_with(ask, _last(ask.messages[0].text)) for ask in asks])


def _with(ask: Ask, text: str) -> Ask:
    return replace(ask, messages=(Message(ask.messages[0].speaker, text), *ask.messages[1:]))


def _last(text: str) -> str:
    text = re.sub(r"^Step .*? served\. ", "", text)
    return re.sub(r"(did: )(?:[^.]*, )?([^.,]*\.)", r"\1\2", text)


def trained(config: Asked, seed: int) -> Player:
    """A cook that learned in the first seat with another one that learned beside it."""
    settings = marft.Config(
        game="mini_kitchen:remember=false,horizon=60", steps=config.steps, matches_per_step=config.matches_per_step
    )
    with tempfile.TemporaryDirectory() as folder:
        schedule = Schedule(evaluate_every=10**6, checkpoint_every=10**6, record_episodes=0)
        return Forgetful(marft.train(settings, Run(Path(folder), seed, schedule)))


def measured(config: Asked, seed: int) -> Metrics:
    """The soups of a match with each of five partners, their mean, and the share of the partner's next skills that was
    predicted as by a corrected belief."""
    game, rng = MiniKitchen(), Random(seed)
    kinds = list(KINDS)
    learned = trained(config, seed) if config.player == "self_play" else None
    found: dict[str, float] = {}
    known = []
    for number, kind in enumerate(kinds):
        players: dict[str, Player] = {
            "proactive": Proactive(Planner()),
            "fixed": Proactive(Planner(), remembers=0),
            "alone": Proactive(Planner(), belief=False),
            "stranger": Stranger(kinds[(number + 1) % len(kinds)]),
        }
        cast = {"first": learned or players[config.player], "second": Cook(kind, config.slips)}
        episodes = play([Match(game, game.tasks()[0], cast)] * config.matches, rng)
        found[f"soups/{kind}"] = mean_of(each.outcome.scores[SEATS[0]] for each in episodes)
        remembers = 0 if config.player == "fixed" else 3
        for each in episodes:
            own = [turn for turn in each.turns if turn.ask.seat == SEATS[0]]
            known.append(accuracy_of(own, each.outcome.facts["history"][1], remembers))
    found["soups"] = float(np.mean([found[f"soups/{kind}"] for kind in kinds]))
    return dict(found | {"predicted": float(np.nanmean(known))})


KITCHEN = Experiment(
    title="Five partners who were never met, a planner by rule",
    asked="Does a belief about the partner bring more soup than a plan without one, and is it right?",
    trial=Measuring(measured),
    config=Asked(),
    variants={
        PROACTIVE: {},
        FIXED: {"player": "fixed"},
        ALONE: {"player": "alone"},
        STRANGER: {"player": "stranger"},
        SELF_PLAY: {"player": "self_play"},
    },
    figures=("soups", "predicted", *(f"soups/{kind}" for kind in KINDS)),
    compared=(
        *versus(PROACTIVE, (ALONE, FIXED, STRANGER, SELF_PLAY), ("soups",)),
        *versus(PROACTIVE, (FIXED,), ("predicted",)),
    ),
    controls=(ALONE, STRANGER),
    seeds=5,
    notes=(
        "Twenty matches of 120 steps with each partner, who takes another possible skill in a tenth of its choices. "
        "predicted: of the partner's next skills, by a belief that is corrected (three corrections at most), which the "
        "planner is shown or not. trained by self-play: a pair of tables by marft, of matches of 60 steps, in the seat "
        "in which it learned. The planner is a rule: no model planned here.",
    ),
)
