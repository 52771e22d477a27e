"""SCoRe on sums in two attempts: beside one stage alone, plain reinforcement of both answers, and imitation."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from random import Random

import numpy as np
from rich.console import Console

from experiments.absolute_zero import SUMS
from redqueen.credit.rewards import score
from redqueen.demonstrations.rehearsal import Rehearsed
from redqueen.games.second_try import AGAIN, SecondTry
from redqueen.measures.accuracy import held_out
from redqueen.objectives.batch import pack
from redqueen.objectives.imitation import Imitation
from redqueen.play.groups import attempts, episodes_of, grouped
from redqueen.play.lockstep import play
from redqueen.protocols import Policy
from redqueen.questions.asking import evenly
from redqueen.questions.catalogue import find_questions
from redqueen.questions.small.sums import Sums, without_carry
from redqueen.recipes.self_training.score import recipe as recipe
from redqueen.recipes.self_training.score.measures import SelfCorrection
from redqueen.recipes.self_training.score.steps import Correction, changes, twice_graded
from redqueen.runs.run import Run, Schedule
from redqueen.settings.learner import Learner
from redqueen.trials.paired import difference, made_once, table, trained, warm, warmed
from redqueen.trials.sheets import Bench, Result
from redqueen.types import Match, Task

VERSION = 1  # of what the warm start is made of; a new one makes it anew
DOMAIN = "experiments.score:sums"


def sums() -> Sums:
    """Sums of one and two digits, the last digit of an answer first."""
    return Sums(digits=2, name="two_digit_sums")


@dataclass(frozen=True)
class Start:
    """What a model that can add is shown before: how often a first answer forgets to carry, how often the second
    mends a wrong one and spoils a right one; else it says the same again."""

    learner: Learner
    steps: int = 300
    shown: int = 32  # conversations a step
    rest: int = 100  # steps at the end over which the learning rate falls to a tenth
    slips: float = 0.5
    mended: float = 0.5
    spoiled: float = 0.2


def conversations(start: Start, rng: Random) -> list[tuple[Task, tuple[str, str]]]:
    """A problem and the two answers to it, for each of the conversations of a step."""
    found = []
    for task in evenly(sums(), start.shown, rng):
        first, second = (int(number) for number in task.id.split("+"))
        slip = without_carry(first, second)[::-1]
        answer = slip if rng.random() < start.slips else task.answer
        mended, spoiled = rng.random() < start.mended, rng.random() < start.spoiled
        kept = not spoiled if answer == task.answer else mended
        found.append((task, (answer, task.answer if kept else slip)))
    return found


def twice_warm(start: Start, seed: int = 0) -> str:
    """The folder of a model that was warmed up so; made once and kept in the cache."""
    schedule = Schedule(500, checkpoint_every=start.steps, record_episodes=0)
    facts = [VERSION, asdict(start), AGAIN, seed]
    return made_once(facts, lambda place: _rehearse(start, Run(place, seed, schedule)))


def _rehearse(start: Start, run: Run) -> None:
    learner = start.learner.build_model(run.derived("learner"))
    domain, rate = sums(), learner.learning_rate
    measures = [SelfCorrection(domain, learner, held_out(domain, 64))]
    for step in run.steps(start.steps, [learner], [], measures):
        learner.learning_rate = rate * min(1.0, 0.1 + 0.9 * (start.steps - step) / start.rest)
        matches = [
            Match(SecondTry(), task, {"solver": Rehearsed(learner, answers)})
            for task, answers in conversations(start, run.rng)
        ]
        shown = score(twice_graded(domain, grouped(play(matches, run.rng), 1)), Correction())
        credit = [np.ones(2) for _ in shown]
        run.report(learner, shown, credit, learner.update(pack(shown, credit), Imitation()))


def imitated(config: recipe.Config, run: Run) -> Policy:
    """Supervised fine-tuning on correction traces (STaR with two attempts): of the initial policy's own conversations,
    as many as the recipe plays, those whose second answer is right are imitated, both answers."""
    domain, game = find_questions(config.questions), SecondTry()
    learner = config.learner.build_model(run.derived("learner"))
    initial = learner.freeze()
    tests = held_out(domain, config.problems)
    measures = [SelfCorrection(domain, learner, tests)]
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


def second_try(options: Bench, console: Console) -> Result:
    """Accuracy of both attempts after equal rollouts."""
    steps = options.steps or 450
    plain = recipe.Config(
        warmed(twice_warm(Start(warmed(warm(SUMS), learning_rate=1e-3)))),
        questions=DOMAIN,
        steps=steps,
        first_stage=steps // 3,
        kl=2.0,  # nearer to the start than the paper: else the first answers soon need no mending
        first_answer_kl=0.25,
    )
    variants = {
        "SCoRe": plain,
        "one stage, no bonus": replace(plain, first_stage=0, bonus=0.0),
        "without stage I": replace(plain, first_stage=0),
        "without the bonus": replace(plain, bonus=0.0),
    }
    trials = trained("score", variants, options.seeds, console)
    trials |= trained(imitated, {"imitation of traces": plain}, options.seeds, console)
    figures = ("accuracy_1", "accuracy_2", "gain", "wrong_to_right", "right_to_wrong", "repeated")
    start = ", ".join(f"{trials['SCoRe'][0].first(name):.3f}" for name in figures)
    highest = max(line["first_answer_kl"] for trial in trials["SCoRe"] for line in trial.lines[: plain.first_stage])
    note = (
        f"{options.seeds} paired seeds, {steps} updates of {plain.tasks} x {plain.attempts} conversations from one "
        f"warm start ({start}), beta_1 {plain.kl:g}. The KL of first answers reached {highest:.3f} nats in "
        f"stage I. {difference(trials, 'SCoRe', 'imitation of traces', 'gain')}; "
        f"{difference(trials, 'SCoRe', 'one stage, no bonus', 'gain')}."
    )
    return "SCoRe on sums in two attempts", ("variant", *figures), table(trials, figures), note
