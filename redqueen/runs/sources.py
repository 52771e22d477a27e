"""Where the tasks of a run come from, and who judges the attempts at them: questions, or a game played against itself.

tasks = source(config, learner, run)                 # as `config.game`, or `config.questions`, says
drawn = tasks.draw(config.tasks, run.rng)
groups = tasks.judged(attempts(tasks.game, drawn, learner, config.attempts, run.rng))
trajectories = score(groups, tasks.reward)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, Literal, Protocol

import numpy as np

from redqueen.chance import derive
from redqueen.credit.group_rewards import Stated, WinRate, correct
from redqueen.credit.outcomes import verdicts, vote
from redqueen.credit.rewards import payoff
from redqueen.curricula.dealt import Sampled
from redqueen.curricula.hints import by_opening
from redqueen.games.catalogue import find_game
from redqueen.measures.accuracy import HeldOut
from redqueen.measures.figures import RANKED
from redqueen.measures.judges import Agreement
from redqueen.measures.of_games import lists_choices, usual_measures
from redqueen.players.language.writing import language_model
from redqueen.protocols import (
    Game,
    GivesHints,
    GroupReward,
    HoldsOut,
    Measure,
    PaysInPart,
    Policy,
    Questions,
    Resumable,
    Reward,
    has,
)
from redqueen.questions.asking import SOLVE, evenly, graded, paid
from redqueen.questions.catalogue import find_questions
from redqueen.questions.labels import held_to_majority, labels_right
from redqueen.questions.verdicts import Truncated, check_known, share_right
from redqueen.runs.run import Run
from redqueen.settings.oracles import EVERY, refuse
from redqueen.settings.ranking_judges import Ranked
from redqueen.settings.roles import judge_of
from redqueen.types import Group, Metrics, RedQueenError, Task


class Source(Protocol):
    """Tasks, the game in which they are attempted, and what an attempt earns."""

    @property
    def game(self) -> Game: ...
    @property
    def reward(self) -> Reward | GroupReward: ...
    @property
    def measures(self) -> Sequence[Measure]: ...
    @property
    def listed(self) -> bool:
        """Whether the legal replies are listed."""
        ...

    @property
    def parts(self) -> Sequence[Resumable]:
        """What of it has a memory."""
        ...

    def draw(self, count: int, rng: Random) -> list[Task]:
        """`count` tasks to train on."""
        ...

    def tests(self, count: int, rng: Random) -> list[Task]:
        """Tasks to measure on: those held out; in a game that holds none out, `count` drawn ones."""
        ...

    def judged(self, groups: Sequence[Group]) -> list[Group]:
        """The groups with the verdicts on their attempts, where the game itself gives none."""
        ...

    def helped(self, tasks: Sequence[Task], level: int) -> list[Task | None]:
        """The tasks with a hint of this level; None for one to which there is none."""
        ...

    def figures(self, groups: Sequence[Group]) -> Metrics:
        """What is worth knowing about the judged groups."""
        ...


def source(config: Any, learner: Policy, run: Run) -> Source:
    """The source that the settings name: `game`, or `questions` with their `answers` (known ones where the settings
    leave that open). Raises RedQueenError for known answers of a set that has none."""
    if config.game:
        return Dealt(find_game(config.game), learner, seed=run.tests)
    questions, given = find_questions(config.questions), vars(config).get("answers", "known")
    writer = language_model(learner)
    judge = given.startswith("judge:")
    if not judge and given not in ("known", "majority"):
        raise RedQueenError(f"--answers is known, majority, or judge:WHO, who ranks the attempts: not {given!r}")
    measure = HeldOut(
        questions,
        writer,
        config.problems,
        seed=run.tests,
        truncated=config.truncated_score,
        votes=given == "majority",
    )
    if given == "known":
        votes = "--answers majority learns from what most attempts answer, " if "answers" in vars(config) else ""
        check_known(questions, measure.tests, votes)
    asked = Asked(questions, "known" if judge else given, measure, config.truncated_score)
    if judge:
        seat = partial(judge_of, config.learner, writer, run)
        return RankedByJudge(asked, Ranked(given, seat, config.judge, config.truncated_score))
    if "judge" in vars(config):
        refuse(config.judge, EVERY, f"--answers {given}")
    return asked


class Dealt:
    """The deals of a game, in which the learner plays all roles; `problems` held-out ones, or matches, measure it,
    dealt by `seed`, that of a run's tests."""

    reward = staticmethod(payoff)
    parts = ()

    def __init__(self, game: Game, learner: Policy, problems: int = 128, seed: int = 0) -> None:
        self.game = game
        self.measures = usual_measures(game, learner, seed, problems)
        self.listed = lists_choices(game)
        self._deals = Sampled(game.tasks())

    def draw(self, count: int, rng: Random) -> list[Task]:
        return self._deals.draw(count, rng)

    def tests(self, count: int, rng: Random) -> list[Task]:
        return list(self.game.held_out()) if has(self.game, HoldsOut) else self.draw(count, rng)

    def judged(self, groups: Sequence[Group]) -> list[Group]:
        return list(groups)

    def helped(self, tasks: Sequence[Task], level: int) -> list[Task | None]:
        if not has(self.game, GivesHints):
            raise RedQueenError(
                f"the game {self.game.name} gives no hints, so --even-groups hint has no effect: it needs a method "
                "helped(task, level)"
            )
        return [self.game.helped(task, level) for task in tasks]

    def figures(self, groups: Sequence[Group]) -> Metrics:
        return {}


@dataclass(frozen=True)
class Asked:
    """The questions of a set that are not held out, judged by its answers or by the majority of the attempts. Where a
    set pays answers in part (`PaysInPart`) that is the reward; accuracy is measured by what is right."""

    questions: Questions
    answers: Literal["known", "majority"]
    held_out: HeldOut
    truncated: Truncated

    game = SOLVE
    listed = False
    parts = ()

    @property
    def reward(self) -> Stated:
        return Stated("paid") if self.answers == "known" and has(self.questions, PaysInPart) else correct

    @property
    def measures(self) -> Sequence[Measure]:
        return [self.held_out]

    def draw(self, count: int, rng: Random) -> list[Task]:
        return evenly(self.questions, count, rng, self.held_out.tests)

    def tests(self, count: int, rng: Random) -> list[Task]:
        return [task for level in self.held_out.tests.values() for task in level]

    def judged(self, groups: Sequence[Group]) -> list[Group]:
        if self.answers == "majority":
            return held_to_majority(groups, self.truncated)
        judged = graded(self.questions, groups, self.truncated)
        return paid(self.questions, judged, self.truncated) if has(self.questions, PaysInPart) else judged

    def helped(self, tasks: Sequence[Task], level: int) -> list[Task | None]:
        if self.answers == "majority":
            raise RedQueenError("--even-groups hint takes the answers, and --answers majority learns without them")
        return by_opening(tasks, level)

    def figures(self, groups: Sequence[Group]) -> Metrics:
        """Of majorities their mean share of the attempts, and how many are right by the question set where it knows,
        ties left out."""
        if self.answers == "known":
            return {}
        votes = [vote(group, truncated=self.truncated) for group in groups]
        labels = [vote(group, truncated=self.truncated, undecided=True) for group in groups]
        right = labels_right(self.questions, [group.task for group in groups], labels)
        return share_right("label_accuracy", right) | {"majority_share": sum(v.share for v in votes) / len(votes)}


@dataclass(frozen=True)
class RankedByJudge:
    """The questions of a set, whose attempts a judge ranks group by group: an attempt earns the share of the decided
    comparisons with the others that it wins. Whether the judge is right is for figures alone."""

    asked: Asked
    ranked: Ranked
    agreement: Agreement = field(default_factory=Agreement)

    game = SOLVE
    reward = WinRate()
    listed = False

    @property
    def measures(self) -> Sequence[Measure]:
        return self.asked.measures

    @property
    def parts(self) -> Sequence[Resumable]:
        return [self.ranked, self.agreement]

    def draw(self, count: int, rng: Random) -> list[Task]:
        return self.asked.draw(count, rng)

    def tests(self, count: int, rng: Random) -> list[Task]:
        return self.asked.tests(count, rng)

    def judged(self, groups: Sequence[Group]) -> list[Group]:
        return self.ranked(groups, Random(derive(groups[0].number, "rankings"))) if groups else []

    def helped(self, tasks: Sequence[Task], level: int) -> list[Task | None]:
        raise RedQueenError("--even-groups hint takes the answers, and --answers judge:WHO learns without them")

    def figures(self, groups: Sequence[Group]) -> Metrics:
        """How many groups were ranked; how well what attempts earn agrees with the check, where the question set
        has one (`judge_*`), and how many rankings decide nothing."""
        for group in graded(self.asked.questions, groups, self.asked.truncated):
            (earned,) = self.reward.of_group(group)["win_rate"].values()
            known = ~np.isnan(earned)  # silence is counted by `ranked`
            self.agreement.observe(earned[known].tolist(), verdicts(group)[known].tolist())
        return {RANKED: float(len(groups))} | self.ranked.metrics() | self.agreement.metrics()
