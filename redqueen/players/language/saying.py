"""Replies made of sampled tokens: the thought, the action, and the legal replies.

Pure arithmetic on token ids and log-probabilities, so every player that samples tokens gives the same
reply for them, whichever engine computed them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from redqueen.chance import pick, uniform
from redqueen.players.language.answers import thought_and_action
from redqueen.players.language.chat_format import ChatFormat
from redqueen.players.language.formats import RoleFormat
from redqueen.protocols import AnswerFormat
from redqueen.texts import THINK, parted
from redqueen.types import Ask, RedQueenError, Reply


@dataclass(frozen=True)
class Mind:
    """A player's exact distribution over the K listed replies to one prompt."""

    prompt: np.ndarray  # [P]
    replies: tuple[tuple[int, ...], ...]  # [K] token ids, each with the end of the turn
    logprobs: tuple[np.ndarray, ...]  # [K] arrays [R]; zeros where the token was forced
    probabilities: tuple[float, ...]  # [K]
    _said: dict[tuple[str, str, int], Reply] = field(default_factory=dict, repr=False)  # replies made so far

    @staticmethod
    def of(prompt: np.ndarray, replies: tuple[tuple[int, ...], ...], logprobs: tuple[np.ndarray, ...]) -> Mind:
        chances = np.exp([float(row.sum()) for row in logprobs])
        return Mind(prompt, replies, logprobs, tuple((chances / chances.sum()).tolist()))

    def reply(self, choice: int, text: str, player: str, version: int) -> Reply:
        """The reply that takes this choice; cached, since thousands of games share one."""
        key = (text, player, version)
        said = self._said.get(key)
        if said is None:
            said = self._said[key] = Reply(
                text=text,
                player=player,
                version=version,
                prompt_tokens=self.prompt,
                tokens=np.array(self.replies[choice], dtype=np.int64),
                logprobs=self.logprobs[choice],
                legal_tokens=self.replies,
            )
        return said


Question = tuple[bytes, tuple[str, ...]]  # the tokens of a prompt, and the listed replies


class Minds:
    """Cache of exact reply distributions of one set of weights; misses are computed in one batch."""

    def __init__(
        self,
        prompt: Callable[[Ask], np.ndarray],
        compute: Callable[[Mapping[Question, np.ndarray]], Mapping[Question, Mind]],
    ) -> None:
        self._prompt = prompt
        self._compute = compute  # from questions and their prompts, [P] each
        self._known: dict[Question, Mind] = {}
        self._questions: dict[Ask, Question] = {}

    def of(self, asks: Sequence[Ask]) -> list[Mind]:
        questions: list[Question] = []
        unknown: dict[Question, np.ndarray] = {}
        for ask in asks:
            question = None if ask.past else self._questions.get(ask)  # with a past, the prompt extends its tokens
            if question is None:
                prompt = self._prompt(ask)
                question = (prompt.tobytes(), ask.choices)
                if not ask.past:
                    self._questions[ask] = question
                if question not in self._known:
                    unknown[question] = prompt
            questions.append(question)
        if unknown:
            self._known.update(self._compute(unknown))
        return [self._known[question] for question in questions]

    def forget(self) -> None:
        self._known.clear()
        self._questions.clear()


@dataclass(frozen=True)
class Voice:
    """The speaker's name and version, and how its text is parsed."""

    name: str
    version: int
    chat: ChatFormat
    answer: AnswerFormat | None = None  # None takes the whole text as the action
    stops: tuple[
        str, ...
    ] = ()  # texts that end a reply, besides those of the ask; the answer is read as from any reply

    def completes(self, ask: Ask) -> Callable[[Sequence[int]], bool] | None:
        """A function of the tokens of a reply, [R]: whether the last one completes a stop. None without stops. A stop
        within a thought is none: the model goes on thinking."""
        return completing(self.chat, self.stops_of(ask))

    def stops_of(self, ask: Ask) -> tuple[str, ...]:
        """The texts that end a reply to this ask."""
        return (*ask.stops, *self.stops)

    def choose(self, ask: Ask, mind: Mind) -> Reply:
        """One of the listed replies, drawn with the ask's seed."""
        choice = pick(mind.probabilities, uniform(ask.seed))
        return mind.reply(choice, ask.choices[choice], self.name, self.version)

    def say(
        self, ask: Ask, prompt: np.ndarray, tokens: Sequence[int], logprobs: Sequence[float], truncated: bool
    ) -> Reply:
        """The reply in free text, [R] tokens with the closing one, parsed for the action (`thought_and_action`). A text
        that ended at one of the ask's stops has no action yet: the game receives all of it."""
        text = self.chat.decode(tokens)
        called = self.chat.completes(tokens, ask.stops)
        thought, working, action = thought_and_action(
            text,
            self.answer,
            ask.choices,
            self.chat.opens_thought,
            whole=called,
            truncated=truncated,
            marks=self.chat.thoughts,
        )
        return Reply(
            text=action,
            player=self.name,
            version=self.version,
            prompt_tokens=prompt,
            tokens=np.array(tokens, dtype=np.int64),
            logprobs=np.array(logprobs, dtype=np.float64),
            thought=thought,
            working=working,
            truncated=truncated,
            malformed=not action,
        )

    def in_format(self, ask: Ask, text: str, answer: str) -> str:
        """A demonstrated `text` as this role says it, in its answer format: unchanged where an action is found in it;
        followed by its `answer` in the format where it is a whole reply; else as the action itself, after its
        thoughts."""
        thought, said = parted(text)
        if self.answer is None or not said or self.answer.parse(said, ask.choices)[1]:
            return text
        if answer:
            return f"{text.rstrip()}\n{self.answer.write(answer)}"
        return (f"{THINK.open}{thought}{THINK.close}\n\n" if thought else "") + self.answer.write(said)

    def recite(self, ask: Ask, text: str, listed: bool) -> Reply:
        """The reply as if the speaker had written `text`, for objectives that imitate: it is marked as `recited` and
        its log-probabilities are zeros, since no token was sampled. With `listed` it is one of the listed replies;
        any other text raises RedQueenError."""
        prompt = self.chat.prompt(ask)
        if not listed:
            tokens = self.chat.reply_tokens(text, ask.stops, written=True)
            return replace(self.say(ask, prompt, tokens, [0.0] * len(tokens), truncated=False), recited=True)
        if text not in ask.choices:
            raise RedQueenError(f"{text!r} is not among the choices {', '.join(ask.choices)}")
        legal = listed_replies(self.chat, ask.choices)
        said = np.array(legal[ask.choices.index(text)], dtype=np.int64)
        return Reply(text, self.name, self.version, prompt, said, np.zeros(len(said)), legal, recited=True)


def completing(chat: ChatFormat, stops: Sequence[str]) -> Callable[[Sequence[int]], bool] | None:
    """See `Voice.completes`."""

    def completes(tokens: Sequence[int]) -> bool:
        return chat.completes(tokens, stops) and chat.parted(tokens)[1] is not None

    return completes if stops else None


class Speaker(ABC):
    """A player that samples tokens: listed replies are drawn from exact distributions, all others sampled freely."""

    name: str
    version: int
    usual: RoleFormat  # in every role without a format of its own
    _roles: Mapping[str, RoleFormat]

    def speaks(self, role: str, spoken: RoleFormat) -> None:
        """From now on the replies in seats of `role` are asked for, sampled and parsed as `spoken` says; copies that
        are frozen later keep it."""
        self._roles = {**self._roles, role: spoken}

    def speak_as(self, other: Speaker) -> None:
        """From now on this speaks as `other` does in every role, under its name and version."""
        self.name, self.version, self.usual, self._roles = other.name, other.version, other.usual, other._roles

    @property
    def format(self) -> ChatFormat:
        """The chat format of every role without a format of its own."""
        return self.usual.chat

    def asked_for(self, role: str) -> str:
        """The sentence that tells the model in this role how to mark its answer; "" where all of a reply is taken."""
        answer = self.spoken_in(role).answer
        return answer.instruction if answer else ""

    def spoken_in(self, role: str) -> RoleFormat:
        """How it speaks in a seat of `role`."""
        return self._roles.get(role, self.usual)

    def _spoken(self, ask: Ask) -> RoleFormat:
        return self.spoken_in(ask.seat.role)

    def prompt(self, ask: Ask) -> np.ndarray:
        """[P] int, the prompt tokens of the reply to `ask`."""
        return self._spoken(ask).chat.prompt(ask)

    def unreadable(self, ask: Ask) -> str:
        """Why the model cannot read what the ask shows, in a line; "" where it can."""
        return self._spoken(ask).chat.too_long(ask)

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        """The replies in the order of `asks`: one batch for asks with listed replies, one for free text."""
        for hear in _HEARING:
            hear(self, asks)
        replies: dict[int, Reply] = {}
        for wanted, answer in ((True, self._choose), (False, self._write)):
            numbers = [number for number, ask in enumerate(asks) if self._is_listed(ask) == wanted]
            if numbers:
                replies.update(zip(numbers, answer([asks[number] for number in numbers]), strict=True))
        return [replies[number] for number in range(len(asks))]

    def _is_listed(self, ask: Ask) -> bool:
        return bool(ask.choices) and self._spoken(ask).constrain

    def _choose(self, asks: Sequence[Ask]) -> list[Reply]:
        return [self._voice(ask).choose(ask, mind) for ask, mind in zip(asks, self._think(asks), strict=True)]

    def _voice(self, ask: Ask) -> Voice:
        spoken = self._spoken(ask)
        return Voice(self.name, self.version, spoken.chat, spoken.answer, spoken.stops)

    @abstractmethod
    def _think(self, asks: Sequence[Ask]) -> list[Mind]: ...
    @abstractmethod
    def _write(self, asks: Sequence[Ask]) -> list[Reply]: ...


Hears = Callable[[Speaker, Sequence[Ask]], None]
_HEARING: list[Hears] = []  # of this process


@contextmanager
def hearing(hear: Hears) -> Iterator[None]:
    """While this is open, `hear` is told of every speaker and what it is asked to reply to."""
    _HEARING.append(hear)
    try:
        yield
    finally:
        _HEARING.remove(hear)


class OpenSpeaker(Speaker):
    """A speaker whose probabilities can be read, and that can recite a given text."""

    def probabilities(self, asks: Sequence[Ask]) -> list[np.ndarray]:
        """[K] for each ask, the probabilities of the listed replies. Raises RedQueenError for an ask without listed
        replies, or for a policy that answers in free text."""
        if not all(self._is_listed(ask) for ask in asks):
            raise RedQueenError(f"{self.name} answers in free text: its probabilities cannot be read exactly")
        for hear in _HEARING:
            hear(self, asks)
        return [np.array(mind.probabilities) for mind in self._think(asks)]

    @property
    def open(self) -> bool:
        return self.usual.constrain

    def in_format(self, ask: Ask, text: str, answer: str = "") -> str:
        """A demonstrated text in the answer format of the role that is asked; see `Voice.in_format`."""
        return text if self._is_listed(ask) else self._voice(ask).in_format(ask, text, answer)

    def recite(self, ask: Ask, text: str) -> Reply:
        """The reply as if this policy had written the text; see `Voice.recite`."""
        return self._voice(ask).recite(ask, text, self._is_listed(ask))


def listed_replies(chat: ChatFormat, choices: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """[K] the tokens of each legal reply. Raises RedQueenError if two of them are the same tokens."""
    replies = tuple(chat.reply_tokens(choice, written=True) for choice in choices)
    if len(set(replies)) < len(replies):
        raise RedQueenError(f"two of the legal replies {tuple(choices)} are the same tokens for this model")
    return replies
