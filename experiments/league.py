"""A league beside self-play alone: exploitability in Kuhn poker at equally many games, from one warm start.

A transformer made from nothing does not read its card: it plays one move whatever it holds, and stays there. So it is
warmed up by imitating a player that bets with another chance at each information state, neither well nor badly; what
is compared begins there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from redqueen.credit.rewards import payoff, score
from redqueen.curricula.held_out import Apart
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.measures.exact.exploitability import GameTree
from redqueen.objectives.batch import pack, row_mean
from redqueen.objectives.imitation import Imitation
from redqueen.play.lockstep import play
from redqueen.play.seating import mirror
from redqueen.players.language.reciter import Reader
from redqueen.players.scripted import Strategic
from redqueen.protocols import Player
from redqueen.recipes.games.league import Config, train
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Experiment, Training, versus
from redqueen.trials.starts import Start, warmed
from redqueen.types import Ask, Reply

GAMES = 256  # an update, in all


@dataclass(frozen=True)
class Shown:
    """Plays as the teacher does; its words are the learner's to learn."""

    learner: Reader
    teacher: Player

    @property
    def name(self) -> str:
        return self.learner.name

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        said = self.teacher.reply(asks)
        return [self.learner.recite(ask, each.text) for ask, each in zip(asks, said, strict=True)]


def whimsical(seed: int) -> Strategic:
    """Bets with some chance between 0.1 and 0.9 at each information state, another one at each: whoever imitates it
    has to read its card and the moves."""
    chance = np.random.default_rng(seed)
    states = GameTree(KuhnPoker()).states
    bets = chance.permutation(np.linspace(0.1, 0.9, len(states)))
    return Strategic({ask: np.array([1.0 - bet, bet]) for ask, bet in zip(states, bets, strict=True)}, "whimsical")


@dataclass(frozen=True)
class School:
    """How long a model imitates a whimsical player."""

    learner: Learner = Learner(model="tiny", learning_rate=1e-3)
    steps: int = 800
    hands: int = 128


def imitate(config: School, run: Run, apart: Apart) -> None:
    """Teaches a model to read its card and the moves; nothing of the game is held out."""
    game, learner = KuhnPoker(), config.learner.build_model(run.derived("learner"))
    shown = Shown(learner, whimsical(run.seed))
    tasks = game.tasks()
    for _ in run.steps(config.steps, [learner]):
        matches = mirror(game, run.rng.choices(tasks, k=config.hands), shown)
        trajectories = score(play(matches, run.rng), payoff)
        credit = [np.ones(len(each.turns)) for each in trajectories]
        run.report(learner, trajectories, credit, learner.update(pack(trajectories, credit, row_mean), Imitation()))


ALONE = "the learner meets itself alone"
LEAGUE = Experiment(
    title="Kuhn poker, a league beside self-play alone",
    asked="At as many games, is a learner that meets past selves and an exploiter less exploitable than one alone?",
    trial=Training(train, evaluate_every=10),
    config=Config(
        warmed(5e-4, max_completion_length=None), steps=300, exploiters=0, current=1.0, matches_per_step=GAMES
    ),
    starts={"learner.model": Start(School(), imitate)},
    variants={
        ALONE: {},
        "and its past selves": {"current": 0.5},
        "past selves and one exploiter": {"exploiters": 1, "current": 0.0, "matches_per_step": GAMES // 2},
    },
    figures=("first exploitability", "exploitability", "late exploitability", "average_exploitability"),
    compared=(
        *versus("past selves and one exploiter", (ALONE,), ("late exploitability", "exploitability")),
        *versus("past selves and one exploiter", ("and its past selves",), ("late exploitability", "exploitability")),
    ),
    controls=(ALONE, "and its past selves"),
    notes=(f"A tiny transformer, {GAMES} games an update in all; late: the mean of the last fifth.",),
)
