"""What games share: asking a seat, asking again after an illegal reply, and forfeits.

A game that uses `ask` states its rule for illegal replies in one place: `retries` more chances,
each with a message on what was wrong, then the forfeit that the game declares. A reply in which no action
was found arrives as the empty string, so the same rule holds for it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, fields, replace

from redqueen.types import Ask, Message, Outcome, RedQueenError, Reply, Seat, Task

GAME = "game"
ORDINALS: tuple[str, ...] = (
    *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"),
    *("ninth", "tenth", "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth"),
)  # the roles of games for any number of players
NOT_RULES = ("retries", "name", "roles", "zero_sum", "perfect_information")  # fields that do not go into a title


def told(text: str) -> tuple[Message, ...]:
    """One message from the game."""
    return (Message(GAME, text),)


def conversation(said: Sequence[Message], seat: Seat) -> tuple[Message, ...]:
    """The messages with their speakers renamed: "user" to the game, "assistant" to the seat, "system" unchanged. The
    assistant's text is part of the prompt and is not learned. Raises RedQueenError for any other speaker, and for a
    conversation that does not end with the user."""
    speakers = {"user": GAME, "system": "system", "assistant": str(seat)}
    roles = [message.speaker for message in said]
    if set(roles) - set(speakers) or roles[-1:] != ["user"]:
        raise RedQueenError(
            f"a conversation is of {', '.join(speakers)} and ends with the user: this one has "
            f"{', '.join(roles) or 'no message'}"
        )
    return tuple(Message(speakers[message.speaker], message.parts) for message in said)


def recent(messages: tuple[Message, ...], seat: Seat, window: int) -> tuple[Message, ...]:
    """The messages without the seat's turns before its last `window` (0: nothing is left out), and in their place a
    line that says how many are missing. A turn is what the seat said and what came of it; what it was told before its
    first one stays."""
    own = [place for place, message in enumerate(messages) if message.speaker == str(seat)]
    gone = len(own) - window
    if not window or gone < 1:
        return messages
    missing = "Your first turn is" if gone == 1 else f"Your first {gone} turns are"
    return (*messages[: own[0]], Message(GAME, f"({missing} left out.)"), *messages[own[gone] :])


def left_out(before: int, window: int) -> dict[str, int]:
    """The fact that a prompt with `before` turns before it left some out; nothing where it did not."""
    return {"turns_left_out": before - window} if 0 < window < before else {}


def check_window(window: int) -> None:
    """Raises RedQueenError for a number of turns that is none."""
    if window < 0:
        raise RedQueenError(f"a seat is shown its last 1 or more turns, or all with window=0, not {window}")


def posed(task: Task, seat: Seat) -> tuple[Message, ...]:
    """The messages that `task` shows to the seat that answers it: its conversation, in which the seat is the assistant,
    or its prompt if it has none."""
    return conversation(task.messages, seat) if task.messages else told(task.prompt)


def titled(title: str, game: object) -> str:
    """The title, followed by the rules that differ from their defaults: "liars_dice(sides=4)"."""
    rules = [field for field in fields(game) if field.name not in NOT_RULES]  # type: ignore[arg-type]
    changed = [(field.name, getattr(game, field.name)) for field in rules if getattr(game, field.name) != field.default]
    return f"{title}({','.join(f'{name}={value}' for name, value in changed)})" if changed else title


def number_of(name: str) -> int:
    """The number, from 0, of a thing named by a letter and its place: "i4" is 3."""
    return int(name[1:]) - 1


@dataclass(frozen=True)
class Answer:
    """The final reply of a seat, and the conversation that led to it."""

    text: str  # stripped
    legal: bool
    messages: tuple[Message, ...]  # the conversation up to and with this reply
    attempts: int  # how often the seat was asked, at least once


def ask(
    seat: Seat, messages: tuple[Message, ...], choices: Sequence[str] = (), retries: int = 0
) -> Generator[list[Ask], list[Reply], str]:
    """The reply of the seat, stripped. With `choices`, the seat is asked again after an illegal reply, at most
    `retries` times; the last reply is returned whether legal or not, for the game to judge."""
    (answer,) = yield from ask_together([Ask(seat, messages, tuple(choices))], retries)
    return answer.text


def not_among_choices(question: Ask, text: str) -> str:
    """What is wrong with a reply to a question with listed choices; "" if nothing is."""
    return not_legal(text, question.choices) if question.choices and text not in question.choices else ""


def unsaid(question: Ask, text: str) -> str:
    """What is wrong with a free-text message: only an empty one is illegal."""
    return not_among_choices(question, text) if question.choices else "" if text else not_understood(text)


def ask_together(
    questions: Sequence[Ask], retries: int = 0, objection: Callable[[Ask, str], str] = not_among_choices
) -> Generator[list[Ask], list[Reply], list[Answer]]:
    """The answers of several seats that speak at the same time, in the order of `questions`.

    A seat whose reply meets an `objection` is shown it and asked again, at most `retries` times; the other seats are
    not.
    """
    asks = list(questions)
    answers: dict[int, Answer] = {}
    waiting = list(range(len(asks)))
    for attempt in range(1, retries + 2):
        replies = yield [asks[number] for number in waiting]
        at_fault = []
        for number, reply in zip(waiting, replies, strict=True):
            question, text = asks[number], reply.text.strip()
            conversation = (*question.messages, Message(str(question.seat), text))
            complaint = objection(question, text)
            answers[number] = Answer(text, not complaint, conversation, attempt)
            if complaint:
                asks[number] = replace(question, messages=(*conversation, Message(GAME, complaint)))
                at_fault.append(number)
        waiting = at_fault
        if not waiting:
            break
    return [answers[number] for number in range(len(asks))]


def not_legal(text: str, choices: Sequence[str]) -> str:
    """The message that a seat is shown after an illegal reply."""
    return f"{not_understood(text)} Reply with exactly one of: {', '.join(choices)}."


def not_understood(text: str) -> str:
    return f"{text[:80]!r} is not a legal reply." if text else "No reply in the stated format was found."


def forfeit(seat: Seat, seats: Sequence[Seat], stake: float, text: str = "") -> Outcome:
    """The outcome of a forfeit by `seat`: it loses `stake` and the others share it, so that a zero-sum game stays one.
    Cooperative games return an outcome of their own instead."""
    others = [other for other in seats if other != seat]
    scores = {other: stake / len(others) for other in others} | {seat: -stake}
    return Outcome({s: scores[s] for s in seats}, offence(seat, text))


def offence(seat: Seat, text: str) -> dict[str, str]:
    """The facts of a forfeit: who broke the rules, and whether with an illegal or a malformed reply."""
    return {"forfeit": str(seat), "reason": "illegal" if text else "malformed"}
