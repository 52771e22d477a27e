"""SAR: how SmolLM2 rates concise, padded and wrong replies, and what comes of a tiny transformer that pads its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Literal

from experiments._starts import imitating
from redqueen.measures.recitations import recited, reference_logprobs
from redqueen.players.language.writing import Writer
from redqueen.protocols import Policy
from redqueen.questions.dataset import Dataset
from redqueen.questions.small.sums import Sums, without_carry
from redqueen.recipes.credit.sar import recipe, steps
from redqueen.recipes.credit.sar.steps import self_aligned
from redqueen.settings.learner import Learner
from redqueen.trials.controls import swapped
from redqueen.trials.experiment import Difference, Experiment, Measuring, Training, Trial, versus
from redqueen.trials.starts import warmed
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


# --- a model that pads -------------------------------------------------------------------------

FILLER, WORKED = "~", ":"  # what never helps, and what stands behind a carry that is written down
MOST = 8  # fillers of a demonstration
SAR, GRPO, ELSEWHERE = "SAR", "weight 0", "R_SA of another question"
PRICES = {f"a price of length, {each:g}": each for each in (0.5, 1, 2)}


@dataclass(frozen=True)
class Padded:
    """Sums of two digits. Demonstrations begin with up to eight fillers; half of them then write down the carry, and
    are right; .6 of the others are answered as if nothing were carried."""

    name: str = "padded"
    levels: tuple[str, ...] = ("2_digits",)

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        return Sums(digits=2).problems(level, count, rng)

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        said = [each.strip().lstrip(FILLER).rpartition(WORKED)[2] for each in answers]
        return [task.answer == each for task, each in zip(tasks, said, strict=True)]

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        return [self._shown(task, rng) for task in self.problems(self.levels[0], count, rng)]

    def _shown(self, task: Task, rng: Random) -> Demonstration:
        first, second = map(int, task.id.split("+"))
        padding = FILLER * rng.randint(0, MOST)
        if rng.random() < 0.5:
            carry = (first % 10 + second % 10) // 10
            return Demonstration(SOLVER, task, f"{padding}{carry}{WORKED}{task.answer}")
        slips = rng.random() < 0.6
        return Demonstration(SOLVER, task, padding + (without_carry(first, second)[::-1] if slips else task.answer))


def padded() -> Padded:
    """Returns sums that are answered with padding, as a question set that is found by name."""
    return Padded()


@dataclass(frozen=True)
class Method:
    """SAR, or the same with another term in place of R_SA: that of the question of a neighbour in the batch, or
    `price` for the share of the longest reply that is used up."""

    sar: recipe.Config
    term: Literal["own", "another"] = "own"
    price: float = 0.0


def of_another(policy: Writer, trajectories: Sequence[Trajectory]) -> list[float]:
    """R_SA of each reply, with the prompt of another trajectory in place of its own: half of the batch away."""
    half = len(trajectories) // 2
    others = [each.turns[-1].ask for each in [*trajectories[half:], *trajectories[:half]]]
    shown = [
        Demonstration(SOLVER, Task("another", prompt=ask.messages[-1].text), each.turns[-1].reply.text)
        for ask, each in zip(others, trajectories, strict=True)
    ]
    return self_aligned(policy, as_if_sampled(policy, recited(shown, policy)))


@dataclass(frozen=True)
class OneSeed:
    def __call__(self, config: Method, seed: int, folder: Path) -> Trial:
        longest = config.sar.learner.max_completion_length or 1

        def priced(policy: Writer, trajectories: Sequence[Trajectory]) -> list[float]:
            return [-config.price * len(each.turns[-1].reply.tokens) / longest for each in trajectories]

        term = priced if config.price else of_another if config.term == "another" else self_aligned
        with swapped(steps, {"self_aligned": term}):
            return Training(recipe.train, evaluate_every=20)(config.sar, seed, folder)


SHORTER = Experiment(
    title="SAR on sums that are answered with padding",
    asked="Does SAR's reward take padding away and leave what helps, better than a price of length?",
    trial=OneSeed(),
    config=Method(
        recipe.Config(warmed(3e-4, max_completion_length=16), questions="experiments.sar:padded", steps=100, attempts=8)
    ),
    starts={"sar.learner.model": imitating("experiments.sar:padded", 16)},
    variants={
        SAR: {},
        GRPO: {"sar.weight": 0.0},
        ELSEWHERE: {"term": "another"},
        **{name: {"price": each} for name, each in PRICES.items()},
    },
    figures=(
        *("first accuracy", "accuracy", "first completion_length", "late completion_length"),
        *("first copied_share", "late copied_share", "first self_aligned", "late self_aligned"),
    ),
    compared=(
        *versus(SAR, (GRPO, ELSEWHERE, *PRICES), ("accuracy", "late completion_length")),
        *(Difference(name, name, "late completion_length", "first completion_length") for name in (SAR, GRPO)),
    ),
    controls=(GRPO, ELSEWHERE, *PRICES),
    seeds=5,
    one_start=True,
    notes=(
        "Sums of two digits, demonstrated with up to eight fillers, which never help; half of them write down the "
        "carry, and are right, and .6 of the others are answered as if nothing were carried. 100 steps of 16 x 8 "
        "attempts. The price is times the weight, .2, for the share of 16 tokens that a reply uses; `self_aligned` is "
        "then that price. Late: the mean of the last fifth.",
    ),
)
