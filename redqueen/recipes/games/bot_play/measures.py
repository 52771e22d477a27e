"""How many wanted items are found in ten turns, with critiques and without, and what is said of items that is true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

from redqueen.chance import derive
from redqueen.credit.rewards import spoken_turns
from redqueen.curricula.dealt import Enumerated
from redqueen.games.critique import EXPERT
from redqueen.games.talk import number_of
from redqueen.play.lockstep import play
from redqueen.protocols import Player, State
from redqueen.recipes.games.bot_play.steps import Bots, Counting, whole_turns
from redqueen.types import Basis, Episode, Match, Metrics, Turn, mean_of

TURNS = 10


class Found:
    """Of talks of ten turns with the same seeds at every measurement, about held-out tasks (or all, where none is held
    out): `found`, the share in which the wanted item is recommended; `recommendations` of a talk; `true_aspects`, the
    share of what is said of items that is true. The expert is told what was refused, whether or not it is in training.
    `other_seeker/` the same with the seeker of the other rule (at random for the most popular), `unheard/` where the
    expert is not told."""

    def __init__(self, bots: Bots, matches: int = 200, seed: int = 0) -> None:
        self._bots, self._seed = bots, seed
        tasks = bots.game.held_out() or bots.game.tasks()
        self._tasks = Enumerated(tasks).draw(matches, Random(derive(seed, "tasks")))
        self._rules: dict[str, Any] = {"turns": min(TURNS, bots.game.items), "heard": True}
        self._counting = _share(self._played(self._matches(Counting(bots.game))))

    def __call__(self) -> Metrics:
        own = self._played(self._matches(None))
        other = self._played(self._matches(None, self._bots.other))
        unheard = self._played(self._bots.matches(self._tasks, **{**self._rules, "heard": False}))
        aspects = [
            number_of(turn.reply.text.strip()) in self._bots.game.true[number_of(item)]
            for each in (*own, *other)
            for item, turn in _said_of(each, self._bots.game.shown)
        ]
        return {
            "found": _share(own),
            "recommendations": mean_of(len(each.outcome.facts["recommended"]) for each in own),
            **({"true_aspects": mean_of(aspects)} if aspects else {}),
            "other_seeker/found": _share(other),
            "unheard/found": _share(unheard),
        }

    def _matches(self, expert: Player | None, seeker: Player | None = None) -> list[Match]:
        return self._bots.matches(self._tasks, expert, seeker, **self._rules)

    def _played(self, matches: Sequence[Match]) -> list[Episode]:
        return play(matches, Random(derive(self._seed, "matches")))

    def basis(self) -> dict[str, Basis]:
        talks = Basis(count=len(self._tasks), of="games")
        found = dict.fromkeys(("recommendations", "true_aspects", "other_seeker/found", "unheard/found"), talks)
        return found | {"found": replace(talks, references={"likes and critiques added up": self._counting})}

    def limit(self, replies: int) -> None:
        """A task counts as the replies of the expert in three talks."""
        if replies:
            a_task = 3 * self._rules["turns"] * (1 + self._bots.game.shown)
            self._tasks = self._tasks[: max(replies // a_task, 1)]

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None


def _share(episodes: Sequence[Episode]) -> float:
    return mean_of(each.outcome.facts["found"] for each in episodes)


def _said_of(episode: Episode, shown: int) -> list[tuple[str, Turn]]:
    """Each aspect that the expert named in whole turns, with the item that it recommended."""
    whole = whole_turns(spoken_turns(episode)[EXPERT], shown)
    return [(first.reply.text.strip(), each) for first, *others in whole for each in others]
