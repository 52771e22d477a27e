"""The words that name a player on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

PLAYERS: Mapping[str, str] = MappingProxyType(
    {
        "uniform": "each legal reply equally often",
        "minimax": "perfect play in board games such as tic_tac_toe",
        "equilibrium": "an equilibrium of kuhn_poker",
        "honest": "kuhn_poker without bluffs: bets and calls with the king only",
        "proactive": "plans in mini_kitchen with what it believes that its partner will do next",
        "cook:KIND": "cooks in mini_kitchen by a rule: greedy, idle, blocker, dishes or onions",
        "RUN": "the policy of a run, outputs/spiral-0; RUN@STEP for an older checkpoint, RUN@best for the best",
        "world:WORLD": "a world in the seat `world` of hosted:WORLD",
        "http://HOST/v1#MODEL": "a model behind an OpenAI-compatible endpoint",
    }
)
