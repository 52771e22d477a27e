"""Examples of a data set in the standard formats.

| format            | roles of the columns (`questions.columns` finds them)      |
|-------------------|------------------------------------------------------------|
| prompt-only       | question                                                   |
| prompt-completion | question, completion                                       |
| conversation      | question: messages, the last of them is the completion     |
| preference        | question, chosen, rejected                                 |
| implicit prompt   | chosen, rejected, which begin alike                        |

Each is text, or a list of messages {"role": "system" | "user" | "assistant", "content": text}. To a question belong, as
far as there are columns for them, what the system says before it, the answer that is expected, the choices, tests, a
context to read and what sorts it.
A completion may have a label, good or bad. (The formats of the library TRL; tools and images are not read.) White space
around a text does not count.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from redqueen.checks.extraction import LETTERS
from redqueen.questions.columns import Layout, is_good
from redqueen.questions.data_rows import Columns, Row
from redqueen.questions.tests_in_rows import CannotBeRun, asserts_in, setup_in
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
_OF_FORMATS = {name for names in FORMATS for name in names}
_SPEAKERS = {"human": USER, "gpt": ASSISTANT, "user": USER, "assistant": ASSISTANT, "system": SYSTEM}  # of ShareGPT
_ENTRIES = ("text", "value", "aliases")  # of an answer that is an object, as SQuAD and TriviaQA write it
_same = Wording()

Conversation = tuple[tuple[str, str], ...]  # (role, text) each


@dataclass(frozen=True)
class Example:
    """The content of one row. `completion` is the gold or the chosen reply; "" if the row has none."""

    place: str
    messages: Conversation  # the prompt
    completion: str = ""
    rejected: str = ""
    margin: float | None = None  # by how much the chosen reply is better
    scores: tuple[float, ...] = ()  # of the chosen reply and of the rejected one, where both are said
    good: bool | None = None  # whether the completion is, where that is said
    answers: tuple[str, ...] = ()  # as they stand in the column; any of them is right
    choices: tuple[str, ...] = ()
    numbered: bool = False  # whether the answer is a number, and the choices are texts
    tests: tuple[str, ...] = ()  # statements of assert, or a few lines with some
    setup: str = ""  # lines that stand before a program that is tested
    context: str = ""
    sorted_by: tuple[tuple[str, str], ...] = ()  # (category | level | split | concepts, entry)

    @property
    def key(self) -> Conversation:
        """Equal for prompts that differ in case, white space and spellings of one character only."""
        return tuple((role, _same(text)) for role, text in self.messages)

    def by(self, role: str) -> str:
        """Its entry in the column of `category`, `level`, `split` or `concepts`; "" if there is none."""
        return dict(self.sorted_by).get(role, "")


class BadRow(RedQueenError):
    """A bad row, which is left out."""


def example(row: Row, layout: Layout, graded: bool = True) -> Example:
    """The content of a row. Raises BadRow with its place, what is wrong and what would be right; where rows are
    `graded` also for one without the answer or tests that others have."""
    if row.fault:
        raise BadRow(f"{row.place}: {row.fault}")
    entries = layout.read(row)
    try:
        found = _read(_standard(entries), row.place, entries)
        missing = [role for role in ("answer", "tests", "completion") if role in layout.roles]
        if graded and missing and not (found.answers or found.tests or found.completion):
            raise _Fault(f"it has no {missing[0]}")
    except _Fault as fault:
        raise BadRow(f"{row.place}: {_in_columns(str(fault), layout)}") from None
    return found


def _standard(entries: Columns) -> dict[str, Any]:
    """The entries that make a format, under the names of the formats."""
    found = {
        name: _messages([value] if isinstance(value, Mapping) else value)
        for name, value in entries.items()
        if name in _OF_FORMATS
    }
    if "question" in entries:
        question = _messages(entries["question"])
        ended = isinstance(question, list) and question and _role(question[-1]) == ASSISTANT
        found["messages" if ended else "prompt"] = question
    if "messages" in found:
        found = {name: value for name, value in found.items() if name not in ("chosen", "rejected", "completion")}
    return found


def _messages(value: Any) -> Any:
    """A conversation of ShareGPT, {"from": "human", "value": ...}, as messages; anything else unchanged."""
    if type(value) is not list or not all(
        isinstance(each, Mapping) and isinstance(each.get("from"), str) and "value" in each for each in value
    ):
        return value
    return [{"role": _SPEAKERS.get(each["from"], each["from"]), "content": each["value"]} for each in value]


def _role(message: Any) -> Any:
    return message.get("role") if isinstance(message, Mapping) else None


def _in_columns(fault: str, layout: Layout) -> str:
    """What is wrong, with the roles called as the columns of the file are."""
    names = {"prompt": "question"} | {role: role for role in layout.roles}
    changed = {word: layout.named(role) for word, role in names.items() if layout.named(role) != word}
    pattern = "|".join(rf"\b{word}\b(?! of)" for word in changed)
    return re.sub(pattern, lambda found: changed[found[0]], fault) if pattern else fault


class _Fault(Exception):
    """What is wrong with a row, without its place."""


def _format(columns: Columns) -> tuple[str, ...]:
    given = set(columns)
    for names in FORMATS:
        if given == set(names):
            return names
    fitting = [names for names in FORMATS if given < set(names)] if given else []
    if fitting:
        missing = [name for name in fitting[0] if name not in given]
        raise _Fault(f"with {' and '.join(sorted(given))} the row needs {' and '.join(missing)}")
    if not given:
        raise _Fault("the row has no prompt, messages, or chosen and rejected")
    formats = "; ".join(" and ".join(names) for names in FORMATS)
    raise _Fault(f"{', '.join(sorted(given))} do not go together: a row has {formats}")


def _read(columns: Columns, place: str, entries: Columns) -> Example:
    form = _format(columns)
    if form == ("messages",):
        prompt, completion = _parted(_conversation(columns["messages"], "messages"), "messages")
        return _with_more(Example(place, prompt, completion), entries)
    if form == ("chosen", "rejected"):
        return _with_more(_implicit(columns["chosen"], columns["rejected"], place), entries)
    prompt = _prompt(columns["prompt"])
    kinds = {name: type(columns[name]) is list for name in form}
    replies = {kinds[name] for name in form[1:]}
    if "chosen" in form and (len(replies) > 1 or (True in replies and not kinds["prompt"])):
        text, listed = (", ".join(name for name in form if kinds[name] is is_list) for is_list in (False, True))
        raise _Fault(
            f"{text} is text and {listed} a list of messages: make them alike (ignore=prompt takes the beginning of "
            "chosen and rejected)"
        )
    better, worse = [*(_reply(columns[name], name) for name in form[1:]), "", ""][:2]
    return _with_more(_checked(Example(place, prompt, better, worse)), entries)


def _with_more(found: Example, entries: Columns) -> Example:
    """The example with the entries that belong to its question."""
    choices = _listed(entries["choices"], "choices") if "choices" in entries else ()
    labels = entries["choices"].get("label") if isinstance(entries.get("choices"), Mapping) else None
    answers = _answers(entries["answer"], labels) if "answer" in entries else ()
    context = _text(entries["context"], "context") if "context" in entries else ""
    sorts = [
        (role, _sorted_by(entries[role])) for role in ("category", "level", "split", "concepts") if role in entries
    ]
    margin = _margin(entries["margin"]) if "margin" in entries and found.rejected else None
    return replace(
        found,
        messages=(
            *_system(entries.get("system", ""), found.messages),
            *found.messages[:-1],
            (found.messages[-1][0], _shown_with(found.messages[-1][1], choices, context)),
        ),
        answers=answers,
        choices=choices,
        numbered=type(entries.get("answer")) is int and _texts_alone(entries.get("choices")),
        tests=_tests(entries) if "tests" in entries else (),
        setup=_setup(entries, found.messages[-1][1]) if "tests" in entries else "",
        context=context,
        sorted_by=tuple(sorts),
        margin=margin,
        scores=_scores(entries) if found.rejected else (),
        good=_label(entries["label"]) if "label" in entries and found.completion and not found.rejected else None,
    )


def _system(value: Any, messages: Conversation) -> Conversation:
    """The system's message of a column; () where it is empty, or the conversation begins with the same."""
    if value is None or not str(value).strip():
        return ()
    text = _text(value, "system")
    if messages[0][0] != SYSTEM:
        return ((SYSTEM, text),)
    if messages[0][1] != text:
        raise _Fault(
            "its messages begin with another system prompt than the column has: leave the column out (ignore=)"
        )
    return ()


def _label(value: Any) -> bool:
    """Whether a reply is called good."""
    good = is_good(value)
    if good is None:
        raise _Fault(f"label must be true (a good reply) or false, not {_shown(value)}")
    return good


def _margin(value: Any) -> float:
    """By how much the chosen reply is better."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not (0.0 < found < math.inf):
        raise _Fault(f"margin must be a number above 0, by how much chosen is better, not {_shown(value)}")
    return found


def _scores(entries: Columns) -> tuple[float, ...]:
    """How good both replies of a pair are, if that is said of both."""
    names = ("chosen_score", "rejected_score")
    if any(entries.get(name) is None for name in names):
        return ()
    found = []
    for name in names:
        try:
            found.append(float(entries[name]))
        except (TypeError, ValueError, OverflowError):
            found.append(math.nan)
        if not math.isfinite(found[-1]):
            raise _Fault(f"{name} must be a number, how good the reply is, not {_shown(entries[name])}")
    return tuple(found)


def _shown_with(question: str, choices: Sequence[str], context: str) -> str:
    """The question after its context and before its choices, as far as it does not hold them already."""
    parts = [context] if context and context not in question else []
    parts.append(question)
    if choices and not all(choice in question for choice in choices):
        parts.append("\n".join(f"{letter}) {choice}" for letter, choice in zip(LETTERS, choices, strict=False)))
    return "\n\n".join(parts)


def _listed(value: Any, name: str) -> tuple[str, ...]:
    """A list of texts: as such, as the texts of an object, or written down as JSON or Python writes it."""
    if isinstance(value, str):
        try:
            value = ast.literal_eval(value)
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            raise _Fault(f'{name} must be a list, such as ["a", "b"], not {_shown(value)}') from None
    if isinstance(value, Mapping):  # {"text": [...], "label": [...]} or {"A": ..., "B": ...}
        value = value.get("text", [value[letter] for letter in LETTERS if letter in value])
    if not isinstance(value, list | tuple) or not 2 <= len(value) <= len(LETTERS):
        raise _Fault(f"{name} must be a list of 2 to {len(LETTERS)} texts, not {_shown(value)}")
    return tuple(str(each).strip() for each in value)


def _texts_alone(value: Any) -> bool:
    """Whether a list of choices, as `_listed` reads it, holds no numbers."""
    if isinstance(value, Mapping):
        value = value.get("text", [value[letter] for letter in LETTERS if letter in value])
    return isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)


def _answers(value: Any, labels: Any) -> tuple[str, ...]:
    """The entries of an answer column, of which any is right; one that labels a choice as the letter of it."""
    named = [value[key] for key in _ENTRIES if key in value] if isinstance(value, Mapping) else [value]
    values = [each for entry in named for each in (entry if isinstance(entry, list | tuple) else [entry])]
    if not values or not all(isinstance(each, str | int | float) for each in values):
        entry = ": name an entry of it, --columns answer=COL.ENTRY" if isinstance(value, Mapping) else ""
        raise _Fault(f"answer must be text or a number, not {_shown(value)}{entry}")
    texts = tuple(dict.fromkeys(str(each).strip() for each in values))
    if not all(texts):
        raise _Fault("answer is empty: write some text, or take the row out")
    if isinstance(labels, list) and texts[0] in labels:
        return (LETTERS[labels.index(texts[0])],)
    return texts


def _tests(entries: Columns) -> tuple[str, ...]:
    """The tests of a program."""
    try:
        found = asserts_in(entries["tests"], str(entries.get("entry_point", "")))
    except CannotBeRun as error:
        raise _Fault(f"tests cannot be run: {error}") from None
    if not found:
        raise _Fault(f"tests must hold lines such as assert f(2) == 4, not {_shown(entries['tests'])}")
    return found


def _setup(entries: Columns, question: str) -> str:
    """The lines that stand before a program that is tested."""
    try:
        return setup_in(entries.get("setup"), question, str(entries.get("entry_point", "")))
    except CannotBeRun as error:
        raise _Fault(f"setup cannot be run: {error}") from None


def _sorted_by(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value).strip()


def _checked(found: Example) -> Example:
    if found.rejected and found.rejected == found.completion:
        raise _Fault("chosen and rejected say the same: a preference needs two different replies")
    return found


def _implicit(chosen: Any, rejected: Any, place: str) -> Example:
    """The prompt is what chosen and rejected share at their beginning."""
    if type(chosen) is list and type(rejected) is list:
        first, second = _conversation(chosen, "chosen"), _conversation(rejected, "rejected")
        (prompt, better), (other, worse) = _parted(first, "chosen"), _parted(second, "rejected")
        if prompt != other:
            raise _Fault("chosen and rejected must be the same messages but for the last one, the reply")
        return _checked(Example(place, prompt, better, worse))
    one, two = _text(chosen, "chosen"), _text(rejected, "rejected")
    if one == two:
        raise _Fault("chosen and rejected say the same: a preference needs two different replies")
    dialogues = _dialogue(one), _dialogue(two)
    if dialogues[0] and dialogues[1]:
        return _implicit(*dialogues, place)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, two, strict=False)))
    start = _word_start(one, two, shared)
    prompt_text, better, worse = one[:start].strip(), one[start:].strip(), two[start:].strip()
    if not prompt_text:
        raise _Fault("chosen and rejected do not begin alike: give the prompt in a column of its own")
    if not (better and worse):
        raise _Fault("one of chosen and rejected is the beginning of the other: both need a reply of their own")
    return Example(place, ((USER, prompt_text),), better, worse)


_TURN = re.compile(r"(?:\A\s*|\n\n)(Human|Assistant):")


def _dialogue(text: str) -> list[dict[str, str]]:
    """The messages of a text that begins "Human: ..." and goes on "Assistant: ...", as those of Anthropic's HH data do;
    none of any other."""
    _, *turns = _TURN.split(text) if text.lstrip().startswith("Human:") else [text]
    roles = [USER if speaker == "Human" else ASSISTANT for speaker in turns[::2]]
    told = [{"role": role, "content": said.strip()} for role, said in zip(roles, turns[1::2], strict=True)]
    return told if ASSISTANT in roles else []


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
        return _text(str(value) if type(value) in (int, float) else value, name)
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
    return fields["role"], _text(_joined(fields["content"]), f"the content of {name}")


def _joined(content: Any) -> Any:
    """The text of a message that is written as a list of parts, all of them texts; anything else as it is."""
    parts = content if isinstance(content, list) else []
    texts = [
        each["text"]
        for each in parts
        if isinstance(each, Mapping) and each.get("type") == "text" and isinstance(each.get("text"), str)
    ]
    return "\n".join(texts) if texts and len(texts) == len(parts) else content


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
    """For each example "", or the place of an earlier one with the same prompt, replies and answers."""
    seen: dict[tuple[Conversation, str, str, tuple[str, ...]], str] = {}
    found = []
    for each in examples:
        key = (each.key, _same(each.completion), _same(each.rejected), tuple(map(_same, each.answers)))
        found.append(seen.get(key, ""))
        seen.setdefault(key, each.place)
    return found
