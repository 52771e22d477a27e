"""What to do with groups that are all wrong: GRPO on locks that a table opens once in 1,296 attempts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

import numpy as np

from redqueen.chance import derive
from redqueen.games.talk import told
from redqueen.players.tabular import TabularPolicy
from redqueen.protocols import Play, Policy
from redqueen.recipes.credit.grpo.recipe import Config, train
from redqueen.settings.learner import Learner
from redqueen.settings.update import Update
from redqueen.trials.experiment import Experiment, Training, Trial, versus
from redqueen.types import Ask, Metrics, Outcome, Seat, Task

ALPHABET = tuple("abcdef")
SOLVER = Seat("solver")


@dataclass(frozen=True)
class Locks:
    """Each lock has a code of `symbols` letters, given one a turn. A wrong one ends the attempt; all of them open it,
    which alone is scored."""

    locks: int = 16
    symbols: int = 4
    name: str = field(default="locks", init=False)
    roles: tuple[str, ...] = field(default=("solver",), init=False)

    def tasks(self) -> list[Task]:
        return [Task(f"lock {number}", "lock", facts={"lock": number}) for number in range(self.locks)]

    def play(self, task: Task, rng: Random) -> Play:
        code = self.code(task.facts["lock"])
        for place in range(task.facts.get("hinted", 0), self.symbols):
            (reply,) = yield [self.asked(task.facts["lock"], place)]
            if reply.text != code[place]:
                return Outcome({SOLVER: 0.0}, {"symbols": place})
        return Outcome({SOLVER: 1.0}, {"symbols": self.symbols})

    def helped(self, task: Task, level: int) -> Task:
        """The task with the first letters of its code given."""
        return replace(task, facts={**task.facts, "hinted": level})

    def code(self, lock: int) -> str:
        return "".join(ALPHABET[derive(lock, "code", place) % len(ALPHABET)] for place in range(self.symbols))

    def asked(self, lock: int, place: int) -> Ask:
        """What is shown after the first `place` letters, which are right."""
        given = self.code(lock)[:place] or "nothing yet"
        return Ask(SOLVER, told(f"Lock {lock}, {given}. Which letter is next?"), ALPHABET)


def chance_to_open(learner: Policy, seed: int) -> Metrics:
    """The exact chance to open a lock, the mean over all."""
    assert isinstance(learner, TabularPolicy), "the chance is read from a table"
    game = Locks()
    chances = [lock_opens(learner, game, lock) for lock in range(game.locks)]
    return {"opens": float(np.mean(chances)), "never": float(np.mean([each < 0.01 for each in chances]))}


def lock_opens(learner: TabularPolicy, game: Locks, lock: int) -> float:
    """The chance that the learner opens a lock."""
    return float(np.prod([_chance(learner, game, lock, place) for place in range(game.symbols)]))


def _chance(learner: TabularPolicy, game: Locks, lock: int, place: int) -> float:
    (chances,) = learner.probabilities([game.asked(lock, place)])
    return float(chances[ALPHABET.index(game.code(lock)[place])])


def replayed(trial: Trial) -> float:
    """Returns how many attempts joined a step's groups, in the mean."""
    return float(np.mean([line.get("replayed", 0.0) for line in trial.lines]))


REPLAY = Update(aggregate="sum", even_groups="replay")
LOCKS = Experiment(
    title="GRPO on locks, tabular",
    asked="Where all groups are wrong but for a rare success, does it help to draw more, or to remember the success?",
    trial=Training(train, read=chance_to_open),
    config=Config(
        Learner(learning_rate=8.0),
        game="experiments.repair:Locks",
        steps=200,
        tasks=16,
        attempts=8,
        update=Update(aggregate="sum"),
    ),
    variants={
        "keep": {},
        "refill": {"update": Update(aggregate="sum", even_groups="refill"), "steps": 67},
        "replay": {"update": REPLAY},
        "hint": {"update": Update(aggregate="sum", even_groups="hint"), "steps": 50},
        "replay, corrected": {"update": Update(aggregate="sum", even_groups="replay", correct="tis")},
        "replay, amplified": {"update": Update(aggregate="sum", even_groups="replay", amplify=4.0)},
    },
    figures=("opens", "never", "replayed in a step"),
    compared=versus("replay", ("keep", "refill", "hint", "replay, corrected", "replay, amplified"), ("opens",)),
    controls=("keep",),
    derived={"replayed in a step": replayed},
    notes=(
        "`opens` is exact, from the table: the chance to open a lock, in the mean over 16. `never`: the share of "
        "locks that open less often than once in a hundred. 25,600 attempts each; `refill` plays up to three rounds a "
        "step and `hint` up to four (with 0 to 3 letters given): they have a third and a quarter of the steps.",
    ),
)
