"""Exact values that are known: uniform play in three games, and what a win rate does not show in Kuhn poker."""

from __future__ import annotations

import numpy as np

from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.games.leduc_poker import LeducPoker
from redqueen.games.liars_dice import LiarsDice
from redqueen.measures.exact.exploitability import GameTree
from redqueen.measures.exact.known_equilibria import honest_kuhn, kuhn_equilibrium
from redqueen.players.scripted import Uniform
from redqueen.trials.experiment import Made, Rows, Table


def uniform(repeats: int) -> Made:
    """Returns the NashConv of uniform play in games where it is known."""
    known = ((KuhnPoker(), 0.9167), (LeducPoker(), 4.7472), (LiarsDice(sides=4), 1.3101))
    rows: Rows = []
    for game, published in known:
        tree = GameTree(game)
        found = tree.nash_conv(tree.strategy(Uniform()))
        rows.append((game.name, str(len(tree.states)), f"{found:.4f}", f"{published:.4f}"))
    return ("game", "information states", "NashConv", "known"), rows, ""


def against_an_equilibrium(repeats: int) -> Made:
    """Returns exact scores against an equilibrium player, and NashConv."""
    tree = GameTree(KuhnPoker())
    equilibrium = tree.strategy(kuhn_equilibrium(0.0))
    rows: Rows = []
    for name, player in (("uniform", Uniform()), ("honest", honest_kuhn()), ("equilibrium", kuhn_equilibrium(0.0))):
        own = tree.strategy(player)
        scores = []
        for number, seat in enumerate(tree.seats):
            mixed = {ask: (own if ask.seat == seat else equilibrium)[ask] for ask in tree.states}
            scores.append(float(tree.values(mixed)[number]))
        rows.append((name, f"{np.mean(scores):+.4f}", f"{tree.nash_conv(own):.4f}"))
    note = "The honest player bets and calls with the king only; an equilibrium player does not punish it."
    return ("player", "score against an equilibrium, both seats", "NashConv"), rows, note


CONSTANTS = Table("Uniform play", "Are the measures of exploitability those that are known?", uniform)
HEAD_TO_HEAD = Table(
    "Kuhn poker, exact", "Does a score against an equilibrium show how exploitable a player is?", against_an_equilibrium
)
