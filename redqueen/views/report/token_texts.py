"""The text of a reply split at its tokens, so that each token can be shown with its figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from redqueen.objectives.batch import free_positions
from redqueen.players.language.tokenizer_files import no_panic
from redqueen.players.transformer.loading import load_tokenizer
from redqueen.runs.checkpoints import checkpoints
from redqueen.types import RedQueenError, Reply

WINDOW = 64


class Decoder(Protocol):
    def decode(self, tokens: list[int]) -> str: ...


def tokenizer_of(folder: Path) -> Decoder | None:
    """The tokenizer of a run's learner, from its newest checkpoint; None where it has none (a table), or a damaged one:
    texts are then shown without their tokens."""
    for checkpoint in reversed(checkpoints(folder)):
        for place in sorted(checkpoint.glob("*/tokenizer.json")):
            if place.is_file():
                try:
                    tokenizer: Decoder = load_tokenizer(place.parent)
                except Exception:  # each file that is damaged has an error of its own
                    return None
                return tokenizer
    return None


def words_of(reply: Reply, tokenizer: Decoder | None) -> list[list[Any]]:
    """[[text, log-probability, free]] for each token, whose texts joined are the reply; empty without a tokenizer, and
    for a demonstration, which nobody sampled. A token is not free if the legal replies left no other."""
    tokens = reply.tokens.tolist()
    if tokenizer is None or not tokens or len(reply.logprobs) != len(tokens) or reply.recited:
        return []
    free = free_positions(reply.legal_tokens, tuple(tokens))
    try:
        with no_panic("tell a reply"):
            pieces = _pieces(tokens, tokenizer)
    except (RedQueenError, OverflowError):  # of a damaged tokenizer, and a number that no token has
        return []
    return [
        [piece, round(logprob, 4), open_]
        for piece, logprob, open_ in zip(pieces, reply.logprobs.tolist(), free, strict=True)
    ]


def _pieces(tokens: Sequence[int], tokenizer: Decoder) -> list[str]:
    """The text of each token. A character that is split between tokens belongs to the last one. A token is decoded
    after the WINDOW tokens before it at least and twice as many at most, so that a long reply takes no square."""
    pieces, begin, before = [], 0, ""
    for count in range(1, len(tokens) + 1):
        text = tokenizer.decode(list(tokens[begin:count]))
        whole = text if count == len(tokens) else text.rstrip("�")
        pieces.append(whole[len(before) :] if whole.startswith(before) else "")
        before = whole if whole.startswith(before) else before
        if count - begin >= 2 * WINDOW and text == before:
            begin = count - WINDOW
            before = tokenizer.decode(list(tokens[begin:count]))
    return pieces
