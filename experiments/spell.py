"""SPELL on notes: texts that grow beside texts of one length, with and without its filter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from redqueen.protocols import Player, Policy
from redqueen.questions.catalogue import find_questions_with
from redqueen.questions.small.documents import LOOKUP, Documented, Documents
from redqueen.recipes.proposers.spell import recipe
from redqueen.recipes.proposers.spell.steps import Grounds
from redqueen.recipes.self_training import cold_start
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Changes, Difference, Experiment, Training, versus
from redqueen.trials.starts import Start, further, warmed
from redqueen.types import Refusal, Task

# who cannot read a line out cannot look one up; a tiny model learns to from nothing but notes read out
READING = cold_start.Config(
    learner=Learner(model="tiny:hidden=64,layers=3", max_completion_length=72),
    questions="experiments.spell:readings",
    steps=1200,
    demonstrations_per_step=32,
    rest=1,
    problems=8,
)
READER = further(Start(READING), READING.questions, 1500, 1, demonstrations=32, max_completion_length=72)
ROLES = further(READER, "documents", 1200, 500, max_completion_length=12)
WARM = further(ROLES, "documents:judgements=14", 600, 300, max_completion_length=12)
SHORTEST, LONGEST = Documents().levels[0], Documents().levels[-1]


def readings() -> Documents:
    """Returns notes of up to 24 lines, read out."""
    return Documents(lengths=(0.4, 0.4, 0.2, 0.0), readings_only=True, name="readings")


def filtered(responder: Policy) -> tuple[float, float]:
    """Returns the share of questions refused as answered without their text: of sums, which need none, and of
    lookups."""
    domain, rng = Documents(), Random(0)
    sums = [domain.task(n, 0, LOOKUP, f"{1 + n % 5}+{1 + n // 5 % 4}", str(2 + n % 5 + n // 5 % 4)) for n in range(200)]
    lookups = domain.problems(domain.levels[0], 200, rng)
    shares = []
    for questions in (sums, lookups):
        written: list[Task | Refusal] = list(questions)
        found = Grounds(domain).checked(written, responder, rng)
        shares.append(sum(isinstance(each, Refusal) for each in found) / len(found))
    return shares[0], shares[1]


class Ungrounded(Grounds):
    """No question is refused."""

    def checked(self, written: Sequence[Task | Refusal], responder: Player, rng: Random) -> list[Task | Refusal]:
        return list(written)


@dataclass(frozen=True)
class Controlled:
    """The method, with or without its filter of questions that need no text."""

    method: recipe.Config
    steps: int
    grounding: bool = True


def train(config: Controlled, run: Run) -> Policy:
    """The method with the filter that the variant asks for."""
    method = replace(config.method, steps=config.steps)
    questions = find_questions_with(method.questions, Documented)
    return recipe.train(method, run, None if config.grounding else Ungrounded(questions))


OTHERS: dict[str, Changes] = {
    "shortest texts only": {"method.stages": (0, 0)},
    "longest texts only": {"method.stages": (3, 3)},
    "no grounding filter": {"grounding": False},
}
GROWING_TEXTS = Experiment(
    title="SPELL on growing notes, with its controls",
    asked="On the longest notes, are texts that grow worth more than texts of one length, and is the filter worth it?",
    trial=Training(train, evaluate_every=100),
    config=Controlled(recipe.Config(learner=warmed(max_completion_length=12), votes=4), steps=100),
    starts={"method.learner.model": WARM},
    one_start=True,  # it takes an hour
    variants={"SPELL": {}, **OTHERS},
    figures=(
        *(f"first pass@8/{LONGEST}", f"pass@8/{LONGEST}", f"accuracy/{LONGEST}", f"accuracy/{SHORTEST}"),
        *("first judge_accuracy", "late judge_accuracy", "first proposals/solve_rate", "late proposals/solve_rate"),
    ),
    compared=(
        Difference("SPELL", "SPELL", f"pass@8/{LONGEST}", f"first pass@8/{LONGEST}"),
        *versus("SPELL", tuple(OTHERS), (f"pass@8/{LONGEST}", f"accuracy/{LONGEST}")),
    ),
    controls=("shortest texts only", "longest texts only"),
)
