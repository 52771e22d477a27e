"""The prompts of an iteration of Self-Rewarding, and what its judge is asked and says (2401.10020)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from random import Random

import numpy as np

from redqueen.checks.judge import Score
from redqueen.credit.group_rewards import Stated
from redqueen.credit.outcomes import numbers, verdicts
from redqueen.credit.pairs import Pairs
from redqueen.curricula.held_out import apart_from, held_out
from redqueen.curricula.store import TaskStore
from redqueen.demonstrations.rehearsal import Equipped
from redqueen.games.tools import ToolReply
from redqueen.measures.divergence import Divergence
from redqueen.measures.judges import Agreement
from redqueen.measures.wins import watched
from redqueen.play.groups import attempts
from redqueen.protocols import COUNT, Player, Policy, Proposable, Questions, State, shaped
from redqueen.questions.asking import (
    JUDGE,
    evenly,
    graded,
    invited,
    judged_answers,
    read,
    said,
    seeded,
    seeds_of,
    tasks_among,
    with_opinions,
)
from redqueen.questions.catalogue import having
from redqueen.questions.fenced import asked
from redqueen.questions.toolbox import find_tools
from redqueen.types import Group, Mean, Metrics, RedQueenError, Task, Trajectory, mean_of

PATIENCE = 64  # answers that a judge may leave without a score before the first that has one


class Prompts:
    """The prompts of each iteration, `count` in all: up to the share `invented` are proposed, the others are the
    question set's own. The `problems` of each level that measure are not among them."""

    def __init__(self, questions: Questions, count: int, invented: float, problems: int, seed: int) -> None:
        self._questions = questions
        self._proposable = having(questions, Proposable) if invented else None
        self._count = count
        self._asked = round(invented * count)
        self._invented = 0
        self._tests = held_out(questions, problems, seeds_of(questions), seed)
        self._store = TaskStore() if self._proposable is None else seeded(TaskStore(), self._proposable)

    def watched(self, learner: Policy) -> Divergence:
        """The measures of training by preferences on the problems that are kept from it."""
        return watched(self._questions, learner, self._tests)

    def invited(self, rng: Random) -> list[Task]:
        """Invitations to propose a prompt, each with an earlier one as its example."""
        if self._proposable is None:
            return []
        return invited(self._proposable, self._store, self._asked // len(self._proposable.kinds), 1, rng)

    def taken(self, proposals: Sequence[Group], rng: Random, step: int) -> list[Task]:
        """The prompts of the iteration, first those that were proposed, which become examples."""
        written = read(self._proposable, proposals) if self._proposable else []
        invented = apart_from(self._tests, tasks_among(written))
        self._store.add(invented, origin="invented", step=step)
        self._invented = len(invented)
        return invented + evenly(self._questions, self._count - len(invented), rng, self._tests)

    def metrics(self) -> Metrics:
        """`invented`: the share of the prompts just taken that were proposed."""
        return {"invented": Mean(self._invented / self._count, self._count)}

    def state(self) -> State:
        return self._store.state()

    def restore(self, state: State) -> None:
        self._store.restore(state)


class Judging:
    """The judgements of an iteration, and how well the latest ones agree with the verdicts of the question set."""

    game = JUDGE
    reward = Stated("opinion")
    asked = staticmethod(judged_answers)

    def __init__(self, questions: Questions, tool: str = "none", gate: int = 0) -> None:
        self._questions = questions
        self._tools, self._gate = find_tools(tool), gate
        self._useful: Metrics = {}
        self._agreement = Agreement()
        self._asked = self._read = 0  # answers judged ever, and those with a score

    def seated(self, judge: Player) -> Player:
        """The judge, with its tool if it has one: what the tool says is in its view alone, never in that of who
        answers."""
        return Equipped(judge, ToolReply(JUDGE.role, self._tools)) if self._tools else judge

    def useful(self, pairs: Pairs, judge: Player, repeats: int, rng: Random) -> Pairs:
        """The pairs whose usefulness the judge puts at the gate or above, by the mean of `repeats` scores from 1 to 10;
        one without a score is not among them. All where there is no gate."""
        if not self._gate or not pairs.chosen:
            return pairs
        shown = [about_usefulness(*pair) for pair in zip(pairs.chosen, pairs.rejected, strict=True)]
        said_of = [
            [score for score in map(Score().read, said(group.attempts)) if score is not None]
            for group in attempts(JUDGE, shown, judge, repeats, rng)
        ]
        kept = [bool(scores) and float(np.mean(scores)) >= self._gate for scores in said_of]
        self._useful = {"pairs_kept": mean_of(kept)}
        return Pairs(list(compress(pairs.chosen, kept)), list(compress(pairs.rejected, kept)), pairs.equal)

    def heard(self, answers: Sequence[Group], judgements: Sequence[Group]) -> list[Group]:
        """The answers, each with the judge's score as the fact `opinion`. Verdicts are for audits: no reward looks
        at them. Raises RedQueenError once `PATIENCE` answers or more were judged and not one score could be read."""
        told = with_opinions(answers, judgements)
        known = [not np.isnan(each) for group in told for each in numbers(group, "opinion")]
        self._asked, self._read = self._asked + len(known), self._read + sum(known)
        if not self._read and self._asked >= PATIENCE:
            replies = said([episode for group in judgements for episode in group.attempts])
            raise RedQueenError(
                f"the judge gave no score that can be read to any of {self._asked} answers: it is to end with "
                f"<score>1</score> to <score>10</score>, and said {' '.join(replies[0].split())!r:.60}; train it first "
                "(redqueen train cold_start --questions judged:sums), or name another --judge"
            )
        for group in graded(self._questions, told):
            self._agreement.observe(numbers(group, "opinion").tolist(), verdicts(group).tolist())
        return told

    def metrics(self) -> Metrics:
        """What `Agreement` knows, and after an iteration with a gate `pairs_kept`, the share of the pairs that pass."""
        useful, self._useful = self._useful, {}
        return self._agreement.metrics() | useful

    def alarms(self) -> list[str]:
        return self._agreement.alarms()

    def state(self) -> State:
        return {"agreement": self._agreement.state(), "asked": self._asked, "read": self._read}

    def restore(self, state: State) -> None:
        shaped(state, {"agreement": dict, "asked": COUNT, "read": COUNT}, "the judge: ")
        self._agreement.restore(state["agreement"])
        self._asked, self._read = state["asked"], state["read"]


def about_usefulness(chosen: Trajectory, rejected: Trajectory) -> Task:
    """The task of a judge who says how much may be learned from a pair."""
    task = chosen.episode.task
    better, worse = said([chosen.episode, rejected.episode])
    prompt = (
        "Score from 1 (useless or the wrong way round) to 10 (clearly right) how well it teaches to prefer the first "
        f"answer to the second, as <score>5</score>.\n{asked(task)}\nFirst: {better}\nSecond: {worse}"
    )
    return Task(f"pair of {task.id}", "pair", prompt)
