"""Repeated sentences: the pseudo data of DITTO (Xu et al. 2022, arXiv:2206.02369), and measures of repetition.

From a text "A. B. C." the sentence B is chosen, and its row reads A. B. B. B. B., up to a length:

    prompt and A.    B.        B.           B.           each copy a turn
    no loss          d = 0     d = |B.|     d = |B.|     places to the copy before

    batch = pack(loops, [distances(loop) for loop in loops])
    learner.update(batch, PseudoRepetition())
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random

import numpy as np

from redqueen.types import RedQueenError, Trajectory, Turn

_SENTENCE = re.compile(r"[^.!?\n]*[.!?\n]+|[^.!?\n]+\Z")


def looped(
    trajectories: Sequence[Trajectory], ends: Collection[int], length: int, rng: Random, shortest: int = 2
) -> list[Trajectory]:
    """One trajectory for each trajectory of one turn, in which a random sentence of its reply is repeated until the row
    has `length` tokens, the last copy cut there. `ends` are the tokens that end a sentence; a sentence has at least
    `shortest` tokens and fits twice.

    Replies without such a sentence are left out. Raises RedQueenError if none has one."""
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
    if trajectories and not made:
        raise RedQueenError(
            f"none of {len(trajectories)} replies has a sentence that fits twice into {length} tokens and ends with "
            f"one of the {len(ends)} tokens that end sentences: give other ends, or more room"
        )
    return made


def distances(loop: Trajectory) -> np.ndarray:
    """[N] the advantages for `PseudoRepetition`: 0 for the first copy, minus the length of a copy for the others."""
    back = -float(len(loop.turns[0].reply.tokens))
    return np.array([0.0, *[back] * (len(loop.turns) - 1)])


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
