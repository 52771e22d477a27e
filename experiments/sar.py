"""SAR's reward of itself: does SmolLM2 rate a concise right reply above a padded, a half right and a wrong one?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from redqueen.measures.recitations import recited, reference_logprobs
from redqueen.protocols import Policy
from redqueen.questions.dataset import Dataset
from redqueen.recipes.credit.sar.steps import self_aligned
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Difference, Experiment, Measuring, versus
from redqueen.types import SOLVER, Demonstration, Metrics, Task, Trajectory, mean_of

FILE = Path(__file__).parents[1] / "examples" / "arithmetic.jsonl"
KINDS = ("concise and right", "padded and right", "half right", "wrong")
PADDING = "Let me think about this question carefully, one step after another, before I say what I think."


@dataclass(frozen=True)
class Rated:
    """A model that rates four replies to each of `count` problems that the seed draws, or to others (`another`)."""

    learner: Learner
    count: int = 40
    another: bool = False


def quadruple(task: Task, other: Task) -> tuple[str, ...]:
    """The four replies, in the order of `KINDS`. Half right: the last digit is another one; wrong: the answer to the
    `other` problem."""
    last = task.answer[-1]
    near = task.answer[:-1] + str((int(last) + 5) % 10)
    return (
        f"The answer is {task.answer}.",
        f"{PADDING} The answer is {task.answer}.",
        f"The answer is {near}.",
        f"The answer is {other.answer}.",
    )


def as_if_sampled(policy: Policy, told: Sequence[Trajectory]) -> list[Trajectory]:
    """The trajectories of one turn with the log-probabilities that the policy gives their tokens."""
    found = []
    for each, (own,) in zip(told, reference_logprobs(policy, told), strict=True):
        turn = each.turns[0]
        found.append(replace(each, turns=(replace(turn, reply=replace(turn.reply, logprobs=own)),)))
    return found


def rated(config: Rated, seed: int) -> Metrics:
    """The mean of R_SA for each kind of reply, and the shares of problems in which it is in order."""
    policy, questions = config.learner.build_model(0), Dataset(str(FILE))
    tasks = [task for task in questions.problems("train", 500, Random(seed)) if task.answer[-1:].isdigit()]
    triples = [each for each in zip(tasks, tasks[1:], tasks[2:], strict=False) if each[0].answer != each[1].answer]
    shown = [
        Demonstration(SOLVER, third if config.another else one, text)
        for one, other, third in triples[: config.count]
        for text in quadruple(one, other)
    ]
    found = self_aligned(policy, as_if_sampled(policy, recited(shown, policy)))
    rows = [found[start : start + len(KINDS)] for start in range(0, len(found), len(KINDS))]
    means: Metrics = {kind: mean_of([row[place] for row in rows]) for place, kind in enumerate(KINDS)}
    concise, padded, half, wrong = zip(*rows, strict=True)
    return means | {
        "all in order": mean_of([a > b > c > d for a, b, c, d in rows]),
        "concise above padded": mean_of([a > b for a, b in zip(concise, padded, strict=True)]),
        "right above wrong": mean_of([a > d for a, d in zip(concise, wrong, strict=True)]),
        "right above half right": mean_of([a > c for a, c in zip(concise, half, strict=True)]),
    }


QUADRUPLES = Experiment(
    title="What SAR's reward of itself says of four replies",
    asked="Does SmolLM2 rate a concise right reply above a padded, a half right and a wrong one?",
    trial=Measuring(rated),
    config=Rated(Learner(model="smollm2-135m")),
    variants={"its question": {}, "another question": {"another": True}},
    figures=(*KINDS, "all in order", "concise above padded", "right above half right", "right above wrong"),
    compared=(
        *(Difference("its question", "its question", KINDS[0], other) for other in KINDS[1:]),
        *versus("its question", ("another question",), ("right above wrong", "concise above padded")),
    ),
    controls=("another question",),
    seeds=5,
    notes=("Problems of reasoning-gym, 40 a seed. Nothing is trained.",),
)
