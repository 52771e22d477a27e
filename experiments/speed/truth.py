"""How long exact measures take: finding the histories of a game, a NashConv, and what a language model says in every
information state."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch

from experiments.speed.model import in_turns
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.games.leduc_poker import LeducPoker
from redqueen.games.liars_dice import LiarsDice
from redqueen.measures.exact.exploitability import GameTree
from redqueen.players.transformer.loading import EMBEDDED, load_model
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.players.transformer.trie import merge
from redqueen.trials.experiment import Made, Rows, Table


def trees(repeats: int) -> Made:
    """Seconds of finding all histories, and of a NashConv."""
    rows: Rows = []
    for game in (KuhnPoker(), LeducPoker(), LiarsDice(sides=4), LiarsDice()):
        tree = GameTree(game)
        rng = np.random.default_rng(0)
        strategy = {ask: rng.dirichlet(np.ones(len(ask.choices))) for ask in tree.states}
        finding, measuring = in_turns(repeats, partial(GameTree, game), partial(tree.nash_conv, strategy))
        rows.append((game.name, f"{len(tree.states):,}", f"{finding:.2f}", f"{1e3 * measuring:.1f}"))
    return ("game", "information states", "histories, s", "NashConv, ms"), rows, "One process, one core."


def models(repeats: int) -> Made:
    """Seconds of a language model's probabilities in every information state, and tokens a second."""
    rows: Rows = []
    policy = TransformerPolicy(load_model(EMBEDDED, torch.float32, "cpu"), learns=False)
    for game in (KuhnPoker(), LeducPoker()):
        tree = GameTree(game)

        def read(tree: GameTree) -> None:
            policy.forget()
            tree.strategy(policy)

        (seconds,) = in_turns(repeats, partial(read, tree))
        tokens = len(merge([policy.prompt(ask).tolist() for ask in tree.states])[0])
        rows.append((game.name, f"{len(tree.states):,}", f"{tokens:,}", f"{seconds:.2f}", f"{tokens / seconds:.0f}"))
    headings = ("game", "information states", "distinct tokens of prompts", "s", "tokens/s")
    return headings, rows, "SmolLM2-135M, float32."


TREES = Table("Trees", "How long do exact measures of a strategy take?", trees)
MODELS = Table("Language models", "How long does a language model take to say what it plays in every state?", models)
