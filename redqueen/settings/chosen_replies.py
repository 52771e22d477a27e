"""Whether the replies of a recipe are all chosen from lists."""

from __future__ import annotations

from typing import Any

from redqueen.measures.of_games import all_list_choices
from redqueen.settings.learner import Learner


def lists_replies(config: Any) -> bool:
    """Whether all replies of a recipe are chosen from lists: those of its `game`, its `games` and `also`, or whatever
    they are where it says `listed = True` beside `paper`. Not where the learner writes in an `--answer` format, and not
    where a game cannot be had, which the recipe says itself."""
    learner = vars(config).get("learner", Learner())
    if learner.answer or learner.solver.answer:
        return False
    if vars(type(config)).get("listed", False):
        return True
    own = vars(config)
    names = [name for name in (own.get("game"), *own.get("games", ()), *own.get("also", ())) if name]
    return bool(names) and all_list_choices(names)
