"""Whose results a turn's are compared with."""

from __future__ import annotations

from collections.abc import Hashable

from redqueen.types import RedQueenError, Trajectory


def everything(trajectory: Trajectory, turn: int) -> Hashable:
    return ()


def by_role(trajectory: Trajectory, turn: int) -> Hashable:
    return (trajectory.seat.role,)


def by_game(trajectory: Trajectory, turn: int) -> Hashable:
    return (trajectory.episode.game,)


def by_game_and_role(trajectory: Trajectory, turn: int) -> Hashable:
    return (trajectory.episode.game, trajectory.seat.role)


def by_game_role_and_turn(trajectory: Trajectory, turn: int) -> Hashable:
    return (trajectory.episode.game, trajectory.seat.role, turn)


def by_kind_and_role(trajectory: Trajectory, turn: int) -> Hashable:
    return (trajectory.episode.game, trajectory.episode.task.kind, trajectory.seat.role)


def by_group(trajectory: Trajectory, turn: int) -> tuple[int, str]:
    """A group of GRPO: the attempts at one task that was drawn once. The roles of a game are compared apart. Raises
    RedQueenError for a trajectory that is of no group."""
    if trajectory.group is None:
        raise RedQueenError(
            f"the trajectory at task {trajectory.episode.task.id!r} is of no group: play with attempts(...), or take "
            "by_task_and_role"
        )
    return (trajectory.group, trajectory.seat.role)


def by_group_and_turn(trajectory: Trajectory, turn: int) -> Hashable:
    return (*by_group(trajectory, turn), turn)


def by_task_and_role(trajectory: Trajectory, turn: int) -> Hashable:
    """For games whose tasks are dealt again and again: all matches of a batch with the same task."""
    return (trajectory.episode.game, trajectory.episode.task.id, trajectory.seat.role)


def by_task_role_and_turn(trajectory: Trajectory, turn: int) -> Hashable:
    return (trajectory.episode.game, trajectory.episode.task.id, trajectory.seat.role, turn)


def by_match(trajectory: Trajectory, turn: int) -> Hashable:
    """The seats of one match are compared with each other."""
    return (trajectory.episode.game, trajectory.episode.task.id, trajectory.episode.seed)


def by_information_state(trajectory: Trajectory, turn: int) -> Hashable:
    """Turns at which a seat was shown the same. Low bias, but long games rarely visit a state twice."""
    shown = trajectory.turns[turn].ask.messages
    seat = (trajectory.episode.game, trajectory.seat.role, trajectory.seat.number)
    return (*seat, *((message.speaker, message.text) for message in shown))
