"""What it costs to train an agent through the recording endpoint: a GRPO step of an agent of OpenAI's client, which is
untouched, beside the same step played directly, in turns, in one process.

Both ask the same model the same questions. Rewards are drawn, so that each attempt has a gradient whatever it says.
Seconds are of the processor, the client's own included.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from statistics import median
from typing import Any

import numpy as np

from redqueen.credit.rewards import payoff, score
from redqueen.games.programmed import Programmed
from redqueen.games.single_reply import SingleReply
from redqueen.guests.agents import InThread
from redqueen.play.groups import attempts, episodes_of
from redqueen.protocols import Game, Policy
from redqueen.questions.catalogue import find_questions
from redqueen.recipes.credit.grpo.recipe import Config
from redqueen.settings.learner import Learner
from redqueen.settings.learning_step import LearningStep
from redqueen.trials.experiment import Made, Rows, Table
from redqueen.types import Task

AGENT = "agent"
# of each model its settings, and the tasks and attempts of a step
MODELS: tuple[tuple[str, Learner, int, int], ...] = (
    ("tiny, 8 tokens", Learner("tiny", lora_rank=0, max_completion_length=8), 8, 8),
    ("SmolLM2-135M, 32 tokens", Learner("smollm2-135m", max_completion_length=32), 4, 8),
    ("SmolLM2-135M, 128 tokens", Learner("smollm2-135m", max_completion_length=128), 4, 8),
)


def asked(task: Task, seats: Mapping[str, Any]) -> float:
    """An agent that asks once."""
    seat = seats[AGENT]
    client = _client().with_options(base_url=seat.url, api_key=seat.key)
    client.chat.completions.create(model=seat.model, messages=[{"role": "user", "content": task.prompt}])
    return 0.0


@cache
def _client() -> Any:
    from openai import OpenAI

    return OpenAI(base_url="http://127.0.0.1", api_key="none", max_retries=0)


@dataclass(frozen=True)
class Cost:
    """Seconds of the processor for the play and the update of a step, and how many tokens were sampled."""

    play: float
    update: float
    tokens: int

    @property
    def step(self) -> float:
        return self.play + self.update


def recording(repeats: int) -> Made:
    """Medians of the repeats, after one that does not count."""
    rows: Rows = []
    for name, settings, count, each in MODELS:
        learner = settings.build(0)
        questions = find_questions("sums")
        tasks = tuple(questions.problems("3_digits", count, Random(0)))
        through = Programmed(InThread(AGENT, (AGENT,), asked, lambda task, found: (found, {}), tasks, ()))
        games: Mapping[str, Game] = {"directly": SingleReply(AGENT), "through the endpoint": through}
        step = LearningStep(Config(learner=settings), [learner])
        costs: dict[str, list[Cost]] = {where: [] for where in games}
        for repeat in range(repeats + 1):
            for where, game in games.items():
                found = _cost(game, tasks, each, learner, step, repeat)
                costs[where] += [found] if repeat else []
        direct, beside = ([one.step for one in costs[where]] for where in games)
        more = [b / a - 1.0 for a, b in zip(direct, beside, strict=True)]
        answers = [b.play - a.play for a, b in zip(*costs.values(), strict=True)]
        tokens = " and ".join(str(sum(one.tokens for one in costs[where])) for where in games)
        rows.append(
            (
                f"{name}, {count} x {each} replies",
                f"{median(direct):.3f}",
                f"{median(beside):.3f}",
                f"{median(more):+.1%} ({min(more):+.1%} to {max(more):+.1%})",
                f"{1e3 * median(answers) / (count * each):.2f}",
                tokens,
            )
        )
    headings = ("model", "a step directly, s", "through the endpoint, s", "more", "an answer, ms", "tokens")
    return headings, rows, f"Processor time. Medians of {repeats} steps each, in turns; of the ratios the range too."


def _cost(game: Game, tasks: Sequence[Task], each: int, learner: Policy, step: LearningStep, seed: int) -> Cost:
    began = time.process_time()
    groups = attempts(game, tasks, learner, each, Random(seed))
    played = time.process_time()
    rng = np.random.default_rng(seed)
    paid = [replace(one, rewards=rng.random(len(one.rewards))) for one in score(groups, payoff)]
    batch = step.pack(paid, step.estimate(paid))
    step.update(learner, batch, Random(seed))
    tokens = sum(len(turn.reply.tokens) for episode in episodes_of(groups) for turn in episode.turns)
    return Cost(played - began, time.process_time() - played, tokens)


RECORDING = Table("The recording endpoint", "What does it cost to train an agent that knows nothing of it?", recording)
