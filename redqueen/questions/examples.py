"""Examples of a data set in the standard formats.

| format            | columns                                        |
|-------------------|------------------------------------------------|
| prompt-only       | prompt                                         |
| prompt-completion | prompt, completion                             |
| conversation      | messages, the last of them is the completion   |
| preference        | prompt, chosen, rejected                       |
| implicit prompt   | chosen, rejected, which begin alike            |

Each is text, or a list of messages {"role": "system" | "user" | "assistant", "content": text}. A column `answer` may
be added to the prompt: the exact answer. (The formats of the library TRL; tools, images and labels of single replies
are not read.) White space around a text does not count.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from redqueen.questions.rows import Columns, Row
from redqueen.texts import Wording
from redqueen.types import RedQueenError

SYSTEM, USER, ASSISTANT = "system", "user", "assistant"
FORMATS: tuple[tuple[str, ...], ...] = (
    ("prompt",),
    ("prompt", "completion"),
    ("messages",),
    ("prompt", "chosen", "rejected"),
    ("chosen", "rejected"),
)
ANSWER = "answer"
_COLUMNS: tuple[str, ...] = ("prompt", "completion", "messages", "chosen", "rejected", ANSWER)
_same = Wording()

Conversation = tuple[tuple[str, str], ...]  # (role, text) each


@dataclass(frozen=True)
class Example:
    """The content of one row. `completion` is the gold or the chosen reply; "" if the row has none."""

    place: str
    messages: Conversation  # the prompt
    completion: str = ""
    rejected: str = ""
    answer: str = ""

    @property
    def key(self) -> Conversation:
        """Equal for prompts that differ in case, white space and spellings of one character only."""
        return tuple((role, _same(text)) for role, text in self.messages)


class BadRow(RedQueenError):
    """A bad row, which may be skipped."""


def example(row: Row, ignore: Collection[str] = ()) -> tuple[tuple[str, ...], Example]:
    """The format and the content of a row. Raises BadRow with its place, what is wrong and what would be right;
    a column that no format has raises RedQueenError."""
    if row.fault:
        raise BadRow(f"{row.place}: {row.fault}")
    columns = {name: value for name, value in row.columns.items() if name not in ignore}
    unknown = [name for name in columns if name not in _COLUMNS]
    if unknown:
        known = "; ".join(" and ".join(names) for names in FORMATS)
        raise RedQueenError(
            f"{row.place}: {', '.join(map(repr, unknown))} is no column that is read here: a row has {known}; and "
            f"{ANSWER} beside them. Leave columns aside with ignore={'+'.join(unknown)}"
        )
    try:
        form = _format(columns)
        found = _read(columns, row.place, form)
    except _Fault as fault:
        raise BadRow(f"{row.place}: {fault}") from None
    return form, found


class _Fault(Exception):
    """What is wrong with a row, without its place."""


def _format(columns: Columns) -> tuple[str, ...]:
    given = {name for name in columns if name != ANSWER}
    for names in FORMATS:
        if given == set(names):
            return names
    fitting = [names for names in FORMATS if given < set(names)] if given else []
    if fitting:
        missing = [name for name in fitting[0] if name not in given]
        raise _Fault(f"beside {' and '.join(sorted(given))} the row needs {' and '.join(missing)}")
    if not given:
        raise _Fault("the row has no prompt, messages, or chosen and rejected")
    formats = "; ".join(" and ".join(names) for names in FORMATS)
    raise _Fault(f"{', '.join(sorted(given))} do not go together: a row has {formats}")


def _read(columns: Columns, place: str, form: tuple[str, ...]) -> Example:
    answer = _text(columns[ANSWER], ANSWER) if ANSWER in columns else ""
    if form == ("messages",):
        prompt, completion = _parted(_conversation(columns["messages"], "messages"), "messages")
        return Example(place, prompt, completion, answer=answer)
    if form == ("chosen", "rejected"):
        return _implicit(columns["chosen"], columns["rejected"], place, answer)
    prompt = _prompt(columns["prompt"])
    kinds = {name: type(columns[name]) is list for name in form}
    if len(set(kinds.values())) > 1:
        text, listed = (", ".join(name for name in form if kinds[name] is is_list) for is_list in (False, True))
        raise _Fault(
            f"{text} is text and {listed} a list of messages: make them alike"
            + (" (ignore=prompt takes the beginning of chosen and rejected)" if "chosen" in form else "")
        )
    better, worse = [*(_reply(columns[name], name) for name in form[1:]), "", ""][:2]
    return _checked(Example(place, prompt, better, worse, answer))


def _checked(found: Example) -> Example:
    if found.rejected and found.rejected == found.completion:
        raise _Fault("chosen and rejected say the same: a preference needs two different replies")
    return found


def _implicit(chosen: Any, rejected: Any, place: str, answer: str) -> Example:
    """The prompt is what chosen and rejected share at their beginning."""
    if type(chosen) is list and type(rejected) is list:
        first, second = _conversation(chosen, "chosen"), _conversation(rejected, "rejected")
        (prompt, better), (other, worse) = _parted(first, "chosen"), _parted(second, "rejected")
        if prompt != other:
            raise _Fault("chosen and rejected must be the same messages but for the last one, the reply")
        return _checked(Example(place, prompt, better, worse, answer))
    one, two = _text(chosen, "chosen"), _text(rejected, "rejected")
    if one == two:
        raise _Fault("chosen and rejected say the same: a preference needs two different replies")
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, two, strict=False)))
    start = _word_start(one, two, shared)
    prompt_text, better, worse = one[:start].strip(), one[start:].strip(), two[start:].strip()
    if not prompt_text:
        raise _Fault("chosen and rejected do not begin alike: give the prompt in a column of its own")
    if not (better and worse):
        raise _Fault("one of chosen and rejected is the beginning of the other: both need a reply of their own")
    return Example(place, ((USER, prompt_text),), better, worse, answer)


def _word_start(one: str, two: str, end: int) -> int:
    """The last position up to `end` that is not inside a word of either text."""
    while end and any(text[end - 1 : end + 1].isalnum() and len(text) > end for text in (one, two)):
        end -= 1
    return end


def _prompt(value: Any) -> Conversation:
    if type(value) is not list:
        return ((USER, _text(value, "prompt")),)
    messages = _conversation(value, "prompt")
    if messages[-1][0] != USER:
        raise _Fault(f"the prompt ends with the {messages[-1][0]}: its last message must be the user's")
    return messages


def _reply(value: Any, name: str) -> str:
    if type(value) is not list:
        return _text(value, name)
    messages = _conversation(value, name)
    if [role for role, _ in messages] != [ASSISTANT]:
        raise _Fault(f"{name} must be one message of the assistant: what comes before it belongs to the prompt")
    return messages[0][1]


def _parted(messages: Conversation, name: str) -> tuple[Conversation, str]:
    """A conversation without its last reply, and that reply."""
    if messages[-1][0] != ASSISTANT:
        raise _Fault(f"{name} ends with the {messages[-1][0]}: a conversation ends with the assistant's reply")
    if len(messages) < 2 or messages[-2][0] != USER:
        raise _Fault(f"{name} has no message of the user before the last reply")
    return messages[:-1], messages[-1][1]


def _conversation(value: Any, name: str) -> Conversation:
    if type(value) is not list or not value:
        raise _Fault(f"{name} must be a list of messages, not {_shown(value)}")
    messages = tuple(_message(each, f"message {number} of {name}") for number, each in enumerate(value, 1))
    for number, (role, _) in enumerate(messages, 1):
        if role == SYSTEM and number > 1:
            raise _Fault(f"message {number} of {name} is the system's: only the first one may be")
    return messages


def _message(value: Any, name: str) -> tuple[str, str]:
    fields = {key: each for key, each in value.items() if each is not None} if type(value) is dict else {}
    if set(fields) != {"role", "content"}:
        raise _Fault(f'{name} must be {{"role": ..., "content": ...}}, not {_shown(value)}')
    if fields["role"] not in (SYSTEM, USER, ASSISTANT):
        raise _Fault(f"{name} has the role {_shown(fields['role'])}: the roles are {SYSTEM}, {USER} and {ASSISTANT}")
    return fields["role"], _text(fields["content"], f"the content of {name}")


def _text(value: Any, name: str) -> str:
    if type(value) is not str:
        raise _Fault(f"{name} must be text, not {_shown(value)}")
    if not value.strip():
        raise _Fault(f"{name} is empty: write some text, or take the row out")
    return value.strip()


def _shown(value: Any) -> str:
    return json.dumps(value, default=str)[:60]


def as_text(messages: Conversation) -> str:
    """A conversation as one text: a single message of the user as it is, several with their roles."""
    if len(messages) == 1:
        return messages[0][1]
    return "\n\n".join(f"{role.capitalize()}: {text}" for role, text in messages)


def doubles(examples: Sequence[Example]) -> list[str]:
    """For each example "", or the place of an earlier one with the same prompt and replies."""
    seen: dict[tuple[Conversation, str, str], str] = {}
    found = []
    for each in examples:
        key = (each.key, _same(each.completion), _same(each.rejected))
        found.append(seen.get(key, ""))
        seen.setdefault(key, each.place)
    return found
