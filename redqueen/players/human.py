"""A person at the keyboard."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from redqueen.types import Ask, Message, RedQueenError, Reply


class HumanLeft(RedQueenError):
    """The person ended the game with Ctrl-D or Ctrl-C."""


class Human:
    """Shows what is new since the person's last turn, and asks until the entry is legal.

    Listed choices are numbered, and their number or their text in any case is accepted; where a
    choice is itself a number, only the text counts. `read` takes a prompt and returns a line.
    """

    def __init__(
        self, name: str = "you", read: Callable[[str], str] = input, write: Callable[[str], None] = print
    ) -> None:
        self.name = name
        self._read = read
        self._write = write

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        """Raises HumanLeft on Ctrl-D and Ctrl-C."""
        return [Reply(self._answer(ask), self.name) for ask in asks]

    def _answer(self, ask: Ask) -> str:
        self._write("")
        for message in new_messages(ask):
            self._write(message.text if message.speaker in ("game", "system") else f"{message.speaker}: {message.text}")
        numbered = not any(choice.strip().isdigit() for choice in ask.choices)
        for line in _menu(ask.choices, numbered):
            self._write(line)
        while True:
            entry = self._line(f"{ask.seat}> ").strip()
            if not ask.choices and entry:
                return entry
            chosen = _chosen(entry, ask.choices, numbered)
            if chosen is not None:
                return chosen
            self._write(_complaint(entry, ask.choices, numbered))

    def _line(self, prompt: str) -> str:
        try:
            return self._read(prompt)
        except (EOFError, KeyboardInterrupt):
            raise HumanLeft(f"{self.name} left the game") from None


def new_messages(ask: Ask) -> tuple[Message, ...]:
    """What the seat has not been shown before, without its own words; all of it where the game shows
    everything anew. Never empty: a repeated ask shows its last message again."""
    seen = ask.past[-1].ask.messages if ask.past else ()
    fresh = ask.messages[len(seen) :] if ask.messages[: len(seen)] == seen else ask.messages
    others = tuple(message for message in fresh if message.speaker != str(ask.seat))
    return others or ask.messages[-1:]


def _menu(choices: Sequence[str], numbered: bool) -> list[str]:
    if not choices:
        return []
    if numbered:
        return [f"  {number}. {choice}" for number, choice in enumerate(choices, start=1)]
    return [f"  choices: {', '.join(choices)}"]


def _chosen(entry: str, choices: Sequence[str], numbered: bool) -> str | None:
    """The choice that an entry names, or None."""
    if entry in choices:
        return entry
    alike = [choice for choice in choices if choice.strip().casefold() == entry.casefold()]
    if len(alike) == 1:
        return alike[0]
    if numbered and entry.isdecimal() and 1 <= int(entry) <= len(choices):
        return choices[int(entry) - 1]
    return None


def _complaint(entry: str, choices: Sequence[str], numbered: bool) -> str:
    if not choices:
        return "Please write something (Ctrl-D leaves the game)."
    how = f"a number from 1 to {len(choices)}, or a choice's words" if numbered else f"one of: {', '.join(choices)}"
    said = f"{entry[:80]!r} is not a choice." if entry else "Nothing was entered."
    return f"{said} Enter {how} (Ctrl-D leaves the game)."
