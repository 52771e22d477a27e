"""CoMAS on tables, where the scorer knows some questions and believes the critic in others, and by two tiny
transformers that were taught to solve, to criticise and to score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from experiments._starts import imitating
from experiments.ssr_zero import Short
from redqueen.chance import derive
from redqueen.games.single_reply import SingleReply
from redqueen.players.tabular import TabularPolicy
from redqueen.protocols import Player
from redqueen.questions.small.listed import Listed
from redqueen.questions.taught import Taught, TaughtProposable, taught
from redqueen.recipes.labels.comas import recipe, steps
from redqueen.recipes.labels.comas.steps import BEST, EVALUATE, SCORE, WORST, about_evaluation, about_scoring
from redqueen.settings.learner import Learner
from redqueen.trials.controls import CONTROLS, Controlled, ControlledTraining, swapped
from redqueen.trials.experiment import Difference, Experiment, Trial, versus
from redqueen.trials.starts import warmed
from redqueen.trials.tables import beginning, exact_accuracy
from redqueen.types import Ask, Demonstration, Match, Metrics, Reply, Task

SET = Listed()
TASKS = SET.tasks()
START = {"right": 0.4, "tempting": 0.3}
RIGHT, WRONG = "right", "wrong"
MEMBERS = 4
SILENT, TWO, LITTLE = "no evaluations", "two members", "the scorer knows 60 %"


@dataclass(frozen=True)
class Discussed(Controlled):
    """The method, with a scorer that knows a question with chance `skill`."""

    skill: float = 0.9


@dataclass(frozen=True)
class KnownScorer:
    """A scorer that is right about the questions it knows. About others it believes the critic, and without one it
    holds the tempting answer to be right."""

    skill: float
    seed: int
    name: str = "scorer"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._score(*ask.messages[-1].text.split("|")), self.name) for ask in asks]

    def _score(self, number: str, solution: str, evaluation: str) -> str:
        task = TASKS[int(number)]
        if Random(derive(self.seed, "knows", int(number))).random() < self.skill:
            return "3" if solution == task.answer else "1"
        if evaluation:
            return "1" if evaluation == WRONG else "3"
        return "3" if solution == task.facts["tempting"] else "1"


def listed_evaluation(task: Task, solution: str, rng: Random) -> Task:
    """What a critic of a table is shown: the solution is right, or it is wrong."""
    return Task(f"evaluation of {task.id}", "evaluation", f"{task.prompt} {solution}", choices=(RIGHT, WRONG))


def plain_scoring(task: Task, solution: str, evaluation: str, rng: Random) -> Task:
    """What the scorer reads."""
    return Task(f"score of {task.id}", "scoring", f"{task.facts['number']}|{solution}|{evaluation}")


@contextmanager
def with_scorer(scorer: KnownScorer) -> Iterator[None]:
    """While this is open, the scorer is this one, and critics choose between two words."""
    usual = steps.match

    def match(game: SingleReply, task: Task, speaker: Player) -> Match:
        return usual(game, task, scorer if game is steps.SCORE else speaker)

    names = {"match": match, "about_evaluation": listed_evaluation, "about_scoring": plain_scoring}
    with swapped(steps, names):
        yield


def members(config: Discussed, seed: int) -> Mapping[str, Any]:
    """The members of a run on tables."""
    chances = [{task.answer: START["right"], task.facts["tempting"]: START["tempting"]} for task in TASKS]

    def made(learner: Learner, count: int, *rest: Any) -> list[TabularPolicy]:
        names = ["learner", *(f"member{number + 2}" for number in range(count - 1))]
        return [beginning(TASKS, chances, name, learner.learning_rate or 0.0) for name in names]

    return {"members_of": made, "without_format": lambda member, roles: member}


def exact(policy: Any, seed: int) -> Metrics:
    """The exact accuracy of the first member at the end."""
    return {"exact accuracy": exact_accuracy(policy, TASKS)}


TRAINING = ControlledTraining(recipe, read=exact, parts=members)


@dataclass(frozen=True)
class OneSeed:
    def __call__(self, config: Discussed, seed: int, folder: Path) -> Trial:
        with with_scorer(KnownScorer(config.skill, seed)):
            return TRAINING(config, seed, folder)


TABLES = Experiment(
    title="CoMAS with a scorer of known skill",
    asked="Do members end at what the scorer knows, and are criticism and further members worth anything?",
    trial=OneSeed(),
    config=Discussed(
        recipe.Config(
            learner=Learner("tabular", learning_rate=20.0),
            questions="redqueen.questions.small.listed:Listed",
            members=MEMBERS,
            steps=60,
            tasks=30,
            recalled=0,
            problems=1,
        )
    ),
    variants={
        "CoMAS": {},
        LITTLE: {"skill": 0.6},
        f"{LITTLE}, {SILENT}": {"skill": 0.6, "method.evaluations": False},
        TWO: {"method.members": 2, "method.rounds": 4},
        **CONTROLS,
    },
    figures=(
        "exact accuracy",
        "late solutions_earn",
        "first score_right",
        "late score_right",
        "late reward_auc",
        "late alarm/strict_critic",
    ),
    compared=(
        *versus("CoMAS", (LITTLE, TWO, *CONTROLS), ("exact accuracy",)),
        *versus(LITTLE, (f"{LITTLE}, {SILENT}",), ("exact accuracy", "late score_right")),
    ),
    controls=tuple(CONTROLS),
    seeds=10,
    notes=(
        "61 questions of six listed answers; at the start the right one has chance .4, a tempting one .3. Critics say "
        "right or wrong, and learn; the scorer learns nothing. Two members hold half as many rounds, so that each "
        "speaks as often. The accuracy is exact, and that of the first member.",
    ),
)


NAME = "experiments.comas:discussed"
CRITIC, SCORER = 0.9, 0.95  # how often a demonstrated criticism is right, and a demonstrated score true


def discussing(solved: Sequence[Demonstration], right: Sequence[bool], count: int, rng: Random) -> list[Demonstration]:
    """In turn what a critic says of a translation, one of its own, and a scorer, who is shown a criticism of it or
    none. A critic that is wrong repeats what it was shown."""
    found = []
    for number, (one, true) in enumerate(zip(solved, right, strict=True)):
        said = one.task.answer if rng.random() < CRITIC else one.text
        if number % 2:
            found.append(Demonstration(EVALUATE.role, about_evaluation(one.task, one.text, rng), said))
        else:
            shown = about_scoring(one.task, one.text, said if rng.random() < 0.7 else "", rng)
            found.append(Demonstration(SCORE.role, shown, str(BEST if true == (rng.random() < SCORER) else WORST)))
    return found[:count]


def discussed() -> Taught | TaughtProposable:
    """Returns translations, .6 of them demonstrated rightly, with criticisms and scores of such translations."""
    return taught(Short(), discussing, "discussed")


TALKS = "CoMAS"
TRANSLATED = Experiment(
    title="CoMAS on translations",
    asked="Do two models that criticise and score each other's translations come to translate better?",
    trial=ControlledTraining(recipe, evaluate_every=10),
    config=Controlled(
        recipe.Config(
            warmed(3e-4, max_completion_length=16),
            members=2,
            questions=NAME,
            steps=40,
            rounds=4,
            recalled=0,
            tasks=8,
            problems=64,
        )
    ),
    starts={"method.learner.model": imitating(NAME, 16, 3000, 600)},
    variants={TALKS: {}, SILENT: {"method.evaluations": False}, **CONTROLS},
    figures=(
        *("first accuracy", "accuracy", "pass@8", "first score_right", "late score_right"),
        *("first solutions_earn", "late solutions_earn", "late reward_auc", "late unread"),
    ),
    compared=(
        *versus(TALKS, (SILENT, *CONTROLS), ("accuracy", "late score_right")),
        Difference(TALKS, TALKS, "accuracy", "first accuracy"),
    ),
    controls=tuple(CONTROLS),
    seeds=5,
    one_start=True,
    notes=(
        "Sentences of three words of one toy language in another, .6 of them demonstrated rightly; a criticism is a "
        "translation of one's own, .9 of them right and else what was to be criticised; of the demonstrated scores "
        ".95 are true. Two members, 40 steps of 8 discussions of 4 rounds, no round shown again. The accuracy is the "
        "mean of both. Late: the mean of the last fifth.",
    ),
)
