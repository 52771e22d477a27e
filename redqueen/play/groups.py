"""Groups: the attempts at one task that was drawn once, played together and kept together.

proposals = attempts(PROPOSE, invitations, proposer, 1, rng)
written   = read(questions, proposals)                                     # a Task or a Refusal for each
tries     = attempts(SOLVE, written, solver, 8, rng, proposals)            # at each that is a task
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from redqueen.play.lockstep import play
from redqueen.play.seating import mirror
from redqueen.protocols import Game, Player
from redqueen.types import Episode, Group, Outcome, RedQueenError, Refusal, Task

Played = Sequence[Episode] | Sequence[Group]


def attempts(
    game: Game,
    tasks: Sequence[Task | Refusal],
    player: Player,
    count: int,
    rng: Random,
    parents: Sequence[Episode | Group | None] = (),
) -> list[Group]:
    """One group of `count` attempts at each task, with the player in every role; all are played at once. `parents`
    holds for each task the episode that proposed it, or None; of a group every attempt. Refusals among the tasks are
    left out, with their parents."""
    own = [parent for each in parents for parent in (each.attempts if isinstance(each, Group) else (each,))]
    if own and len(own) != len(tasks):
        raise RedQueenError(f"a parent is named for each of {len(tasks)} tasks, not for {len(own)}")
    kept = [task for task in tasks if isinstance(task, Task)]
    above = [parent for parent, task in zip(own, tasks, strict=False) if isinstance(task, Task)]
    return grouped(play(mirror(game, kept, player, count), rng), count, above)


def grouped(episodes: Sequence[Episode], count: int, parents: Sequence[Episode | None] = ()) -> list[Group]:
    """The groups of episodes that were just played: `count` per task, one task after the other. A group's number is the
    seed of its first attempt, which is unique in a run."""
    if count < 1 or len(episodes) % count:
        raise RedQueenError(f"{len(episodes)} episodes do not make groups of {count}")
    found = [tuple(episodes[start : start + count]) for start in range(0, len(episodes), count)]
    if parents and len(parents) != len(found):
        raise RedQueenError(f"parents must hold one entry for each of {len(found)} tasks, not {len(parents)}")
    return [
        Group(own[0].seed, own[0].task, own, parents[place] if parents else None) for place, own in enumerate(found)
    ]


def episodes_of(played: Played) -> list[Episode]:
    """The attempts of all groups, in order; episodes are returned unchanged."""
    return [episode for each in played for episode in (each.attempts if isinstance(each, Group) else (each,))]


def authors(proposals: Played, written: Sequence[Task | Refusal]) -> list[Episode]:
    """The proposals that became tasks, in the order of these tasks. `written` holds the task or refusal of each."""
    return [one for one, each in zip(episodes_of(proposals), written, strict=True) if isinstance(each, Task)]


def with_facts(groups: Sequence[Group], facts: Sequence[Mapping[str, Any]]) -> list[Group]:
    """The groups with `facts`, one mapping per attempt in order, added to the facts of the attempts."""
    told = iter(noted(episodes_of(groups), facts))
    return [replace(group, attempts=tuple(next(told) for _ in group.attempts)) for group in groups]


def noted(episodes: Sequence[Episode], facts: Sequence[Mapping[str, Any]]) -> list[Episode]:
    """The episodes, each with further `facts` that were found after it was played."""
    return [
        replace(episode, outcome=Outcome(episode.outcome.scores, {**episode.outcome.facts, **known}))
        for episode, known in zip(episodes, facts, strict=True)
    ]
