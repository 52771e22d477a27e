"""A league beside self-play alone: exploitability in Kuhn poker at equally many games, from one warm start.

A transformer made from nothing does not read its card: it plays one move whatever it holds, and stays there. So it is
warmed up by imitating a player that bets with another chance at each information state, neither well nor badly; what
is compared begins there.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from rich.console import Console

from redqueen.credit.rewards import payoff, score
from redqueen.games import kuhn_poker
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.measures.exact.exploitability import GameTree
from redqueen.objectives.batch import pack, row_mean
from redqueen.objectives.imitation import Imitation
from redqueen.play.lockstep import play
from redqueen.play.seating import mirror
from redqueen.players.language.reciter import Reader
from redqueen.players.scripted import Strategic
from redqueen.protocols import Player
from redqueen.recipes.games.league import Config
from redqueen.runs.run import Run, Schedule
from redqueen.settings.learner import Learner
from redqueen.trials.paired import difference, made_once, table, trained, warmed
from redqueen.trials.sheets import Bench, Result
from redqueen.types import Ask, Reply

START = Learner(model="tiny", learning_rate=1e-3)
HANDS, WARM_STEPS = 128, 800


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


def reads_its_card(seed: int = 0) -> str:
    """The folder of a tiny model that has learned to imitate a whimsical player; made once and kept in the cache."""
    schedule = Schedule(10**9, checkpoint_every=WARM_STEPS, record_episodes=0)
    facts = [asdict(START), seed, HANDS, WARM_STEPS, inspect.getsource(kuhn_poker)]
    return made_once(facts, lambda place: _imitate(Run(place, seed, schedule)))


def _imitate(run: Run) -> None:
    game, learner = KuhnPoker(), START.build_model(run.derived("learner"))
    shown = Shown(learner, whimsical(run.seed))
    tasks = game.tasks()
    for _ in run.steps(WARM_STEPS, [learner]):
        matches = mirror(game, run.rng.choices(tasks, k=HANDS), shown)
        trajectories = score(play(matches, run.rng), payoff)
        credit = [np.ones(len(each.turns)) for each in trajectories]
        run.report(learner, trajectories, credit, learner.update(pack(trajectories, credit, row_mean), Imitation()))


def league(options: Bench, console: Console) -> Result:
    """Self-play alone, a pool of past selves, and leagues with an exploiter: as many games for each."""
    steps, games = options.steps or 300, 256
    learner = warmed(reads_its_card(), learning_rate=5e-4, max_completion_length=None)
    alone = Config(learner, steps=steps, exploiters=0, current=1.0, matches_per_step=games)
    variants = {
        "the learner meets itself alone": alone,
        "and its past selves": replace(alone, current=0.5),
        "past selves and one exploiter": replace(alone, exploiters=1, current=0.0, matches_per_step=games // 2),
    }
    trials = trained("league", variants, options.seeds, console, evaluate_every=10)
    figures = ("first exploitability", "exploitability", "late exploitability", "average_exploitability")
    names = list(variants)
    note = (
        f"A tiny transformer, {steps} updates, {games} games an update in all, {options.seeds} paired seeds; "
        f"late: the mean of the last fifth. {difference(trials, names[2], names[0], 'late exploitability')}; "
        f"{difference(trials, names[2], names[0], 'exploitability')}."
    )
    headings = ("opponents", "at the start", "at the end", "late", "average policy")
    return "Kuhn poker, a league beside self-play alone", headings, table(trials, figures), note
