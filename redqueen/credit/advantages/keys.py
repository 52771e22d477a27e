"""Keys: the results of a turn are compared with those of turns with an equal key."""

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
    """The group (as in GRPO: the attempts at one drawn task) and the role, so that the roles of a game are compared
    separately. Raises RedQueenError for a trajectory without a group."""
    if trajectory.group is None:
        raise RedQueenError(
            f"the trajectory at task {trajectory.episode.task.id!r} is of no group: play with attempts(...), or take "
            "by_task_and_role"
        )
    return (trajectory.group, trajectory.seat.role)


def by_group_and_turn(trajectory: Trajectory, turn: int) -> Hashable:
    return (*by_group(trajectory, turn), turn)


def by_task_and_role(trajectory: Trajectory, turn: int) -> Hashable:
    """The game, the task and the role: for games whose tasks recur, all matches of a batch with the same task."""
    return (trajectory.episode.game, trajectory.episode.task.id, trajectory.seat.role)


def by_task_role_and_turn(trajectory: Trajectory, turn: int) -> Hashable:
    return (trajectory.episode.game, trajectory.episode.task.id, trajectory.seat.role, turn)


def by_match(trajectory: Trajectory, turn: int) -> Hashable:
    """The match: its seats are compared with each other."""
    return (trajectory.episode.game, trajectory.episode.task.id, trajectory.episode.seed)


def by_information_state(trajectory: Trajectory, turn: int) -> Hashable:
    """What a seat was shown at a turn. Low bias, but long games rarely visit a state twice."""
    shown = trajectory.turns[turn].ask.messages
    seat = (trajectory.episode.game, trajectory.seat.role, trajectory.seat.number)
    return (*seat, *((message.speaker, message.text) for message in shown))


def by_kind_or_group(trajectory: Trajectory, turn: int) -> Hashable:
    """Proposals are compared with all proposals of their kind in the batch, other attempts with their group."""
    return (by_kind_and_role if trajectory.seat.role == "proposer" else by_group)(trajectory, turn)
