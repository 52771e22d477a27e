"""Whose results a turn's are compared with."""

from __future__ import annotations

from collections.abc import Hashable

from redqueen.types import Trajectory


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


def by_task_and_role(trajectory: Trajectory, turn: int) -> Hashable:
    """A group of GRPO. Matches of one batch with the same task are one group, however they came there."""
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
