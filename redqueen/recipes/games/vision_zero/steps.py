"""Vision-Zero's stages: whose turn it is to learn, the votes at a table, the estimator of each (2509.25541)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from redqueen.credit.advantages.keys import by_game_and_role, by_group
from redqueen.credit.advantages.statistics import GroupRelative, MovingBaseline
from redqueen.games.catalogue import find_game
from redqueen.games.odd_one_out import CIVILIAN, UNSURE, VOTER, OddOneOut, called
from redqueen.play.groups import episodes_of
from redqueen.protocols import COUNT, SHARE, State, shaped
from redqueen.types import Episode, Group, Metrics, RedQueenError, Task, Trajectory, mean_of


def table_of(spec: str) -> OddOneOut:
    """The game of this spec. Raises RedQueenError for one without clues and votes."""
    game = find_game(spec)
    if not isinstance(game, OddOneOut):
        raise RedQueenError(f"clues and votes are those of odd_one_out, which --game may change: not {spec!r}")
    return game


def by_group_or_role(trajectory: Trajectory, turn: int) -> Hashable:
    """The votes of one voter at one table, or all clues of a role."""
    return by_game_and_role(trajectory, turn) if trajectory.group is None else by_group(trajectory, turn)


def by_speakers(trajectories: Sequence[Trajectory]) -> list[Trajectory]:
    """The trajectories of those who gave clues."""
    return [each for each in trajectories if each.seat.role != VOTER]


class OfStage:
    """The estimator of each stage: votes against the others of their group, clues against a moving average of the
    role."""

    def __init__(self, decay: float) -> None:
        self._votes, self._clues = GroupRelative(by_group, ddof=0), MovingBaseline(by_game_and_role, decay)

    def __call__(self, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
        of_votes = bool(trajectories) and trajectories[0].seat.role == VOTER
        return self._votes(trajectories) if of_votes else self._clues(trajectories)

    def state(self) -> State:
        return self._clues.state()

    def restore(self, state: State) -> None:
        self._clues.restore(state)


class Alternation:
    """Which stage is learned, from moving averages of how many votes are right and how many N/A."""

    def __init__(self, config: Any) -> None:
        self._config = config
        self.clues: bool = config.first == "clues"  # whether clues are learned now
        self._right = self._unsure = 0.0
        self._seen = self._stayed = 0  # steps in all, and in this stage

    def averages(self) -> tuple[float, float]:
        """Those of right and N/A votes, divided by 1 - memory^n where they are debiased."""
        weight = 1.0 - self._config.memory**self._seen if self._config.debias and self._seen else 1.0
        return self._right / weight, self._unsure / weight

    def ballots(self, episodes: Sequence[Episode]) -> list[Task]:
        """In a stage of votes, a task for each voter at each table whose clues were all given: to vote alone, after
        the same clues. None in a stage of clues."""
        return [
            replace(each.task, id=f"{each.task.id}@{each.seed}-{seat.number}", facts=facts)
            for each in ([] if self.clues else episodes)
            if "votes" in each.outcome.facts
            for seat in each.seats
            if seat.role == CIVILIAN
            for facts in [{**each.task.facts, "clues": each.outcome.facts["history"], "voter": seat.number}]
        ]

    def observe(self, episodes: Sequence[Episode], groups: Sequence[Group] = ()) -> Metrics:
        """The shares of right and of N/A votes in this step, those that were learned from where there are any, and of
        tables at which all votes were N/A; after them the stage may be another."""
        stage: Metrics = {"knobs/clue_stage": float(self.clues)}
        told = [
            (vote, called(each.task.facts["spy"])) for each in episodes_of(groups or episodes) for vote in cast(each)
        ]
        if not told:
            return stage
        right, unsure = mean_of(vote == spy for vote, spy in told), mean_of(vote == UNSURE for vote, _ in told)
        self.count(right, unsure)
        known, silent = self.averages()
        averages = {"knobs/average_right": known, "knobs/average_unsure": silent}
        voted = [votes for each in episodes if (votes := cast(each))]  # a broken clue ends a table before its vote
        tables = {"votes/silent_tables": mean_of(set(votes) == {UNSURE} for votes in voted)} if voted else {}
        return {**stage, "votes/right": right, "votes/unsure": unsure, **tables, **averages}

    def count(self, right: float, unsure: float) -> None:
        """Adds the shares of one step, and turns to the other stage where it is due."""
        chosen = self._config
        keep = chosen.memory
        self._right, self._unsure = keep * self._right + (1 - keep) * right, keep * self._unsure + (1 - keep) * unsure
        self._seen, self._stayed = self._seen + 1, self._stayed + 1
        if self._is_due():
            self.clues, self._stayed = not self.clues, 0

    def _is_due(self) -> bool:
        chosen = self._config
        right, unsure = self.averages()
        if chosen.switch != "plateau":
            return bool(chosen.switch == "every-step")
        if self._stayed < chosen.least:
            return False
        if self.clues:
            return bool(1.0 - right >= chosen.wrong or unsure >= chosen.lost)
        return bool(right >= chosen.right and unsure <= chosen.unsure)

    def state(self) -> State:
        return {
            "clues": self.clues,
            "right": self._right,
            "unsure": self._unsure,
            "seen": self._seen,
            "stayed": self._stayed,
        }

    def restore(self, state: State) -> None:
        shape = {"clues": bool, "right": SHARE, "unsure": SHARE, "seen": COUNT, "stayed": COUNT}
        shaped(state, shape, "the stages: ")
        self.clues, self._right, self._unsure = state["clues"], state["right"], state["unsure"]
        self._seen, self._stayed = state["seen"], state["stayed"]


def cast(episode: Episode) -> list[str]:
    """The votes of a match, N/A for one that could not be read; none where it did not come to them."""
    return list(episode.outcome.facts.get("votes", {}).values())
