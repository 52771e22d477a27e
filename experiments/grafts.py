"""What one step in the place of the first error is worth: how often what goes on from it comes to the answer (InT)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import numpy as np

from experiments._starts import imitating
from experiments.interventions import ELSEWHERE, GOLD, NAME, READ, Chains
from redqueen.chance import derive
from redqueen.credit.outcomes import verdicts
from redqueen.demonstrations.transfer import aided
from redqueen.measures.recitations import reference_logprobs
from redqueen.play.groups import attempts, episodes_of
from redqueen.players.language.writing import Writer
from redqueen.questions.asking import SOLVE, graded, said
from redqueen.recipes.credit.interventions import recipe
from redqueen.recipes.credit.interventions.steps import (
    GO_ON,
    INTERVENE,
    Failed,
    Proposed,
    in_steps,
    leaks,
    request,
    spliced,
)
from redqueen.settings.roles import without_format
from redqueen.trials.experiment import Difference, Experiment, Trial, versus
from redqueen.trials.starts import warmed

STEP, NOTHING, AGAIN = "its step", "no step", "the attempt as it is"


@dataclass(frozen=True)
class Method:
    """From what the model goes on: from the intervention (a key of `READ`), from what stays without its step, or from
    the attempt with its own step at that place."""

    int: recipe.Config
    place: str = "its own"
    begins: str = STEP


@dataclass(frozen=True)
class OneSeed:
    """Attempts at `problems` tasks, `tries` each; an intervention in each wrong one, `continuations` from each."""

    problems: int = 48
    tries: int = 4
    continuations: int = 8

    def __call__(self, config: Method, seed: int, folder: Path) -> Trial:
        learner = without_format(config.int.learner.build_model(derive(seed, "learner")), [INTERVENE.role])
        chains, rng = Chains(), Random(derive(seed, "grafts"))
        tasks = chains.problems("chain", self.problems, rng)
        groups = graded(chains, attempts(SOLVE, tasks, learner, self.tries, rng), "wrong")
        right = np.concatenate([verdicts(group) for group in groups])
        cut = [in_steps(one, learner) for one, each in zip(episodes_of(groups), right, strict=True) if each == 0.0]
        wrong = [each for each in cut if each is not None]
        replies = said(attempts(INTERVENE, [request(one) for one in wrong], learner, 1, rng))
        found = [READ[config.place](reply, one) for reply, one in zip(replies, wrong, strict=True)]
        read = [each for each in found if each is not None and not leaks(each.step, each.failed.episode.task.answer)]
        begun = [aided(each.failed.episode.task, GO_ON.format(begun="\n".join(lines(each, config)))) for each in read]
        after = graded(chains, attempts(SOLVE, begun, learner, self.continuations, rng), "wrong")
        rates = [float(verdicts(group).mean()) for group in after]
        return Trial((), {"right after": float(np.mean(rates)), **places(read, len(wrong), learner)})


def lines(one: Proposed, config: Method) -> list[str]:
    """What the model goes on from."""
    last = {STEP: [one.step], NOTHING: [], AGAIN: [one.failed.steps[one.place]]}[config.begins]
    return [*one.failed.steps[: one.place], *last]


def first_error(one: Failed) -> int:
    """The place of the first step that is not the solution's."""
    gold = one.episode.task.facts["gold"].split("\n")
    pairs = enumerate(zip(one.steps, gold, strict=False))
    return next((place for place, (step, due) in pairs if step != due), min(len(one.steps), len(gold)))


def places(read: list[Proposed], wrong: int, learner: Writer) -> dict[str, float]:
    """Shares of the interventions that can be read, that stand at the first error, and that are the solution's step;
    and how likely the step is after what stays, in nats a token, to the model that is shown the problem alone."""
    at_error = [each.place == first_error(each.failed) for each in read]
    due = [each.failed.episode.task.facts["gold"].split("\n")[each.place :][:1] == [each.step] for each in read]
    shown = [spliced(each, learner) for each in read]
    rated = reference_logprobs(learner, [replace(each, turns=each.turns[-1:]) for each in shown])
    return {
        "read": len(read) / wrong,
        "at the first error": float(np.mean(at_error)),
        "the solution's": float(np.mean(due)),
        "step_logprob": float(np.mean([row.mean() for (row,) in rated])),
    }


GRAFTS = Experiment(
    title="What one step in the place of the first error is worth",
    asked="Does the model go on from its intervention to the answer more often than from the attempt before it?",
    trial=OneSeed(),
    config=Method(recipe.Config(warmed(max_completion_length=72), questions=NAME)),
    starts={"int.learner.model": imitating(NAME, 72)},
    variants={
        STEP: {},
        NOTHING: {"begins": NOTHING},
        AGAIN: {"begins": AGAIN},
        ELSEWHERE: {"place": ELSEWHERE},
        GOLD: {"place": GOLD},
    },
    figures=("right after", "read", "at the first error", "the solution's", "step_logprob"),
    compared=(
        *versus(STEP, (NOTHING, AGAIN, ELSEWHERE, GOLD), ("right after",)),
        Difference(STEP, GOLD, "step_logprob"),
    ),
    controls=(NOTHING, AGAIN, ELSEWHERE, GOLD),
    seeds=10,
    one_start=True,
    notes=(
        "Nothing is trained: all is the start's. `right after`: of eight continuations of each, the share that comes "
        "to the answer. `step_logprob`: of the step after what stays of the attempt, without the solution in view.",
    ),
)
