"""Several learners that begin as one model, or as other models named next to it: the members of a recipe."""

from __future__ import annotations

from collections.abc import Sequence

from redqueen.players.language.writing import Writer
from redqueen.settings.learner import Learner
from redqueen.settings.roles import Seeds


def members_of(learner: Learner, count: int, others: Sequence[str], run: Seeds) -> list[Writer]:
    """`count` members made of the learner's model, adapters on one model where it has any, and one of each of the other
    models; all with names of their own, the first called as the learner."""
    first = learner.build_model(run.derived("learner"))
    members = [first]
    for number in range(1, count):
        members.append(_beside(learner, first, run.derived("member", number), f"member{number + 1}"))
    for number, model in enumerate(others, start=count):
        own = Learner(**{**vars(learner), "model": model})
        members.append(own.build_model(run.derived("member", number), f"member{number + 1}"))
    return members


def _beside(learner: Learner, first: Writer, seed: int, name: str) -> Writer:
    return first.sibling(name) if first.has_adapter else learner.build_model(seed, name)
