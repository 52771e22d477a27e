"""A sentence said again and again: the pseudo data of DITTO (Xu et al. 2022, arXiv:2206.02369), and how to count it.

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
    """For each trajectory of one turn one in which a sentence of its reply, drawn by chance, is repeated until the row
    has `length` tokens, the last copy cut there. `ends` are the tokens that end a sentence; one has `shortest` tokens
    at least, and fits twice.

    Replies without such a sentence are left out. Raises RedQueenError where none has one: what is trained on
    then would be no pseudo data at all."""
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


# How to count it


def repeated_grams(items: Sequence[Hashable], length: int = 4) -> float:
    """The share of runs of so many words that stand in the text before: rep-n of Welleck et al. (2019), 1 - different
    runs / runs. 0 for a text that is shorter."""
    grams = Counter(tuple(items[start : start + length]) for start in range(len(items) - length + 1))
    return 1.0 - len(grams) / grams.total() if grams else 0.0


def repeated_sentences(text: str) -> float:
    """The share of sentences that say the same as the one before, the first one not counted; 0 where there is one."""
    return consecutive([" ".join(each.split()) for each in _SENTENCE.findall(text) if each.strip()])


def consecutive(sentences: Sequence[Hashable]) -> float:
    """The share of items that are the same as the one before."""
    pairs = list(pairwise(sentences))
    return sum(one == other for one, other in pairs) / len(pairs) if pairs else 0.0
