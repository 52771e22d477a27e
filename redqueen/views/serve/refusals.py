"""Why a request is not done, in one line for the person, with its HTTP status."""

from __future__ import annotations

from redqueen.types import RedQueenError


class Declined(RedQueenError):
    """What was asked for cannot be had; nothing has changed."""

    def __init__(self, message: str, status: int = 422) -> None:
        super().__init__(message)
        self.status = status
