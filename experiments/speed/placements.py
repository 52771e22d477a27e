"""Where and when a step is played: in the process that learns, in one of its own, and ahead of its turn."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random
from statistics import median

import torch

from redqueen.chance import derive
from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.rewards import payoff, score, spoken_by
from redqueen.objectives.batch import pack
from redqueen.objectives.mismatch import TokenTruncated, corrected
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.play.ahead import Ahead
from redqueen.play.groups import grouped
from redqueen.play.seating import alone
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.protocols import Play
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Made, Rows, Table
from redqueen.types import Ask, Match, Message, Outcome, Seat, Task

# a rate at which nothing is learned: with another, those who learn from older tokens said shorter replies
MODEL = Learner(model="tiny:hidden=256,layers=6", max_completion_length=64, learning_rate=1e-9)
PROMPTS, REPLIES = 8, 8  # of a step
WARM = 2  # steps that are not timed
ENDS = ("w",)  # ends a reply: lengths from 1 to 64, with a long tail
ROLE = "teller"


class Telling:
    """One reply, which ends at a vowel and is paid by its length: prompts of several lengths."""

    name = "telling"
    roles = (ROLE,)

    def tasks(self) -> Sequence[Task]:
        return [Task(str(number), prompt="tell " * (4 + 4 * number)) for number in range(PROMPTS)]

    def play(self, task: Task, rng: Random) -> Play:
        seat = Seat(ROLE)
        (reply,) = yield [Ask(seat, (Message("rules", task.prompt),), stops=ENDS)]
        return Outcome({seat: len(reply.tokens) / 64})


GAME = Telling()


def placed(repeats: int, steps: int = 8) -> Made:
    """Returns replies a second by placement, in turns, on two cores: one process with two threads, or two with one."""
    ways: dict[str, tuple[int, bool, int]] = {  # threads, whether in a process of its own, staleness
        "here, two threads": (2, False, 0),
        "here, one thread": (1, False, 0),
        "process, staleness 0 (split)": (1, True, 0),
        "process, staleness 1 (one step off)": (1, True, 1),
        "process, staleness 2": (1, True, 2),
        "process, staleness 4": (1, True, 4),
    }
    rates: dict[str, list[float]] = {name: [] for name in ways}
    said: dict[str, tuple[float, float, float, float]] = {}
    with _threads():
        for _ in range(repeats):
            for name, (threads, apart, stale) in ways.items():
                torch.set_num_threads(threads)
                rate, said[name] = _replies_a_second(steps, apart, stale)
                rates[name].append(rate)
    base = median(rates["here, two threads"])
    rows: Rows = []
    for name, values in rates.items():
        waited, oldest, handed, length = said[name]
        rows.append(
            (
                name,
                f"{median(values):.1f}",
                f"{median(values) / base:.2f}",
                f"{waited:.0%}",
                f"{oldest:g}",
                f"{1000 * handed:.0f}" if handed else "",
                f"{length:.1f}",
            )
        )
    note = (
        f"{PROMPTS} prompts x {REPLIES} replies of 1 to 64 tokens a step, one update on them with truncated importance "
        f"weights; {MODEL.model}, all weights trained; {steps} steps after the first {WARM}, medians of {repeats}. "
        "Waiting is the share of the time in which the process that learns waits for replies; the age is the largest, "
        "in updates; handing over is of all weights. Updates are whole ones, at a rate of 1e-9: all sample the same."
    )
    return ("play", "replies/s", "times as fast", "waiting", "age", "handing over, ms", "tokens a reply"), rows, note


@contextmanager
def _threads() -> Iterator[None]:
    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _replies_a_second(steps: int, in_process: bool, stale: int) -> tuple[float, tuple[float, float, float, float]]:
    """And the share of waiting, the largest age, the seconds of one handing over, and the tokens of a reply."""
    learner = MODEL.build_model(0)
    assert isinstance(learner, TransformerPolicy)
    process = learner.apart() if in_process else None
    ahead = Ahead(learner, stale, process.now if process else None)
    estimate, tasks = GroupRelative(), GAME.tasks()

    def dealt() -> list[Match]:
        return alone(GAME, tasks, learner, REPLIES)

    waited = tokens = 0.0
    for step in range(WARM + steps):
        if step == WARM:
            began, waited, tokens = time.perf_counter(), 0.0, 0.0
        learner.forget()
        trajectories = spoken_by(learner, score(grouped(ahead.play(dealt, Random(derive(0, step))), REPLIES), payoff))
        batch = pack(trajectories, estimate(trajectories))
        learner.update(corrected(batch, learner.likelihoods(batch), TokenTruncated(2.0)), Reinforce())
        waited += ahead.metrics().get("queue/waited", 0.0)
        oldest = ahead.metrics().get("queue/oldest", 0.0)
        tokens += sum(len(each.turns[0].reply.tokens) for each in trajectories)
    spent = time.perf_counter() - began
    ahead.settle()
    handed = 0.0
    if process is not None:
        handed = process.seconds / process.times
        process.close()
    count = steps * PROMPTS * REPLIES
    return count / spent, (waited / spent, oldest, handed, tokens / count)


PLACED = Table(
    "Placements", "How much faster is a step where replies are sampled in a process of its own, and ahead?", placed
)
