"""A guest as a world, where it has one seat, and as a game of all its seats.

A visit that fails ends its episode: the facts hold `failed`, the reason in words, and `right`, None, since nobody knows
how it would have ended; a warning says the same in one line, and the run goes on. A guest of which no visit has
succeeded yet stops the run instead: it is not installed as it should be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any
from warnings import warn

from redqueen.games.talk import GAME, offence, told
from redqueen.games.tools import ToolError
from redqueen.guests.process import Guest, GuestFailed, GuestTalk
from redqueen.protocols import Play, Tool
from redqueen.trust.door import enter
from redqueen.types import Ask, Assessment, Message, Observation, Outcome, RedQueenError, Seat, Task, tuples

MOST_TURNS = 500  # of a game, after which it is cut


@dataclass(frozen=True)
class GuestWorld:
    """The tasks of a guest with one seat."""

    name: str
    guest: Guest = field(repr=False, compare=False)
    repeatable: bool = True

    def tasks(self) -> Sequence[Task]:
        return as_tasks(self.guest.about["tasks"])

    def held_out(self) -> Sequence[Task]:
        return as_tasks(self.guest.about["held_out"])

    def open(self, task: Task, seed: int) -> GuestVisit:
        return GuestVisit(self.guest, task, seed)


class GuestVisit:
    """One visit of a guest. It is over where the guest says so, and where it fails."""

    def __init__(self, guest: Guest, task: Task, seed: int) -> None:
        self._talk, self._failed = begun(guest, task, seed)
        self._over = self._talk is None or bool(self._talk.turn["over"])
        self._said, self._total = list[str](), 0.0
        self._first = self._view = _view(self._talk.turn) if self._talk else Observation(_gone(self._failed), over=True)
        tools = self._talk.tools if self._talk else ()
        self.tools: tuple[Tool, ...] = tuple(_GuestTool(self, tool["name"], tool["usage"]) for tool in tools)

    def look(self) -> Observation:
        return self._first

    def act(self, said: str) -> Observation:
        if self._over or self._talk is None:
            return Observation("It is over.", over=True)
        self._said.append(said)
        if self._view.choices and said not in self._view.choices:
            return Observation(f"There is no such act.\n{self._view.shown}", self._view.choices)
        try:
            self._view = _view(self._talk.say([said]))
        except GuestFailed as failed:
            return self._lost(failed)
        self._over, self._total = self._view.over, self._total + self._view.gain
        return self._view

    def called(self, tool: str, text: str) -> str:
        """The output of a tool. Raises ToolError for a call at fault."""
        if self._failed or self._talk is None:
            raise ToolError(_gone(self._failed))
        self._said.append(f"<{tool}>{text}</{tool}>")
        try:
            found = self._talk.call(tool, text)
        except GuestFailed as failed:
            raise ToolError(self._lost(failed).shown) from None
        if found["failed"]:
            raise ToolError(found["output"])
        return str(found["output"])

    def state(self) -> Mapping[str, Any]:
        mine = {"said": list(self._said), "shown": self._view.shown, "total": self._total, "failed": self._failed}
        if self._failed or self._talk is None:
            return mine
        try:
            return {**mine, "guest": dict(self._talk.state())}
        except GuestFailed as failed:
            self._lost(failed)
            return {**mine, "failed": self._failed}

    def assess(self, answer: str = "") -> Assessment:
        if not self._failed and self._talk is not None:
            try:
                found = self._talk.assess(answer)
            except GuestFailed as failed:
                self._lost(failed)
            else:
                return Assessment(sum(found["scores"].values()), found.get("parts", {}), tuples(found.get("facts", {})))
        return Assessment(0.0, facts={"failed": self._failed, "right": None})

    def close(self) -> None:
        if self._talk is not None:
            self._talk.close()

    def _lost(self, failed: GuestFailed) -> Observation:
        warn(f"{failed}: its episode ends here", stacklevel=2)
        self._failed, self._over = failed.reason, True
        self._view = Observation(_gone(failed.reason), over=True)
        return self._view


@dataclass(frozen=True)
class _GuestTool:
    visit: GuestVisit
    name: str
    usage: str

    def __call__(self, text: str) -> str:
        return self.visit.called(self.name, text)


@dataclass(frozen=True)
class GuestGame:
    """A guest of several seats. Each is shown what the guest shows it, after its own words; an illegal reply, where
    replies are listed, ends the game: the offender has the score -1, the others 0. Facts: those of the guest, `gains`
    where they add up to the scores, and `failed` where it failed."""

    name: str
    roles: tuple[str, ...]
    guest: Guest = field(repr=False, compare=False)
    limit: int = MOST_TURNS

    def tasks(self) -> Sequence[Task]:
        return as_tasks(self.guest.about["tasks"])

    def held_out(self) -> Sequence[Task]:
        return as_tasks(self.guest.about["held_out"])

    def within(self, turns: int) -> GuestGame:
        """The same game with at most so many turns."""
        return replace(self, limit=turns)

    def play(self, task: Task, rng: Random) -> Play:
        talk, reason = begun(self.guest, task, rng.getrandbits(48))
        if talk is None:
            return self._failed(reason)
        with closing(talk):
            return (yield from self._played(talk))

    def _played(self, talk: GuestTalk) -> Play:
        talks = dict[Seat, tuple[Message, ...]]()
        gains: tuple[tuple[int, dict[str, float]], ...] = ()
        turns = spoken = 0
        try:
            while not talk.turn["over"] and turns < self.limit:
                asks = []
                for each in talk.turn["asks"]:
                    seat, shown = Seat(each["seat"], each.get("number", 0)), each["shown"].strip() or "It is your turn."
                    talks[seat] = (*talks[seat], Message(GAME, shown)) if seat in talks else told(shown)
                    asks.append(Ask(seat, talks[seat], tuple(each.get("choices", ()))))
                replies = yield asks
                said = [reply.text.strip() for reply in replies]
                for ask, text in zip(asks, said, strict=True):
                    if ask.choices and text not in ask.choices:
                        scores = {Seat(role): -1.0 if role == ask.seat.role else 0.0 for role in self.roles}
                        return Outcome(scores, offence(ask.seat, text))
                    talks[ask.seat] = (*talks[ask.seat], Message(str(ask.seat), text))
                turns, spoken = turns + 1, spoken + len(said)
                paid = {str(_seat(name)): gain for name, gain in talk.say(said).get("gains", {}).items() if gain}
                gains += ((spoken - 1, paid),) if paid else ()
            found = talk.assess()
        except GuestFailed as failed:
            warn(f"{failed}: its episode ends here", stacklevel=2)
            return self._failed(failed.reason)
        scores = dict.fromkeys((Seat(role) for role in self.roles), 0.0)
        scores |= {_seat(name): float(score) for name, score in found["scores"].items()}
        facts = {**tuples(found.get("facts", {})), "turns": turns}
        totals = {seat: sum(paid.get(str(seat), 0.0) for _, paid in gains) for seat in scores}
        if gains and all(abs(totals[seat] - score) < 1e-9 for seat, score in scores.items()):
            facts["gains"] = gains
        return Outcome(scores, facts | ({"cut": True} if not talk.turn["over"] else {}))

    def _failed(self, reason: str) -> Outcome:
        scores = dict.fromkeys((Seat(role) for role in self.roles), 0.0)
        return Outcome(scores, {"failed": reason, "right": None, "cut": True})


def begun(guest: Guest, task: Task, seed: int) -> tuple[GuestTalk | None, str]:
    """A visit of a guest; none, and why, where it fails at once although others of this guest have not. Raises
    GuestFailed where none has succeeded yet."""
    sent = {"id": task.id, "prompt": task.prompt, "answer": task.answer, "facts": dict(task.facts)}
    try:
        talk = guest.open(sent, seed)
    except GuestFailed as failed:
        if not guest.welcomed:
            raise
        warn(f"{failed}: its episode ends here", stacklevel=2)
        return None, failed.reason
    guest.welcomed = True
    return talk, ""


def admit(place: str | Path, member: str = "") -> None:
    """Lets what a guest is made of pass the door. Raises Untrusted where a folder names it and nobody has vouched."""
    enter(place, member, f"the world {str(place)!r}")


def as_tasks(said: Sequence[Mapping[str, Any]]) -> list[Task]:
    """Tasks as a driver states them."""
    return [
        Task(each["id"], prompt=each.get("prompt", ""), answer=each.get("answer", ""), facts=each.get("facts", {}))
        for each in said
    ]


def seat_of(guest: Guest, spec: str) -> GuestWorld:
    """The world of a guest with one seat. Raises RedQueenError for one with several."""
    seats = guest.about["seats"]
    if len(seats) > 1:
        raise RedQueenError(f"{spec} has the seats {', '.join(seats)}: it is a game, --game {spec}")
    return GuestWorld(spec, guest, bool(guest.about["repeatable"]))


def game_of(guest: Guest, spec: str) -> GuestGame:
    """The game of a guest."""
    return GuestGame(spec, tuple(guest.about["seats"]), guest)


def _view(turn: Mapping[str, Any]) -> Observation:
    gain = float(sum(turn.get("gains", {}).values()))
    if turn["over"] or not turn["asks"]:
        return Observation(turn.get("shown", "").strip() or "It is over.", over=True, gain=gain)
    asked = turn["asks"][0]
    return Observation(asked["shown"].strip() or "Nothing is seen.", tuple(asked.get("choices", ())), gain=gain)


def _gone(reason: str) -> str:
    return f"The world {reason}."


def _seat(name: str) -> Seat:
    role, _, number = name.partition("/")
    return Seat(role, int(number or 0))
