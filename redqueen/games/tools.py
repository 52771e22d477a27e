"""Tools that a seat calls within its turn: the call is part of its reply, the output is a message it is shown.

    seat    I add them. <calculate>12+7</calculate>      the reply ends with the call; it is run
    tool    <information>19</information>                 shown, as part of the next prompt
    seat    19                                            no call: this is the answer

Models that were trained to call functions write calls as JSON instead (`Limits.functions`): the tools are described in
a system message, a reply may make several calls (`games.tool_calls`), and all their results are shown.

    seat    <tool_call>{"name": "calculate", "arguments": {"text": "12+7"}}</tool_call>
    tool    <tool_response>19</tool_response>

A tool's output is not written by the seat, so its tokens have no loss weight. The messages also hold the call and its
result as parts of their own (`ToolCall`, `ToolResult`). Of calls in tags only one that ends a reply is run; an output
block that a seat writes itself is plain text.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from operator import add, floordiv, mod, mul, neg, pos, sub, truediv
from random import Random
from typing import Any, Protocol

from redqueen.games.talk import check_window, left_out, recent, told
from redqueen.games.tool_calls import called, described, result
from redqueen.protocols import Play, Questions, Tool, has
from redqueen.types import (
    SOLVER,
    Ask,
    Episode,
    Message,
    Outcome,
    RedQueenError,
    Reply,
    Seat,
    Task,
    Text,
    ToolCall,
    ToolResult,
)

TOOL = "tool"  # the speaker of an output
NONE_LEFT = "No calls are left. Answer now."


class ToolError(Exception):
    """A faulty call of a tool; the seat is shown the message."""


@dataclass(frozen=True)
class Limits:
    """The limits on a seat's use of tools in one episode."""

    calls: int = 4  # that are run; the seat is told when it has none left
    turns: int = 6  # replies: a call in the last one is not run, and there is no answer
    characters: int = 4000  # of output, over all calls; the rest is cut
    window: int = 0  # the last turns that the seat is shown, and how many it is not; 0 is all
    functions: bool = False  # calls are JSON, several in a reply, as chat models write them; else tags

    def __post_init__(self) -> None:
        if self.calls < 0 or self.turns < 1 or self.characters < 0:
            raise RedQueenError(
                f"a talk with tools needs calls and characters of at least 0 and a turn, not {self.calls}, "
                f"{self.characters} and {self.turns}"
            )
        check_window(self.window)


@dataclass(frozen=True)
class Call:
    """One call that was run."""

    tool: str
    text: str  # stripped
    output: str  # as it was shown, without the tags
    failed: bool = False  # the output says what was wrong with the call


@dataclass(frozen=True)
class ToolTalk:
    """The final reply of a seat, and the calls that were run before it."""

    reply: str  # "" where the limits ended it before there was an answer
    calls: tuple[Call, ...]
    words: tuple[str, ...]  # the seat's own, turn by turn
    answered: bool

    @property
    def repeated(self) -> int:
        """The number of calls that repeat an earlier one exactly."""
        return len(self.calls) - len({(call.tool, call.text) for call in self.calls})


def closings(tools: Sequence[Tool]) -> tuple[str, ...]:
    """The strings with which a call ends: where a reply stops (`Ask.stops`)."""
    return tuple(f"</{tool.name}>" for tool in tools)


def find_call(text: str, tools: Sequence[Tool]) -> tuple[Tool, str] | None:
    """The tool whose call ends `text`, and the content of the tag; None if no call does. White space and punctuation
    may follow, since the token that closes a tag may hold more than the tag."""
    ends = [(text.rfind(closing), tool) for tool, closing in zip(tools, closings(tools), strict=True)]
    end, tool = max(ends, key=lambda each: each[0], default=(-1, None))
    if tool is None or end < 0:
        return None
    opening = f"<{tool.name}>"
    start, after = text.rfind(opening, 0, end), text[end + len(opening) + 1 :]
    if start < 0 or any(sign.isalnum() for sign in after):
        return None
    return tool, text[start + len(opening) : end].strip()


def answer_with_tools(
    seat: Seat, messages: tuple[Message, ...], tools: Sequence[Tool], limits: Limits = Limits()
) -> Generator[list[Ask], list[Reply], ToolTalk]:
    """The talk of a seat that is asked until it answers or its turns are used up; calls that end a reply are run, or
    all in it where they are JSON."""
    if limits.functions and tools:
        return (yield from _answer_with_functions(seat, messages, tools, limits))
    conversation, calls, words = messages, list[Call](), list[str]()
    left = limits.characters
    for turn in range(limits.turns):
        (reply,) = yield [Ask(seat, recent(conversation, seat, limits.window), stops=closings(tools))]
        words.append(reply.text.strip())
        asked = None if reply.truncated else find_call(reply.text, tools)
        if asked is None:
            return ToolTalk(words[-1], tuple(calls), tuple(words), answered=True)
        if turn + 1 == limits.turns:
            break  # nobody would be shown an output
        number, shown = f"call_{turn + 1}", tuple[Text | ToolResult, ...]()
        if len(calls) < limits.calls:
            calls.append(_run(*asked, left))
            left -= len(calls[-1].output)
            shown = (Text("<information>"), ToolResult(number, calls[-1].output), Text("</information>"))
        else:
            shown = (ToolResult(number, NONE_LEFT),)
        call = ToolCall(number, asked[0].name, {"text": asked[1]})
        conversation = (*conversation, Message(str(seat), (Text(reply.text), call)), Message(TOOL, shown))
    return ToolTalk("", tuple(calls), tuple(words), answered=False)


def _answer_with_functions(
    seat: Seat, messages: tuple[Message, ...], tools: Sequence[Tool], limits: Limits
) -> Generator[list[Ask], list[Reply], ToolTalk]:
    """The same with calls as JSON. Every call is told its result, in their order; one beyond the limit is told so."""
    named, calls, words, asked = {tool.name: tool for tool in tools}, list[Call](), list[str](), 0
    conversation = (Message("system", described([function_of(tool) for tool in tools])), *messages)
    left = limits.characters
    for turn in range(limits.turns):
        (reply,) = yield [Ask(seat, recent(conversation, seat, limits.window))]
        words.append(reply.text.strip())
        made = () if reply.truncated else called(reply.text, asked)[1]
        if not made:
            return ToolTalk(words[-1], tuple(calls), tuple(words), answered=True)
        if turn + 1 == limits.turns:
            break  # nobody would be shown an output
        asked += len(made)
        conversation = (*conversation, Message(str(seat), (Text(reply.text), *made)))
        for call in made:
            output = NONE_LEFT
            if len(calls) < limits.calls:
                calls.append(_run(named.get(call.name) or _Unknown(call.name, tuple(named)), _text_of(call), left))
                output = calls[-1].output
                left -= len(output)
            conversation = (*conversation, result(call.id, output))
    return ToolTalk("", tuple(calls), tuple(words), answered=False)


def function_of(tool: Tool) -> Mapping[str, Any]:
    """A tool as a function of one text, as it is described to a model."""
    usage = tool.usage.replace(f"<{tool.name}>", "").replace(f"</{tool.name}>", "")
    parameters = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    return {"name": tool.name, "description": f"with the text {usage}", "parameters": parameters}


def _text_of(call: ToolCall) -> str:
    """What a tool is called with: the text, or all arguments as JSON for a tool that takes several."""
    text = call.arguments.get("text")
    return text.strip() if isinstance(text, str) and len(call.arguments) == 1 else json.dumps(dict(call.arguments))


@dataclass(frozen=True)
class _Unknown:
    """What is called by a name that is no tool's."""

    name: str
    known: tuple[str, ...]
    usage: str = ""

    def __call__(self, text: str) -> str:
        raise ToolError(f"there is no function {self.name[:40]!r}: {', '.join(self.known)}")


def _run(tool: Tool, text: str, room: int) -> Call:
    try:
        output, failed = tool(text), False
    except ToolError as error:
        output, failed = f"Error: {error}", True
    return Call(tool.name, text, output[:room], failed)


@dataclass(frozen=True)
class ToolReply:
    """The seat of this role is shown how its tools are called and the task's prompt, and may call them before it
    answers.

    Its score is 0: the answer is checked later. Facts: `reply`, "" if there is none; `calls`, (tool, text) of each call
    that was run; `outputs`; `failures`, for each call whether it was faulty; `failed`, their number; `repeated`, the
    number of calls that repeat an earlier one; `words`, the seat's replies, turn by turn; `turns_left_out`, how many
    its last prompt left out, where it did.
    """

    role: str = SOLVER
    tools: tuple[Tool, ...] = field(default=(), repr=False)
    limits: Limits = Limits()
    dealt: tuple[Task, ...] = ()

    @property
    def name(self) -> str:
        return f"tool_reply({self.role})"

    @property
    def roles(self) -> tuple[str, ...]:
        return (self.role,)

    def of(self, role: str) -> ToolReply:
        """The same game for a seat of another role."""
        return replace(self, role=role)

    def tasks(self) -> Sequence[Task]:
        return self.dealt or (Task("empty", prompt="Say something."),)

    def prompt(self, task: Task) -> str:
        """The first prompt of the seat."""
        usages = [] if self.limits.functions else [tool.usage for tool in self.tools]
        return "\n".join([*usages, task.prompt])

    def play(self, task: Task, rng: Random) -> Play:
        seat = Seat(self.role)
        talk = yield from answer_with_tools(seat, told(self.prompt(task)), self.tools, self.limits)
        return Outcome(
            {seat: 0.0},
            {
                "reply": talk.reply,
                "calls": tuple((call.tool, call.text) for call in talk.calls),
                "outputs": tuple(call.output for call in talk.calls),
                "failures": tuple(call.failed for call in talk.calls),
                "failed": sum(call.failed for call in talk.calls),
                "repeated": talk.repeated,
                "words": talk.words,
                **left_out(len(talk.words) - 1, self.limits.window),
            },
        )


class Equipping(Protocol):
    """A question set whose roles may call tools."""

    def tools_for(self, role: str) -> tuple[Tool, ...]: ...


def tools_for(questions: Questions, role: str) -> tuple[Tool, ...]:
    """The tools that `questions` gives to `role`; empty for most question sets."""
    return questions.tools_for(role) if has(questions, Equipping) else ()


def as_recorded(episode: Episode) -> ToolReply:
    """The game of a recorded episode, whose tools return the recorded outputs: for replays without the corpus or the
    sandbox. Raises RedQueenError for an episode of another game. In records without `failures` an output that begins
    with "Error: " counts as a failure."""
    facts, (seat,) = episode.outcome.facts, episode.seats
    if "calls" not in facts or "outputs" not in facts:
        raise RedQueenError(f"an episode of {episode.game!r} records no calls of tools")
    first, outputs = episode.turns[0].ask, facts["outputs"]
    if with_functions(episode):
        raise RedQueenError(f"calls that are JSON play again in their own world alone: name the game of {episode.game}")
    failures = facts.get("failures", [output.startswith("Error: ") for output in outputs])
    said = zip(outputs, failures, strict=True)
    names = [stop.removeprefix("</").removesuffix(">") for stop in first.stops]
    lines = first.messages[-1].text.removesuffix(episode.task.prompt).removesuffix("\n")
    # a usage may have several lines; which tool a line belongs to does not matter, since all are shown together
    usages = lines.split("\n", len(names) - 1)
    tools = tuple(_Recorded(said, name, usage) for name, usage in zip(names, usages, strict=False))
    length, turns = sum(map(len, facts["outputs"])), len(episode.turns)
    window = turns - 1 - facts["turns_left_out"] if "turns_left_out" in facts else 0
    return ToolReply(seat.role, tools, Limits(len(facts["calls"]), turns, length, window))


def with_functions(episode: Episode) -> bool:
    """Whether the seat of a recorded episode was told of functions, to be called by JSON."""
    return any(
        not ask.stops and ask.messages[0].speaker == "system" for ask in (turn.ask for turn in episode.turns[:1])
    )


@dataclass(frozen=True)
class _Recorded:
    said: Iterator[tuple[str, bool]]  # an output, and whether the call was at fault
    name: str
    usage: str

    def __call__(self, text: str) -> str:
        output, failed = next(self.said)
        if failed:  # one that was cut is cut again
            raise ToolError(output.removeprefix("Error: "))
        return output


# Tools


@dataclass(frozen=True)
class Searching:
    """A tool that searches documents: `find` returns their texts for a query, the best first."""

    find: Callable[[str], Sequence[str]]
    name: str = "search"
    usage: str = "<search>words</search> finds documents."

    def __call__(self, text: str) -> str:
        if not text:
            raise ToolError("a search needs words")
        return "\n".join(self.find(text)) or "Nothing was found."


@dataclass(frozen=True)
class Running:
    """A tool that runs Python: `run` returns what a program printed and raises ToolError if it fails."""

    run: Callable[[str], str]
    name: str = "python"
    usage: str = "<python>print(2+3)</python> runs a program."

    def __call__(self, text: str) -> str:
        return self.run(text).rstrip("\n") or "The program printed nothing."


@dataclass(frozen=True)
class Calculator:
    """A tool for arithmetic with + - * / // % and brackets on plain numbers, exact for integers. Nothing else is
    evaluated."""

    name: str = "calculate"
    usage: str = "<calculate>2+3</calculate> gives 5."
    longest: int = 200  # characters of an expression
    largest: float = 1e30

    def __call__(self, text: str) -> str:
        if not text or len(text) > self.longest:
            raise ToolError(f"1 to {self.longest} characters can be worked out, not {len(text)}")
        if not _ARITHMETIC.fullmatch(text):
            raise ToolError(f"{text[:40]!r} is not arithmetic")
        try:
            return str(self._value(ast.parse(text.strip(), mode="eval").body))
        except (SyntaxError, RecursionError, MemoryError):
            raise ToolError(f"{text[:40]!r} is not arithmetic") from None
        except ZeroDivisionError:
            raise ToolError("division by zero") from None

    def _value(self, node: ast.expr) -> float:
        match node:
            case ast.Constant(value=int(value) | float(value)):
                return self._bounded(value)
            case ast.UnaryOp(sign, operand) if type(sign) in _SIGNS:
                return _SIGNS[type(sign)](self._value(operand))
            case ast.BinOp(left, operation, right) if type(operation) in _OPERATIONS:
                return self._bounded(_OPERATIONS[type(operation)](self._value(left), self._value(right)))
        raise ToolError(f"{ast.unparse(node)[:40]!r} is not a number, + - * / // % or brackets")

    def _bounded(self, value: float) -> float:
        if abs(value) > self.largest or not isfinite(value):
            raise ToolError(f"a number is larger than {self.largest:g}")
        return value


_ARITHMETIC = re.compile(r"[0-9+\-*/%(). ]*")  # no letter: nothing that could be a name or a text
_SIGNS: Mapping[type[ast.unaryop], Callable[[float], float]] = {ast.UAdd: pos, ast.USub: neg}
_OPERATIONS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: add,
    ast.Sub: sub,
    ast.Mult: mul,
    ast.Div: truediv,
    ast.FloorDiv: floordiv,
    ast.Mod: mod,
}
