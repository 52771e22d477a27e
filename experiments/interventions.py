"""InT on arithmetic in steps: what one step in the place of the first error is worth before reinforcement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import numpy as np

from experiments._starts import imitating
from redqueen.chance import derive
from redqueen.credit.outcomes import verdicts
from redqueen.demonstrations.gold import gold_reply
from redqueen.demonstrations.transfer import aided
from redqueen.measures.recitations import recited, reference_logprobs
from redqueen.play.groups import attempts, episodes_of
from redqueen.players.language.writing import Writer
from redqueen.protocols import Game, Player
from redqueen.questions.asking import SOLVE, graded, said
from redqueen.questions.small.step_traces import ERRORS, StepTraces, Trace, applied, spoilt, written
from redqueen.recipes.credit.interventions import recipe
from redqueen.recipes.credit.interventions import steps as of_int
from redqueen.recipes.credit.interventions.steps import (
    GO_ON,
    INTERVENE,
    Failed,
    Proposed,
    in_steps,
    leaks,
    read,
    request,
    spliced,
)
from redqueen.settings.roles import without_format
from redqueen.trials.controls import swapped
from redqueen.trials.experiment import Difference, Experiment, Training, Trial, versus
from redqueen.trials.starts import warmed
from redqueen.types import SOLVER, Demonstration, Episode, Group, Outcome, Seat, Task, Trajectory

NAME = "experiments.interventions:chains"
ALONE, ELSEWHERE, STEP, GOLD, WHOLE = (
    *("reinforcement alone", "another place", "the step alone is learned"),
    *("the step of the solution", "whole solutions"),
)


@dataclass(frozen=True)
class Chains:
    """Problems of `length` steps, solved a line each, whose answer is what the last line comes to. For demonstrations:
    a solver errs at a step in `slip` of them, an intervener finds the first error in `found` of its attempts."""

    length: int = 6
    slip: float = 0.5
    found: float = 0.85
    name: str = "chains"
    levels: tuple[str, ...] = ("chain",)

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        return [self._task(rng) for _ in range(count)]

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        return [answer.rpartition("=")[2].strip() == task.answer for task, answer in zip(tasks, answers, strict=True)]

    def _task(self, rng: Random) -> Task:
        trace = StepTraces(length=self.length).trace(rng)
        facts = {"gold": "\n".join(trace.steps()), "start": trace.start, "operations": trace.operations}
        return Task(trace.problem, "chain", trace.problem, str(trace.values[-1]), facts)

    def _attempt(self, task: Task, rng: Random, slip: float) -> list[str]:
        value, said = task.facts["start"], []
        for operation in task.facts["operations"]:
            step = written(value, operation, applied(value, operation))
            if rng.random() < slip and min(value, applied(value, operation)) > 0:
                step = spoilt(Trace(value, (operation,)), 0, rng.choice(ERRORS), rng)
            said.append(step)
            value = int(step.rpartition("=")[2])
        return said

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        """In turns: solutions, continuations of right beginnings, interventions in wrong attempts."""
        return [self._demonstration(number % 3, rng) for number in range(count)]

    def _demonstration(self, kind: int, rng: Random) -> Demonstration:
        task = self._task(rng)
        if kind == 0:
            return Demonstration(SOLVER, task, "\n".join(self._attempt(task, rng, self.slip)))
        gold = task.facts["gold"].split("\n")
        if kind == 1:
            cut = rng.randrange(1, self.length)
            begun = aided(task, GO_ON.format(begun="\n".join(gold[:cut])))
            return Demonstration(SOLVER, begun, "\n".join(gold[cut:]))
        attempt = self._attempt(task, rng, self.slip)
        wrong = [place for place, (one, due) in enumerate(zip(attempt, gold, strict=True)) if one != due]
        place = wrong[0] if wrong and rng.random() < self.found else rng.randrange(self.length)
        episode = Episode("", task, 0, (), Outcome({}), (Seat(SOLVER),))
        return Demonstration("intervener", request(Failed(episode, "", tuple(attempt))), f"{place + 1}: {gold[place]}")


def chains() -> Chains:
    """Returns the problems, as a question set that is found by name."""
    return Chains()


@dataclass(frozen=True)
class Method:
    """InT, or the same with its steps at another place, with the solution's steps, or with whole solutions."""

    int: recipe.Config
    place: str = "its own"  # a key of READ
    whole: bool = False  # the solution is imitated in place of the attempt and the step


def moved(reply: str, one: Failed) -> Proposed | None:
    """The intervention at a place that the reply decides, whatever it says."""
    found = read(reply, one)
    return None if found is None else found._replace(place=Random(reply).randrange(len(one.steps)))


def due(one: Failed) -> list[str]:
    """The steps of the solution."""
    return str(one.episode.task.facts["gold"]).split("\n")


def first_error(one: Failed) -> int:
    """The place of the first step that is not the solution's."""
    gold = due(one)
    pairs = enumerate(zip(one.steps, gold, strict=False))
    return next((place for place, (step, right) in pairs if step != right), min(len(one.steps), len(gold)))


def known(reply: str, one: Failed) -> Proposed | None:
    """The step of the solution at the first error, whatever the reply says; None where the attempt ends before it."""
    place, gold = first_error(one), due(one)
    return Proposed(one, place, gold[place]) if place < min(len(one.steps), len(gold)) else None


def solution(one: Proposed, learner: Writer) -> Trajectory:
    """The solution of the problem of which an attempt failed, as the learner's reply to it."""
    task = one.failed.episode.task
    return recited([Demonstration(SOLVER, task, gold_reply(task), task.answer)], learner)[0]


READ = {"its own": read, ELSEWHERE: moved, GOLD: known}


@dataclass
class Counting:
    """`attempts`, which counts the replies of a training: to problems, interventions and what goes on from them."""

    replies: int = 0

    def __call__(self, game: Game, tasks: Sequence[Task], player: Player, count: int, rng: Random) -> list[Group]:
        self.replies += count * len(tasks)
        return attempts(game, tasks, player, count, rng)


@dataclass(frozen=True)
class OneSeed:
    def __call__(self, config: Method, seed: int, folder: Path) -> Trial:
        counted = Counting()
        with (
            swapped(recipe, {"attempts": counted}),
            swapped(of_int, {"attempts": counted, "read": READ[config.place]}),
            swapped(of_int, {"spliced": solution if config.whole else spliced}),
        ):
            trial = Training(recipe.train, evaluate_every=12)(config.int, seed, folder)
        return replace(trial, final={**trial.final, "replies": float(counted.replies)})


FIRST_ERRORS = Experiment(
    title="InT on arithmetic in steps",
    asked="Does one step at the first error, before reinforcement, reach further than reinforcement alone?",
    trial=OneSeed(),
    config=Method(
        recipe.Config(
            warmed(3e-4, max_completion_length=72),
            questions=NAME,
            steps=100,
            supervised=20,
            tasks=8,
            proposals=2,
            interventions=16,
            continuations=4,
            truncated_score="graded",
        )
    ),
    starts={"int.learner.model": imitating(NAME, 72)},
    variants={
        "InT": {},
        ALONE: {"int.supervised": 0},
        WHOLE: {"whole": True},
        GOLD: {"place": GOLD},
        ELSEWHERE: {"place": ELSEWHERE},
        STEP: {"int.learn": "step"},
    },
    figures=(
        *("first accuracy", "late accuracy", "first pass@8", "late pass@8", "first led_on", "first place"),
        *("first unread", "first leaking", "late completion_length", "replies"),
    ),
    compared=versus("InT", (ALONE, WHOLE, GOLD, ELSEWHERE, STEP), ("late accuracy", "late pass@8")),
    controls=(ALONE, WHOLE, GOLD, ELSEWHERE),
    seeds=10,
    one_start=True,
    notes=(
        "Replies: all that a training samples, interventions and continuations too. Each problem has 8 attempts.",
        "Late: the mean of the last fifth of the steps, or of the measurements.",
        "Whole solutions: what InT would have learned from (an attempt with a step that leads on), with the solution "
        "of the problem imitated in its place. The step of the solution: put at the true first error, whatever the "
        "intervener says. Another place: the intervener's step, anywhere.",
    ),
)


# --- the step itself ---------------------------------------------------------------------------

PLACED, NOTHING, AGAIN = "its step", "no step", "the attempt as it is"


@dataclass(frozen=True)
class Begins:
    """From what the model goes on: from the intervention (a key of `READ`), from what stays without its step, or from
    the attempt with its own step at that place."""

    int: recipe.Config
    place: str = "its own"
    begins: str = PLACED


@dataclass(frozen=True)
class OneStart:
    """Attempts at `problems` tasks, `tries` each; an intervention in each wrong one, `continuations` from each."""

    problems: int = 48
    tries: int = 4
    continuations: int = 8

    def __call__(self, config: Begins, seed: int, folder: Path) -> Trial:
        learner = without_format(config.int.learner.build_model(derive(seed, "learner")), [INTERVENE.role])
        chains, rng = Chains(), Random(derive(seed, "grafts"))
        tasks = chains.problems("chain", self.problems, rng)
        groups = graded(chains, attempts(SOLVE, tasks, learner, self.tries, rng), "wrong")
        right = np.concatenate([verdicts(group) for group in groups])
        cut = [in_steps(one, learner) for one, each in zip(episodes_of(groups), right, strict=True) if each == 0.0]
        wrong = [each for each in cut if each is not None]
        replies = said(attempts(INTERVENE, [request(one) for one in wrong], learner, 1, rng))
        found = [READ[config.place](reply, one) for reply, one in zip(replies, wrong, strict=True)]
        usable = [each for each in found if each is not None and not leaks(each.step, each.failed.episode.task.answer)]
        begun = [aided(each.failed.episode.task, GO_ON.format(begun="\n".join(lines(each, config)))) for each in usable]
        after = graded(chains, attempts(SOLVE, begun, learner, self.continuations, rng), "wrong")
        rates = [float(verdicts(group).mean()) for group in after]
        return Trial((), {"right after": float(np.mean(rates)), **places(usable, len(wrong), learner)})


def lines(one: Proposed, config: Begins) -> list[str]:
    """What the model goes on from."""
    last = {PLACED: [one.step], NOTHING: [], AGAIN: [one.failed.steps[one.place]]}[config.begins]
    return [*one.failed.steps[: one.place], *last]


def places(usable: list[Proposed], wrong: int, learner: Writer) -> dict[str, float]:
    """Shares of the interventions that can be read, that stand at the first error, and that are the solution's step;
    and how likely the step is after what stays, in nats a token, to the model that is shown the problem alone."""
    at_error = [each.place == first_error(each.failed) for each in usable]
    its_step = [due(each.failed)[each.place :][:1] == [each.step] for each in usable]
    shown = [spliced(each, learner) for each in usable]
    rated = reference_logprobs(learner, [replace(each, turns=each.turns[-1:]) for each in shown])
    return {
        "read": len(usable) / wrong,
        "at the first error": float(np.mean(at_error)),
        "the solution's": float(np.mean(its_step)),
        "step_logprob": float(np.mean([row.mean() for (row,) in rated])),
    }


GRAFTS = Experiment(
    title="What one step in the place of the first error is worth",
    asked="Does the model go on from its intervention to the answer more often than from the attempt before it?",
    trial=OneStart(),
    config=Begins(recipe.Config(warmed(max_completion_length=72), questions=NAME)),
    starts={"int.learner.model": imitating(NAME, 72)},
    variants={
        PLACED: {},
        NOTHING: {"begins": NOTHING},
        AGAIN: {"begins": AGAIN},
        ELSEWHERE: {"place": ELSEWHERE},
        GOLD: {"place": GOLD},
    },
    figures=("right after", "read", "at the first error", "the solution's", "step_logprob"),
    compared=(
        *versus(PLACED, (NOTHING, AGAIN, ELSEWHERE, GOLD), ("right after",)),
        Difference(PLACED, GOLD, "step_logprob"),
    ),
    controls=(NOTHING, AGAIN, ELSEWHERE, GOLD),
    seeds=10,
    one_start=True,
    notes=(
        "Nothing is trained: all is the start's. `right after`: of eight continuations of each, the share that comes "
        "to the answer. `step_logprob`: of the step after what stays of the attempt, without the solution in view.",
    ),
)
