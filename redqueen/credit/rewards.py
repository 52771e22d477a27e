"""Rewards: functions of a finished episode or group, and the trajectories made with them.

A reward gives every seat one number for each of its turns, [N]. What a seat gains while another
moves goes to the seat's own previous turn, so that a seat which does not move last still learns of
its loss; a seat that never spoke has no turn and no trajectory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf, isnan, nan

import numpy as np

from redqueen.credit.outcomes import as_numbers, unknown
from redqueen.protocols import Game, GroupReward, Player, Reward
from redqueen.types import Episode, Group, RedQueenError, Seat, Trajectory, Turn

Parts = dict[str, dict[Seat, np.ndarray]]  # by name and seat, [N] each


def score(played: Sequence[Episode] | Sequence[Group], *rewards: Reward | GroupReward) -> list[Trajectory]:
    """One trajectory for each seat that spoke, episode by episode, with the sum of the `rewards`. Every attempt of a
    group is scored, also one without a verdict; a seat that a group reward does not name has no trajectory. Raises
    RedQueenError without a reward, and for rewards that do not fit `played`."""
    if not rewards:
        raise RedQueenError("score needs at least one reward after the episodes, such as payoff")
    givers = [_giver(reward, name) for reward, name in zip(rewards, _names_of(rewards), strict=True)]
    trajectories = list[Trajectory]()
    for each in played:
        episodes, number = (each.attempts, each.number) if isinstance(each, Group) else ((each,), None)
        given = [giver(each) for giver in givers]
        for place, episode in enumerate(episodes):
            trajectories += _trajectories(episode, [of_reward[place] for of_reward in given], number)
    return trajectories


def _giver(reward: Reward | GroupReward, name: str) -> Callable[[Episode | Group], list[Parts]]:
    """What gives each episode the parts of one reward. Which kind it is is asked once: a protocol takes a while."""
    if isinstance(reward, GroupReward):
        return partial(_shared_out, reward)
    return partial(_each_by_itself, reward, name)


def _each_by_itself(reward: Reward, name: str, played: Episode | Group) -> list[Parts]:
    """The parts that a reward of episodes gives each of them."""
    episodes = played.attempts if isinstance(played, Group) else (played,)
    return [{name: _checked(reward, episode)} for episode in episodes]


def _trajectories(episode: Episode, given: Sequence[Parts], group: int | None) -> list[Trajectory]:
    """The trajectories of one episode, from the parts `given` by each reward."""
    named = [(name, by_seat) for parts in given for name, by_seat in parts.items()]
    if len({name for name, _ in named}) < len(named):
        raise RedQueenError(f"each part of a reward has a name of its own, not {', '.join(name for name, _ in named)}")
    found = []
    for seat, turns in spoken_turns(episode).items():
        if turns and all(seat in by_seat for _, by_seat in named):
            parts = {name: by_seat[seat] for name, by_seat in named}
            total = np.sum(list(parts.values()), axis=0)
            found.append(Trajectory(episode, seat, turns, total, parts if len(parts) > 1 else {}, group))
    return found


def _names_of(rewards: Sequence[Reward | GroupReward]) -> list[str]:
    """The names of rewards in records: the name of the function or class, numbered if it occurs twice."""
    names = [getattr(reward, "__name__", type(reward).__name__) for reward in rewards]
    return [f"{name} {place + 1}" if names.count(name) > 1 else name for place, name in enumerate(names)]


def _checked(reward: Reward, episode: Episode) -> dict[Seat, np.ndarray]:
    """The numbers that `reward` gives the seats that spoke, [N] each; raises RedQueenError if they do not fit."""
    by_seat, found = reward(episode), {}
    if not isinstance(by_seat, Mapping):
        raise RedQueenError(
            f"{_called(reward)} must give {{seat: numbers}}, one for each turn of the seat, not {by_seat!r:.60}"
        )
    for seat, turns in spoken_turns(episode).items():
        if turns:
            if seat not in by_seat:
                raise RedQueenError(f"{_called(reward)} says nothing of the seat {seat} of {episode.game!r}")
            found[seat] = np.asarray(by_seat[seat], dtype=np.float64)
            known = np.isfinite(found[seat])
            if not known.all() and unknown(episode):
                known |= np.isnan(found[seat])
            if found[seat].shape != (len(turns),) or not known.all():
                raise RedQueenError(
                    f"{_called(reward)} must give the seat {seat} of {episode.game!r} {len(turns)} finite numbers, "
                    f"one for each turn, not {found[seat]!s:.60}"
                )
    return found


def _called(reward: Reward) -> str:
    return f"reward {getattr(reward, '__name__', reward)!s:.60}"


def _shared_out(reward: GroupReward, group: Episode | Group) -> list[Parts]:
    """The parts that a group reward gives each attempt, on each seat's last own turn."""
    if not isinstance(group, Group):
        raise RedQueenError(f"reward {reward!r:.60} is of a group: play with attempts(...) and score the groups")
    shared: list[Parts] = [{} for _ in group.attempts]
    (called,), of_group = _names_of([reward]), reward.of_group(group)
    if not isinstance(of_group, Mapping):
        raise RedQueenError(
            f"reward {called}.of_group(group) must give {{part: {{seat: numbers}}}}, such as for_its_seat(group, "
            f"{{'mine': numbers}}), not {of_group!r:.60}"
        )
    for name, by_seat in of_group.items():
        numbers = {seat: as_numbers(values, name) for seat, values in by_seat.items()}
        for seat, values in numbers.items():
            if values.shape != (len(group.attempts),) or np.isinf(values).any():
                raise RedQueenError(
                    f"reward {called} must give the seat {seat} one number for each of {len(group.attempts)} "
                    f"attempts, finite or NaN, not {values!s:.60}"
                )
        for place, (parts, episode) in enumerate(zip(shared, group.attempts, strict=True)):
            here = {seat: float(values[place]) for seat, values in numbers.items() if seat in episode.seats}
            parts[name] = {seat: rewards for seat, rewards in _at_the_end(episode, here).items() if seat in here}
    return shared


def has_verdict(trajectory: Trajectory) -> bool:
    """Whether the rewards of a trajectory are known (none is NaN)."""
    return not isnan(trajectory.rewards @ trajectory.rewards)  # asked ten times for every game that is played


def with_verdict(trajectories: Sequence[Trajectory]) -> list[Trajectory]:
    """The trajectories whose rewards are known."""
    return [trajectory for trajectory in trajectories if has_verdict(trajectory)]


def spoken_by(player: Player, trajectories: Sequence[Trajectory]) -> list[Trajectory]:
    """The trajectories whose replies are by `player`. A frozen copy has a name of its own
    ("learner@12"), so the replies of a past self are left out."""
    kept = []
    for trajectory in trajectories:
        authors = {turn.reply.player for turn in trajectory.turns}
        assert len(authors) == 1, f"one seat of one match is held by one player, not by {sorted(authors)}"
        if authors == {player.name}:
            kept.append(trajectory)
    return kept


def spoken_turns(episode: Episode) -> dict[Seat, tuple[Turn, ...]]:
    """The turns of every seat at the table, in the order spoken; empty for a seat that never spoke."""
    turns: dict[Seat, list[Turn]] = {seat: [] for seat in episode.seats}
    for turn in episode.turns:
        if turn.ask.seat not in turns:
            raise RedQueenError(f"game {episode.game!r} let the seat {turn.ask.seat} speak but gave it no score")
        turns[turn.ask.seat].append(turn)
    return {seat: tuple(spoken) for seat, spoken in turns.items()}


# --- results of the game ---------------------------------------------------------------------


def payoff(episode: Episode) -> dict[Seat, np.ndarray]:
    """Each seat's final score on its last own turn, zeros before; NaN where the verdict on the match is unknown."""
    silent = unknown(episode)
    scores = {seat: nan if silent else float(episode.outcome.scores[seat]) for seat in episode.seats}
    return _at_the_end(episode, scores)


def win_draw_loss(episode: Episode) -> dict[Seat, np.ndarray]:
    """1, 0 or -1 on each seat's last own turn: the sign of its score."""
    return _at_the_end(episode, {seat: float(np.sign(episode.outcome.scores[seat])) for seat in episode.seats})


def gains(episode: Episode) -> dict[Seat, np.ndarray]:
    """Each seat's gains (`Outcome.facts["gains"]`), each on the seat's latest own turn at or before the turn
    after which it came; gains before a seat's first turn go to that turn.

    Nothing is lost or counted twice: the rewards of a seat that spoke sum to its score.
    """
    if "gains" not in episode.outcome.facts:
        raise RedQueenError(f"game {episode.game!r} reports no gains turn by turn: reward its payoff instead")
    rewards = {seat: np.zeros(len(turns)) for seat, turns in spoken_turns(episode).items()}
    sums = dict.fromkeys(episode.seats, 0.0)
    named = {str(seat): seat for seat in episode.seats}
    for after, by_name in episode.outcome.facts["gains"]:
        for name, gain in by_name.items():
            if name not in named:
                raise RedQueenError(f"game {episode.game!r} reports a gain of {name!r}, who is not at the table")
            seat = named[name]
            sums[seat] += gain
            if len(rewards[seat]):
                spoken = sum(turn.ask.seat == seat for turn in episode.turns[: after + 1])
                rewards[seat][max(spoken - 1, 0)] += gain
    for seat, gained in sums.items():
        if not np.isclose(gained, episode.outcome.scores[seat]):
            raise RedQueenError(
                f"game {episode.game!r} scores the seat {seat} {episode.outcome.scores[seat]:g}, but its gains sum to "
                f"{gained:g}"
            )
    return rewards


def as_it_fell(episode: Episode) -> dict[Seat, np.ndarray]:
    """`gains` where the game reports them, else `payoff`."""
    return gains(episode) if "gains" in episode.outcome.facts else payoff(episode)


@dataclass(frozen=True)
class Divided:
    """The `inner` reward divided by a number of its game, so that games of different stakes compare."""

    inner: Reward
    by: Mapping[str, float]  # name of the game -> its largest score

    def __call__(self, episode: Episode) -> dict[Seat, np.ndarray]:
        if episode.game not in self.by:
            raise RedQueenError(f"no largest score is named for the game {episode.game!r}: there are {list(self.by)}")
        return {seat: rewards / self.by[episode.game] for seat, rewards in self.inner(episode).items()}


def per_largest_score(games: Sequence[Game], largest: Sequence[float]) -> Divided:
    """`as_it_fell` divided by the `largest` score of its game. Raises RedQueenError unless there is one number above 0
    for each game."""
    if not games or len(games) != len(largest):
        raise RedQueenError(
            f"name one or more --games and as many --largest-scores, not {len(games)} games and {len(largest)} scores"
        )
    if not all(0.0 < each < inf for each in largest):
        raise RedQueenError(f"--largest-scores are numbers above 0, not {', '.join(f'{each:g}' for each in largest)}")
    return Divided(as_it_fell, {game.name: score for game, score in zip(games, largest, strict=True)})


@dataclass(frozen=True)
class ForfeitScores:
    """Another reward, except after a forfeit: then `offender` and `others`, on each seat's last own turn.

    SPIRAL's released code: offender -1.5, others 0.5. MARS's: offender -(stake + 10), others 0. Neither sums
    to zero, which moves the equilibrium of a zero-sum game; `payoff` alone keeps the game's own rule.
    """

    otherwise: Reward
    offender: float
    others: float

    def __call__(self, episode: Episode) -> dict[Seat, np.ndarray]:
        offender = episode.outcome.facts.get("forfeit")
        if offender is None:
            return self.otherwise(episode)
        return _at_the_end(
            episode, {seat: self.offender if str(seat) == offender else self.others for seat in episode.seats}
        )


def _at_the_end(episode: Episode, finals: dict[Seat, float]) -> dict[Seat, np.ndarray]:
    rewards = {seat: np.zeros(len(turns)) for seat, turns in spoken_turns(episode).items()}
    for seat, final in finals.items():
        rewards[seat][-1:] = final  # a seat that never spoke has no last turn
    return rewards


# --- how it was said -------------------------------------------------------------------------


@dataclass(frozen=True)
class FormatBonus:
    """`bonus` for each turn in the stated format with a legal reply (MARS: +0.05).

    A turn earns 0 if no action was found in it, if it was cut off, if its reply is not one of
    the listed choices, or if it is the last turn of a seat that forfeited.
    """

    bonus: float = 0.05

    def __call__(self, episode: Episode) -> dict[Seat, np.ndarray]:
        forfeit = episode.outcome.facts.get("forfeit")
        rewards = {}
        for seat, turns in spoken_turns(episode).items():
            rewards[seat] = np.array([self.bonus if _well_formed(turn) else 0.0 for turn in turns])
            if str(seat) == forfeit:
                rewards[seat][-1:] = 0.0
        return rewards


def _well_formed(turn: Turn) -> bool:
    choices, reply = turn.ask.choices, turn.reply
    return not reply.malformed and not reply.truncated and (not choices or reply.text.strip() in choices)


@dataclass(frozen=True)
class Gated:
    """The `inner` reward of a seat whose `gate` rewards sum to `least` or more, and zeros else (G-RA,
    arXiv:2508.10548): what is paid for the way ranks successes, and cannot buy a failure.

        R = sum over i of R_i * prod over j < i of 1[R_j >= least_j]

    Levels nest: `score(played, payoff, Gated(bonus, payoff, 0.5), Gated(Gated(form, bonus, 0.5), payoff, 0.5))`. A gate
    that is never reached changes nothing, one on a sum with `inner` in it opens itself, and without a verdict it is
    shut.
    """

    inner: Reward
    gate: Reward
    least: float

    def __call__(self, episode: Episode) -> dict[Seat, np.ndarray]:
        gates, paid = self.gate(episode), self.inner(episode)
        return {
            seat: rewards if gates[seat].sum() >= self.least else np.zeros_like(rewards)
            for seat, rewards in paid.items()
        }


@dataclass(frozen=True)
class LengthPenalty:
    """MARS's price for long turns, as in its released code (the paper's formula has another sign):

        c = 1 - (L - shortest) / (longest - shortest),   reward = alpha * min(c, 0)

    so a turn of L <= longest tokens costs nothing and the price then grows linearly.
    """

    shortest: int = 11
    longest: int = 2048
    alpha: float = 0.5

    def __post_init__(self) -> None:
        if self.longest <= self.shortest:
            raise RedQueenError(f"the longest reply without price is above {self.shortest} tokens, not {self.longest}")

    def __call__(self, episode: Episode) -> dict[Seat, np.ndarray]:
        return _each_turn(episode, self._price)

    def _price(self, turn: Turn) -> float:
        share = 1.0 - (len(turn.reply.tokens) - self.shortest) / (self.longest - self.shortest)
        return self.alpha * min(share, 0.0)


@dataclass(frozen=True)
class OverlongPenalty:
    """DAPO's soft overlong punishment of a turn of L tokens:

        reward = min(-(L - (longest - buffer)) / buffer * factor, 0)

    0 up to `longest - buffer` tokens, `-factor` at `longest`.
    """

    longest: int = 20480
    buffer: int = 4096
    factor: float = 1.0

    def __call__(self, episode: Episode) -> dict[Seat, np.ndarray]:
        return _each_turn(episode, self._price)

    def _price(self, turn: Turn) -> float:
        over = len(turn.reply.tokens) - (self.longest - self.buffer)
        return min(-over / self.buffer * self.factor, 0.0)


@dataclass(frozen=True)
class OverlongByTurn:
    """`OverlongPenalty` by the `longest` reply in tokens that each turn may be, over its last `part`; nothing for a
    turn that has no limit."""

    longest: Callable[[Turn], int | None]
    part: float = 0.2

    def __call__(self, episode: Episode) -> dict[Seat, np.ndarray]:
        return _each_turn(episode, self._price)

    def _price(self, turn: Turn) -> float:
        longest = self.longest(turn)
        return OverlongPenalty(longest, max(round(self.part * longest), 1))._price(turn) if longest else 0.0


@dataclass(frozen=True)
class RepetitionPrice:
    """-`price` times the share of a turn's tokens that belong to a run of `run` tokens that the turn said before: the
    repeats that unlikelihood (arXiv:1908.04319) and DITTO (arXiv:2206.02369) train away, as part of a reward."""

    price: float = 1.0
    run: int = 4

    def __call__(self, episode: Episode) -> dict[Seat, np.ndarray]:
        return _each_turn(episode, self._price)

    def _price(self, turn: Turn) -> float:
        tokens = [int(token) for token in turn.reply.tokens]
        seen, repeated = set[tuple[int, ...]](), set[int]()
        for start in range(len(tokens) - self.run + 1):
            gram = tuple(tokens[start : start + self.run])
            if gram in seen:
                repeated.update(range(start, start + self.run))
            seen.add(gram)
        return -self.price * len(repeated) / max(len(tokens), 1)


def _each_turn(episode: Episode, price: Callable[[Turn], float]) -> dict[Seat, np.ndarray]:
    return {seat: np.array([price(turn) for turn in turns]) for seat, turns in spoken_turns(episode).items()}


def with_reward(
    trajectories: Sequence[Trajectory],
    reward: Reward,
    name: str,
    earned: Sequence[bool] | None = None,
) -> list[Trajectory]:
    """The trajectories with another `reward` added to theirs as a part of this name, zeros where it is not `earned` (by
    default it always is); what they had without parts of its own is the part "task"."""
    found = []
    for each, pays in zip(trajectories, earned or [True] * len(trajectories), strict=True):
        more = reward(each.episode)[each.seat] if pays else np.zeros(len(each.turns))
        parts = {**(each.parts or {"task": each.rewards}), name: more}
        found.append(replace(each, rewards=each.rewards + more, parts=parts))
    return found


# --- staying near a reference ----------------------------------------------------------------


def kl_in_reward(
    trajectories: Sequence[Trajectory], reference_logprobs: Sequence[Sequence[np.ndarray]], beta: float
) -> list[Trajectory]:
    """The trajectories with `beta * sum(sampled - reference)` over a turn's tokens subtracted from its reward.

    This is the estimator k1, the only one that belongs in a reward. `reference_logprobs` holds [R] for each turn
    of each trajectory. Use this or a `KLPenalty` in the loss, not both. Estimators that divide by a
    deviation then rescale the game's own reward too.
    """
    shifted = []
    for trajectory, references in zip(trajectories, reference_logprobs, strict=True):
        prices = []
        for turn, reference in zip(trajectory.turns, references, strict=True):
            assert turn.reply.logprobs.shape == reference.shape, "one reference log-probability for each token"
            prices.append(beta * float(np.sum(turn.reply.logprobs - reference)))
        shifted.append(replace(trajectory, rewards=trajectory.rewards - np.array(prices)))
    return shifted
