"""A person at the keyboard, in one seat of a role or in all."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from redqueen.markup import speaker_line
from redqueen.protocols import Player
from redqueen.types import Ask, Message, RedQueenError, Reply, Seat


class HumanLeft(RedQueenError):
    """The person ended the game with Ctrl-D or Ctrl-C."""


class Human:
    """A player at the keyboard: it is shown what is new since its last turn, and asked until the entry is legal.

    Listed choices are numbered, and their number or their text in any case is accepted; if a
    choice is itself a number, only the text is. `read` takes a prompt and returns a line.
    """

    def __init__(
        self, name: str = "you", read: Callable[[str], str] = input, write: Callable[[str], None] = print
    ) -> None:
        self.name = name
        self._read = read
        self._write = write

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        """The replies that were entered. Raises HumanLeft on Ctrl-D and Ctrl-C."""
        return [Reply(self._answer(ask), self.name) for ask in asks]

    def _answer(self, ask: Ask) -> str:
        self._write("")
        for message in new_messages(ask):
            who = speaker_line(message)
            self._write(message.text if who in ("game", "system") else f"{who}: {message.text}")
        for line in _menu(ask.choices):
            self._write(line)
        while True:
            entry = self._line(f"{ask.seat}> ")
            said = meant(entry, ask.choices)
            if said is not None:
                return said
            self._write(f"{complaint(entry, ask.choices)} (Ctrl-D leaves the game)")

    def _line(self, prompt: str) -> str:
        try:
            return self._read(prompt)
        except (EOFError, KeyboardInterrupt):
            raise HumanLeft(f"{self.name} left the game") from None


class AtOneSeat:
    """A person in one seat of a role, the first that is asked, where several seats share it; `others` has the rest. For
    one match."""

    def __init__(self, person: Player, others: Player) -> None:
        self.name = person.name
        self.seat: Seat | None = None
        self._person = person
        self._others = others

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        self.seat = self.seat or asks[0].seat
        rest = [ask for ask in asks if ask.seat != self.seat]
        mine = iter(self._person.reply([ask for ask in asks if ask.seat == self.seat]))
        others = iter(self._others.reply(rest) if rest else ())
        return [next(mine if ask.seat == self.seat else others) for ask in asks]


def new_messages(ask: Ask) -> tuple[Message, ...]:
    """The messages that the seat has not been shown before, without its own; all of them if the game shows
    everything again. Never empty: a repeated ask shows its last message again."""
    seen = ask.past[-1].ask.messages if ask.past else ()
    fresh = ask.messages[len(seen) :] if ask.messages[: len(seen)] == seen else ask.messages
    others = tuple(message for message in fresh if message.speaker != str(ask.seat))
    return others or ask.messages[-1:]


def numbered(choices: Sequence[str]) -> bool:
    """Whether choices may be entered by number: false if one is itself a number."""
    return not any(choice.strip().isdigit() for choice in choices)


def _menu(choices: Sequence[str]) -> list[str]:
    if not choices:
        return []
    if numbered(choices):
        return [f"  {number}. {choice}" for number, choice in enumerate(choices, start=1)]
    return [f"  choices: {', '.join(choices)}"]


def meant(entry: str, choices: Sequence[str]) -> str | None:
    """The choice that an entry names, or the entry itself if no choices are listed. None if it names no choice."""
    entry = entry.strip()
    if not choices:
        return entry or None
    if entry in choices:
        return entry
    alike = [choice for choice in choices if choice.strip().casefold() == entry.casefold()]
    if len(alike) == 1:
        return alike[0]
    if numbered(choices) and entry.isdecimal() and 1 <= int(entry) <= len(choices):
        return choices[int(entry) - 1]
    return None


def complaint(entry: str, choices: Sequence[str]) -> str:
    """The message for an entry that names no choice."""
    entry = entry.strip()
    if not choices:
        return "Please write something."
    words = f"a number from 1 to {len(choices)}, or a choice's words"
    how = words if numbered(choices) else f"one of: {', '.join(choices)}"
    said = f"{entry[:80]!r} is not a choice." if entry else "Nothing was entered."
    return f"{said} Enter {how}."
