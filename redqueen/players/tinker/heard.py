"""What a server says, held to what was asked of it: lengths, tokens of the vocabulary, log-probabilities.

The client of the API reads answers into fields of the right kinds; whether there are as many as were asked for, and
whether these can be log-probabilities, nobody has looked at. A value that cannot be ends the run in one line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from redqueen.markup import visible
from redqueen.types import RedQueenError

if TYPE_CHECKING:
    from redqueen.players.tinker.connection import Connection

_ABOVE = 1e-2  # nats above 0 that rounding of 16 bits may give a log-probability
_PATH = 1024  # characters


def unfit(where: str, what: str) -> RedQueenError:
    """The error for an answer that cannot be."""
    return RedQueenError(f"{where} gave an answer that cannot be: {visible(what)[:300]}")


def rated_rows(output: Any, lengths: Sequence[int], where: str) -> list[np.ndarray]:
    """The log-probabilities in the answer to a forward pass, float [n] for each of `lengths`. Raises RedQueenError for
    another number of rows, other lengths, and what is no log-probability."""
    rows = output.loss_fn_outputs or []
    if len(rows) != len(lengths):
        raise unfit(where, f"{len(rows)} rows were rated where {len(lengths)} were sent")
    if any("logprobs" not in each for each in rows):
        raise unfit(where, "a row was rated without log-probabilities")
    return [_rated(each["logprobs"].data, length, where) for each, length in zip(rows, lengths, strict=True)]


def rated_row(values: Any, length: int, where: str) -> np.ndarray:
    """[T - 1] float, those of the second to the last of a row of `length` tokens, from one value a token, of which the
    first may be None. Raises as `rated_rows`."""
    if not isinstance(values, list | tuple) or len(values) not in (length, length - 1):
        shown = f"{len(values)} log-probabilities" if isinstance(values, list | tuple) else repr(values)[:60]
        raise unfit(where, f"{shown} of a row of {length} tokens")
    return _rated(values[len(values) - length + 1 :], length - 1, where)


def said(answer: Any, longest: int, connection: Connection) -> tuple[tuple[int, ...], tuple[float, ...], bool]:
    """The tokens of a sampled reply, their log-probabilities, and whether it was cut off. Raises RedQueenError for a
    reply without log-probabilities, one of more than `longest` tokens, and tokens outside of the vocabulary."""
    where, sequences = connection.where, answer.sequences or []
    if len(sequences) != 1:
        raise unfit(where, f"{len(sequences)} replies where one was asked for")
    sequence = sequences[0]
    if sequence.logprobs is None:
        raise RedQueenError(f"{where} gave no log-probabilities of what it sampled: none can be learned")
    tokens = sequence.tokens
    if len(tokens) > longest:
        raise unfit(where, f"a reply of {len(tokens)} tokens where {longest} were allowed")
    most = connection.vocabulary
    for token in tokens:
        if isinstance(token, bool) or not isinstance(token, int) or not 0 <= token < most:
            raise unfit(where, f"the token {token!r:.40} is none of the {most} of the vocabulary")
    logprobs = _rated(sequence.logprobs, len(tokens), where)
    return tuple(tokens), tuple(logprobs.tolist()), sequence.stop_reason == "length"


def saved_path(answer: Any, where: str) -> str:
    """The path of what was saved. Raises RedQueenError for a text that can be none."""
    path = answer.path
    if not isinstance(path, str) or not 0 < len(path) <= _PATH or not path.isprintable():
        raise unfit(where, f"the path of what was saved must be a text of up to {_PATH} characters, not {path!r:.60}")
    return path


def _rated(values: Any, length: int, where: str) -> np.ndarray:
    """[length] float. Raises RedQueenError for another length, and for NaN, None and values above 0; -inf is one."""
    if len(values) != length:
        raise unfit(where, f"{len(values)} log-probabilities of {length} tokens")
    try:
        found = np.array(values, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError, OverflowError):
        found = np.zeros(0)
    if len(found) != length or not bool((found <= _ABOVE).all()):
        wrong = next((each for each in values if not _is_logprob(each)), values)
        raise unfit(where, f"a log-probability must be a number of at most 0, not {wrong!r:.60}")
    return found


def _is_logprob(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value <= _ABOVE
