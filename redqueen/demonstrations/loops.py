"""Repeated sentences: the pseudo data of DITTO (Xu et al. 2022, arXiv:2206.02369), and measures of repetition.

From a text "A. B. C." the sentence B is chosen, and its row reads A. B. B. B. B., up to a length:

    prompt and A.    B.        B.           B.           each copy a turn
    no loss          d = 0     d = |B.|     d = |B.|     places to the copy before

    batch = pack(loops, [distances(loop) for loop in loops])
    learner.update(batch, PseudoRepetition())

`Loops` makes them of any texts that a language model is shown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np

from redqueen.players.language.writing import language_model, on_this_machine
from redqueen.protocols import Policy
from redqueen.types import SOLVER, RedQueenError, Trajectory, Turn

_SENTENCE = re.compile(r"[^.!?\n]*[.!?\n]+|[^.!?\n]+\Z")


def looped(
    trajectories: Sequence[Trajectory], ends: Collection[int], length: int, rng: Random, shortest: int = 2
) -> list[Trajectory]:
    """One trajectory for each trajectory of one turn, in which a random sentence of its reply is repeated until the row
    has `length` tokens, the last copy cut there. `ends` are the tokens that end a sentence; a sentence has at least
    `shortest` tokens and fits twice.

    Replies without such a sentence are left out. Raises RedQueenError if none has one."""
    made = _loops(trajectories, ends, length, rng, shortest)
    if trajectories and not made:
        raise RedQueenError(
            f"none of {len(trajectories)} replies has a sentence that fits twice into {length} tokens and ends with "
            f"one of the {len(ends)} tokens that end sentences: give other ends, or more room"
        )
    return made


def sentence_ends(tokenizer: Any) -> frozenset[int]:
    """The tokens of a tokenizer of transformers whose text ends a sentence: with . ! or ?, or with a line."""
    texts = tokenizer.batch_decode([[token] for token in range(len(tokenizer))])
    return frozenset(token for token, text in enumerate(texts) if text.rstrip(" \"')*").endswith((*".!?", "\n")))


class Loops:
    """Loops of the texts that a language model is shown."""

    def __init__(self, learner: Policy) -> None:
        self._learner, self._found = learner, False

    def of(self, shown: Sequence[Trajectory], rng: Random) -> tuple[list[Trajectory], list[np.ndarray]]:
        """A loop of each text that has a sentence and was one turn, and its `distances`; rows have room for the longest
        prompt and a reply as long as the policy's may be. Raises RedQueenError where no text of the first call has a
        sentence, and for a policy that is no language model on this machine."""
        ends, limit = self._ends_and_limit
        single = [each for each in shown if len(each.turns) == 1]
        longest = max((len(each.turns[0].reply.prompt_tokens) for each in single), default=0)
        rows = _loops(single, ends, longest + limit, rng)
        self._found |= bool(rows)
        if not self._found:
            raise RedQueenError(
                f"none of the {len(shown)} texts shown has a sentence that could be said twice in {limit} "
                "tokens: a longer --max-completion-length, or no --loops"
            )
        return rows, [distances(row) for row in rows]

    @cached_property
    def _ends_and_limit(self) -> tuple[frozenset[int], int]:
        writer = on_this_machine(language_model(self._learner), "the ends of its sentences are read from its tokenizer")
        return sentence_ends(writer.verbatim().tokenizer), writer.spoken_in(SOLVER).limit


def distances(loop: Trajectory) -> np.ndarray:
    """[N] the advantages for `PseudoRepetition`: 0 for the first copy, minus the length of a copy for the others."""
    back = -float(len(loop.turns[0].reply.tokens))
    return np.array([0.0, *[back] * (len(loop.turns) - 1)])


def _loops(
    trajectories: Sequence[Trajectory], ends: Collection[int], length: int, rng: Random, shortest: int = 2
) -> list[Trajectory]:
    """`looped`, of which none may be left."""
    made = []
    for trajectory in trajectories:
        (turn,) = trajectory.turns
        room = length - len(turn.reply.prompt_tokens)
        spans = [
            (start, end)
            for start, end in _sentences(turn.reply.tokens.tolist(), ends)
            if end - start >= shortest and 2 * end - start <= room
        ]
        if spans:
            made.append(_loop(trajectory, *rng.choice(spans), length))
    return made


def _loop(trajectory: Trajectory, start: int, end: int, length: int) -> Trajectory:
    (turn,) = trajectory.turns
    reply = turn.reply
    before = np.concatenate([reply.prompt_tokens, reply.tokens[:start]])
    copy = reply.tokens[start:end]
    turns: list[Turn] = []
    while len(before) < length:
        said = copy[: length - len(before)]
        silent = np.zeros(len(said))
        words = replace(reply, text="", prompt_tokens=before, tokens=said, logprobs=silent, recited=True)
        turns.append(Turn(turn.ask, words))
        before = np.concatenate([before, said])
    return replace(trajectory, turns=tuple(turns), rewards=np.zeros(len(turns)))


def _sentences(tokens: Sequence[int], ends: Collection[int]) -> list[tuple[int, int]]:
    """(start, end) of the runs of tokens that end with one of `ends`."""
    stops = [place + 1 for place, token in enumerate(tokens) if token in ends]
    return list(zip([0, *stops[:-1]], stops, strict=True)) if stops else []


# Measures of repetition


def repeated_grams(items: Sequence[Hashable], length: int = 4) -> float:
    """The share of n-grams of `length` items that occurred earlier in the text: rep-n of Welleck et al. (2019),
    1 - different n-grams / n-grams. 0 for a shorter text."""
    grams = Counter(tuple(items[start : start + length]) for start in range(len(items) - length + 1))
    return 1.0 - len(grams) / grams.total() if grams else 0.0


def repeated_sentences(text: str) -> float:
    """The share of sentences, from the second on, that equal the one before; 0 if there is only one."""
    return consecutive([" ".join(each.split()) for each in _SENTENCE.findall(text) if each.strip()])


def consecutive(sentences: Sequence[Hashable]) -> float:
    """The share of items, from the second on, that equal the one before; 0 for fewer than two."""
    pairs = list(pairwise(sentences))
    return sum(one == other for one, other in pairs) / len(pairs) if pairs else 0.0
