"""Makes batches from trajectories: which tokens are learned from, and the loss weight of each.

`pack` lays turns end to end where each prompt extends the tokens before it (an append-only
conversation costs its length once, as does each of several that a seat holds in turns) and starts a new row where a
prompt is fresh. Example, with `.` for tokens of prompts and `#` for the seat's own tokens:

    turn 1  ....##          one row   ....##..##     where turn 2's prompt is turn 1 and two new tokens
    turn 2  ....##..##      two rows  ....##  .....##    where turn 2's prompt is a fresh one

A forced token (only one was legal) carries no weight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random

import numpy as np
import torch

from redqueen.types import Ask, Batch, Constraint, Episode, Likelihoods, Outcome, Reply, Task, Trajectory, Turn

Weigh = Callable[[np.ndarray], np.ndarray]  # [B, T] bool, own free tokens -> [B, T] float
Shares = Callable[[np.ndarray, np.ndarray], np.ndarray]  # the same, and [B] int, the trajectory of each row


def token_mean(own: np.ndarray) -> np.ndarray:
    """[B, T] weights that sum to one: every own token of the batch counts the same (DAPO)."""
    return np.asarray(own / max(own.sum(), 1))


def row_mean(own: np.ndarray) -> np.ndarray:
    """[B, T] weights that sum to one: every row counts the same, and every token within its row (GRPO)."""
    rows = own.any(axis=1).sum()
    return np.asarray(own / np.maximum(own.sum(axis=1, keepdims=True), 1) / max(rows, 1))


def trajectory_mean(own: np.ndarray, trajectory: np.ndarray) -> np.ndarray:
    """[B, T] weights that sum to one: every trajectory counts the same, in however many rows, and every token within
    its trajectory."""
    if not len(own):
        return np.zeros(own.shape)
    words = np.bincount(trajectory, own.sum(axis=1))
    return np.asarray(own / np.maximum(words[trajectory], 1)[:, None] / max(int((words > 0).sum()), 1))


@dataclass(frozen=True)
class EachRow:
    """Loss weights by `weigh`, which do not ask whose trajectory a row is of, as `Shares`."""

    weigh: Weigh

    def __call__(self, own: np.ndarray, trajectory: np.ndarray) -> np.ndarray:
        return self.weigh(own)


@dataclass(frozen=True)
class ConstantMean:
    """[B, T] weights: every own token counts 1 / (rows x `length`) whatever the rows' lengths (Dr. GRPO). The weights
    sum to the mean row length over `length`; parts of a batch still add up to the whole."""

    length: int

    def __call__(self, own: np.ndarray) -> np.ndarray:
        return own / (max(len(own), 1) * self.length)


def pack(trajectories: Sequence[Trajectory], advantages: Sequence[np.ndarray], weigh: Weigh = token_mean) -> Batch:
    """One batch of the trajectories' own tokens. `advantages` holds [N] for each trajectory. A trajectory
    without a verdict (NaN among its rewards and advantages) has no row; an advantage that is NaN although the rewards
    are known is an error of the estimator, and is kept, so that the update raises `NonFiniteLoss`.

    Raises AssertionError for tokens of more than one player, and for advantages that do not fit.
    """
    assert len(trajectories) == len(advantages), "one array of advantages for each trajectory"
    laid = _laid(trajectories, advantages)
    return _stack(laid, weigh)


def one_turn(ask: Ask, reply: Reply) -> Trajectory:
    """A reply as a trajectory of its own, of no match that was played, so that it can be packed."""
    turns = (Turn(ask, reply),)
    return Trajectory(
        Episode("", Task(""), 0, turns, Outcome({ask.seat: 0.0}), (ask.seat,)), ask.seat, turns, np.zeros(1)
    )


def pack_pairs(
    chosen: Sequence[Trajectory],
    rejected: Sequence[Trajectory],
    margins: Sequence[float] | None = None,
    weights: Sequence[float] | None = None,
) -> Batch:
    """One batch of pairs for a preference objective: `chosen[n]` and `rejected[n]` answer the same prompt, and their
    rows have the pair number n. The advantage of the tokens is half the pair's margin in the chosen reply and minus
    half of it in the rejected one; the margin says by how much the chosen reply is better (default 2).

    A pair counts by its weight (default: all equal), half of it on each side, spread evenly over the tokens there;
    all weights sum to one. Raises AssertionError for what `pack` refuses, for a margin or weight that is not
    above 0, and for a pair that is not two replies to one prompt, each with a free token.
    """
    assert len(chosen) == len(rejected), f"a pair is one of each, not {len(chosen)} chosen, {len(rejected)} rejected"
    for one, other in zip(chosen, rejected, strict=True):
        first, second = (trajectory.turns[0].reply.prompt_tokens for trajectory in (one, other))
        assert np.array_equal(first, second), f"a pair answers one prompt: not so for task {one.episode.task.id!r}"
    gaps = np.full(len(chosen), 2.0) if margins is None else np.asarray(margins, dtype=np.float64)
    counts = np.ones(len(chosen)) if weights is None else np.asarray(weights, dtype=np.float64)
    assert gaps.shape == counts.shape == (len(chosen),), "one margin and one weight for each pair"
    assert bool((gaps > 0).all() and (counts > 0).all()), "the margins and weights of pairs are above 0"
    trajectories = [trajectory for pair in zip(chosen, rejected, strict=True) for trajectory in pair]
    credit = [
        np.full(len(each.turns), gaps[side // 2] * (-0.5 if side % 2 else 0.5))
        for side, each in enumerate(trajectories)
    ]
    laid = _laid(trajectories, credit)
    assert all(laid), "both sides of a pair need a free token"
    return _whole_replies(laid, np.repeat(counts / (2.0 * max(counts.sum(), 1e-300)), 2), 2)


def pack_samples(
    trajectories: Sequence[Trajectory], values: Sequence[float], weights: Sequence[float] | None = None
) -> Batch:
    """One batch for objectives of whole replies: reply n has the number n in `pairs`, and its value is the
    advantage of all its tokens. A reply counts by its weight (default: all equal), spread evenly; all weights
    sum to one. A reply whose value is NaN has no verdict and is left out.

    Raises AssertionError for what `pack` refuses, for a weight not above 0, and for a reply without a free token.
    """
    assert len(trajectories) == len(values), "one value for each trajectory"
    known = ~np.isnan(np.asarray(values, dtype=np.float64))
    samples = [(each, value) for each, value in zip(trajectories, values, strict=True) if not np.isnan(value)]
    laid = _laid([each for each, _ in samples], [np.full(len(each.turns), value) for each, value in samples])
    assert all(laid), "a reply needs a free token"
    counts = np.ones(len(laid)) if weights is None else np.asarray(weights, dtype=np.float64)[known]
    assert counts.shape == (len(laid),) and bool((counts > 0).all()), "one weight above 0 for each reply"
    return _whole_replies(laid, counts / max(counts.sum(), 1e-300), 1)


def _whole_replies(laid: Sequence[Sequence[_Row]], shares: np.ndarray, size: int) -> Batch:
    """One batch in which each reply has its share of the loss, evenly over its tokens, and each `size` consecutive
    replies have one number in `pairs`."""
    replies = np.array([number for number, rows in enumerate(laid) for _ in rows], dtype=np.int64)  # [B]

    def weigh(own: np.ndarray) -> np.ndarray:
        words = np.bincount(replies, own.sum(axis=1), minlength=len(laid))
        return np.asarray(own * (shares[replies] / words[replies])[:, None])

    batch = _stack(laid, weigh)
    return replace(batch, pairs=batch.trajectory // size)


def _laid(trajectories: Sequence[Trajectory], advantages: Sequence[np.ndarray]) -> list[list[_Row]]:
    """For each trajectory its rows that hold a free token."""
    writers = {turn.reply.player for trajectory in trajectories for turn in trajectory.turns}
    assert len(writers) <= 1, f"one batch holds the tokens of one player, not of {sorted(writers)}"
    laid = []
    for trajectory, credit in zip(trajectories, advantages, strict=True):
        assert len(credit) == len(trajectory.turns), "one advantage for each turn"
        rows: list[_Row] = []
        if np.isnan(trajectory.rewards).any() and np.isnan(credit).any():
            laid.append(rows)
            continue
        for turn, advantage in zip(trajectory.turns, credit, strict=True):
            row = next((row for row in reversed(rows) if row.continues_in(turn)), None)
            if row is None:
                rows.append(row := _Row())
            row.append(turn, float(advantage))
        laid.append([row for row in rows if row.learns])
    return laid


class _Row:
    """One row under construction."""

    def __init__(self) -> None:
        self.pieces: list[np.ndarray] = []
        self.length = 0
        self.spans: list[tuple[int, Turn, float, tuple[bool, ...]]] = []  # where each turn's own free tokens stand
        self.learns = False

    def continues_in(self, turn: Turn) -> bool:
        prompt = turn.reply.prompt_tokens
        return len(prompt) >= self.length and np.array_equal(prompt[: self.length], np.concatenate(self.pieces))

    def append(self, turn: Turn, advantage: float) -> None:
        reply = turn.reply
        free = free_positions(reply.legal_tokens, tuple(reply.tokens.tolist()))
        self.spans.append((len(reply.prompt_tokens), turn, advantage, free))
        self.pieces += [reply.prompt_tokens[self.length :], reply.tokens]
        self.length = len(reply.prompt_tokens) + len(reply.tokens)
        self.learns |= any(free)


def free_positions(legal: tuple[tuple[int, ...], ...], tokens: tuple[int, ...]) -> tuple[bool, ...]:
    """[R] whether the speaker had more than one legal token at each position of its reply."""
    return _free_positions(legal, tokens) if legal else (True,) * len(tokens)


@lru_cache(maxsize=65536)  # of listed replies only: long texts would fill the memory
def _free_positions(legal: tuple[tuple[int, ...], ...], tokens: tuple[int, ...]) -> tuple[bool, ...]:
    return tuple(
        len({reply[at] for reply in legal if reply[:at] == tokens[:at] and len(reply) > at}) > 1
        for at in range(len(tokens))
    )


def _stack(laid: Sequence[Sequence[_Row]], weigh: Weigh) -> Batch:
    """One batch of all rows, trajectory by trajectory."""
    rows = [row for each in laid for row in each]
    owners = [number for number, each in enumerate(laid) for _ in each]
    count, width = len(rows), max((row.length for row in rows), default=0)
    tokens = np.zeros((count, width), dtype=np.int64)
    own = np.zeros((count, width), dtype=bool)
    sampled, advantages = np.zeros((count, width)), np.zeros((count, width))
    versions, recited = np.zeros((count, width), dtype=np.int64), np.zeros((count, width), dtype=bool)
    constraints = []
    for number, row in enumerate(rows):
        np.concatenate(row.pieces, out=tokens[number, : row.length])
        held = []
        for start, turn, advantage, free in row.spans:
            reply = turn.reply
            end = start + len(reply.tokens)
            own[number, start:end] = free
            sampled[number, start:end] = reply.logprobs
            versions[number, start:end] = reply.version
            recited[number, start:end] = reply.recited
            advantages[number, start:end] = advantage
            if reply.legal_tokens:
                held.append(Constraint(start, reply.legal_tokens))
        constraints.append(tuple(held))
    return Batch(
        tokens=torch.from_numpy(tokens),
        loss_weights=torch.from_numpy(np.asarray(weigh(own), dtype=np.float64)),
        sampled_logprobs=torch.from_numpy(sampled),
        advantages=torch.from_numpy(advantages),
        versions=torch.from_numpy(versions),
        recited=torch.from_numpy(recited),
        trajectory=torch.tensor(owners, dtype=torch.int64),
        lengths=torch.tensor([row.length for row in rows], dtype=torch.int64),
        constraints=tuple(constraints),
    )


def take(batch: Batch, rows: torch.Tensor) -> Batch:
    """The `rows` [n] int of a batch, with the weights they have in the whole: losses of parts add up."""
    reference = batch.reference
    return replace(
        batch,
        tokens=batch.tokens[rows],
        loss_weights=batch.loss_weights[rows],
        sampled_logprobs=batch.sampled_logprobs[rows],
        advantages=batch.advantages[rows],
        versions=batch.versions[rows],
        recited=batch.recited[rows],
        trajectory=batch.trajectory[rows],
        lengths=batch.lengths[rows],
        constraints=tuple(batch.constraints[row] for row in rows.tolist()),
        pairs=None if batch.pairs is None else batch.pairs[rows],
        reference=None if reference is None else take_likelihoods(reference, rows),
    )


def reweighed(batch: Batch, shares: Shares) -> Batch:
    """The batch with loss weights by `shares`, as if it were a whole of its own."""
    own = (batch.loss_weights != 0).numpy()
    return replace(batch, loss_weights=torch.from_numpy(np.asarray(shares(own, batch.trajectory.numpy()), np.float64)))


def minibatches(batch: Batch, count: int, weighed: Callable[[Batch], Batch], rng: Random) -> list[Batch]:
    """`count` parts of the batch, drawn without replacement, each `weighed` as if it were a whole. The
    rows of a trajectory stay together; the parts are as even as they can be, and fewer where there are fewer
    trajectories. With a `count` of 1 it is the batch, and nothing is drawn."""
    if count == 1:
        return [batch]
    owners: list[int] = torch.unique(batch.trajectory).tolist()
    rng.shuffle(owners)
    parts = [owners[start::count] for start in range(min(count, len(owners)))]
    rows = [torch.isin(batch.trajectory, torch.tensor(part)).nonzero()[:, 0] for part in parts]
    return [weighed(take(batch, each)) for each in rows]


def portion(batch: Batch, pairs: Sequence[int]) -> Batch:
    """The rows of the numbered `pairs` (or samples) of a batch, with weights rescaled to sum to one."""
    assert batch.pairs is not None, "a portion is of pairs or samples: make the batch with pack_pairs or pack_samples"
    part = take(batch, torch.isin(batch.pairs, torch.tensor(list(pairs), dtype=torch.int64)).nonzero()[:, 0])
    return replace(part, loss_weights=part.loss_weights / part.loss_weights.sum()) if len(part) else part


def opening(batch: Batch) -> int:
    """The number of leading columns in which no row has a token that is learned from."""
    own = (batch.loss_weights != 0).any(dim=0)
    return int(own.to(torch.int8).argmax()) if bool(own.any()) else 0


def without_opening(batch: Batch, columns: int) -> Batch:
    """The batch without its first `columns` columns, in which no row may have a token that is learned from. What is
    cut off is not copied, and the loss is the same."""
    reference = batch.reference
    return replace(
        batch,
        tokens=batch.tokens[:, columns:],
        loss_weights=batch.loss_weights[:, columns:],
        sampled_logprobs=batch.sampled_logprobs[:, columns:],
        advantages=batch.advantages[:, columns:],
        versions=batch.versions[:, columns:],
        recited=batch.recited[:, columns:],
        lengths=batch.lengths - columns,
        constraints=tuple(
            tuple(Constraint(constraint.start - columns, constraint.replies) for constraint in row)
            for row in batch.constraints
        ),
        reference=None if reference is None else _without_columns(reference, columns),
    )


def _without_columns(likelihoods: Likelihoods, columns: int) -> Likelihoods:
    legal = likelihoods.legal_logprobs
    return Likelihoods(
        likelihoods.logprobs[:, columns:],
        likelihoods.entropies[:, columns:],
        None if legal is None else legal[:, columns:],
    )


def take_likelihoods(likelihoods: Likelihoods, rows: torch.Tensor) -> Likelihoods:
    """The `rows` [n] int of `likelihoods`."""
    legal = likelihoods.legal_logprobs
    return Likelihoods(likelihoods.logprobs[rows], likelihoods.entropies[rows], None if legal is None else legal[rows])


def beside(batch: Batch, reference: Likelihoods) -> Batch:
    """The batch with a frozen policy's likelihoods of its rows as its reference."""
    return replace(batch, reference=reference)
