"""Roles that a model writes itself for questions with known answers: the one is kept in which the answer is likeliest.

What a role is worth to the model that wrote it (a self-made variant of Self-Prompt Tuning, arXiv:2407.08995, in which a
stronger model writes them):

    gain(r) = mean log pi(y | x, r) - mean log pi(y | x)       over the tokens of the known answer y to the question x

The tokens of y are the same in all, so that a role gains by what it does and not by its own length or likelihood. One
that says the answer is no role.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from redqueen.checks.leaks import stands_in
from redqueen.demonstrations.transfer import aided
from redqueen.games.single_reply import SingleReply
from redqueen.measures.recitations import recited, reference_logprobs
from redqueen.play.groups import attempts
from redqueen.players.language.writing import Writer
from redqueen.questions.asking import said
from redqueen.types import SOLVER, Demonstration, Task

NAMES = SingleReply("roles")
LONGEST = 120  # characters of a role
ASKED = "Who is to answer this? Say in one line who, as in: You are an experienced teacher of physics. Do not answer."


@dataclass(frozen=True)
class OwnRole:
    """The best of the roles written for a question; `gain` is in nats a token of the known answer."""

    task: Task
    role: str
    gain: float
    written: int  # different roles, among which it is the best


def own_roles(model: Writer, shown: Sequence[Demonstration], count: int, rng: Random) -> list[OwnRole | None]:
    """For each demonstrated answer the best of `count` roles that the model writes; None where it writes none."""
    asked = [replace(aided(one.task, ASKED), id=f"role for {one.task.id}", choices=()) for one in shown]
    found = [
        list(
            dict.fromkeys(role for role in map(role_in, said([group])) if role and not stands_in(role, one.task.answer))
        )
        for one, group in zip(shown, attempts(NAMES, asked, model, count, rng), strict=True)
    ]
    rows = [(one, role) for one, roles in zip(shown, found, strict=True) for role in roles]
    rated = iter(_rated(model, [as_said_in(one, role) for one, role in rows]))
    plain = _rated(model, shown)
    best: list[OwnRole | None] = []
    for one, roles, without in zip(shown, found, plain, strict=True):
        gains = [(next(rated) - without, role) for role in roles]
        gain, role = max(gains, key=lambda each: each[0], default=(0.0, ""))
        best.append(OwnRole(one.task, role, gain, len(roles)) if role else None)
    return best


def role_in(reply: str) -> str:
    """The first line of a reply, if it is short enough for a role; "" otherwise."""
    first = next((line.strip() for line in reply.splitlines() if line.strip()), "")
    return first if len(first) <= LONGEST else ""


def as_said_in(one: Demonstration, role: str) -> Demonstration:
    """The demonstration as an answer to its question with the role in view."""
    return replace(one, task=aided(one.task, f"Answer as: {role}"))


def _rated(model: Writer, shown: Sequence[Demonstration]) -> list[float]:
    """The mean log-probability, in nats a token, of each demonstrated answer."""
    answers = recited([replace(one, role=SOLVER) for one in shown], model)
    return [float(row.mean()) for (row,) in reference_logprobs(model, answers)] if answers else []
