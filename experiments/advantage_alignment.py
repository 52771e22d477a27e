"""Advantage alignment beside the naive policy gradient: the memory-one dilemma, Trust-and-Split, and negotiation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from random import Random

import numpy as np

from redqueen.games.iterated_dilemma import COOPERATE, DEFECT
from redqueen.games.last_round import LastRound
from redqueen.play.lockstep import play
from redqueen.players.scripted import Scripted
from redqueen.protocols import Policy
from redqueen.recipes.games.advantage_alignment import recipe as advantage_alignment
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Experiment, Training, versus
from redqueen.types import Match, Metrics

SHARING = "redqueen.games.trust_and_split:TrustAndSplit:unit=10,listed=true,remember=false"
TRADING = "negotiation:compare=false,listed=true,remember=false,deals=1,moves=6"
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


def read_from_table(learner: Policy, seed: int) -> Metrics:
    chances = chances_to_cooperate(learner).items()
    return {f"C AFTER {mine[0]}{other[0]}".upper(): value for (mine, other), value in chances}


VARIANTS = {"advantage alignment": {}, "naive": {"beta": 0.0}}
MET = ("self_play/score", "against_greedy/score", "against_greedy/other", "against_kind/score")
DILEMMA = Experiment(
    title="Iterated dilemma, tabular",
    asked="Do two who align their advantages cooperate where the naive gradient defects, and punish a defector?",
    trial=Training(advantage_alignment.train, read=read_from_table),
    config=advantage_alignment.Config(steps=200),
    variants=VARIANTS,
    figures=("self_play/cooperate", *(f"C AFTER {mine[0]}{other[0]}".upper() for mine, other in PAIRS), *MET),
    compared=versus("advantage alignment", ("naive",), ("self_play/cooperate", "self_play/score")),
    controls=("naive",),
    notes=(
        "Ten rounds, 3 points each for cooperating and 1 for defecting. C AFTER CD: the chance to cooperate after "
        "cooperating with one who defected, from the table. Who always defects gains 14 from one who is betrayed in "
        "the first round alone.",
    ),
)
SHARING_COINS = Experiment(
    title="Trust-and-Split, tabular",
    asked="Do two who align their advantages leave the coins to whom they are worth more?",
    trial=Training(advantage_alignment.train),
    config=advantage_alignment.Config(
        Learner(learning_rate=100.0),
        SHARING,
        steps=400,
        matches_per_step=128,
        attempts=8,
        beta=2.0,
        discount=0.96,
        scale=100.0,
        entropy=0.0,
    ),
    variants=VARIANTS,
    figures=MET,
    compared=versus("advantage alignment", ("naive",), ("self_play/score",)),
    controls=("naive",),
    notes=("Two who claim everything gain 275 each, two who leave all to the upper hand 500.",),
)
TRADES = replace(
    SHARING_COINS,
    title="Negotiation, tabular",
    asked="Do two who align their advantages find trades that are good for both, and give less away to the greedy?",
    config=replace(SHARING_COINS.config, game=TRADING, steps=60, matches_per_step=64, attempts=32, beta=1.0),
    compared=versus("advantage alignment", ("naive",), ("self_play/score", "against_greedy/score")),
    seeds=5,
    notes=(
        "One deal, and the same with the seats exchanged; three moves each; offers of 1 or 5 for 1 or 5 are listed, "
        "and a seat is shown what is held and the open offer. A score is the mean profit of a seat; a round is a move "
        "of each. Who is greedy always offers 1 for 5 and never accepts; who is kind accepts whatever is offered, else "
        "offers 5 for 1.",
    ),
)
