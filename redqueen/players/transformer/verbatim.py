"""A policy's model on texts as they are, without roles, chat or forms of answers: how others' tests ask a model.

Texts are read through a store of keys and values (key_values.py), each distinct prefix once over all calls: the worked
examples before every question of a test, and a question before each of its answers. Logits are computed only where a
token is rated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from redqueen.players.language.formats import Nucleus
from redqueen.players.transformer.forward import Forward, States
from redqueen.players.transformer.key_values import KeyValueStore
from redqueen.players.transformer.sampling import Manner, sample
from redqueen.players.transformer.trie import cut
from redqueen.progress import counted
from redqueen.types import Continuation

Tokens = tuple[int, ...]
_ROWS = 64  # of logits that are held in float64 at a time


class Verbatim:
    """See the module. `weights` are used in place of the model's own, `ends` end a continuation; at most `nodes` tokens
    are read at a time."""

    def __init__(
        self,
        forward: Forward,
        tokenizer: Any,
        ends: frozenset[int],
        weights: Mapping[str, Tensor] | None,
        nodes: int,
    ) -> None:
        self.tokenizer = tokenizer
        self.context = _context(forward.longest, tokenizer)
        self._forward, self._ends, self._weights, self._nodes = forward, ends, weights, nodes
        self._store = KeyValueStore(forward, nodes)

    def rate(self, rows: Sequence[tuple[Tokens, int]]) -> list[tuple[float, bool]]:
        """For each row, tokens and the place of the first to be rated (at least 1): the sum of the log-probabilities of
        the tokens from there on, at temperature 1, and whether each of them is the likeliest."""
        needed = [tokens[:-1] for tokens, _ in rows]
        found = [(0.0, True)] * len(rows)

        def read() -> None:
            for part in counted("parts of the texts", list(cut(needed, self._nodes))):
                spans = [range(rows[n][1] - 1, len(needed[n])) for n in part]
                states = self._store.read([needed[n] for n in part], spans)
                targets = np.concatenate([rows[n][0][rows[n][1] :] for n in part]).astype(np.int64)
                logprobs, likeliest = self._rated(states, targets)
                ends = np.cumsum([len(span) for span in spans])
                for number, start, end in zip(part, [0, *ends], ends, strict=False):
                    found[number] = (float(logprobs[start:end].sum()), bool(likeliest[start:end].all()))

        with torch.inference_mode():
            self._forward.wearing(self._weights, read)
        return found

    def _rated(self, states: States, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """[M] float64 the log-probability of each target after its state, and [M] whether it is the likeliest token."""
        numbers = np.asarray(states.numbers)
        logprobs, likeliest = np.zeros(len(targets)), np.zeros(len(targets), dtype=bool)
        for start in range(0, len(states.hidden), _ROWS):
            of = np.flatnonzero((numbers >= start) & (numbers < start + _ROWS))
            scores = self._forward.logits(states.hidden[start : start + _ROWS]).double()
            rows = torch.from_numpy(numbers[of] - start).to(scores.device)
            wanted = torch.from_numpy(targets[of]).to(scores.device)
            logprobs[of] = (scores[rows, wanted] - scores.logsumexp(dim=1)[rows]).cpu().numpy()
            likeliest[of] = (scores.argmax(dim=1)[rows] == wanted).cpu().numpy()
        return logprobs, likeliest

    def go_on(self, prompts: Sequence[Tokens], wanted: Sequence[Continuation]) -> list[Tokens]:
        """The tokens that follow each prompt, up to and with the one that ended them: one that ends a text, or
        completes one of its stops."""
        kinds: dict[tuple[int, float, Nucleus], Manner] = {}  # neighbours of one manner are drawn together
        manners = []
        for each in wanted:
            nucleus = Nucleus(each.top_k, each.top_p)
            key = (each.limit, each.temperature, nucleus)
            manners.append(kinds.setdefault(key, Manner(self._ends, each.limit, each.temperature, nucleus)))
        seeds, completes = [each.seed for each in wanted], [self._completes(each.stops) for each in wanted]
        said = self._forward.wearing(
            self._weights, partial(sample, self._forward, self._store, prompts, seeds, manners, completes)
        )
        return [each.tokens for each in said]

    def _completes(self, stops: Sequence[str]) -> Callable[[Sequence[int]], bool] | None:
        """Whether one of the stops stands in the text of some tokens that did not hold one before the last."""
        if not any(stops):
            return None
        # a token may be a part of a character, so the text is read from a little before
        reach = 8 + max(len(self.tokenizer.encode(stop, add_special_tokens=False)) for stop in stops)
        reach = max(reach, *(len(stop.encode()) for stop in stops))

        def completed(tokens: Sequence[int]) -> bool:
            text = self.tokenizer.decode(tokens[-reach:])
            return any(stop in text for stop in stops if stop)

        return completed


def _context(longest: int | None, tokenizer: Any) -> int:
    """The most tokens of a text: as the model's configuration says, or its tokenizer; 2,048 where neither does."""
    known = [longest, tokenizer.model_max_length]
    return next((int(size) for size in known if size and size < 10**9), 2048)
