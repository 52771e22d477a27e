"""MARFT's agents, their credit across seats, and the loss of actions or tokens (2504.16129)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from redqueen.credit.advantages.statistics import generalized_advantages
from redqueen.credit.rewards import spoken_by, spoken_turns
from redqueen.objectives.additive import own_tokens
from redqueen.objectives.batch import free_positions, pack, row_mean, token_mean
from redqueen.objectives.policy_gradient import ClippedRatio, Gspo
from redqueen.objectives.regularizers import with_entropy
from redqueen.protocols import Critic, Game, Objective, Policy, State
from redqueen.runs.run import Run
from redqueen.types import Batch, Episode, Mean, Metrics, RedQueenError, Seat, Trajectory, Turn

Placed = tuple[int, int, int]  # the place of a turn in its episode, the number of its trajectory, and of its unit there


def at_the_end(episode: Episode) -> dict[Seat, np.ndarray]:
    """The score of the match for its last turn, and nothing for all others. Raises RedQueenError where the seats score
    differently: agents that depend on each other have one score."""
    scores = episode.outcome.scores
    if len(set(scores.values())) > 1:
        told = ", ".join(f"{seat} {score:g}" for seat, score in scores.items())
        raise RedQueenError(f"the agents of marft share one score, and {episode.game} ended with {told}: take another")
    found = {seat: np.zeros(len(turns)) for seat, turns in spoken_turns(episode).items()}
    if episode.turns:
        found[episode.turns[-1].ask.seat][-1] = next(iter(scores.values()))
    return found


class Agents:
    """Who plays each role, the first the learner, and which of them learn at a step."""

    def __init__(self, config: Any, game: Game, learner: Policy, run: Run) -> None:
        first, *others = game.roles
        if not others:
            raise RedQueenError(f"marft trains agents that depend on each other, and {game.name} has one role: {first}")
        beside = {role: config.learner.build_beside(learner, run.derived(role), role) for role in others}
        self.cast: Mapping[str, Policy] = {first: learner, **beside}
        self.policies = list(self.cast.values())
        self._learns, self._period = config.learns, config.period

    def learning(self, step: int) -> list[Policy]:
        """Those who learn at this step; in turn it is the last one first, then each for `period` steps."""
        if self._learns == "in_turn":
            return [self.policies[(step // self._period - 1) % len(self.policies)]]
        return {"all": self.policies, "first": self.policies[:1], "last": self.policies[-1:]}[self._learns]

    def spoken(
        self, step: int, trajectories: Sequence[Trajectory], advantages: Sequence[np.ndarray]
    ) -> Iterator[tuple[Policy, list[Trajectory], list[np.ndarray]]]:
        """Each of those who learn with what it spoke, and the advantages of that."""
        for policy in self.learning(step):
            own = set(map(id, spoken_by(policy, trajectories)))
            pairs = [each for each in zip(trajectories, advantages, strict=True) if id(each[0]) in own]
            yield policy, [each for each, _ in pairs], [given for _, given in pairs]


class AcrossSeats:
    """Generalised advantages over all turns of an episode in the order spoken, whoever speaks, so that what one agent
    says is worth what the next one makes of it. A unit is a turn, or with `tokens` each token that was free.

    Apart (`together` false), each seat's turns are a sequence of their own: a control. The advantages of a batch are
    whitened over its units.
    """

    def __init__(
        self, critic: Critic, discount: float, decay: float, tokens: bool = False, together: bool = True
    ) -> None:
        self._critic, self._discount, self._decay = critic, discount, decay
        self._tokens, self._together = tokens, together
        self._seen: tuple[list[Trajectory], list[np.ndarray]] = ([], [])

    def __call__(self, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
        """[U] for each trajectory, one number a unit."""
        raw, self._seen = self.with_targets(trajectories)
        every = np.concatenate(raw) if raw else np.zeros(0)
        return [(each - every.mean()) / (every.std() + 1e-8) for each in raw]

    def with_targets(
        self, trajectories: Sequence[Trajectory]
    ) -> tuple[list[np.ndarray], tuple[list[Trajectory], list[np.ndarray]]]:
        """The advantages before whitening, and what the critic is to learn: the units as turns, and advantage plus
        value of each."""
        units = [self._units(each) for each in trajectories]
        values = self._critic.values(units)
        sequences: dict[tuple[int, Seat | None], list[Placed]] = {}
        for number, each in enumerate(trajectories):
            key = (id(each.episode), None if self._together else each.seat)
            sequences.setdefault(key, []).extend(self._placed(number, each))
        found = [np.zeros(len(each)) for each in values]
        for sequence in sequences.values():
            places = [(number, unit) for _, number, unit in sorted(sequence)]
            rewards = np.array([units[number].rewards[unit] for number, unit in places])
            known = np.array([values[number][unit] for number, unit in places])
            given = generalized_advantages(rewards, known, np.ones(len(places)), self._discount, self._decay)
            for (number, unit), advantage in zip(places, given, strict=True):
                found[number][unit] = advantage
        return found, (units, [one + value for one, value in zip(found, values, strict=True)])

    def _placed(self, number: int, trajectory: Trajectory) -> Iterator[Placed]:
        spoken = [place for place, turn in enumerate(trajectory.episode.turns) if turn.ask.seat == trajectory.seat]
        unit = 0
        for place, turn in zip(spoken, trajectory.turns, strict=True):
            for _ in range(self._count(turn)):
                yield place, number, unit
                unit += 1

    def _count(self, turn: Turn) -> int:
        return len(free_tokens(turn)) or 1 if self._tokens else 1

    def _units(self, trajectory: Trajectory) -> Trajectory:
        """The trajectory with a turn for each unit, whose prompt is all that was written before it; the reward of a
        turn is that of its last unit."""
        if not self._tokens:
            return trajectory
        turns, rewards = list[Turn](), list[float]()
        for turn, reward in zip(trajectory.turns, trajectory.rewards.tolist(), strict=True):
            reply = turn.reply
            for place in free_tokens(turn) or [0]:
                before = np.concatenate([reply.prompt_tokens, reply.tokens[:place]])
                turns.append(replace(turn, reply=replace(reply, prompt_tokens=before)))
                rewards.append(0.0)
            rewards[-1] = reward
        return replace(trajectory, turns=tuple(turns), rewards=np.array(rewards), parts={})

    def by_turn(self, trajectories: Sequence[Trajectory], advantages: Sequence[np.ndarray]) -> list[np.ndarray]:
        """[N] for each trajectory, the mean of the units of each turn."""
        found = []
        for each, units in zip(trajectories, advantages, strict=True):
            ends = np.cumsum([self._count(turn) for turn in each.turns])
            found.append(np.array([part.mean() for part in np.split(units, ends[:-1])]))
        return found

    def pack(self, trajectories: Sequence[Trajectory], advantages: Sequence[np.ndarray]) -> Batch:
        """The batch of one policy, every action alike, or with `tokens` every token."""
        turns = self.by_turn(trajectories, advantages)
        if not self._tokens:
            return pack(trajectories, turns, row_mean)
        batch = pack(trajectories, turns, token_mean)
        given, mask = batch.advantages.clone(), own_tokens(batch)
        for number, (each, units) in enumerate(zip(trajectories, advantages, strict=True)):
            free = np.array([bool(free_tokens(turn)) for turn in each.turns for _ in range(self._count(turn))])
            own = mask & (batch.trajectory == number)[:, None]
            given[own] = torch.from_numpy(units[free]).to(given.dtype)
        return replace(batch, advantages=given)

    def update(self) -> Metrics:
        """One step of the critic towards what the last batch came to."""
        units, targets = self._seen
        metrics = self._critic.update(units, targets)
        return {name: Mean(value, sum(map(len, targets))) for name, value in metrics.items()}

    def state(self) -> State:
        return self._critic.state()

    def restore(self, state: State) -> None:
        self._critic.restore(state)


def free_tokens(turn: Turn) -> list[int]:
    """The places of the tokens of a reply at which more than one could have been written."""
    reply = turn.reply
    free = free_positions(reply.legal_tokens, tuple(reply.tokens.tolist()))
    return [place for place, open_ in enumerate(free) if open_]


def objective_of(credit: str, clip: float, entropy: float) -> Objective:
    """The clipped ratio of a whole action, the geometric mean of those of its tokens, or of each token."""
    loss: Objective = Gspo(clip, clip) if credit == "action" else ClippedRatio(clip, clip)
    return with_entropy(loss, entropy)
