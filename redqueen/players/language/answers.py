"""Formats that mark the action in a model's text: alone, in a box, in brackets, in tags, in JSON, in a code block.

`parse` splits a text into a private thought and the action that the game receives. The action is ""
if the text is not in the format (malformed); an action in the right format that is not a legal reply is
returned unchanged, for the game to judge. A legal reply is recognised in any case, with any white
space, quotes and end punctuation around it, and only as a whole: "better" never means "bet".

`write` is the other way: an action as a reply from which `parse` takes it again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from redqueen.protocols import AnswerFormat
from redqueen.texts import THINK, Marks, parted
from redqueen.types import RedQueenError


@dataclass(frozen=True)
class Plain:
    """The reply is the action. A legal reply alone on the last line also counts, with the text
    before it as the thought; a legal reply within a sentence does not, since "I would not bet" holds one too.
    """

    instruction: str = "Answer with your reply alone, without any other words."

    def parse(self, text: str, choices: Sequence[str]) -> tuple[str, str]:
        whole = text.strip()
        if not choices or _legal(whole, choices) is not None:
            return "", as_legal(whole, choices)
        thought, _, last = whole.rpartition("\n")
        legal = _legal(last, choices)
        return ("", whole) if legal is None else (thought.strip(), legal)

    def write(self, action: str) -> str:
        return action.strip()


@dataclass(frozen=True)
class Boxed:
    r"""The action stands in the last `\boxed{...}`, the innermost one where they nest. A last box that
    is never closed is malformed: the text ended before the action did."""

    instruction: str = "Think first, then put your final answer in \\boxed{}."

    def parse(self, text: str, choices: Sequence[str]) -> tuple[str, str]:
        boxes = list(_BOX.finditer(text))
        if not boxes:
            return text.strip(), ""
        end = _closing_brace(text, boxes[-1].end())
        if end is None:
            return text.strip(), ""
        content = text[boxes[-1].end() : end]
        wrapped = _WRAPPED.fullmatch(content.strip())
        if wrapped and _legal(content, choices) is None:
            content = wrapped.group(1)
        return text[: boxes[-1].start()].strip(), as_legal(content.strip(), choices)

    def write(self, action: str) -> str:
        return _held(self, action, f"\\boxed{{{action.strip()}}}")


@dataclass(frozen=True)
class Bracketed:
    """The action stands in the last [...], the innermost one where they nest. A last bracket that is
    never closed is malformed."""

    instruction: str = "Think first, then put your final answer in square brackets, like this: [answer]."

    def parse(self, text: str, choices: Sequence[str]) -> tuple[str, str]:
        start = text.rfind("[")
        end = text.find("]", start)
        if start < 0 or end < 0:
            return text.strip(), ""
        return text[:start].strip(), as_legal(text[start + 1 : end].strip(), choices)

    def write(self, action: str) -> str:
        return _held(self, action, f"[{action.strip()}]")


@dataclass(frozen=True)
class Tagged:
    """The action stands in the last <answer>...</answer>. A last tag that is never closed is malformed."""

    instruction: str = "Think first, then put your final answer between <answer> and </answer>."

    def parse(self, text: str, choices: Sequence[str]) -> tuple[str, str]:
        start = text.rfind("<answer>")
        end = text.find("</answer>", start)
        if start < 0 or end < 0:
            return text.strip(), ""
        return text[:start].strip(), as_legal(text[start + len("<answer>") : end].strip(), choices)

    def write(self, action: str) -> str:
        return _held(self, action, f"<answer>{action.strip()}</answer>")


@dataclass(frozen=True)
class Json:
    """The action is the value of "answer" in the last JSON object that has one; in a code block or not. A number or a
    list is written as JSON writes it. Where braces without end would be read too often, there is no action."""

    instruction: str = 'Think first, then end with your final answer as JSON: {"answer": ...}'

    def parse(self, text: str, choices: Sequence[str]) -> tuple[str, str]:
        decoder = json.JSONDecoder()
        left = _MOST_READ * (len(text) + 1)  # of characters read and failures counted, so that the time is linear
        for start in reversed([found.start() for found in _OBJECT.finditer(text)]):
            try:
                value, end = decoder.raw_decode(text, start)
            except json.JSONDecodeError as error:
                value, end = {}, error.pos
            except (ValueError, RecursionError):
                value, end = {}, len(text)
            left -= end - start + len(text) // _FAILURE
            if left < 0:
                break
            if "answer" in value:
                said = value["answer"]
                action = said if isinstance(said, str) else json.dumps(said)
                return text[:start].removesuffix("```json\n").strip(), as_legal(action.strip(), choices)
        return text.strip(), ""

    def write(self, action: str) -> str:
        return _held(self, action, json.dumps({"answer": action.strip()}, ensure_ascii=False))


@dataclass(frozen=True)
class Code:
    """The action is the content of the code block; where there are several, such as a program and its input, all of
    them with their fences, without the words between. A last block that is never closed is malformed."""

    instruction: str = "Put your answer into a code block that begins and ends with ```."

    def parse(self, text: str, choices: Sequence[str]) -> tuple[str, str]:
        blocks = list(_FENCED.finditer(text))
        if not blocks or text.count("```") % 2:
            return text.strip(), ""
        thought = text[: blocks[0].start()].strip()
        if len(blocks) == 1:
            return thought, as_legal(blocks[0].group("content").strip(), choices)
        return thought, "\n".join(block.group() for block in blocks)

    def write(self, action: str) -> str:
        blocks = self.parse(action, ())[1] == action.strip()  # several, with their fences
        return _held(self, action, action.strip() if blocks else f"```\n{action.strip()}\n```")


def _held(form: AnswerFormat, action: str, reply: str) -> str:
    """The reply, "" for an empty action. Raises RedQueenError if another action would be found in it."""
    if form.parse(reply, ())[1] == action.strip():
        return reply if action.strip() else ""
    raise RedQueenError(
        f"the answer {action.strip()!r:.60} cannot be shown in the format {type(form).__name__.lower()}: it holds "
        "marks of the format itself; choose another --answer"
    )


def thought_and_action(
    text: str,
    answer: AnswerFormat | None,
    choices: Sequence[str] = (),
    opened: bool = False,
    whole: bool = False,
    truncated: bool = False,
    marks: Marks = THINK,
) -> tuple[str, str, str]:
    """The private thought and the action of a reply, and between them what the reply says before its action without
    the marked thoughts, which the thought holds too. What the model thought (`texts.parted`, with `opened` and `marks`)
    is taken out first, and then the action is what `answer` finds, or all that is left: without a format, and of a
    reply that is taken `whole`, such as the call of a tool. A thought that was not closed leaves no action, nor does an
    answer that was `truncated`."""
    thought, said = parted(text, opened, marks)
    if said is None:
        return text, "", ""
    if answer is None or whole:
        return thought, "", said.strip()
    if truncated:
        return text, "", ""
    before, action = answer.parse(said, choices)
    return "\n".join(part for part in (thought, before) if part), before, action


def as_legal(text: str, choices: Sequence[str]) -> str:
    """The legal reply that the text names, or the text itself if it names none."""
    legal = _legal(text, choices)
    return text if legal is None else legal


_OBJECT = re.compile(r'\{\s*+["}]')
_MOST_READ = 50  # times that a text is read over, where objects begin in it and do not end
_FAILURE = 16  # characters that are looked at in the time of one: a failure counts the lines before it
_FENCED = re.compile(r"```[ \t]*+[\w+-]*+[ \t]*+\n(?P<content>.*?)```", re.DOTALL)
_BOX = re.compile(r"\\boxed\s*\{")
_WRAPPED = re.compile(r"\\(?:text|textbf|mathrm|mathbf)\{([^{}]*)\}")
_TRIMMED = " \t\r\n\"'`*_.,;:!?()[]{}<>“”‘’«»"
_LONGEST_EXTRA = 64  # characters around a legal reply beyond which a text is not one


def _legal(text: str, choices: Sequence[str]) -> str | None:
    """The only choice that equals the text, exactly or apart from case, white space, quotes and end punctuation."""
    if text in choices:
        return text
    if len(text) > max((len(choice) for choice in choices), default=0) + _LONGEST_EXTRA:
        return None
    bare = _bare(text)
    alike = [choice for choice in choices if _bare(choice) == bare]
    return alike[0] if bare and len(alike) == 1 else None


def _bare(text: str) -> str:
    return " ".join(text.strip(_TRIMMED).casefold().split())


def _closing_brace(text: str, start: int) -> int | None:
    """The position at which the brace opened before `start` closes; a brace after a backslash is a plain character."""
    depth = 1
    for found in _BRACE.finditer(text, start):
        if found.group() in "{}":
            depth += 1 if found.group() == "{" else -1
            if depth == 0:
                return found.start()
    return None


_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
