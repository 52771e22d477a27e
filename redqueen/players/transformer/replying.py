"""From asks to rows of tokens, and from what was computed for them to replies: the same wherever it is computed, here
(policy.py) or in another process (second_process.py)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch

from redqueen.players.language.chat_format import ChatFormat
from redqueen.players.language.saying import Mind, Question, Voice, listed_replies
from redqueen.players.transformer.rows import held_query, spread
from redqueen.players.transformer.sampling import Sample
from redqueen.players.transformer.scoring import Query, Rating
from redqueen.players.transformer.trie import cut
from redqueen.types import Ask, Reply


def written(
    asks: Sequence[Ask],
    voices: Sequence[Voice],
    sampled: Callable[[Sequence[tuple[int, ...]], Sequence[int]], Sequence[Sample]],
) -> list[Reply]:
    """The replies in free text to `asks`, of which each voice says what was `sampled` for its prompt and seed."""
    prompts = [voice.chat.prompt(ask) for voice, ask in zip(voices, asks, strict=True)]
    samples = sampled([tuple(prompt.tolist()) for prompt in prompts], [ask.seed for ask in asks])
    return [
        voice.say(ask, prompt, said.tokens, said.logprobs, said.truncated)
        for voice, ask, prompt, said in zip(voices, asks, prompts, samples, strict=True)
    ]


def minds_of(
    unknown: Mapping[Question, np.ndarray],
    chat: ChatFormat,
    rated: Callable[[Sequence[Query]], Sequence[np.ndarray]],
) -> dict[Question, Mind]:
    """The distributions over the listed replies to each prompt, [P], from what `rated` says of the tokens of each."""
    queries: list[Query] = []
    spans = []
    for (_, choices), prompt in unknown.items():
        replies = listed_replies(chat, choices)
        first = len(queries)
        queries += [held_query(tuple(prompt.tolist()), reply, replies) for reply in replies]
        spans.append((replies, range(first, len(queries))))
    found = rated(queries)
    minds = {}
    for (key, prompt), (replies, numbers) in zip(unknown.items(), spans, strict=True):
        logprobs = tuple(
            spread(len(prompt), reply, queries[number], found[number])
            for reply, number in zip(replies, numbers, strict=True)
        )
        minds[key] = Mind.of(prompt, replies, logprobs)
    return minds


def rated_in_parts(
    queries: Sequence[Query], nodes: int, rating: Callable[[Sequence[Query]], Rating]
) -> list[np.ndarray]:
    """For each query the log-probabilities of its targets, computed in parts of at most `nodes` distinct tokens."""
    answers: list[np.ndarray] = [np.zeros(0)] * len(queries)
    for part in cut([query.needed for query in queries], nodes):
        chosen = [queries[number] for number in part]
        with torch.inference_mode():
            found = rating(chosen).logprobs.double().cpu().numpy()
        ends = np.cumsum([len(query.targets) for query in chosen])
        for number, values in zip(part, np.split(found, ends[:-1]), strict=True):
            answers[number] = values
    return answers
