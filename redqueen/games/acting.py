"""A seat acts in a world until the task is over or its acts are used up.

    game    Buy two cups.                     the task, and the first view
            Home. [open cup] [open pen] [cart]
    agent   open cup
    game    cup, 3 coins. [add] [back]        what came of it
    ...

Where a world lists its acts the seat is held to them. Where it takes free text, an act that makes no sense costs a
turn.

With a `window` the agent is shown its last turns alone, and is told how many are left out. Each of its prompts is then
read anew, and is a row of its own to learn from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from numbers import Real
from random import Random
from typing import Any

from redqueen.games.talk import GAME, ask, check_window, left_out, recent, told
from redqueen.games.tools import Limits, answer_with_tools
from redqueen.protocols import KnowsHow, Play, World, has
from redqueen.types import Assessment, Message, Observation, Outcome, RedQueenError, Seat, Task

AGENT = "agent"  # the role of the seat that acts


@dataclass(frozen=True)
class Acting:
    """The agent says one act at a time and is shown what came of it, at most `acts` times; with a `window`, of its last
    turns alone.

    Its score is that of the final state (`Visit.assess`, with its last act as the answer). Facts: `acts`, what it said;
    `shown`, what it was shown, the first view first; `over`, whether the world ended it; `cut`, whether it did not;
    `parts`; `gains` where the world pays for acts; `turns_left_out`, how many turns its last prompt left out, where it
    did; and those of the assessment.
    """

    world: World = field(repr=False)
    acts: int = 12
    window: int = 0  # turns that are shown; 0 is all

    def __post_init__(self) -> None:
        if self.acts < 1:
            raise RedQueenError(f"who acts in a world needs at least one act, not {self.acts}")
        check_window(self.window)

    @property
    def name(self) -> str:
        return f"acting:{self.world.name}"

    @property
    def roles(self) -> tuple[str, ...]:
        return (AGENT,)

    def tasks(self) -> Sequence[Task]:
        return self.world.tasks()

    def held_out(self) -> Sequence[Task]:
        return self.world.held_out()

    def expert(self, task: Task) -> tuple[str, ...]:
        return shown_by(self.world, task)

    def within(self, turns: int) -> Acting:
        """The same with at most so many acts."""
        return replace(self, acts=turns)

    def play(self, task: Task, rng: Random) -> Play:
        seat, said = Seat(AGENT), list[str]()
        with closing(self.world.open(task, rng.getrandbits(48))) as visit:
            views = [seen(self.world, "look", visit.look())]
            messages = first_view(task, views[0])
            while not views[-1].over and len(said) < self.acts:
                said.append((yield from ask(seat, recent(messages, seat, self.window), views[-1].choices)))
                views.append(seen(self.world, "act", visit.act(said[-1])))
                messages = after_act(messages, seat, said[-1], views[-1])
            found = assessed(self.world, visit.assess(said[-1] if said else ""))
        return outcome_of_acts(seat, said, views, found, window=self.window)


def shown_by(world: World, task: Task) -> tuple[str, ...]:
    """The acts with which a world does its own task. Raises RedQueenError where it knows none."""
    if not has(world, KnowsHow):
        raise RedQueenError(f"the world {world.name} shows nobody how its tasks are done: it has no expert(task)")
    return world.expert(task)


def seen(world: World, method: str, view: object) -> Observation:
    """What a visit showed. Raises RedQueenError for anything but an Observation with a text."""
    if not isinstance(view, Observation) or not isinstance(view.shown, str):
        raise RedQueenError(
            f"{method} in the world {world.name} gave {view!r:.80}, where redqueen.types.Observation(text) is due"
        )
    return view


def assessed(world: World, found: object) -> Assessment:
    """How a visit went. Raises RedQueenError for anything but an Assessment with a number, NaN where nobody knows."""
    if not isinstance(found, Assessment) or not isinstance(found.score, Real):
        raise RedQueenError(
            f"assess in the world {world.name} gave {found!r:.80}, where redqueen.types.Assessment(score) is due"
        )
    return found


def first_view(task: Task, view: Observation) -> tuple[Message, ...]:
    """What the agent is shown before its first act."""
    return told("\n".join(filter(None, (task.prompt, view.shown))))


def after_act(messages: tuple[Message, ...], seat: Seat, act: str, view: Observation) -> tuple[Message, ...]:
    """What the agent is shown after an act: its conversation, the act, and what came of it."""
    return (*messages, Message(str(seat), act), Message(GAME, view.shown))


def outcome_of_acts(
    seat: Seat,
    said: Sequence[str],
    views: Sequence[Observation],
    found: Assessment,
    others: Iterable[Seat] = (),
    window: int = 0,
) -> Outcome:
    """The outcome of acts in a world, of which the seat was shown the last `window` (0: all); the `others` that spoke
    have the score 0."""
    facts: dict[str, Any] = {
        **found.facts,
        "acts": tuple(said),
        "shown": tuple(view.shown for view in views),
        "over": views[-1].over,
        "cut": not views[-1].over,
        "parts": dict(found.parts),
        **left_out(len(said) - 1, window),
    }
    if any(view.gain for view in views):
        facts["gains"] = tuple((turn, {str(seat): view.gain}) for turn, view in enumerate(views[1:]) if view.gain)
    return Outcome({seat: found.score, **dict.fromkeys(others, 0.0)}, facts)


@dataclass(frozen=True)
class Working:
    """The agent is given the tools of its visit, calls them as part of its replies, and answers. `limits.window` is how
    many of its last turns it is shown, `limits.functions` whether it calls by JSON.

    Its score is that of the final state and its answer. Facts: `reply`, "" if there is none; `calls`, (tool, text) of
    each call that was run; `outputs`; `failures`, for each call whether it was faulty; `parts`; `turns_left_out`, how
    many turns its last prompt left out, where it did; and those of the assessment.
    """

    world: World = field(repr=False)
    limits: Limits = Limits()

    @property
    def window(self) -> int:
        return self.limits.window

    @property
    def name(self) -> str:
        return f"working:{self.world.name}"

    @property
    def roles(self) -> tuple[str, ...]:
        return (AGENT,)

    def tasks(self) -> Sequence[Task]:
        return self.world.tasks()

    def held_out(self) -> Sequence[Task]:
        return self.world.held_out()

    def expert(self, task: Task) -> tuple[str, ...]:
        return shown_by(self.world, task)

    def play(self, task: Task, rng: Random) -> Play:
        seat = Seat(AGENT)
        with closing(self.world.open(task, rng.getrandbits(48))) as visit:
            usages = [] if self.limits.functions else [tool.usage for tool in visit.tools]
            shown = told("\n".join(filter(None, (*usages, seen(self.world, "look", visit.look()).shown, task.prompt))))
            talk = yield from answer_with_tools(seat, shown, visit.tools, self.limits)
            found = assessed(self.world, visit.assess(talk.reply))
        return Outcome(
            {seat: found.score},
            {
                **found.facts,
                "reply": talk.reply,
                "calls": tuple((call.tool, call.text) for call in talk.calls),
                "outputs": tuple(call.output for call in talk.calls),
                "failures": tuple(call.failed for call in talk.calls),
                "parts": dict(found.parts),
                **left_out(len(talk.words) - 1, self.window),
            },
        )
