"""Where a proposer ends that is paid for difficulty, and what keeps it from there: a table learns to choose one of 13
difficulties for a solver whose solve rates are known.

    64 proposals a step, G attempts at each, A = z-score of the batch, theta += 0.5 * mean(A * grad log pi), 400 steps

The anchors are figures of the same game, measured elsewhere with 10 seeds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from statistics import fmean

import numpy as np

from redqueen.credit.advantages.keys import everything
from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.learnability import (
    Band,
    Bell,
    FailureShare,
    HardAboveFloor,
    HardButSolved,
    Shape,
    Tent,
    bug_injection,
)
from redqueen.credit.novelty import CountNovelty
from redqueen.credit.rewards import score
from redqueen.games.talk import ask, offence, told
from redqueen.measures.health import Proposed, ProposerHealth
from redqueen.objectives.additive import Sum
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.objectives.regularizers import EntropyBonus
from redqueen.play.lockstep import play
from redqueen.players.tabular import TabularPolicy
from redqueen.protocols import Objective, Play
from redqueen.trials.experiment import Experiment, Measuring, versus
from redqueen.types import Episode, Match, Metrics, Outcome, Seat, Task, Trajectory

PROPOSER = Seat("proposer")
RATES: tuple[float, ...] = (0.98, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02)
PROPOSALS = 64  # a step
STEPS = 400
LEARNING_RATE = 0.5


# --- the game --------------------------------------------------------------------------------


@dataclass(frozen=True)
class DifficultyLadder:
    """The proposer names a rung, and a solver makes its attempts at a task of that rung; the score is the share that
    fails. The asks do not tell the solve rates, so that a proposer goes on where they change."""

    rates: tuple[float, ...] = RATES  # the solver's, from the easiest rung to the hardest
    attempts: int = 8
    name: str = field(default="difficulty_ladder", init=False)
    roles: tuple[str, ...] = field(default=("proposer",), init=False)

    def tasks(self) -> list[Task]:
        return [Task("ladder", "ladder")]

    def play(self, task: Task, rng: Random) -> Play:
        rungs = tuple(str(number) for number in range(1, len(self.rates) + 1))
        question = f"A solver is given a task of a rung you choose, 1 the easiest and {len(rungs)} the hardest. Which?"
        text = yield from ask(PROPOSER, told(question), rungs)
        if text not in rungs:
            return Outcome({PROPOSER: 0.0}, offence(PROPOSER, text))
        rate = self.rates[int(text) - 1]
        solved = tuple(float(rng.random() < rate) for _ in range(self.attempts))
        return Outcome({PROPOSER: 1.0 - fmean(solved)}, {"rung": int(text), "solved": solved})


# --- the proposers ---------------------------------------------------------------------------


def constant(scores: np.ndarray) -> float:
    """Pays every task alike."""
    return 1.0


@dataclass(frozen=True)
class Proposer:
    """What a proposer is paid, and the anchor: the solve rates of the rungs it may end at, and its figures."""

    name: str
    shape: Shape
    attempts: int = 8
    novelty: float = 0.0  # weight of the counts' bonus
    objective: Objective = Reinforce()
    anchor_rates: tuple[float, ...] = ()
    anchor: str = "none"

    def reward(self, episode: Episode) -> dict[Seat, np.ndarray]:
        return {PROPOSER: np.array([self.shape(np.array(episode.outcome.facts["solved"]))])}


AZR = Proposer("AZR, eq. 4", HardButSolved(), 8, anchor_rates=(0.2, 0.3), anchor=".2 (4), .3 (6); .26; .96; .16")
R_ZERO = Proposer("R-Zero, code", Tent(height=0.5), 10, anchor_rates=(0.5,), anchor=".5 (10); .50; .99; .05")
CONSTANT = Proposer("constant", constant, 8, anchor="no drift; .50; .08; 2.56")
IMPOSSIBLE = FailureShare(pay_unsolved=True)
PROPOSERS = (
    AZR,
    Proposer(
        *("AZR as trained", HardButSolved(at_the_ends=-0.5), 8),
        anchor_rates=(0.3,),
        anchor=".3 (10); .30; .98; .10",
    ),
    Proposer(
        *("AZR inverse, MAE difficulty", IMPOSSIBLE, 8),
        anchor_rates=(0.02, 0.05),
        anchor=".02 (9), .05 (1); .02; 1.00; .03",
    ),
    Proposer("SSR, alpha .8", bug_injection(), 8, anchor_rates=(0.2, 0.3), anchor=".2 (4), .3 (6); .26; .96; .16"),
    Proposer("SSP", IMPOSSIBLE, 5, anchor_rates=(0.02, 0.05), anchor=".02 (9), .05 (1); .02; 1.00; .03"),
    R_ZERO,
    Proposer("SPELL", Bell(), 8, anchor_rates=(0.5,), anchor=".5 (10); .50; .99; .07"),
    Proposer(
        *("PasoDoble, diversity 1", HardAboveFloor(top=1.3), 6),
        anchor_rates=(0.5,),
        anchor=".5 (10); .50; .98; .12",
    ),
    Proposer("SvS", Band(1 / 8, 5 / 8), 8, anchor_rates=(0.3, 0.4), anchor=".4 (9), .3 (1); .38; .93; .22"),
    CONSTANT,
    replace(AZR, name="AZR, eq. 4, and novelty", novelty=1.0, anchor_rates=(), anchor="none"),
    replace(
        AZR,
        name="AZR, eq. 4, and entropy bonus",
        objective=Sum(Reinforce(), EntropyBonus(0.3)),
        anchor_rates=(),
        anchor="none",
    ),
)


class Trainer:
    """A proposer on its way: one call is one step, the five verbs. Returns what was proposed, [64]."""

    def __init__(self, proposer: Proposer, seed: int) -> None:
        self.proposer = proposer
        self.learner = TabularPolicy(LEARNING_RATE)
        self.novelty = CountNovelty(proposer.novelty)
        self.rng = Random(seed)

    def __call__(self, rates: tuple[float, ...] = RATES) -> list[Episode]:
        game = DifficultyLadder(rates, self.proposer.attempts)
        (task,) = game.tasks()
        episodes = play([Match(game, task, {PROPOSER.role: self.learner})] * PROPOSALS, self.rng)
        trajectories = score(episodes, self.proposer.reward)
        if self.proposer.novelty:
            trajectories = with_novelty(trajectories, self.novelty)
        advantages = GroupRelative(everything)(trajectories)
        self.learner.update(pack(trajectories, advantages), self.proposer.objective)
        return episodes

    def chances(self) -> np.ndarray:
        """[K] the probability of each rung now."""
        game = DifficultyLadder()
        asks = next(game.play(game.tasks()[0], Random(0)))
        return self.learner.probabilities(asks)[0]


def with_novelty(trajectories: Sequence[Trajectory], novelty: CountNovelty) -> list[Trajectory]:
    """The trajectories with the novelty of what was said added to their rewards."""
    texts = [trajectory.turns[0].reply.text for trajectory in trajectories]
    bonuses = novelty(texts)
    novelty.observe(texts)
    return [replace(each, rewards=each.rewards + bonus) for each, bonus in zip(trajectories, bonuses, strict=True)]


# --- a solver that stays as it is ------------------------------------------------------------


@dataclass(frozen=True)
class End:
    """A proposer after its last step."""

    chances: np.ndarray  # [K] of each rung
    alarm: int | None  # after how many steps the alarm for collapse first fired

    def modal_rate(self) -> float:
        return RATES[int(self.chances.argmax())]

    def mean_rate(self) -> float:
        return float(self.chances @ np.array(RATES))

    def entropy(self) -> float:
        """In nats; log 13 = 2.56 where all rungs are alike."""
        return float(-(self.chances * np.log(np.maximum(self.chances, 1e-300))).sum())


def propose(proposer: Proposer, seed: int, steps: int = STEPS) -> End:
    """Trains one proposer."""
    train, health, alarm = Trainer(proposer, seed), ProposerHealth(), None
    for step in range(1, steps + 1):
        metrics = health.check([proposed(episode) for episode in train()])
        if alarm is None and metrics["alarm/collapse"]:
            alarm = step
    return End(train.chances(), alarm)


def proposed(episode: Episode) -> Proposed:
    facts = episode.outcome.facts
    return Proposed(str(facts["rung"]), solve_rate=fmean(facts["solved"]))


NAMED = {proposer.name: proposer for proposer in PROPOSERS}


@dataclass(frozen=True)
class Paid:
    """Which reward, and how long."""

    proposer: str = AZR.name
    steps: int = STEPS


def ended(config: Paid, seed: int) -> Metrics:
    """Returns where a proposer ends: the solve rate of its likeliest rung and of all, and how collapsed it is.
    `anchored` is 1 where the likeliest rung is one at which it ended elsewhere."""
    proposer = NAMED[config.proposer]
    end = propose(proposer, seed, config.steps)
    return {
        "solve rate of the likeliest rung": end.modal_rate(),
        "mean solve rate": end.mean_rate(),
        "largest probability": float(end.chances.max()),
        "entropy": end.entropy(),
        "alarm": float(end.alarm is not None),
        "anchored": float(end.modal_rate() in proposer.anchor_rates) if proposer.anchor_rates else float("nan"),
    }


PROPOSER_REWARDS = Experiment(
    title="Proposers paid for difficulty, tabular",
    asked="At which difficulty does each published reward end, and what keeps a proposer from collapse?",
    trial=Measuring(ended),
    config=Paid(),
    variants={name: {"proposer": name} for name in NAMED},
    figures=(
        *("solve rate of the likeliest rung", "mean solve rate", "largest probability", "entropy", "alarm"),
        "anchored",
    ),
    compared=(
        *versus(AZR.name, (CONSTANT.name, "AZR, eq. 4, and novelty", "AZR, eq. 4, and entropy bonus"), ("entropy",)),
        *versus("AZR inverse, MAE difficulty", (AZR.name,), ("mean solve rate",)),
    ),
    controls=(CONSTANT.name,),
    notes=(
        f"{PROPOSALS} proposals a step, {STEPS} steps. Entropy in nats; log 13 = 2.56 where all rungs are alike.",
        "Anchors (modal solve rate by seed; mean; largest probability; entropy), measured elsewhere with 10 seeds: "
        + "; ".join(f"{each.name}: {each.anchor}" for each in PROPOSERS if each.anchor_rates).replace(";", ",")
        + ".",
    ),
)

# --- a solver that learns --------------------------------------------------------------------

GAIN = 4e-4  # what one proposal teaches, of what is still failed
TRANSFER = 0.1  # how much of that reaches every harder rung
LATELY = 10  # steps over which a rung's share is taken
LEADING = 0.5  # the share from which on a rung leads


def practised(rates: tuple[float, ...], visits: np.ndarray) -> tuple[float, ...]:
    """The solve rates after [K] visits of the rungs. A visit takes a share GAIN of the failures off its own and every
    easier rung, and TRANSFER of that off every harder one."""
    own_or_harder = np.cumsum(visits[::-1])[::-1]
    easier = visits.sum() - own_or_harder
    failures = (1.0 - np.array(rates)) * (1.0 - GAIN) ** own_or_harder * (1.0 - GAIN * TRANSFER) ** easier
    return tuple((1.0 - failures).tolist())


def sweep(proposer: Proposer, seed: int, steps: int = STEPS) -> tuple[list[int], tuple[float, ...]]:
    """Trains a proposer while its solver learns from the proposals. Returns the rungs that led in turn, 1 the
    easiest, and the solver's rates at the end."""
    train, rates = Trainer(proposer, seed), RATES
    late: deque[np.ndarray] = deque(maxlen=LATELY)
    leaders: list[int] = []
    for _ in range(steps):
        rungs = [episode.outcome.facts["rung"] for episode in train(rates)]
        late.append(np.bincount(rungs, minlength=len(RATES) + 1)[1:])
        rates = practised(rates, late[-1])
        shares = np.mean(late, axis=0) / PROPOSALS
        if len(late) == LATELY and shares.max() >= LEADING and leaders[-1:] != [int(shares.argmax()) + 1]:
            leaders.append(int(shares.argmax()) + 1)
    return leaders, rates


def swept(config: Paid, seed: int) -> Metrics:
    """Returns how many rungs led in turn, whether they did so in order of difficulty, and the solve rate of the
    hardest rung at the end."""
    leaders, rates = sweep(NAMED[config.proposer], seed, config.steps)
    in_order = len(leaders) > 1 and leaders == sorted(set(leaders))
    return {"rungs that led": float(len(leaders)), "in order": float(in_order), "hardest": rates[-1]}


PROPOSER_SWEEPS = Experiment(
    title="Proposers and a solver that learns, tabular",
    asked="Does a proposer that is paid for difficulty follow a solver that learns, up the ladder?",
    trial=Measuring(swept),
    config=Paid(),
    variants={each.name: {"proposer": each.name} for each in (AZR, R_ZERO, CONSTANT)},
    figures=("rungs that led", "in order", "hardest"),
    compared=(
        *versus(AZR.name, (CONSTANT.name,), ("rungs that led", "hardest")),
        *versus(R_ZERO.name, (CONSTANT.name,), ("rungs that led", "hardest")),
    ),
    controls=(CONSTANT.name,),
    notes=(
        f"A rung leads with half of the proposals of {LATELY} steps. One proposal teaches {GAIN:g} of what is still "
        f"failed on its own and every easier rung, and {TRANSFER:g} of that on every harder one.",
    ),
)
