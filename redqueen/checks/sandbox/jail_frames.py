"""The messages of the jail as bytes: a request to a child, its answer, a server's report. Nothing here is evaluated."""

from __future__ import annotations

import struct
from dataclasses import dataclass

KEY = 16  # bytes: drawn for each run, stands first in the request and in the answer
REPORT = struct.Struct("!iBB")  # a server's: how the child ended (as waitpid tells), whether late, whether locked in
MESSAGE = 500  # characters of what an exception said
OUT_OF_MEMORY = 77  # exit status of a child without the memory to answer
_LENGTH = struct.Struct("!I")


@dataclass(frozen=True)
class Request:
    """What a child is to run."""

    source: str
    function: str
    arguments: str  # the literal of a tuple
    setup: str = ""
    test: str = ""


@dataclass(frozen=True)
class Answer:
    """What a child says of itself. Nothing in it is to be believed beyond what the program may claim for itself."""

    kind: str
    value: str = ""
    printed: str = ""
    detail: str = ""
    message: str = ""
    shows_address: bool = False


def pack_request(key: bytes, request: Request) -> bytes:
    """The bytes of a request; lone surrogates in the source survive."""
    fields = [request.source, request.function, request.arguments, request.setup, request.test]
    return key + _join(fields, "surrogatepass")


def unpack_request(data: bytes) -> tuple[bytes, Request]:
    """The key of a run, and what to run."""
    return data[:KEY], Request(*_split(data[KEY:], "surrogatepass"))


def pack_answer(key: bytes, answer: Answer) -> bytes:
    """The bytes of an answer; a lone surrogate is written out."""
    shows_address = "1" if answer.shows_address else ""
    fields = [answer.kind, answer.value, answer.printed, answer.detail, answer.message, shows_address]
    return key + _join(fields, "backslashreplace")


def unpack_answer(key: bytes, data: bytes) -> Answer | None:
    """The answer that `data` holds, or None where it is anything but exactly one answer under this key."""
    if data[:KEY] != key:
        return None
    try:
        kind, value, printed, detail, message, shows_address = _split(data[KEY:], "strict")
    except (ValueError, struct.error):
        return None
    return Answer(kind, value, printed, detail, message, bool(shows_address))


def largest_answer(output: int) -> int:
    """The most bytes that an honest answer takes where texts have up to `output` characters."""
    return KEY + 8 * output + 16384


def _join(fields: list[str], errors: str) -> bytes:
    encoded = [field.encode("utf-8", errors) for field in fields]
    return b"".join([_LENGTH.pack(len(field)) + field for field in encoded])


def _split(data: bytes, errors: str) -> list[str]:
    fields, at = [], 0
    while at < len(data):
        (length,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size + length
        if at > len(data):
            raise ValueError("a field ends beyond the message")
        fields.append(data[at - length : at].decode("utf-8", errors))
    return fields
