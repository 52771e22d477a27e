"""Who writes STARLING's quests, and which of them are practised (2406.05872)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from redqueen.credit.outcomes import whole_reply
from redqueen.curricula.refused import refused_shares
from redqueen.games.quests import Quest, drawn, form, limited, quest_in, quest_of, shortest, task_of, to_json
from redqueen.measures.alarms import Alarm, Alarms
from redqueen.play.groups import episodes_of
from redqueen.protocols import State, shaped
from redqueen.schedules import linear
from redqueen.types import Ask, Group, Mean, Metrics, RedQueenError, Reply, Task

IDEAS = (
    *("cook a soup", "repair a boat", "open a vault", "grow a flower", "light a beacon", "wake a dragon"),
    *("send a letter", "forge a sword", "cross a river", "bake bread", "brew a potion", "find the heir"),
    *("fix a clock", "clean a stable", "catch a ghost", "build a kite", "free a bird", "draw a map"),
    *("tune a harp", "heal a king", "paint a fence", "mend a net", "ring the bell", "fill a well", "sew a coat"),
)
EXAMPLE = {
    "places": ["hall", "kitchen", "cellar"],
    "doors": [["hall", "kitchen"], ["hall", "cellar"]],
    "things": {"key": "kitchen", "chest": "cellar"},
    "fixed": ["chest"],
    "rules": [{"use": "key", "with": "chest", "at": "cellar", "gives": "open chest"}],
    "start": "hall",
    "goal": "open chest",
    "limit": 8,
}
REQUEST = (
    "Write a small text game as one JSON object. Somebody walks between places through doors, takes things that are "
    "not fixed, and uses one thing with another at a place, which gives a new thing. The goal is a thing that a rule "
    "gives, to be had within the limit of moves. At most 8 places, 8 things and 6 rules; each name is its own. For "
    "example:\n{example}\nThe idea of your game: {idea}. Answer with the JSON object alone."
)
FEW = Alarm(
    "no_quest_can_be_won",
    "proved",
    "of {posed:.0f} specifications so far none can be practised ({why}): prompts by `redqueen prompts starling`, or "
    "--author drawn",
    limit=1e-9,
    steps=3,
    below=True,
)


@dataclass(frozen=True)
class Template:
    """A player that writes a quest of so many `rules` by a template, whatever it is asked."""

    rules: int
    name: str = "template"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        written = (drawn(Random(ask.seed), self.rules) for ask in asks)
        return [Reply(json.dumps(to_json(quest)), self.name) for quest in written]


class Practice:
    """The quests that are practised: written ones that an engine wins, no two of one form, none of the form of a
    held-out task. Raises RedQueenError for held-out tasks that are no quests."""

    def __init__(self, config: Any, tests: Sequence[Task]) -> None:
        if not all("quest" in task.facts for task in tests):
            raise RedQueenError(
                f"practice is of quests, which the game {config.game} does not play: --game quests, or quests:steps=3"
            )
        self._config = config
        self._quests: dict[str, Task] = {}  # by form
        self._held_out = {form(limited(quest_in(task), 0)) for task in tests}
        self._refused = Counter[str]()
        self._posed = 0
        self._alarms = Alarms([FEW], quiet=True)
        self._drawn = 0

    def invited(self, count: int, rng: Random) -> list[Task]:
        """Requests for `count` more specifications, each with an idea; none once enough are kept."""
        if len(self._quests) >= self._config.practice:
            return []
        ideas = [rng.choice(IDEAS) for _ in range(count)]
        texts = [REQUEST.format(example=json.dumps(EXAMPLE), idea=idea) for idea in ideas]
        return [Task(f"idea {self._posed + place}", "quest", text) for place, text in enumerate(texts)]

    def add(self, proposals: Sequence[Group]) -> None:
        """Keeps what can be practised, up to the number that is wanted."""
        for episode in episodes_of(proposals):
            self._posed += 1
            if reason := self._taken(whole_reply(episode)):
                self._refused[reason] += 1

    def _taken(self, text: str) -> str:
        """Takes the quest of a reply in; the word for why not."""
        try:
            quest = quest_of(between_braces(text))
        except RedQueenError:
            return "malformed"
        name = form(limited(quest, 0))
        why = refusal(quest, self._config.fewest, {*self._quests, *self._held_out})
        if why and (self._config.proof or why == "duplicate"):
            return "held out" if name in self._held_out else why
        if len(self._quests) >= self._config.practice:
            return "more than wanted"
        self._quests[name] = task_of(quest, f"practice {name}")
        return ""

    def draw(self, count: int, step: int, steps: int, rng: Random) -> list[Task]:
        """The quests of a step of `count` tasks in which practice has its share in a run of so many `steps`; none where
        none are kept."""
        last = self._config.practice_end * steps
        share = linear(1.0, 0.0, min(step / last, 1.0)) if last else 0.0
        held = list(self._quests.values())
        self._drawn = round(share * count) if held else 0
        return rng.choices(held, k=self._drawn) if self._drawn else []

    def metrics(self, groups: Sequence[Group]) -> Metrics:
        """The share of practice in the step and of its attempts that won; of all specifications so far how many are
        practised, and the share that was refused, by reason."""
        found: Metrics = {"practised": Mean(self._drawn / max(len(groups), 1), len(groups))}
        won = [float(each.outcome.scores[each.seats[0]]) for each in episodes_of(groups[: self._drawn])]
        found |= {"practice_won": Mean(sum(won) / len(won), len(won))} if won else {}
        if not self._posed:
            return found
        kept = Mean(len(self._quests) / self._posed, self._posed)
        shares, why = refused_shares(self._refused, self._posed)
        said = self._alarms.observe({"proved": kept, "posed": float(self._posed), "why": why})
        return found | {"proved": kept, "tasks/practice": float(len(self._quests))} | shares | said

    def alarms(self) -> list[str]:
        return self._alarms.alarms()

    def state(self) -> State:
        return {
            "quests": {name: task.facts["quest"] for name, task in self._quests.items()},
            "refused": dict(self._refused),
            "posed": self._posed,
            "alarms": self._alarms.state(),
        }

    def restore(self, state: State) -> None:
        shaped(state, {"quests": {...: str}, "refused": {...: int}, "posed": int, "alarms": dict}, "the practice: ")
        self._quests = {name: task_of(quest_of(text), f"practice {name}") for name, text in state["quests"].items()}
        self._refused, self._posed = Counter(state["refused"]), state["posed"]
        self._alarms.restore(state["alarms"])


def refusal(quest: Quest, fewest: int, known: Collection[str]) -> str:
    """Why a quest is not worth playing: "unsolvable", "trivial" where fewer than `fewest` moves win, "duplicate" where
    its form is among the `known`; "" if it is worth it."""
    way = shortest(quest)
    if way is None:
        return "unsolvable"
    if len(way) < fewest:
        return "trivial"
    return "duplicate" if form(limited(quest, 0)) in known else ""


def between_braces(text: str) -> str:
    """From the first opening brace of a reply to its last closing one, so that prose around an object is passed over;
    the reply where there is no such pair."""
    start, end = text.find("{"), text.rfind("}")
    return text[start : end + 1] if 0 <= start < end else text
