"""A world as a seat of the game: who sits there says what comes of each act.

    world   {"look": TASK}          ->  {"shown": "Home. ...", "choices": ["open cup", ...]}
    agent   Buy two cups. Home. ...  ->  open cup
    world   open cup                 ->  {"shown": "cup, 3 coins.", ...}
    ...
    world   {"assess": "order"}      ->  {"score": 1.0, ...}

A real world sits there as `worlds.embodied.Embodied`, a recorded one as `worlds.embodied.played_back`; a policy that
learns to predict a world speaks plain text, and so does a learner that plays its own. The agent is shown the same as in
`games.acting`. What the world says is another player's, so that no learner is trained on it unless it sits there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import isfinite, nan
from random import Random
from typing import Any

from redqueen.games.acting import AGENT, after_act, first_view, outcome_of_acts
from redqueen.games.talk import GAME, ask, check_window, recent, told
from redqueen.protocols import FINITE, Play, World, shaped
from redqueen.records import plain, task_to_json
from redqueen.texts import is_deep
from redqueen.types import Assessment, Damaged, Message, Observation, Outcome, RedQueenError, Seat, Task

WORLD = "world"  # the role of the seat that says what comes of an act
LOOK, ASSESS = "look", "assess"


@dataclass(frozen=True)
class Hosted:
    """An agent and a world, at most `acts` acts of the agent; with a `window` it is shown its last turns alone. The
    world is told all.

    The agent's score is what the world says at the end; where that is no assessment, the verdict is unknown and the
    score 0. Facts as in `games.acting.Acting`, and `right`, None where the verdict is unknown.
    """

    world: World = field(repr=False)  # the tasks alone are its own; what it shows is said by the seat
    acts: int = 12
    window: int = 0  # turns that the agent is shown; 0 is all

    def __post_init__(self) -> None:
        if self.acts < 1:
            raise RedQueenError(f"who acts in a world needs at least one act, not {self.acts}")
        check_window(self.window)

    @property
    def name(self) -> str:
        return f"hosted:{self.world.name}"

    @property
    def roles(self) -> tuple[str, ...]:
        return (AGENT, WORLD)

    def tasks(self) -> Sequence[Task]:
        return self.world.tasks()

    def play(self, task: Task, rng: Random) -> Play:
        agent, host, said = Seat(AGENT), Seat(WORLD), list[str]()
        asked = told(json.dumps({LOOK: task_to_json(task)}))
        answer = yield from ask(host, asked)
        views = [read_observation(answer)]
        messages = first_view(task, views[0])
        while not views[-1].over and len(said) < self.acts:
            said.append((yield from ask(agent, recent(messages, agent, self.window), views[-1].choices)))
            asked = (*asked, Message(str(host), answer), Message(str(agent), said[-1]))
            answer = yield from ask(host, asked)
            views.append(read_observation(answer))
            messages = after_act(messages, agent, said[-1], views[-1])
        last = said[-1] if said else ""
        asked = (*asked, Message(str(host), answer), Message(GAME, json.dumps({ASSESS: last})))
        found = read_assessment((yield from ask(host, asked)))
        known = isfinite(found.score)
        outcome = outcome_of_acts(agent, said, views, found if known else Assessment(0.0), [host], self.window)
        return Outcome(outcome.scores, {**outcome.facts, "right": found.score == 1.0 if known else None})


def observation_as_json(view: Observation) -> str:
    """What a real world says after an act."""
    return json.dumps(plain(asdict(view)))


def assessment_as_json(found: Assessment) -> str:
    """What a real world says at the end."""
    return json.dumps(plain(asdict(found)))


def read_observation(text: str) -> Observation:
    """The observation that a world said: JSON with "shown", or else plain text, of which all is shown."""
    data = _object(text)
    try:
        shaped(data, {"shown": str, "choices?": [str], "over?": bool, "gain?": FINITE}, "an observation")
    except Damaged:
        return Observation(text.strip() or "Nothing is seen.")
    choices = tuple(dict.fromkeys(each.strip() for each in data.get("choices", ()) if each.strip()))
    return Observation(data["shown"] or "Nothing is seen.", choices, data.get("over", False), data.get("gain", 0.0))


def read_assessment(text: str) -> Assessment:
    """The assessment that a world said, JSON with "score"; its score is NaN where the text holds none."""
    data = _object(text)
    try:
        shaped(data, {"score": FINITE, "parts?": {...: FINITE}, "facts?": dict}, "an assessment")
    except Damaged:
        return Assessment(nan)
    return Assessment(float(data["score"]), data.get("parts", {}), data.get("facts", {}))


def _object(text: str) -> Mapping[str, Any]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) and not is_deep(data) else {}
