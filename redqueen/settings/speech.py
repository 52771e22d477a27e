"""Settings of how a player speaks in one role: its prompts, its answer format, its sampling."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

from redqueen.players.endpoint import Server
from redqueen.players.language.answers import Boxed, Bracketed, Code, Json, Plain, Tagged
from redqueen.players.language.formats import Nucleus, RoleFormat
from redqueen.players.language.thoughts import marks_named
from redqueen.protocols import AnswerFormat
from redqueen.settings.limits import Within, unset
from redqueen.texts import file_text
from redqueen.types import RedQueenError

Named = Literal["plain", "boxed", "brackets", "tagged", "json", "code"]
ANSWERS: Mapping[str, type[AnswerFormat]] = MappingProxyType(
    {"plain": Plain, "boxed": Boxed, "brackets": Bracketed, "tagged": Tagged, "json": Json, "code": Code}
)
PROMPT = "{prompt}"


@dataclass(frozen=True)
class Speech:
    """How a player speaks in one role. What is left out is as it is for the learner; but a role that does not answer
    questions (a proposer, a judge) has no answer format unless it is given one: its whole reply is read."""

    answer: Annotated[Named | None, unset("{plain,boxed,brackets,tagged,json,code}")] = None
    """where in a reply the answer stands; left out, all of it, without the thoughts of a reasoning model"""
    system_prompt: Annotated[str | None, unset("STR")] = None
    """said to the model before anything else"""
    prompt: Annotated[str | None, unset("FILE")] = None
    """a text file in which {prompt} stands for what the role is asked otherwise (redqueen prompts RECIPE shows it)"""
    template: Annotated[tuple[str, ...], unset("NAME=VALUE...")] = ()
    """arguments of the chat template as it spells them, such as enable_thinking=false"""
    history: Annotated[Literal["keep", "strip"] | None, unset("{keep,strip}")] = None
    """whether its own later turns see its earlier thoughts (keep, by default: turns extend the tokens of one row) or
    not (strip, as in Qwen3's template: each turn is a row of its own)"""
    thoughts: Annotated[str | None, unset("OPEN...CLOSE")] = None
    """what marks the thoughts of a model: as its chat template names them, else <think>...</think>; or none"""
    max_completion_length: Annotated[int | None, Within(1), unset("INT")] = None
    """tokens of one reply"""
    temperature: Annotated[float | None, Within(0.0), unset("FLOAT")] = None
    """of a role that does not learn; a role that learns is trained on the distribution it is sampled from"""
    top_p: Annotated[float | None, Within(0.0, 1.0, above=True), unset("FLOAT")] = None
    """of a role that does not learn"""
    top_k: Annotated[int | None, Within(1), unset("INT")] = None
    """of a role that does not learn"""
    min_p: Annotated[float | None, Within(0.0, 1.0), unset("FLOAT")] = None
    """of a role that does not learn"""
    stop: Annotated[tuple[str, ...], unset("TEXT...")] = ()
    """texts that end a reply, and belong to it"""

    @property
    def given(self) -> tuple[str, ...]:
        """The names of the settings that are given."""
        return tuple(field.name for field in fields(self) if getattr(self, field.name) != field.default)

    def spoken(self, usual: RoleFormat, as_learner: bool) -> RoleFormat:
        """The format of a player that otherwise speaks as `usual`. With `as_learner` that answer format is its own too,
        where none is given."""
        answer = ANSWERS[self.answer]() if self.answer else usual.answer if as_learner else None
        chat = usual.chat.changed(
            system=self.system_prompt,
            instruction=answer.instruction if answer else "",
            arguments=template_arguments(self.template),
            keeps_thoughts=None if self.history is None else self.history == "keep",
            wording=None if self.prompt is None else wording(Path(self.prompt)),
            thoughts=None if self.thoughts is None else marks_named(self.thoughts),
        )
        return replace(
            usual,
            chat=chat,
            answer=answer,
            constrain=answer is None,
            limit=usual.limit if self.max_completion_length is None else self.max_completion_length,
            temperature=usual.temperature if self.temperature is None else self.temperature,
            nucleus=self._nucleus(),
            stops=self.stop,
        )

    def served(self, usual: Server) -> Server:
        """The endpoint, spoken to as these settings say."""
        nucleus = {name: getattr(self, name) for name in ("top_p", "top_k", "min_p") if getattr(self, name) is not None}
        arguments = template_arguments(self.template)
        kept = dict(usual.extra.get("chat_template_kwargs", {}))
        return replace(
            usual,
            answer=ANSWERS[self.answer]() if self.answer else usual.answer,
            system=usual.system if self.system_prompt is None else self.system_prompt,
            wording=PROMPT if self.prompt is None else wording(Path(self.prompt)),
            temperature=usual.temperature if self.temperature is None else self.temperature,
            max_tokens=usual.max_tokens if self.max_completion_length is None else self.max_completion_length,
            stops=self.stop,
            thoughts=usual.thoughts if self.thoughts is None else marks_named(self.thoughts),
            extra={
                **usual.extra,
                **nucleus,
                **({"chat_template_kwargs": {**kept, **arguments}} if kept or arguments else {}),
            },
        )

    def _nucleus(self) -> Nucleus:
        return Nucleus(self.top_k or 0, 1.0 if self.top_p is None else self.top_p, self.min_p or 0.0)


def template_arguments(words: tuple[str, ...]) -> dict[str, Any]:
    """The arguments of a chat template from NAME=VALUE; a value is read as JSON where it is JSON (false, 3, "x"), with
    True, False and None as Python spells them, and is a text elsewhere. Raises RedQueenError for other words."""
    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.isidentifier():
            raise RedQueenError(
                f"an argument of the chat template is NAME=VALUE, as in enable_thinking=false: not {word!r}"
            )
        try:
            found[name] = json.loads({"True": "true", "False": "false", "None": "null"}.get(value, value))
        except ValueError:
            found[name] = value
    return found


def wording(file: Path) -> str:
    """The text of a prompt file. Raises RedQueenError if it cannot be read or has no {prompt}."""
    try:
        text = file_text(file.expanduser())
    except (OSError, UnicodeDecodeError) as error:
        raise RedQueenError(f"cannot read the prompt file {file}: {error}") from None
    if PROMPT not in text:
        raise RedQueenError(
            f"{file} has no {PROMPT}, which stands for what the role is asked: put it where that belongs"
        )
    return text.rstrip("\n")
