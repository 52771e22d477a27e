"""Domains whose questions are given: nobody proposes any."""

from __future__ import annotations

from collections.abc import Sequence

from redqueen.types import CLOSED, Refusal, Task


class Closed:
    """The part of a domain that has to do with proposing, where every proposal is refused."""

    @property
    def kinds(self) -> tuple[str, ...]:
        raise NotImplementedError

    def sources(self, kind: str) -> tuple[str, ...]:
        return self.kinds

    def invite(self, kind: str, references: Sequence[Task], number: int) -> Task:
        return Task(f"invitation {number}", kind, "Write a question.")

    def read(self, invitations: Sequence[Task], replies: Sequence[str]) -> list[Task | Refusal]:
        return [CLOSED for _ in replies]
