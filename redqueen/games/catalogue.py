"""Finding a game by its name: those shipped, those of OpenSpiel and TextArena, and the user's own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, cast

from redqueen.catalogue import Catalogue, in_brackets
from redqueen.protocols import Game, lacking
from redqueen.types import RedQueenError

GAMES: Mapping[str, str] = MappingProxyType(
    {
        "kuhn_poker": "redqueen.games.kuhn_poker:KuhnPoker",
        "leduc_poker": "redqueen.games.leduc_poker:LeducPoker",
        "liars_dice": "redqueen.games.liars_dice:LiarsDice",
        "tic_tac_toe": "redqueen.games.tic_tac_toe:TicTacToe",
        "connect": "redqueen.games.connect:Connect",
        "negotiation": "redqueen.games.negotiation:Negotiation",
        "iterated_dilemma": "redqueen.games.iterated_dilemma:IteratedDilemma",
        "mini_hanabi": "redqueen.games.mini_hanabi:MiniHanabi",
        "trust_and_split": "redqueen.games.trust_and_split:TrustAndSplit",
        "corridor": "redqueen.games.corridor:Corridor",
        "quests": "redqueen.games.quests:Quests",
        "by_example": "redqueen.games.by_example:ByExample",
        "relay": "redqueen.games.relay:Relay",
        "odd_one_out": "redqueen.games.odd_one_out:OddOneOut",
        "price_talk": "redqueen.games.price_talk:PriceTalk",
        "interpreting": "redqueen.games.interpreting:Interpreting",
        "signalling": "redqueen.games.signalling:Signalling",
        "ultimatum": "redqueen.games.ultimatum:Ultimatum",
        "public_goods": "redqueen.games.public_goods:PublicGoods",
        "stag_hunt": "redqueen.games.stag_hunt:StagHunt",
        "hidden_state": "redqueen.games.hidden_state:HiddenState",
        "critique": "redqueen.games.critique:Critique",
        "mini_kitchen": "redqueen.games.mini_kitchen:MiniKitchen",
        "volley": "redqueen.games.volley:Volley",
    }
)
ADAPTERS: Mapping[str, str] = MappingProxyType(
    {
        "single_reply": "redqueen.games.single_reply:SingleReply",
        "second_try": "redqueen.games.second_try:SecondTry",
        "last_round": "redqueen.games.last_round:LastRound",
        "acting": "redqueen.worlds.catalogue:acting",
        "working": "redqueen.worlds.catalogue:working",
        "hosted": "redqueen.worlds.catalogue:hosted",
        "threaded": "redqueen.games.threaded:threaded",
        "red_team": "redqueen.questions.small.red_words:red_team",
        "continued": "redqueen.runs.continued:continued",
        "agent": "redqueen.guests.agents:agent",
        "visited": "redqueen.guests.agents:visited",
        "openspiel": "redqueen.adapters.openspiel:OpenSpiel",
        "tree": "redqueen.adapters.gambit:tree",
        "textarena": "redqueen.adapters.textarena:TextArena",
        "pettingzoo": "redqueen.adapters.guests.others:pettingzoo",
        "verifiers": "redqueen.adapters.guests.others:verifiers_game",
    }
)
_CATALOGUE = Catalogue("game", GAMES, "redqueen.games", ADAPTERS)


def find_game(spec: str) -> Game:
    """The game that `spec` names.

    "kuhn_poker", "liars_dice:sides=4", "connect:7,6,4,drop=true", "openspiel:leduc_poker(players=2)",
    "textarena:TicTacToe-v0,retries=1", "path/to/file.py:MyGame", "some.module:MyGame", or the name of
    an entry point of the group `redqueen.games`; each may be followed by a colon and parameters.
    Raises RedQueenError with one line that says what is wrong.
    """
    return _checked(_CATALOGUE.find(spec), spec)


def spec_of(name: str) -> str:
    """The spec of a game that calls itself "connect(7,6,4,drop=true)", or "connect(7,6,4,drop)" in older records."""
    return in_brackets(re.sub(r",drop\)$", ",drop=true)", name))


def _checked(game: Any, spec: str) -> Game:
    """The object, if it has the attributes and methods of a game."""
    missing = lacking(game, Game)
    if missing:
        raise RedQueenError(f"{spec!r} is not a game: {type(game).__name__} has no {' and no '.join(missing)}")
    if not isinstance(game.name, str):
        raise RedQueenError(f"the name of the game {spec!r} must be a string, not {game.name!r}")
    roles = game.roles
    if not isinstance(roles, tuple) or not roles or not all(isinstance(role, str) for role in roles):
        raise RedQueenError(f"the roles of the game {spec!r} must be a tuple of strings, not {roles!r:.80}")
    for part, method in (("tasks", game.tasks), ("play", game.play)):
        if not callable(method):
            raise RedQueenError(f"{part} of the game {spec!r} must be a method")
    return cast(Game, game)
