"""SCoRe on sums in two attempts: beside one stage alone, plain reinforcement of both answers, and imitation."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from types import MappingProxyType

import numpy as np

from experiments.absolute_zero import SUMS
from redqueen.credit.rewards import score
from redqueen.curricula.held_out import Apart, held_out
from redqueen.demonstrations.rehearsal import Rehearsed
from redqueen.games.second_try import SecondTry
from redqueen.objectives.batch import pack
from redqueen.objectives.imitation import Imitation
from redqueen.play.groups import attempts, episodes_of, grouped
from redqueen.play.lockstep import play
from redqueen.protocols import Policy
from redqueen.questions.asking import evenly
from redqueen.questions.catalogue import find_questions
from redqueen.questions.small.sums import Sums, without_carry
from redqueen.recipes.self_training.score.measures import SelfCorrection
from redqueen.recipes.self_training.score.recipe import Config, train
from redqueen.recipes.self_training.score.steps import Correction, changes, twice_graded
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Changes, Experiment, Training, versus
from redqueen.trials.starts import Start, warmed
from redqueen.types import Match, Task

DOMAIN = "experiments.score:sums"


def sums() -> Sums:
    """Sums of one and two digits, the last digit of an answer first."""
    return Sums(digits=2, name="two_digit_sums")


@dataclass(frozen=True)
class School:
    """What a model that can add is shown before: how often a first answer forgets to carry, how often the second
    mends a wrong one and spoils a right one; else it says the same again."""

    learner: Learner
    steps: int = 300
    shown: int = 32  # conversations a step
    rest: int = 100  # steps at the end over which the learning rate falls to a tenth
    slips: float = 0.5
    mended: float = 0.5
    spoiled: float = 0.2


def conversations(
    school: School, rng: Random, apart: Apart = MappingProxyType({})
) -> list[tuple[Task, tuple[str, str]]]:
    """A problem and the two answers to it, for each of the conversations of a step."""
    found = []
    for task in evenly(sums(), school.shown, rng, apart):
        first, second = (int(number) for number in task.id.split("+"))
        slip = without_carry(first, second)[::-1]
        answer = slip if rng.random() < school.slips else task.answer
        mended, spoiled = rng.random() < school.mended, rng.random() < school.spoiled
        kept = not spoiled if answer == task.answer else mended
        found.append((task, (answer, task.answer if kept else slip)))
    return found


def rehearse(school: School, run: Run, apart: Apart) -> None:
    """Teaches a model two answers to a problem, by imitation."""
    learner = school.learner.build_model(run.derived("learner"))
    domain, rate = sums(), learner.learning_rate
    measures = [SelfCorrection(domain, learner, held_out(domain, 64))]
    for step in run.steps(school.steps, [learner], [], measures):
        learner.learning_rate = rate * min(1.0, 0.1 + 0.9 * (school.steps - step) / school.rest)
        matches = [
            Match(SecondTry(), task, {"solver": Rehearsed(learner, answers)})
            for task, answers in conversations(school, run.rng, apart)
        ]
        shown = score(twice_graded(domain, grouped(play(matches, run.rng), 1)), Correction())
        credit = [np.ones(2) for _ in shown]
        run.report(learner, shown, credit, learner.update(pack(shown, credit), Imitation()))


def imitated(config: Config, run: Run) -> Policy:
    """Supervised fine-tuning on correction traces (STaR with two attempts): of the initial policy's own conversations,
    as many as the recipe plays, those whose second answer is right are imitated, both answers."""
    domain, game = find_questions(config.questions), SecondTry()
    learner = config.learner.build_model(run.derived("learner"))
    initial = learner.freeze()
    tests = held_out(domain, config.problems, seed=run.tests)
    measures = [SelfCorrection(domain, learner, tests, seed=run.tests)]
    for _ in run.steps(config.steps, [learner], measures=measures):
        tasks = evenly(domain, config.tasks, run.rng, tests)
        traces = episodes_of(twice_graded(domain, attempts(game, tasks, initial, config.attempts, run.rng)))
        kept = score([trace for trace in traces if trace.outcome.facts["right"][1]], Correction())
        # the learner's own tokens: a frozen copy of it said them
        matches = [
            Match(game, each.episode.task, {game.role: Rehearsed(learner, each.episode.outcome.facts["replies"])})
            for each in kept
        ]
        shown = score(twice_graded(domain, grouped(play(matches, run.rng), 1)), Correction())
        credit = [np.ones(2) for _ in shown]
        run.report(learner, shown, credit, learner.update(pack(shown, credit), Imitation()))
        run.note({f"train/{name}": value for name, value in changes(traces).items()})
    return learner


@dataclass(frozen=True)
class Method:
    """SCoRe, or imitation of as many traces."""

    score: Config
    imitates: bool = False
    questions: str = DOMAIN
    problems: int = 64


def either(config: Method, run: Run) -> Policy:
    """Trains by SCoRe, or by imitation at as many updates and rollouts."""
    return (imitated if config.imitates else train)(config.score, run)


STEPS = 450
OTHERS: dict[str, Changes] = {
    "one stage, no bonus": {"score.first_stage": 0, "score.bonus": 0.0},
    "without stage I": {"score.first_stage": 0},
    "without the bonus": {"score.bonus": 0.0},
    "imitation of traces": {"imitates": True},
}
SECOND_TRY = Experiment(
    title="SCoRe on sums in two attempts",
    asked="Does the second answer mend the first more often than it spoils it, and more than after imitation?",
    trial=Training(either),
    config=Method(
        Config(
            warmed(),
            questions=DOMAIN,
            steps=STEPS,
            first_stage=STEPS // 3,
            kl=2.0,
            first_answer_kl=0.25,
        )
    ),
    starts={"score.learner.model": Start(School(warmed(1e-3)), rehearse, after=SUMS)},
    one_start=True,
    variants={"SCoRe": {}, **OTHERS},
    figures=("accuracy_1", "accuracy_2", "gain", "wrong_to_right", "right_to_wrong", "repeated"),
    compared=versus("SCoRe", tuple(OTHERS), ("gain", "accuracy_2")),
    controls=("imitation of traces", "one stage, no bonus"),
)
