"""What tests in the jail get for `pytest`: `raises` and `fail`. There are no marks, fixtures, `approx` or plugins."""

from __future__ import annotations

import re
from types import TracebackType
from typing import NoReturn, Self


class raises:
    """A block that must raise one of these exceptions, with a message that the pattern `match` finds."""

    def __init__(
        self, expected: type[BaseException] | tuple[type[BaseException], ...], *, match: str | None = None
    ) -> None:
        self.expected = expected
        self.match = match
        self.value: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        assert kind is not None, f"did not raise {self.expected}"
        self.value = error
        if not issubclass(kind, self.expected):
            return False
        assert self.match is None or re.search(self.match, str(error)), f"{self.match!r} is not in {str(error)!r}"
        return True


def fail(reason: str = "") -> NoReturn:
    """Fails the test."""
    assert False, reason  # noqa: B011 - unlike a raise, it does not look up AssertionError
