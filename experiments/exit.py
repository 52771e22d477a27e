"""ExIt: whether single steps from histories of much spread teach to improve for many steps, on a long way."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from redqueen.games.talk import ask, told
from redqueen.protocols import Play
from redqueen.recipes.curricula.exit.recipe import Config, train
from redqueen.settings.learner import Learner
from redqueen.settings.update import Update
from redqueen.trials.experiment import Experiment, Training, versus
from redqueen.types import Episode, Outcome, Seat, Task

WRITER = Seat("writer")
WAY, MOVES = 24, 3
CHOICES = ("go", "stay", "back")


@dataclass(frozen=True)
class Rewrites:
    """A way of 24 steps, of which an attempt goes at most 3; the next one goes on where it ended. Its quality is the
    share of the way that lies behind. The asks name the place alone."""

    name: str = field(default="rewrites", init=False)
    roles: tuple[str, ...] = field(default=("writer",), init=False)

    def tasks(self) -> list[Task]:
        return [Task("the way", "rewrites", facts={"left": WAY})]

    def play(self, task: Task, rng: Random) -> Play:
        left = task.facts["left"]
        for _ in range(MOVES):
            if left:
                text = yield from ask(WRITER, told(f"{left} steps are left."), CHOICES)
                left = min(left + {"go": -1, "stay": 0, "back": 1}[text], WAY)
        found = 1.0 - left / WAY
        return Outcome({WRITER: found}, {"left": left, "quality": found})

    def continued(self, episode: Episode) -> Task:
        """The way from where the episode ended."""
        return Task(episode.task.id, "rewrites", facts={"left": episode.outcome.facts["left"]})


EXIT = "ExIt"
FIGURES = tuple(f"quality_after/{attempts}" for attempts in (1, 2, 4, 8))
WAYS = Experiment(
    title="ExIt on a way of eight attempts, tabular",
    asked="Trained on single attempts, does a policy improve for eight in a row where histories are chosen by spread?",
    trial=Training(train),
    config=Config(
        Learner(learning_rate=8.0),
        game="experiments.exit:Rewrites",
        steps=300,
        tasks=8,
        attempts=8,
        buffer=64,
        chain=8,
        problems=256,
        update=Update(aggregate="sum"),
    ),
    variants={
        EXIT: {},
        "histories drawn evenly": {"kappa": 0.0},
        "problems alone": {"history_share": 0.0},
        "histories alone": {"history_share": 1.0},
    },
    figures=(*FIGURES, "late buffer/mean_depth"),
    compared=versus(EXIT, ("histories drawn evenly", "problems alone", "histories alone"), FIGURES[2:]),
    controls=("problems alone", "histories drawn evenly"),
    notes=("64 attempts in each step. 256 chains are measured.",),
)
