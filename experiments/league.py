"""A league beside self-play alone: exploitability in Kuhn poker at equally many games, from one warm start.

A transformer made from nothing does not read its card: it plays one move whatever it holds, and stays there. So it is
warmed up by imitating a player that bets with another chance at each information state, neither well nor badly; what
is compared begins there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np

from redqueen.chance import pick
from redqueen.credit.advantages.keys import by_information_state
from redqueen.credit.advantages.statistics import MovingBaseline
from redqueen.credit.rewards import payoff, score, spoken_by
from redqueen.curricula.dealt import Enumerated
from redqueen.curricula.held_out import Apart
from redqueen.games.catalogue import find_game
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.measures.exact.exploitability import AverageStrategy, GameTree
from redqueen.objectives.batch import pack, row_mean, token_mean
from redqueen.objectives.imitation import Imitation
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.objectives.regularizers import with_entropy
from redqueen.opponents.league import League
from redqueen.opponents.payoffs import of_payoffs
from redqueen.play.lockstep import play
from redqueen.play.seating import mirror, seat_learner
from redqueen.players.language.reciter import Reader
from redqueen.players.scripted import Strategic
from redqueen.players.tabular import TabularPolicy
from redqueen.protocols import Game, Player, Policy
from redqueen.recipes.games.league import Config, train
from redqueen.runs.run import Line, Run
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Experiment, Training, Trial, versus
from redqueen.trials.starts import Start, warmed
from redqueen.types import Ask, Match, Metrics, Reply

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


# --- pools beside each other -----------------------------------------------------------------

ITSELF, EVENLY, PFSP, NASH = "itself alone", "past selves alike", "PFSP", "Nash of the past"
SHARES, PSRO = "AlphaStar's shares", "PSRO"
CURRENT, FORGOTTEN = 0.35, 0.15  # of the learner's matches, in AlphaStar: with itself, with forgotten players
BEATEN = 0.7  # a past self that is not beaten this often is forgotten


@dataclass(frozen=True)
class Pooled:
    """A table that learns one game, and whom it meets."""

    pool: str = ITSELF
    game: str = "kuhn_poker"
    steps: int = 300
    matches_per_step: int = 96  # of all who learn
    snapshot_every: int = 15
    learning_rate: float = 8.0
    entropy: float = 0.05


class Met:
    """Whom the learner and, in AlphaStar's shares, two exploiters meet: one that meets the learner, one the league."""

    def __init__(self, config: Pooled, game: Game, run: Run) -> None:
        self._config, self.tree = config, GameTree(game)
        self.learner = Learner(learning_rate=config.learning_rate).build(run.derived("learner"))
        names = ("main exploiter", "league exploiter") if config.pool == SHARES else ()
        self.exploiters = [TabularPolicy(config.learning_rate, name) for name in names]
        self.league = League(self.learner, self.exploiters)
        self._untrained = {each.name: each.state() for each in (self.learner, *self.exploiters)}
        self._shares = np.ones(1)

    @property
    def past(self) -> list[Policy]:
        return self.league.past[self.learner.name]

    def turn(self, number: int) -> None:
        """Now and then keeps those who learn. Exploiters then begin anew, and in PSRO the learner does."""
        if not number or number % self._config.snapshot_every:
            return
        for each in (self.learner, *self.exploiters):
            self.league.add(each.freeze())
            if each is not self.learner or self._config.pool == PSRO:
                each.restore({**self._untrained[each.name], "version": each.version})
                self.league.begin_anew(each)
        if self._config.pool in (NASH, PSRO):
            self._shares = meta_equilibrium(self.tree, self.past)

    def opponent(self, player: Policy, rng: Random) -> Player:
        """One for a match of `player`."""
        pool, others = self._config.pool, list[Player](self.past)
        if player is not self.learner:
            if player.name.startswith("main"):
                return self.learner
            return self._first_lost(player, self._kept(), rng)
        if pool == ITSELF:
            return self.learner
        if pool in (NASH, PSRO):
            return others[pick(self._shares.tolist(), rng.random())]
        if pool == EVENLY:
            return others[rng.randrange(len(others))]
        if pool == SHARES:
            drawn = rng.random()
            rates = self.league.win_rates(player, [each.name for each in others])
            forgotten = [each for each, rate in zip(others, rates, strict=True) if rate < BEATEN]
            if drawn < CURRENT or (drawn < CURRENT + FORGOTTEN and not forgotten):
                return self.learner
            others = forgotten if drawn < CURRENT + FORGOTTEN else self._kept()
        return self._first_lost(player, others, rng)

    def _kept(self) -> list[Player]:
        return [each for kept in self.league.past.values() for each in kept]

    def _first_lost(self, player: Policy, others: Sequence[Player], rng: Random) -> Player:
        return others[pick(self.league.wanted(player, others), rng.random())]

    def figures(self) -> Metrics:
        """Exact, of the last iterate and of the equilibrium of the learner's past selves, that of this moment too."""
        kept = [*self.past, self.learner]
        mixture = AverageStrategy(self.tree)
        for policy, share in zip(kept, meta_equilibrium(self.tree, kept), strict=True):
            mixture.add(self.tree.strategy(policy), float(share))
        return {
            "last": self.tree.exploitability(self.tree.strategy(self.learner)),
            "mixture": self.tree.exploitability(mixture.strategy()),
        }


def meta_equilibrium(tree: GameTree, players: Sequence[Policy]) -> np.ndarray:
    """[P] shares of the Nash equilibrium of a zero-sum game of two in which each side names one of `players`; exact
    values, both seatings."""
    strategies = [tree.strategy(each) for each in players]
    values = np.zeros((len(players), len(players)))
    for one, own in enumerate(strategies):
        for two, others in enumerate(strategies):
            seated = {ask: (own if ask.seat == tree.seats[0] else others)[ask] for ask in tree.states}
            values[one, two] = tree.values(seated)[0]
    return of_payoffs((values - values.T) / 2.0)


def pooled(config: Pooled, seed: int, folder: Path) -> Trial:
    """One training, with as many matches whoever is met; the exploiters' count too."""
    game, run = find_game(config.game), Run(folder, seed)
    met = Met(config, game, run)
    curriculum, learners = Enumerated(game.tasks()), [met.learner, *met.exploiters]
    baselines = [MovingBaseline(by_information_state, decay=0.9, debias=True) for _ in learners]
    objective = with_entropy(Reinforce(), config.entropy)
    lines = list[Line]()
    for number in range(config.steps):
        rng = run.rng_of(number)
        met.turn(number)
        matches = list[Match]()
        for each in learners:
            tasks = curriculum.draw(config.matches_per_step // len(learners), rng)
            roles = [game.roles[(place + number) % len(game.roles)] for place in range(len(tasks))]
            pairs = zip(tasks, roles, strict=True)
            matches += [seat_learner(game, task, each, met.opponent(each, rng), role) for task, role in pairs]
        episodes = play(matches, rng)
        met.league.observe(episodes)
        for policy, baseline in zip(learners, baselines, strict=True):
            own = spoken_by(policy, score(episodes, payoff))
            policy.update(pack(own, baseline(own), token_mean), objective)
        if number % config.snapshot_every == 0:
            last = met.tree.exploitability(met.tree.strategy(met.learner))
            lines.append({"step": number, "exploitability": last})
    return Trial(tuple(lines), dict(met.figures()))


POOLS = {name: {"pool": name} for name in (ITSELF, EVENLY, PFSP, NASH, SHARES, PSRO)}
FIGURES = ("mixture", "last", "late exploitability")


def pools_in(title: str, config: Pooled) -> Experiment:
    """All pools beside each other in one game."""
    return Experiment(
        title=title,
        asked="At as many games, whom should a learner meet?",
        trial=pooled,
        config=config,
        variants=POOLS,
        figures=FIGURES,
        compared=versus(ITSELF, (EVENLY, PFSP, NASH, SHARES, PSRO), ("mixture", "last")),
        controls=(ITSELF, EVENLY),
        notes=(
            "Tables. last: exact exploitability of the last iterate; mixture: that of the Nash equilibrium of the "
            "exact payoffs among the learner's past selves, kept every 15 updates. AlphaStar's shares: 35 % with "
            "itself, 15 % with past selves that are not beaten, the rest by PFSP among all that were kept; a third of "
            "the games is each exploiter's, one of which meets the learner and one the league. PSRO: the learner "
            "begins anew with each past self, against their equilibrium.",
        ),
        seeds=10,
    )


POOLS_KUHN = pools_in("Pools, Kuhn poker", Pooled())
POOLS_BLOTTO = pools_in("Pools, Blotto", Pooled(game="openspiel:blotto(coins=5,fields=3,players=2)"))
POOLS_DICE = pools_in("Pools, liar's dice", Pooled(game="liars_dice:sides=3", learning_rate=20.0))
