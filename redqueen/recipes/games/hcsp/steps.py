"""HCSP's stages: who learns when, whom a team meets, when it has converged, what holds it (2505.04317)."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from redqueen.chance import pick
from redqueen.credit.advantages.keys import by_information_state
from redqueen.credit.advantages.statistics import MovingBaseline, RewardToGo
from redqueen.credit.rewards import payoff, spoken_by, spoken_turns
from redqueen.games.catalogue import find_game
from redqueen.games.volley import CAPTAIN, SIDES, SKILLS, Volley
from redqueen.measures.recitations import Rates
from redqueen.opponents.payoffs import equilibrium
from redqueen.opponents.pools import rebuilt, saved
from redqueen.play.lockstep import play
from redqueen.players.scripted import Uniform
from redqueen.protocols import COUNT, SHARE, Player, Policy, Reward, State, shaped
from redqueen.runs.run import LEARNER
from redqueen.types import Batch, Episode, Likelihoods, Match, Metrics, RedQueenError, Seat, Task, Trajectory, mean_of

DRILLS, STRATEGY, BOTH = 1, 2, 3  # the stages
PAIR = 2  # most teams that are met in the third stage


def court_of(spec: str) -> Volley:
    """The game of this spec. Raises RedQueenError for one without skills and calls."""
    game = find_game(spec)
    if not isinstance(game, Volley):
        raise RedQueenError(f"skills and calls are those of volley, which --game may change: not {spec!r}")
    return game


@dataclass(frozen=True)
class Team:
    """Who calls, and who does what was called."""

    captain: Player
    skills: Player

    def cast(self, side: str) -> dict[str, Player]:
        """Its seats on one side."""
        return {f"{side}_{CAPTAIN}": self.captain} | dict.fromkeys((f"{side}_{each}" for each in SKILLS), self.skills)


RANDOM = Team(Uniform(), Uniform())


def met(game: Volley, tasks: Sequence[Task], own: Team, others: Sequence[Team]) -> list[Match]:
    """One rally for each task against one of the others each, with the sides in turn, whoever receives."""
    found = []
    for number, (task, rival) in enumerate(zip(tasks, others, strict=True)):
        side, across = SIDES if number % 4 < 2 else SIDES[::-1]
        found.append(Match(game, task, own.cast(side) | rival.cast(across)))
    return found


def coached(episode: Episode) -> dict[Seat, np.ndarray]:
    """What a coach pays each seat for each of its turns; 0 for one that broke the rules."""
    paid: Mapping[str, Sequence[float]] = episode.outcome.facts["paid"]
    found = {seat: np.zeros(len(turns)) for seat, turns in spoken_turns(episode).items()}
    for seat, values in found.items():
        given = paid[str(seat)][: len(values)]
        values[: len(given)] = given
    return found


class Gate:
    """Whether a team has converged: its last `window` win rates have at least this mean and at most this deviation,
    after `least` of them; and after `most` in any case."""

    def __init__(self, window: int, mean: float, deviation: float, least: int, most: int) -> None:
        if not 1 <= window <= least <= most:
            raise RedQueenError(
                f"a gate looks at its window of win rates within its least steps, and these within its most: not "
                f"{window}, {least} and {most}"
            )
        self._mean, self._deviation, self._least, self._most = mean, deviation, least, most
        self._rates: deque[float] = deque(maxlen=window)
        self._seen = 0

    def observe(self, rate: float) -> bool:
        """Adds a win rate; whether the gate is open then."""
        self._rates.append(rate)
        self._seen += 1
        if self._seen < self._least:
            return False
        steady = np.mean(self._rates) >= self._mean and np.std(self._rates) <= self._deviation
        return bool(steady) or self._seen >= self._most

    def state(self) -> State:
        return {"rates": list(self._rates), "seen": self._seen}

    def restore(self, state: State) -> None:
        shaped(state, {"rates": [SHARE], "seen": COUNT}, "the gate: ")
        self._rates.clear()
        self._rates.extend(state["rates"])
        self._seen = state["seen"]


class Leash:
    """What a level is pulled to: itself, which does not pull, until it is tied to a past self."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._tied: list[Policy] = []

    def tie(self, held: bool) -> None:
        self._tied = [self._policy.freeze()] if held else []

    def likelihoods(self, batch: Batch) -> Likelihoods:
        held: Rates = self._tied[0] if self._tied else self._policy
        return held.likelihoods(batch)

    def state(self) -> State:
        return {"tied": saved(self._tied)}

    def restore(self, state: State) -> None:
        shaped(state, {"tied": list}, "the leash: ")
        self._tied = rebuilt(self._policy, state["tied"])


class Population:
    """Teams that were kept, and how each fared against those before it."""

    def __init__(self, captain: Policy, skills: Policy) -> None:
        self._captain, self._skills = captain, skills
        self._members: list[tuple[Policy, Policy]] = []  # captains and skills, oldest first
        self._rates: list[list[float]] = []  # by member, its win rates against those before it

    def __len__(self) -> int:
        return len(self._members)

    @property
    def teams(self) -> list[Team]:
        return [Team(*each) for each in self._members]

    def add(self, most: int, rates: Sequence[float] = ()) -> None:
        """Keeps the team as it is now, with its win `rates` against those that are there; beyond `most` the oldest one
        goes."""
        assert len(rates) == len(self), "a team that joins has met all that are there"
        self._rates.append(list(rates))
        self._members.append((self._captain.freeze(), self._skills.freeze()))
        if len(self._members) > most:
            self._members = self._members[1:]
            self._rates = [each[1:] for each in self._rates[1:]]

    def matrix(self) -> np.ndarray:
        """[P, P] the win rates of members against one another."""
        found = np.full((len(self), len(self)), 0.5)
        for number, rates in enumerate(self._rates):
            found[number, :number] = rates
            found[:number, number] = 1.0 - np.array(rates)
        return found

    def shares(self, opponents: str) -> np.ndarray:
        """[P] how often each is to be met: as in the Nash equilibrium, all alike, or the latest alone."""
        if opponents == "latest":
            return np.asarray(np.eye(len(self))[-1])
        return np.full(len(self), 1.0 / len(self)) if opponents == "uniform" else equilibrium(self.matrix())

    def draw(self, opponents: str, count: int, rng: Random) -> list[Team]:
        teams, shares = self.teams, self.shares(opponents).tolist()
        return [teams[pick(shares, rng.random())] for _ in range(count)]

    def state(self) -> State:
        return {**_saved(self._members), "rates": self._rates}

    def restore(self, state: State) -> None:
        shaped(state, {"captains": list, "skills": list, "rates": [[SHARE]]}, "the population: ")
        self._members = _rebuilt(self._captain, self._skills, state)
        self._rates = [list(each) for each in state["rates"]]


class Stages:
    """Which stage a step is of, whom the team meets in it, and the teams with which earlier stages ended."""

    def __init__(self, config: Any, captain: Policy, skills: Policy) -> None:
        self._config = config
        self.game = court_of(config.game)
        self._captain, self._skills = captain, skills
        self.leashes = Leash(captain), Leash(skills)
        self._gates = [
            Gate(config.window, mean, config.deviation, config.least, config.most)
            for mean in (config.won, config.won_by_both)
        ]
        self._number = 0
        self.ticks = 0  # steps that players made in all
        self._population = Population(captain, skills)
        self._before: dict[str, tuple[Policy, Policy]] = {}  # by stage, the team with which it ended

    @property
    def team(self) -> Team:
        return Team(self._captain, self._skills)

    @property
    def _first(self) -> dict[int, int]:
        """The first steps of the second and of the third stage."""
        drills = self._config.drill_steps * len(SKILLS)
        return {STRATEGY: drills, BOTH: drills + self._config.strategy_steps}

    @property
    def stage(self) -> int:
        return 1 + sum(self._number >= first for first in self._first.values())

    @property
    def drilled(self) -> str:
        """The skill that is drilled now; "" after the first stage."""
        return SKILLS[self._number // self._config.drill_steps] if self.stage == DRILLS else ""

    def ended(self, stage: int) -> Team | None:
        """The team with which an earlier stage ended, if there was one; that of the first has no captain yet."""
        if str(stage) not in self._before:
            return None
        captain, skills = self._before[str(stage)]
        return Team(Uniform() if stage == DRILLS else captain, skills)

    def begin(self, number: int) -> None:
        """Turns to a step. Where a stage begins, the team that ended the one before is the first of its population, and
        in the third both levels are held to it."""
        self._number = number
        for stage, first in self._first.items():
            if number == first:
                if number:
                    self._before[str(stage - 1)] = self._captain.freeze(), self._skills.freeze()
                self._population = Population(self._captain, self._skills)
                self._population.add(1)
                for leash in self.leashes:
                    leash.tie(stage == BOTH)

    def matches(self, count: int, rng: Random) -> list[Match]:
        """The rallies of a step: drills among themselves under calls at random, else against the population."""
        if self.drilled:
            team = Team(Uniform(), self._skills)
            return met(self.game, _dealt(self.game.drills(self.drilled), count), team, [team] * count)
        rivals = self._population.draw(self._config.opponents, count, rng)
        return met(self.game, _dealt(self.game.tasks(), count), self.team, rivals)

    @property
    def reward(self) -> Reward:
        """Who pays in this stage: a coach in a drill, else the points."""
        return coached if self.drilled else payoff

    def learned(self, trajectories: Sequence[Trajectory]) -> list[tuple[int, list[Trajectory]]]:
        """Which levels learn in this stage (0 the captain, 1 the skills), and from which turns: in a drill from those
        of its skill."""
        if self.drilled:
            drilled = [each for each in trajectories if skill_of(each) == self.drilled]
            return [(1, spoken_by(self._skills, drilled))]
        found = [(0, spoken_by(self._captain, trajectories))]
        return found + ([(1, spoken_by(self._skills, trajectories))] if self.stage == BOTH else [])

    def observe(self, matches: Sequence[Match], episodes: Sequence[Episode], rng: Random) -> Metrics:
        """The stage, the steps of players so far, and how the team fared; one that has converged joins the population,
        once it has met each team of it in as many rallies as a step has."""
        self._count(episodes)
        found: Metrics = {"knobs/stage": float(self.stage), "buffer/ticks": float(self.ticks)}
        if self.drilled:
            return found
        won = self._won(matches, episodes)
        found |= {"points_won": won, "buffer/teams": float(len(self._population))}
        gate = self._gates[self.stage - STRATEGY]
        if gate.observe(won):
            gate.restore({"rates": [], "seen": 0})
            most = PAIR if self.stage == BOTH else self._config.population
            self._population.add(most, [self._fares(team, len(matches), rng) for team in self._population.teams])
        return found

    def _fares(self, rival: Team, count: int, rng: Random) -> float:
        """The share of points that the team wins from a rival in `count` rallies, of which nothing is learned; a point
        more is shared, so that no share is 0 or 1."""
        matches = met(self.game, _dealt(self.game.tasks(), count), self.team, [rival] * count)
        episodes = play(matches, rng)
        self._count(episodes)
        return (count * self._won(matches, episodes) + 0.5) / (count + 1.0)

    def _count(self, episodes: Sequence[Episode]) -> None:
        self.ticks += sum(each.outcome.facts["ticks"] for each in episodes)

    def _won(self, matches: Sequence[Match], episodes: Sequence[Episode]) -> float:
        """The share of these points that the team won."""
        return mean_of(
            [
                point(each, next(side for side in SIDES if match.cast[f"{side}_{CAPTAIN}"] is self._captain))
                for match, each in zip(matches, episodes, strict=True)
            ]
        )

    def state(self) -> State:
        return {
            "population": self._population.state(),
            "before": {stage: _saved([pair]) for stage, pair in self._before.items()},
            "leashes": [leash.state() for leash in self.leashes],
            "gates": [gate.state() for gate in self._gates],
            "ticks": self.ticks,
        }

    def restore(self, state: State) -> None:
        pair = {"captains": list, "skills": list}
        shape = {"population": dict, "before": {...: pair}, "leashes": [dict], "gates": [dict], "ticks": COUNT}
        shaped(state, shape, "the stages: ")
        self._population.restore(state["population"])
        self._before = {
            stage: _rebuilt(self._captain, self._skills, pairs)[0] for stage, pairs in state["before"].items()
        }
        for leash, tied in zip(self.leashes, state["leashes"], strict=True):
            leash.restore(tied)
        for gate, found in zip(self._gates, state["gates"], strict=True):
            gate.restore(found)
        self.ticks = state["ticks"]


def _dealt(tasks: Sequence[Task], count: int) -> list[Task]:
    return [tasks[number % 2] for number in range(count)]


def _rebuilt(captain: Policy, skills: Policy, state: State) -> list[tuple[Policy, Policy]]:
    return list(zip(rebuilt(captain, state["captains"]), rebuilt(skills, state["skills"]), strict=True))


def _saved(pairs: Sequence[tuple[Policy, Policy]]) -> dict[str, Any]:
    return {"captains": saved([one for one, _ in pairs]), "skills": saved([two for _, two in pairs])}


def policy_of(role: str) -> str:
    """The name of the policy that takes this role of the game: the captain's is the learner."""
    return LEARNER if role.endswith(f"_{CAPTAIN}") else "skills"


def skill_of(trajectory: Trajectory) -> str:
    return trajectory.seat.role.partition("_")[2]


def point(episode: Episode, side: str) -> float:
    """1 for a point of this side, 0 for one of the other, 0.5 where nobody won it."""
    (score, *_) = [score for seat, score in episode.outcome.scores.items() if seat.role == f"{side}_{CAPTAIN}"]
    return (1.0 + score) / 2.0


def estimator(discount: float, decay: float) -> MovingBaseline:
    """Rewards to go, less a moving average for what the seat was shown."""
    return MovingBaseline(by_information_state, decay, RewardToGo(discount), debias=True)
