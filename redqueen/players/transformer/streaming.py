"""Replies that are returned as they are finished, while new asks join those in progress (continuous batching).

If replies differ in length, a round waits for its longest while ever fewer rows are in progress. A stream keeps its
rows filled: when a quarter of them are free, waiting asks join, and the tokens so far of the others become a part of
their prompts.

    a round      1  ##########           a stream     1  ##########
                 2  ####                              2  ####  5 #######
                 3  ######                            3  ######  6 ####
                 4  ###                               4  ###  7 ########
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from redqueen.players.language.saying import Voice
from redqueen.players.transformer.forward import Forward
from redqueen.players.transformer.key_values import KeyValueStore
from redqueen.players.transformer.sampling import Choir, Manner, Saying
from redqueen.types import Ask, RedQueenError, Reply


@dataclass(frozen=True)
class _Question:
    number: int
    ask: Ask
    voice: Voice
    prompt: np.ndarray  # [P]
    saying: Saying


class TransformerStream:
    """A stream of replies of one set of weights, which must not change until all asks are answered."""

    def __init__(
        self,
        forward: Forward,
        store: KeyValueStore,
        weights: Mapping[str, Tensor] | None,
        spoken: Callable[[Ask], tuple[Voice, Manner]],
        unchanged: Callable[[], bool],
        rows: int,
        name: str,
        is_listed: Callable[[Ask], bool],
        reply_listed: Callable[[Sequence[Ask]], list[Reply]],
    ) -> None:
        if rows < 1:
            raise RedQueenError(f"a stream needs at least one row, not {rows}")
        self._forward, self._store, self._weights = forward, store, weights
        self._spoken, self._unchanged = spoken, unchanged
        self._rows, self._name = rows, name
        self._is_listed, self._reply_listed = is_listed, reply_listed
        self._listed: list[tuple[int, Ask]] = []
        self._put = 0
        self._waiting: list[_Question] = []
        self._growing: list[_Question] = []
        self._choir: Choir | None = None

    def put(self, asks: Sequence[Ask]) -> list[int]:
        """Asks for replies to `asks`; returns the number of each, under which `get` returns its reply."""
        for ask in asks:
            if self._is_listed(ask):
                self._listed.append((self._put, ask))
            else:
                voice, manner = self._spoken(ask)
                prompt = voice.chat.prompt(ask)
                saying = Saying(tuple(prompt.tolist()), ask.seed, manner, voice.completes(ask))
                self._waiting.append(_Question(self._put, ask, voice, prompt, saying))
            self._put += 1
        return list(range(self._put - len(asks), self._put))

    def get(self) -> list[tuple[int, Reply]]:
        """The next finished replies, each with its number; empty only if no ask is open."""
        if not self._unchanged():
            raise RedQueenError(f"{self._name} was updated while a stream of its replies was open")
        if self._listed:
            listed, self._listed = self._listed, []
            replies = self._reply_listed([ask for _, ask in listed])
            return [(number, reply) for (number, _), reply in zip(listed, replies, strict=True)]
        finished: list[_Question] = []
        with torch.inference_mode():
            while not finished and (self._growing or self._waiting):
                self._forward.wearing(self._weights, self._step)
                finished = [each for each in self._growing if each.saying.finished]
                self._growing = [each for each in self._growing if not each.saying.finished]
        return [(each.number, self._reply(each)) for each in finished]

    def _step(self) -> None:
        """Adds one token to all replies in progress; waiting asks may join first."""
        free = self._rows - len(self._growing)
        if self._waiting and (not self._growing or free >= max(1, self._rows // 4)):
            joining, self._waiting = self._waiting[:free], self._waiting[free:]
            self._growing += joining
            sayings = [each.saying for each in joining]
            if self._choir is None:
                self._choir = Choir(self._forward, self._store, sayings)
            else:
                self._choir.join(sayings)
        else:
            assert self._choir is not None
            self._choir.step()

    def _reply(self, question: _Question) -> Reply:
        said = question.saying.sample
        return question.voice.say(question.ask, question.prompt, said.tokens, said.logprobs, said.truncated)
