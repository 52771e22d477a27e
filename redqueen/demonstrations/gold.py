"""Gold answers, written by people or a question set: as tasks, as the learner's replies, kept over iterations."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Literal

from redqueen.curricula.held_out import apart_from
from redqueen.players.language.reciter import Reciter, reader
from redqueen.protocols import Demonstrator, Player, Questions, Row, State, shaped
from redqueen.questions.asking import SOLVE, evenly
from redqueen.questions.catalogue import having
from redqueen.records import EPISODE, episode_from_json, episode_to_json
from redqueen.types import SOLVER, Episode, Match, RedQueenError, Task

Source = Literal["problems", "demonstrations"]


def with_gold(
    questions: Questions, source: Source, count: int, apart: Mapping[str, Sequence[Task]], seed: int
) -> list[Task]:
    """Up to `count` tasks with gold answers, all different and none held out: the set's own problems, equally many of
    each level, or its demonstrations of a solver. Raises RedQueenError if none is
    left."""
    drawn = (_demonstrated if source == "demonstrations" else evenly)(questions, count, Random(seed))
    different = {(task.id, gold_reply(task)): task for task in apart_from(apart, drawn) if gold_reply(task)}
    if not different:
        raise RedQueenError(
            f"the {source} of {questions.name} have no answers to learn from: choose --gold "
            f"{'problems' if source == 'demonstrations' else 'demonstrations'}, or a question set with answers"
        )
    return list(different.values())


def _demonstrated(questions: Questions, count: int, rng: Random) -> list[Task]:
    """Demonstrations of the solver only, not of proposers or judges."""
    teacher, found = having(questions, Demonstrator), list[Task]()
    for _ in range(8):  # at least one demonstration in eight is a solver's
        shown = teacher.demonstrations(count, rng)
        found += [
            replace(one.task, answer=one.text, facts={**one.task.facts, "gold": one.text}, weight=1.0)
            for one in shown
            if one.role == SOLVER
        ]
        if len(found) >= count:
            break
    return found[:count]


def gold_reply(task: Task) -> str:
    """The gold reply to a task: `facts["gold"]` if it has one (its answer is then only the result), else its answer."""
    return str(task.facts.get("gold", task.answer))


def recited(tasks: Sequence[Task], learner: Player) -> list[Match]:
    """A match for each task in which the learner recites the gold reply as its own."""
    speaker = reader(learner)
    return [Match(SOLVE, task, {SOLVER: Reciter(speaker, gold_reply(task))}) for task in tasks]


class Kept:
    """The gold and own episodes of the `latest` iterations, oldest first, with all tokens."""

    def __init__(self, latest: int) -> None:
        self._rounds: deque[tuple[list[Episode], list[Episode]]] = deque(maxlen=latest)

    def add(self, gold: Sequence[Episode], own: Sequence[Episode]) -> None:
        """Adds the episodes of an iteration; drops the oldest iteration beyond `latest`."""
        self._rounds.append((list(gold), list(own)))

    @property
    def gold(self) -> list[Episode]:
        return [episode for gold, _ in self._rounds for episode in gold]

    @property
    def own(self) -> list[Episode]:
        return [episode for _, own in self._rounds for episode in own]

    def state(self) -> State:
        """One JSON text, whose size does not depend on shared objects."""
        return {"rounds": json.dumps([[[episode_to_json(e) for e in side] for side in each] for each in self._rounds])}

    def restore(self, state: State) -> None:
        rounds = json.loads(shaped(state, {"rounds": str}, "the rounds kept: ")["rounds"])
        shaped(rounds, [Row([EPISODE], [EPISODE])], "the rounds kept: ")
        self._rounds.clear()
        for gold, own in rounds:
            self.add([episode_from_json(each) for each in gold], [episode_from_json(each) for each in own])
