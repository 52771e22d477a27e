"""From messages to prompt tokens: a model's chat template, or plain text for models without one.

A seat's first prompt is rendered whole. Later prompts that extend it keep its tokens, the seat's
own as sampled, and render only what is new: nothing is tokenized twice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from redqueen.types import Ask, Message, RedQueenError

_HERE = "@@own-words-end-here@@"


class ChatFormat:
    """Renders asks for one tokenizer.

    `system` is shown first, `instruction` after every message that the seat answers. `raw` ignores the
    template: messages and replies are lines of plain text.
    """

    def __init__(self, tokenizer: Any, system: str = "", instruction: str = "", raw: bool = False) -> None:
        self.tokenizer = tokenizer
        self._system = system
        self._instruction = instruction
        self.raw = raw or not tokenizer.chat_template
        if tokenizer.eos_token_id is None:
            raise RedQueenError("the tokenizer has no end-of-text token: set tokenizer.eos_token in its folder")
        # text of other speakers must not end their turn and open another: special tokens in it are broken up
        self._special = re.compile("|".join(re.escape(token) for token in tokenizer.all_special_tokens))
        self.end = self._end_of_turn()

    def prompt(self, ask: Ask) -> np.ndarray:
        """[P] int, the prompt tokens of the seat's next reply."""
        if ask.past and len(ask.past[-1].reply.prompt_tokens):  # another kind of player leaves no tokens
            last = ask.past[-1]
            known = len(last.ask.messages)
            own = ask.messages[known : known + 1]
            if ask.messages[:known] == last.ask.messages and own and own[0].speaker == str(ask.seat):
                said = np.concatenate([last.reply.prompt_tokens, last.reply.tokens])
                ended = int(said[-1]) == self.end
                return np.concatenate([said, self._after(ask.messages[known + 1 :], str(ask.seat), ended)])
        return np.array(self._encode(self._whole(ask.messages, str(ask.seat)), first=True), dtype=np.int64)

    def reply_tokens(self, text: str, stops: Sequence[str] = ()) -> tuple[int, ...]:
        """The tokens of a whole reply: the text and the end of the turn, or the text up to the first stop."""
        words = self._encode(self._apart(text), first=False)
        ends = [end for end in range(1, len(words) + 1) if stops and self.completes(words[:end], stops)]
        return tuple(words[: ends[0]]) if ends else (*words, self.end)

    def _apart(self, text: str) -> str:
        """The text with the names of special tokens broken up, so that none is encoded as its token."""
        return self._special.sub(lambda token: f"{token[0][0]} {token[0][1:]}", text)

    def completes(self, tokens: Sequence[int], stops: Sequence[str]) -> bool:
        """Whether the last of `tokens` is the first to complete one of `stops`. The token may hold more characters
        after the stop."""
        longest = max((len(stop.encode()) for stop in stops), default=0)  # a token has at least one byte
        words = self.decode(tokens[-longest - 1 :])  # the first of a text may lose its space
        return any(stop in words for stop in stops)

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of a reply, without special tokens."""
        return str(self.tokenizer.decode(list(tokens), skip_special_tokens=True))

    def _whole(self, messages: Sequence[Message], own: str) -> str:
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
        before: list[dict[str, str]] = [{"role": "user", "content": "."}, {"role": "assistant", "content": _HERE}]
        text = self._template([*before, *self._turns(messages, own)], reply=True)
        text = text.split(_HERE, 1)[1] if _HERE in text else ""  # the first: others may say it too
        if not text:
            raise RedQueenError("the chat template drops earlier replies: use raw prompts for games of several turns")
        tokens = self._encode(text, first=False)
        if ended and tokens[0] == self.end:
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
        return str(self.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=reply))

    def _encode(self, text: str, first: bool) -> list[int]:
        """The tokens of a text. Templates have their own opening token; plain text gets the tokenizer's."""
        return list(self.tokenizer.encode(text, add_special_tokens=first and self.raw))

    def _end_of_turn(self) -> int:
        """The token that closes a reply in this template, or the end of text."""
        if not self.raw:
            turns = [{"role": "user", "content": "."}, {"role": "assistant", "content": _HERE}]
            text = self._template(turns, reply=False).rsplit(_HERE, 1)[-1]
            tokens = self._encode(text, first=False)
            if tokens and tokens[0] in self.tokenizer.all_special_ids:
                return int(tokens[0])
        return int(self.tokenizer.eos_token_id)
