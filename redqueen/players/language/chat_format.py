"""From messages to prompt tokens: a model's chat template, or plain text for models without one.

A seat's first prompt is rendered whole. Later prompts that extend it keep its tokens, the seat's
own as sampled, and render only what is new: nothing is tokenized twice. Where a seat's earlier thoughts are not to be
kept, every prompt is rendered whole, with what the seat said but not what it thought, and so each turn is a row of its
own.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from redqueen.players.language.chat_templates import TooDear, rendered
from redqueen.players.language.thoughts import in_marks, in_opened, marks_in
from redqueen.players.language.tokenizer_files import no_panic
from redqueen.texts import Marks, parted, thinks_on
from redqueen.types import Ask, Message, RedQueenError

SHORT, REMEMBERED = 1_000, 8_192  # characters of a text whose tokens are remembered, and how many texts are
AROUND = 128  # tokens that a template adds to a message at most, as is taken without counting them
_HERE = "@@own-words-end-here@@"


class TooLong(RedQueenError):
    """A prompt has more tokens than are allowed, or than the model reads."""


class ChatFormat:
    """Renders asks for one tokenizer.

    `system` is shown first, `instruction` after every message that the seat answers. `raw` ignores the template:
    messages and replies are lines of plain text. `arguments` are passed to the template by name, such as
    `enable_thinking=False`; one that it does not read is refused. With `keeps_thoughts` a seat's later prompts extend
    its tokens; without, they are rendered anew with its earlier replies as everybody else was shown them. A prompt has
    at most `longest` tokens, fewer than the model was made to read (`context`), and none beyond its `vocabulary`.
    `wording` is a text in which `{prompt}` stands for the first message that is neither the system's nor the seat's
    own.

    A template that refuses a system message gets its text before the first message of the user; one that does not open
    the reply by itself gets the opening that it puts before an answer; one of images and texts gets each message as a
    list of one text. Thoughts stand between `thoughts`, or between the marks that the template names. Raises
    RedQueenError for a template that shows nothing of what the user says.
    """

    def __init__(
        self,
        tokenizer: Any,
        system: str = "",
        instruction: str = "",
        raw: bool = False,
        arguments: Mapping[str, Any] = MappingProxyType({}),
        keeps_thoughts: bool = True,
        wording: str = "{prompt}",
        longest: int | None = None,
        thoughts: Marks | None = None,
        context: int | None = None,
        vocabulary: int | None = None,
    ) -> None:
        self.tokenizer = tokenizer
        self._encoded_before = lru_cache(REMEMBERED)(self._encode_anew)
        self._context, self._vocabulary = context, vocabulary
        self._system = system
        self._instruction = instruction
        self.raw = raw or not tokenizer.chat_template
        self.arguments = arguments
        self._keeps_thoughts = keeps_thoughts
        self._wording, self._longest = wording, longest
        if tokenizer.eos_token_id is None:
            raise RedQueenError("the tokenizer has no end-of-text token: set tokenizer.eos_token in its folder")
        if self.raw and arguments:
            raise RedQueenError(
                f"a plain prompt has no chat template to which {', '.join(arguments)} could be passed: leave it out"
            )
        for name in () if self.raw else arguments:
            _check_read(tokenizer.chat_template, name)
        # text of other speakers must not end their turn and open another: special tokens in it are broken up
        self._special = re.compile("|".join(re.escape(token) for token in tokenizer.all_special_tokens))
        self.thoughts = thoughts or marks_in("" if self.raw else tokenizer.chat_template)
        marked = self.thoughts.open + self.thoughts.close + self.thoughts.lead
        added = tokenizer.added_tokens_decoder.items()  # a tokenizer would leave out marks that are special tokens
        self._marks = {n: token.content for n, token in added if token.special and token.content in marked}
        self._in_parts = False
        self._in_parts = not self.raw and self._wants_parts()
        self._system_refused = not self.raw and self._refuses_system()
        self.opening = "" if self.raw else self._missing_opening()
        self.end = self._end_of_turn()
        shown = "" if self.raw else self._template([{"role": "user", "content": _HERE}], reply=True)
        self.opens_thought = thinks_on(shown.rpartition(_HERE)[2], self.thoughts)
        self._on_new_line = shown.endswith("\n")
        self._lead = "" if self.raw else self._lead_of_reply()

    def changed(
        self,
        system: str | None = None,
        instruction: str | None = None,
        arguments: Mapping[str, Any] = MappingProxyType({}),
        keeps_thoughts: bool | None = None,
        wording: str | None = None,
        longest: int | None = None,
        thoughts: Marks | None = None,
    ) -> ChatFormat:
        """This format with another system prompt, instruction, way with thoughts, wording, length or marks of thoughts,
        and further arguments of the template; None keeps what it has."""
        return ChatFormat(
            self.tokenizer,
            self._system if system is None else system,
            self._instruction if instruction is None else instruction,
            self.raw,
            {**self.arguments, **arguments},
            self._keeps_thoughts if keeps_thoughts is None else keeps_thoughts,
            self._wording if wording is None else wording,
            self._longest if longest is None else longest,
            thoughts or self.thoughts,
            self._context,
            self._vocabulary,
        )

    def settings(self) -> str:
        """All that a prompt depends on besides the ask and the tokens' numbers, as one text."""
        template = "" if self.raw else self.tokenizer.chat_template
        own = (self._system, self._instruction, self._keeps_thoughts, self._wording)
        return repr((template, *own, sorted(self.arguments.items())))

    def prompt(self, ask: Ask) -> np.ndarray:
        """[P] int, the prompt tokens of the seat's next reply. Raises TooLong for more than are allowed, or than the
        model reads, and RedQueenError for a token that it does not know."""
        prompt = self._prompt(ask)
        begins = " ".join(next((each.text for each in ask.messages), "").split())[:40]
        if self._longest is not None and len(prompt) > self._longest:
            raise TooLong(
                f"a prompt of the {ask.seat.role} has {len(prompt)} tokens, more than --max-prompt-length "
                f"{self._longest}: leave its task out ({begins!r} ...), or allow more"
            )
        if self._context is not None and len(prompt) >= self._context:
            raise TooLong(
                f"a prompt of the {ask.seat.role} has {len(prompt)} tokens, and the model was made for {self._context} "
                f"with its reply: leave its task out ({begins!r} ...), or take a --model that reads more"
            )
        if self._vocabulary is not None and prompt.max(initial=0) >= self._vocabulary:
            token = int(prompt.max())
            raise RedQueenError(
                f"the tokenizer writes {self.tokenizer.decode([token])!r} as token {token}, and the model knows tokens "
                f"below {self._vocabulary}: take the tokenizer that belongs to the model, or enlarge its embeddings"
            )
        return prompt

    def too_long(self, ask: Ask) -> str:
        """Why the prompt has too many tokens; "" where it has not. They are not counted where there are so few bytes
        that it cannot have."""
        most = min((each for each in (self._longest, self._context) if each is not None), default=None)
        texts = [self._system, self._instruction, self._wording, *(message.text for message in ask.messages)]
        size = sum(len(text.encode("utf-8", "surrogatepass")) + AROUND for text in texts)
        if most is None or size + sum(len(turn.reply.tokens) for turn in ask.past) < most:
            return ""
        try:
            self.prompt(ask)
        except TooLong as error:
            return str(error)
        return ""

    def _prompt(self, ask: Ask) -> np.ndarray:
        if not self._keeps_thoughts and ask.past:
            ask = self._without_thoughts(ask)
        elif ask.past and len(ask.past[-1].reply.prompt_tokens):  # another kind of player leaves no tokens
            last = ask.past[-1]
            known = len(last.ask.messages)
            own = ask.messages[known : known + 1]
            if ask.messages[:known] == last.ask.messages and own and own[0].speaker == str(ask.seat):
                said = np.concatenate([last.reply.prompt_tokens, last.reply.tokens])
                ended = int(said[-1]) == self.end
                return np.concatenate([said, self._after(ask.messages[known + 1 :], str(ask.seat), ended)])
        return np.array(self._encode(self._whole(ask.messages, str(ask.seat)), first=True), dtype=np.int64)

    def reply_tokens(self, text: str, stops: Sequence[str] = (), written: bool = False) -> tuple[int, ...]:
        """The tokens of a whole reply: the text and the end of the turn, or the text up to the first stop. Where the
        prompt opens a thought, one that somebody has `written` without one closes it first."""
        told = in_marks(text, self.thoughts, self._lead)
        told = in_opened(told, self.thoughts, self._on_new_line) if written and self.opens_thought else told
        words = self._encode(self._apart(told, but=self._marks.values()), first=False)
        ends = [end for end in range(1, len(words) + 1) if stops and self.completes(words[:end], stops)]
        return tuple(words[: ends[0]]) if ends else (*words, self.end)

    def _apart(self, text: str, but: Collection[str] = ()) -> str:
        """The text with the names of special tokens broken up, so that none is encoded as its token, `but` these."""
        return self._special.sub(lambda token: token[0] if token[0] in but else f"{token[0][0]} {token[0][1:]}", text)

    def reading(self) -> dict[str, Any]:
        """What `completes` and `parted` depend on besides the tokenizer, as plain data, of which `that_reads` makes a
        format in another process."""
        return {"raw": self.raw, "arguments": dict(self.arguments), "thoughts": asdict(self.thoughts)}

    @staticmethod
    def that_reads(tokenizer: Any, reading: Mapping[str, Any]) -> ChatFormat:
        """A format that reads replies as the one does whose `reading` this is."""
        return ChatFormat(tokenizer, **{**reading, "thoughts": Marks(**reading["thoughts"])})

    def completes(self, tokens: Sequence[int], stops: Sequence[str]) -> bool:
        """Whether the last of `tokens` is the first to complete one of `stops`. The token may hold more characters
        after the stop."""
        longest = max((len(stop.encode()) for stop in stops), default=0)  # a token has at least one byte
        words = self.decode(tokens[-longest - 1 :])  # the first of a text may lose its space
        return any(stop in words for stop in stops)

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of a reply, without special tokens, but with the marks of thoughts where these are special."""
        texts, begin, words = [], 0, list(tokens)
        for end, token in enumerate(words):
            if token in self._marks:
                texts += [self._text(words[begin:end]), self._marks[token]]
                begin = end + 1
        return "".join([*texts, self._text(words[begin:])])

    def parted(self, tokens: Sequence[int]) -> tuple[str, str | None]:
        """The thoughts in the tokens of a reply, and what it says without them; see `texts.parted`."""
        return parted(self.decode(tokens), self.opens_thought, self.thoughts)

    def _text(self, tokens: list[int]) -> str:
        return str(self.tokenizer.decode(tokens, skip_special_tokens=True))

    def _without_thoughts(self, ask: Ask) -> Ask:
        """The ask with the seat's earlier replies as they were said, without its thoughts."""
        own = [number for number, message in enumerate(ask.messages) if message.speaker == str(ask.seat)]
        messages = list(ask.messages)
        for number, turn in zip(own[-len(ask.past) :], ask.past[-len(own) :], strict=False):
            _, said = self.parted(turn.reply.tokens.tolist())
            messages[number] = Message(str(ask.seat), (said or "").strip() or turn.reply.text)
        return replace(ask, messages=tuple(messages))

    def _whole(self, messages: Sequence[Message], own: str) -> str:
        messages = worded(messages, own, self._wording)
        if self.raw:
            lines = [self._system] if self._system else []
            lines += self._with_instruction(messages, own, "\n")
            return "\n".join(lines) + "\n"
        system = [Message("system", self._system)] if self._system else []
        return self._template(self._turns([*system, *messages], own), reply=True)

    def _after(self, messages: Sequence[Message], own: str, ended: bool) -> np.ndarray:
        """The tokens between a seat's last reply and its next one."""
        if self.raw:
            lines = "".join(f"\n{text}" for text in self._with_instruction(messages, own, "\n")) + "\n"
            between = [*([] if ended else [self.end]), *self._encode(lines, first=False)]
            return np.array(between, dtype=np.int64)
        before = [{"role": "user", "content": "."}, {"role": "assistant", "content": _HERE}]
        text = self._template([*before, *self._turns(messages, own)], reply=True)
        text = text.split(_HERE, 1)[1] if _HERE in text else ""  # the first: others may say it too
        if not text:
            raise RedQueenError("the chat template drops earlier replies: use raw prompts for games of several turns")
        tokens = self._encode(text, first=False)
        # gpt-oss ends its last reply in one way, and each earlier one as it ends a thought
        if ended and (tokens[0] == self.end or self._marks.get(tokens[0]) == self.thoughts.close):
            tokens = tokens[1:]
        return np.array(tokens, dtype=np.int64)

    def _turns(self, messages: Sequence[Message], own: str) -> list[dict[str, str]]:
        """Messages as a chat: the seat is the assistant, every other speaker is the user;
        consecutive messages of one role are joined, as many templates demand."""
        turns: list[dict[str, str]] = []
        for message, text in zip(messages, self._with_instruction(messages, own, "\n\n"), strict=True):
            role = "assistant" if message.speaker == own else "system" if message.speaker == "system" else "user"
            if turns and turns[-1]["role"] == role:
                turns[-1]["content"] += "\n\n" + text
            else:
                turns.append({"role": role, "content": text})
        return turns

    def _with_instruction(self, messages: Sequence[Message], own: str, gap: str) -> list[str]:
        """The texts of the messages, those that the seat answers followed by the instruction."""
        texts = []
        for number, message in enumerate(messages):
            answered = number + 1 == len(messages) or messages[number + 1].speaker == own
            asked = self._instruction and answered and message.speaker not in (own, "system")
            said = self._apart(message.text)
            texts.append(said + gap + self._instruction if asked else said)
        return texts

    def _template(self, turns: list[dict[str, str]], reply: bool) -> str:
        """The chat as text, with the opening of a `reply`."""
        shown = _system_in_user(turns) if self._system_refused else turns
        return self._rendered(shown, reply) + (self.opening if reply else "")

    def _rendered(self, turns: list[dict[str, str]], reply: bool) -> str:
        shown: Sequence[Mapping[str, Any]] = turns
        if self._in_parts:
            shown = [{**turn, "content": [{"type": "text", "text": turn["content"]}]} for turn in turns]
        try:
            return rendered(self.tokenizer, shown, reply, self.arguments)
        except TooDear:
            raise
        except Exception as error:  # templates raise what they like
            roles = ", ".join(turn["role"] for turn in turns)
            said = " ".join(str(error).split())
            raise RedQueenError(
                f"the model's chat template cannot show a conversation of {roles} ({said:.120}): "
                "--raw-prompt True uses plain text instead"
            ) from None

    def _wants_parts(self) -> bool:
        """Whether the template takes a message as a list of parts and not as a text, as those of models that see do."""
        chat = [{"role": "user", "content": _HERE}, {"role": "assistant", "content": "."}]
        shown, self._in_parts = self._shows_user(chat), True
        in_parts, self._in_parts = self._shows_user(chat), False
        if not shown and not in_parts and self._shows_user(chat[:1]) is False:
            raise RedQueenError(
                "the model's chat template shows nothing of what the user says: mend it in the model's folder, or use "
                "plain text, --raw-prompt True"
            )
        return not shown and bool(in_parts)

    def _shows_user(self, chat: list[dict[str, str]]) -> bool | None:
        """Whether the text of the user is shown; None where the template cannot show the conversation."""
        try:
            return _HERE in self._rendered(chat, reply=False)
        except TooDear:
            raise
        except RedQueenError:
            return None

    def _refuses_system(self) -> bool:
        turns = [{"role": "system", "content": _HERE}, {"role": "user", "content": "."}]
        try:
            return _HERE not in self._rendered(turns, reply=True)
        except TooDear:
            raise
        except RedQueenError:
            return True

    def _missing_opening(self) -> str:
        """What a template puts between the user's message and an answer, if it does not put it there itself when asked
        to open a reply; "" if it does, as nearly all do."""
        self.opening = ""
        asked = [{"role": "user", "content": "."}]
        shown = self._template(asked, reply=True)
        if shown != self._template(asked, reply=False):
            return ""
        answered = self._template([*asked, {"role": "assistant", "content": _HERE}], reply=False)
        opening = answered.partition(_HERE)[0].removeprefix(shown)
        return parted(opening, marks=self.thoughts)[1] or "" if answered.startswith(shown) else ""

    def _lead_of_reply(self) -> str:
        """What the template puts before an answer and after the opening of the reply, where that is all marks."""
        asked = [{"role": "user", "content": "."}]
        shown = self._template(asked, reply=True)
        before = self._template([*asked, {"role": "assistant", "content": _HERE}], reply=False).partition(_HERE)[0]
        lead = before.removeprefix(shown) if before.startswith(shown) else ""
        return lead if lead and not self.thoughts.unframed(lead) else ""

    def _encode(self, text: str, first: bool) -> list[int]:
        """The tokens of a text. Templates have their own opening token; plain text gets the tokenizer's. A lone
        surrogate, which JSON can hold and no tokenizer reads, is a question mark. Short texts come back often, the
        prompts of a small game and its replies, so that the last of them are remembered."""
        encode = self._encoded_before if len(text) <= SHORT else self._encode_anew
        tokens: list[int] = encode(text, first).tolist()
        return tokens

    def _encode_anew(self, text: str, first: bool) -> np.ndarray:
        known = text.encode(errors="replace").decode()
        with no_panic(f"read a prompt of {len(known)} characters"):
            return np.array(self.tokenizer.encode(known, add_special_tokens=first and self.raw), dtype=np.int64)

    def _end_of_turn(self) -> int:
        """The token that closes a reply in this template, or the end of text."""
        if not self.raw:
            turns = [{"role": "user", "content": "."}, {"role": "assistant", "content": _HERE}]
            text = self._template(turns, reply=False).rsplit(_HERE, 1)[-1]
            tokens = self._encode(text, first=False)
            if tokens and tokens[0] in self.tokenizer.all_special_ids and tokens[0] not in self._marks:
                return int(tokens[0])
        return int(self.tokenizer.eos_token_id)


def _check_read(template: str, name: str) -> None:
    """Raises RedQueenError for an argument that a chat template does not read."""
    names = set(re.findall(r"[A-Za-z_]\w*", template))
    if name not in names:
        near = difflib.get_close_matches(name, names, 1)
        like = f": did you mean {near[0]}?" if near else ": leave it out"
        raise RedQueenError(f"the model's chat template does not read {name!r}{like}")


def worded(messages: Sequence[Message], own: str, wording: str) -> Sequence[Message]:
    """The messages, the first that is neither the system's nor the seat's own put into the `{prompt}` of `wording`."""
    first = next((n for n, each in enumerate(messages) if each.speaker not in (own, "system")), None)
    if first is None or wording == "{prompt}":
        return messages
    text = wording.replace("{prompt}", messages[first].text)
    return [*messages[:first], Message(messages[first].speaker, text), *messages[first + 1 :]]


def _system_in_user(turns: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """The chat without its system message, whose text stands before the first message of the user."""
    rules = "\n\n".join(turn["content"] for turn in turns if turn["role"] == "system")
    rest = [dict(turn) for turn in turns if turn["role"] != "system"]
    asked = next((turn for turn in rest if turn["role"] == "user"), None)
    if rules and asked:
        asked["content"] = f"{rules}\n\n{asked['content']}"
    return rest
