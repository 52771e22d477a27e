"""Advantage alignment beside the naive policy gradient: the memory-one dilemma, and Trust-and-Split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from random import Random

import numpy as np
from rich.console import Console

from redqueen.games.iterated_dilemma import COOPERATE, DEFECT
from redqueen.games.last_round import LastRound
from redqueen.measures.intervals import bootstrap_interval
from redqueen.play.lockstep import play
from redqueen.players.scripted import Scripted
from redqueen.protocols import Policy
from redqueen.recipes.games.advantage_alignment import recipe as advantage_alignment
from redqueen.settings.learner import Learner
from redqueen.trials.paired import table, trained
from redqueen.trials.sheets import Bench, Result
from redqueen.types import Match, Metrics

SHARING = "redqueen.games.trust_and_split:TrustAndSplit:unit=10,listed=true,remember=false"
PAIRS = tuple(product((COOPERATE, DEFECT), repeat=2))  # mine, the other's


def chances_to_cooperate(learner: Policy) -> Mapping[tuple[str, str], float]:
    """Of a memory-one strategy, exact, the mean of both seats: after each pair of choices, mine first."""
    game = LastRound(rounds=2)
    found: dict[tuple[str, str], float] = {}
    for mine, theirs in PAIRS:
        asks = []
        for own, other in (("first", "second"), ("second", "first")):
            cast = {own: Scripted((mine, mine)), other: Scripted((theirs, theirs))}
            (episode,) = play([Match(game, game.tasks()[0], cast)], Random(0))
            asks += [turn.ask for turn in episode.turns[2:] if turn.ask.seat.role == own]
        chances = [
            float(row[ask.choices.index(COOPERATE)]) for ask, row in zip(asks, learner.probabilities(asks), strict=True)
        ]
        found[mine, theirs] = float(np.mean(chances))
    return found


def read_from_table(learner: Policy) -> Metrics:
    chances = chances_to_cooperate(learner).items()
    return {f"C AFTER {mine[0]}{other[0]}".upper(): value for (mine, other), value in chances}


def dilemma(options: Bench, console: Console) -> Result:
    """Ten rounds of the prisoner's dilemma on a table of five states a seat."""
    plain = advantage_alignment.Config(steps=options.steps or 200)
    variants = {"advantage alignment": plain, "naive": replace(plain, beta=0.0)}
    trials = trained("advantage_alignment", variants, options.seeds, console, read=read_from_table)
    figures = (
        "self_play/cooperate",
        *(f"C AFTER {mine[0]}{other[0]}".upper() for mine, other in PAIRS),
        "self_play/score",
        "against_greedy/score",
        "against_greedy/other",
        "against_kind/score",
    )
    note = (
        f"{options.seeds} seeds, {plain.steps} updates of 64 matches of ten rounds (3 points each for cooperating, 1 "
        "for defecting). C AFTER CD: the chance to cooperate after cooperating with one who defected, from the table. "
        "Who always defects gains 14 from one who is betrayed in the first round alone."
    )
    return "Iterated dilemma, tabular", ("variant", *figures), table(trials, figures), note


def sharing(options: Bench, console: Console) -> Result:
    """Trust-and-Split with listed messages, a seat claiming all coins or none, on a table."""
    plain = advantage_alignment.Config(
        Learner(learning_rate=100.0),
        SHARING,
        steps=options.steps or 400,
        matches_per_step=128,
        attempts=8,
        beta=2.0,
        discount=0.96,
        scale=100.0,
        entropy=0.0,
    )
    variants = {"advantage alignment": plain, "naive": replace(plain, beta=0.0)}
    trials = trained("advantage_alignment", variants, options.seeds, console)
    figures = ("self_play/score", "against_greedy/score", "against_greedy/other", "against_kind/score")
    ratio = bootstrap_interval(
        [
            ours.final[figures[0]] / theirs.final[figures[0]]
            for ours, theirs in zip(trials["advantage alignment"], trials["naive"], strict=True)
        ],
        seed=0,
    )
    note = (
        f"Points a seat over ten rounds; {options.seeds} paired seeds, {plain.steps} updates of 128 matches. Two who "
        "claim everything gain 275 each, two who leave all to the upper hand 500. Aligned over naive, in self-play: "
        f"{ratio}."
    )
    return "Trust-and-Split, tabular", ("variant", *figures), table(trials, figures), note
