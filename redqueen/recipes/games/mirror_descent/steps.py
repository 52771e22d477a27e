"""Parts of mirror descent: what each reply brought, the policy that a step asks for, a batch that leads there."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from random import Random

import numpy as np
import torch

from redqueen.credit.advantages.statistics import RewardToGo
from redqueen.credit.rewards import has_verdict
from redqueen.measures.exact.exploitability import GameTree, strategy_of
from redqueen.measures.exact.minimax import Solution, solve
from redqueen.measures.of_games import lists_choices
from redqueen.objectives.batch import beside, minibatches, one_turn, pack
from redqueen.players.language.reciter import Reader, reader
from redqueen.players.scripted import Uniform
from redqueen.players.transformer.rows import legal_tokens
from redqueen.protocols import Game, MayBeClosed, OpenPlayer, StatesInformation, has
from redqueen.types import Ask, Batch, Likelihoods, RedQueenError, Reply, Strategy, Trajectory

LEAST = 1e-30  # a probability is at least this, so that its logarithm is a number


def check_listed(game: Game, policy: OpenPlayer) -> None:
    """Raises RedQueenError for a game that asks for free text, and for a policy that answers in it."""
    if not lists_choices(game):
        raise RedQueenError(
            f"mirror descent needs games that list their legal replies, and {game.name} asks for free text: train "
            "magnetic or spiral"
        )
    if has(policy, MayBeClosed) and not policy.open:
        raise RedQueenError(
            "mirror descent reads the probabilities of listed replies, and this model answers in a format of its own: "
            "leave --answer out, or train magnetic or spiral"
        )


def all_states(game: Game, policy: OpenPlayer, needed: bool = True) -> GameTree | Solution | None:
    """Where they are needed every information state of a game, and what replies are worth there: the positions of a
    board game, each once however many histories lead to it, or all histories of another game. Raises RedQueenError as
    `check_listed` does, needed or not."""
    check_listed(game, policy)
    if not needed:
        return None
    if has(game, StatesInformation) and game.perfect_information:
        with suppress(RedQueenError):  # its seats move at the same time, or it is not zero-sum
            return solve(game)
    return GameTree(game)


def reply_values(trajectories: Sequence[Trajectory]) -> Strategy:
    """[K] for each information state that was met, in the order met: the mean of the rewards from there on for each of
    its listed replies, NaN for one that nobody gave. A trajectory without a verdict counts for nothing."""
    to_go = RewardToGo()
    sums: dict[Ask, np.ndarray] = {}  # [2, K] the rewards, and how often the reply was given
    for trajectory in trajectories:
        for turn, value in zip(trajectory.turns, to_go(trajectory), strict=True):
            if not np.isnan(value):
                here = sums.setdefault(turn.ask, np.zeros((2, len(turn.ask.choices))))
                here[:, turn.ask.choices.index(turn.reply.text)] += (value, 1.0)
    with np.errstate(invalid="ignore"):
        return {ask: total / often for ask, (total, often) in sums.items()}


def estimate(
    trajectories: Sequence[Trajectory], policy: OpenPlayer, tree: GameTree | Solution | None = None
) -> tuple[Strategy, Strategy, list[np.ndarray]]:
    """The policy's probabilities [K] at each information state that was met, by how much each reply is worth more there
    than what the policy expects [K] (`gains`), and that for the turns of each trajectory [N] (`credit`). With a
    `tree` these are all states of the game, and the exact values of replies where all seats follow the policy."""
    if tree:
        now = strategy_of(policy, tree.states)
        values = tree.reply_values(now)
    else:
        values = reply_values(trajectories)
        now = strategy_of(policy, list(values))
    gained = gains(values, now)
    return now, gained, credit(trajectories, gained)


def gains(values: Strategy, now: Strategy) -> Strategy:
    """By how much each reply is worth more than what a policy that does as `now` expects: [K] for each state of
    `values`, which are [K], NaN where a reply's is not known: that one counts as worth what is expected of the others.
    A state of which nothing is known is left out."""
    gained = {}
    for ask, value in values.items():
        known = ~np.isnan(value)
        if known.any():
            chances = now[ask][known]
            expected = float(chances @ value[known]) / max(float(chances.sum()), LEAST)
            gained[ask] = np.where(known, value - expected, 0.0)
    return gained


def credit(trajectories: Sequence[Trajectory], gained: Strategy) -> list[np.ndarray]:
    """[N] what was gained at each of the turns of every trajectory, NaN without a verdict."""
    return [
        np.array([gained[turn.ask][turn.ask.choices.index(turn.reply.text)] for turn in each.turns])
        if has_verdict(each)
        else np.full(len(each.turns), np.nan)
        for each in trajectories
    ]


def mirror_step(now: Strategy, magnet: OpenPlayer | None, gained: Strategy, size: float, pull: float) -> Strategy:
    """[K] for each state of `gained` the probabilities that a step of this `size` and `pull` towards the magnet, or
    towards uniform play without one, asks for."""
    rho = strategy_of(magnet or Uniform(), list(gained))
    return {ask: closed_form(now[ask], rho[ask], gain, size, pull) for ask, gain in gained.items()}


def closed_form(policy: np.ndarray, magnet: np.ndarray, gain: np.ndarray, size: float, pull: float) -> np.ndarray:
    """[K] in proportion to (policy magnet^(size pull) e^(size gain))^(1 / (1 + size pull)), of [K] each."""
    start, rho = np.log(np.maximum(policy, LEAST)), np.log(np.maximum(magnet, LEAST))
    logits = (start + size * (pull * rho + gain)) / (1.0 + size * pull)
    chances = np.exp(logits - logits.max())
    return np.asarray(chances / chances.sum())


def pack_toward(learner: OpenPlayer, wanted: Strategy, now: Strategy) -> Batch:
    """A batch for `ExactKL` whose loss is the mean over the information states of KL(policy || wanted), [K] wanted
    probabilities each, for a learner that does as `now` there. It has a row for each reply at each state; the tokens
    of a reply count by its probability, so that the divergences along the replies add up to that of whole replies; the
    rows of a state are one trajectory, so that minibatches keep them together. It is empty where there is nothing to
    choose."""
    says, asks = reader(learner), list(wanted)
    said = [one_turn(ask, reply) for ask in asks for reply in _each_choice(ask, says)]
    batch = pack(said, [np.ones(1)] * len(said))
    if not len(batch):
        return batch
    of_row = batch.trajectory.tolist()
    chances = np.concatenate([now[ask] for ask in asks])
    shares = torch.from_numpy(np.maximum(chances[of_row], LEAST) / len(asks))  # [B]
    batch = replace(batch, loss_weights=(batch.loss_weights != 0) * shares[:, None])
    batch = beside(batch, _spelled(batch, [wanted[said[number].turns[0].ask] for number in of_row]))
    states = np.repeat(np.arange(len(asks)), [len(ask.choices) for ask in asks])
    return replace(batch, trajectory=torch.from_numpy(states[of_row]))


def parts_of(batch: Batch, count: int, rng: Random) -> list[Batch]:
    """A batch of `pack_toward` in `count` parts of states dealt anew; the loss of each is the mean over its own."""
    return minibatches(batch, count, _as_a_whole, rng)


def _as_a_whole(part: Batch) -> Batch:
    first = (part.loss_weights != 0) & ((part.loss_weights != 0).cumsum(dim=1) == 1)  # where replies of a state begin
    return replace(part, loss_weights=part.loss_weights / part.loss_weights[first].sum())


def _each_choice(ask: Ask, says: Reader) -> list[Reply]:
    """[K] a reply for each choice. The prompt, which they share, is encoded once."""
    first = says.recite(ask, ask.choices[0])
    return [
        replace(first, text=choice, tokens=np.array(tokens), logprobs=np.zeros(len(tokens)))
        for choice, tokens in zip(ask.choices, first.legal_tokens, strict=True)
    ]


def _spelled(batch: Batch, wanted: Sequence[np.ndarray]) -> Likelihoods:
    """The likelihoods of the rows [B, T] under the `wanted` probabilities [K] of whole replies, one for each row."""
    found = []
    for row, chances in enumerate(wanted):
        (constraint,) = batch.constraints[row]
        start, tokens = constraint.start, tuple(batch.tokens[row, : batch.lengths[row]].tolist())
        for at, legal in legal_tokens(tokens[start:], constraint.replies, start).items():
            if batch.loss_weights[row, at] > 0:
                said = [
                    sum(
                        chance
                        for chance, reply in zip(chances, constraint.replies, strict=True)
                        if reply[: at - start + 1] == (*tokens[start:at], token)
                    )
                    for token in legal
                ]
                found.append((row, at, legal.index(tokens[at]), np.log(np.maximum(said, LEAST) / sum(said))))
    shape = tuple(batch.tokens.shape)
    logprobs, legal_logprobs = torch.zeros(shape), torch.full((*shape, max(len(each[3]) for each in found)), -torch.inf)
    for row, at, which, logs in found:
        legal_logprobs[row, at, : len(logs)] = torch.from_numpy(logs)
        logprobs[row, at] = float(logs[which])
    return Likelihoods(logprobs, torch.zeros(shape), legal_logprobs)
