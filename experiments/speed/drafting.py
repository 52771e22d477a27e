"""Drafts by the shortened model (SWIFT, arXiv:2410.06916), one reply at a time: how many stand, and what they cost."""

from __future__ import annotations

import time
from collections.abc import Sequence
from random import Random
from statistics import median

import torch

from experiments.grpo import QUESTIONS
from redqueen.players.transformer.loading import load_model
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.questions.asking import evenly
from redqueen.questions.catalogue import find_questions
from redqueen.trials.experiment import Made, Rows, Table
from redqueen.types import Ask, Message, Reply, Seat

MODEL = "smollm2-135m"
SKIPS = (None, 0.1, 0.2, 0.3, 0.45)
PROMPTS, LONGEST = 12, 32


def one_by_one(repeats: int) -> Made:
    """Returns, for each share that drafts leave out, what they come to; greedy and at temperature 1, in turns."""
    rows: Rows = []
    asks = _asks()
    for name, temperature in (("greedy", 0.0), ("temperature 1", 1.0)):
        policies = {skip: _policy(skip, temperature) for skip in SKIPS}
        seconds: dict[float | None, list[float]] = {skip: [] for skip in SKIPS}
        said: dict[float | None, list[Reply]] = {}
        for _ in range(repeats):
            for skip, policy in policies.items():
                said[skip], taken = _replies(policy, asks)
                seconds[skip].append(taken)
        for skip, policy in policies.items():
            same = [
                one.tokens.tolist() == other.tokens.tolist() for one, other in zip(said[skip], said[None], strict=True)
            ]
            drafts = policy.drafting
            rows.append(
                (
                    name,
                    "none" if skip is None else f"{skip:g}",
                    f"{sum(same)} of {len(same)}",
                    "" if drafts is None else f"{drafts.counts.acceptance:.2f}",
                    "" if drafts is None else f"{1 / drafts.counts.tokens_a_pass:.2f}",
                    f"{median(seconds[None]) / median(seconds[skip]):.2f}",
                    "" if drafts is None else f"{drafts.score:.2f}, {drafts.tries}",
                )
            )
    note = (
        f"{MODEL}, float32, {PROMPTS} questions of reasoning-gym one after the other, {LONGEST} tokens at most, "
        f"{repeats} rounds, in which the search for what to leave out goes on. Replies that differ are those in which "
        "rounding moved a draw, or a likeliest word, past its neighbour."
    )
    heads = ("sampling", "left out", "the same reply", "drafted tokens that stand", "passes a token", "times as fast")
    return (*heads, "score of the set, sets tried"), rows, note


def _policy(skip: float | None, temperature: float) -> TransformerPolicy:
    return TransformerPolicy(
        load_model(MODEL, torch.float32, "cpu"),
        temperature=temperature,
        max_completion_length=LONGEST,
        constrain=False,
        learns=False,
        draft=skip,
    )


def _asks() -> list[Ask]:
    tasks = evenly(find_questions(QUESTIONS), PROMPTS, Random(0))
    return [Ask(Seat("solver"), (Message("rules", task.prompt),), seed=seed) for seed, task in enumerate(tasks)]


def _replies(policy: TransformerPolicy, asks: Sequence[Ask]) -> tuple[list[Reply], float]:
    policy.forget()
    began = time.perf_counter()
    replies = [policy.reply([ask])[0] for ask in asks]
    return replies, time.perf_counter() - began


ONE = Table("Drafts", "How many drafted tokens stand, and what does it cost?", one_by_one)
