"""Games in files: `--game tree:game.json` (games/tree.py says how it is written) and `--game tree:game.efg`, Gambit's
extensive form, which OpenSpiel reads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from redqueen.games.tree import Tree, from_json
from redqueen.types import RedQueenError

NUMBERS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


def tree(path: str) -> Tree:
    """The game in the file at `path`, by its ending."""
    return from_efg(Path(path)) if path.endswith(".efg") else from_json(Path(path))


def from_efg(path: Path) -> Tree:
    """The game in a file of Gambit's extensive form. A seat is told the number of its information set and what it did
    before. Raises RedQueenError with one line for a file that OpenSpiel does not read."""
    try:
        import pyspiel
    except ImportError:
        raise RedQueenError("files of Gambit need OpenSpiel: pip install 'redqueen[games]'") from None
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise RedQueenError(f"the tree {str(path)!r} cannot be read: {error}") from error
    if not text.lstrip().startswith("EFG 2 R"):
        raise RedQueenError(f"{str(path)!r} is no extensive form of Gambit, which begins with EFG 2 R")
    try:
        game = pyspiel.load_efg_game(text)
    except Exception as error:  # of C++
        raise RedQueenError(f"OpenSpiel does not read {str(path)!r}: {' '.join(str(error).split())[:200]}") from error
    if game.num_players() > len(NUMBERS):
        raise RedQueenError(f"{str(path)!r} is played by {game.num_players()}; at most {len(NUMBERS)} are taken")
    roles = NUMBERS[: game.num_players()]
    return Tree(path.stem, roles, _node(game.new_initial_state(), roles, {}))


def _node(state: Any, roles: tuple[str, ...], did: Mapping[int, tuple[str, ...]]) -> dict[str, Any]:
    """The node of a state of OpenSpiel; `did` holds what each player chose on the way to it."""
    if state.is_terminal():
        return {"scores": dict(zip(roles, map(float, state.returns()), strict=True))}
    if state.is_chance_node():
        outcomes = [{"p": p, "then": _node(state.child(each), roles, did)} for each, p in state.chance_outcomes()]
        return {"chance": "", "outcomes": outcomes}
    player = state.current_player()
    before = f" You chose {', '.join(did[player])} before." if player in did else ""
    choices = {}
    for action in state.legal_actions():
        name = state.action_to_string(player, action).strip() or str(action)
        choices[name] = _node(state.child(action), roles, {**did, player: (*did.get(player, ()), name)})
    information = state.information_state_string(player)
    return {"role": roles[player], "state": f"Your information set is {information}.{before}", "choices": choices}
