"""Explanations of known answers, as the policy gives them with the answer in view (ExPO, 2507.02834)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from random import Random
from typing import Literal

import numpy as np

from redqueen.checks.leaks import stands_in
from redqueen.credit.group_rewards import correct
from redqueen.credit.outcomes import verdicts, whole_reply
from redqueen.credit.rewards import score
from redqueen.curricula.held_out import Apart
from redqueen.curricula.hints import unsolved
from redqueen.demonstrations.gold import gold_reply
from redqueen.demonstrations.transfer import aided, tokens_of, unaided
from redqueen.measures.alarms import Alarm, Alarms, Ringing
from redqueen.measures.recitations import recited, reference_logprobs
from redqueen.play.groups import attempts
from redqueen.players.language.writing import Writer
from redqueen.protocols import Questions
from redqueen.questions.asking import SOLVE, evenly, graded
from redqueen.questions.verdicts import Truncated, check_known
from redqueen.types import (
    SOLVER,
    Demonstration,
    Episode,
    Group,
    Metrics,
    RedQueenError,
    Task,
    Trajectory,
    Turn,
    mean_of,
)

Positive = Literal["own", "expert", "none"]
Where = Literal["all-failed", "everywhere"]
EXPLAIN = "The answer is {answer}. Explain how to reach it, step by step, and end with the answer."
LOOKED = 1024  # problems that are looked at for a worked solution
_END = re.compile(r"[^\s=:]+$")
ANSWER_FIRST = Alarm(
    "answer_first",
    "answer_first",
    "in {value:.0%} of the explanations the answer stands before their last line: they may begin with what was to be "
    "found, and explain nothing",
    limit=0.8,
    steps=5,
)
UNEXPLAINED = Alarm(
    "unexplained",
    "explained",
    "only {value:.0%} of the answers are explained: the policy does not come to an answer that it is told "
    "(--explanations, --max-completion-length, or another start)",
    limit=0.05,
    steps=5,
    below=True,
)


def with_answer(task: Task) -> Task:
    """The task with its answer in view, to be explained."""
    return aided(task, EXPLAIN.format(answer=task.answer))


class Explanations(Ringing):
    """A positive sample for each group `where` the recipe wants one: the first of `count` explanations by the learner
    that comes to the answer, as a reply to the plain task; the reply of the data set (`expert`); or none. Raises
    RedQueenError for a question set that does not know the answers to its `tests`."""

    def __init__(
        self, questions: Questions, tests: Apart, positive: Positive, where: Where, count: int, truncated: Truncated
    ) -> None:
        check_known(questions, tests)
        self._questions, self._positive, self._where, self._count = questions, positive, where, count
        self._truncated: Truncated = truncated
        self._figures: Metrics = {}
        self._alarms = Alarms([ANSWER_FIRST, UNEXPLAINED], quiet=True)

    def __call__(self, groups: Sequence[Group], learner: Writer, rng: Random) -> list[Trajectory]:
        due = [group for group in groups if group.task.answer and (self._where == "everywhere" or unsolved(group))]
        self._figures = {"all_failed": mean_of([unsolved(group) for group in groups])}
        if not due or self._positive == "none":
            return []
        found = self._experts(due, learner) if self._positive == "expert" else self._own(due, learner, rng)
        if found:
            self._figures |= likelihoods(learner, found, due)
        observed = {name: float(value) for name, value in self._figures.items()}
        self._figures |= self._alarms.observe(observed)
        return found

    def _own(self, due: Sequence[Group], learner: Writer, rng: Random) -> list[Trajectory]:
        tries = attempts(SOLVE, [with_answer(group.task) for group in due], learner, self._count, rng)
        found = []
        for plain, group in zip(due, graded(self._questions, tries, self._truncated), strict=True):
            right = np.flatnonzero(verdicts(group) == 1.0)
            if len(right):
                found.append((plain, score([group], correct)[int(right[0])]))
        self._figures["explained"] = mean_of([1.0] * len(found) + [0.0] * (len(due) - len(found)))
        if found:
            self._figures["answer_first"] = mean_of([answer_first(one) for _, one in found])
        shown = unaided([one for _, one in found], [plain.task for plain, _ in found], learner)
        return [replace(one, group=plain.number) for one, (plain, _) in zip(shown, found, strict=True)]

    def _experts(self, due: Sequence[Group], learner: Writer) -> list[Trajectory]:
        known = [group for group in due if "gold" in group.task.facts]
        if not known and not self._worked:
            raise RedQueenError(
                f"{self._questions.name} has answers and no worked solutions: --positive expert needs a column "
                "completion; --positive own explains the answers"
            )
        shown = recited(
            [Demonstration(SOLVER, one.task, gold_reply(one.task), one.task.answer) for one in known], learner
        )
        return [replace(one, group=group.number) for one, group in zip(shown, known, strict=True)]

    @cached_property
    def _worked(self) -> bool:
        """Whether any of the first problems that are drawn has a worked solution: a file may have some."""
        return any("gold" in task.facts for task in evenly(self._questions, LOOKED, Random(0)))

    def metrics(self) -> Metrics:
        """Figures of the last call: shares of the groups that nobody solved (`all_failed`) and of the answers that were
        `explained`, of the explanations with the answer before their last line (`answer_first`), and in nats a token,
        after the plain prompts, `explanation_logprob` and `attempt_logprob` of the attempts at the same tasks, and
        `answer_after_explanation` and `answer_after_attempt` of the answer that was explained."""
        return self._figures


def likelihoods(learner: Writer, shown: Sequence[Trajectory], groups: Sequence[Group]) -> Metrics:
    """What makes a positive sample a good one, as means in nats a token after the plain prompts: the log-probabilities
    of what was shown, and of the attempts of the groups that it belongs to, as these were sampled; and of the answer,
    the last line of what was shown (of one line its last word, or what stands behind its last = or :), after what is
    before it, and after what is before the answer of an attempt."""
    own = {group.number: group.attempts for group in groups}
    tried = [own[each.group] for each in shown if each.group is not None]
    explained = [answer_parted(_written(each.episode, learner)) for each in shown]
    attempted = [answer_parted(_written(attempts[0], learner)) for attempts in tried]
    asks = [each.turns[0].ask for each in shown]
    begun = [head for head, _ in (*explained, *attempted)]
    instead = [
        learner.recite(ask, head + answer)
        for ask, head, (_, answer) in zip(asks, begun[len(shown) :], explained, strict=True)
    ]
    moved = [replace(each, turns=(Turn(ask, reply),)) for each, ask, reply in zip(shown, asks, instead, strict=True)]
    rated = [*shown, *moved]
    rows = [row for (row,) in reference_logprobs(learner, rated)]
    answers = [_after(head, each, row, learner) for head, each, row in zip(begun, rated, rows, strict=True)]
    return {
        "explanation_logprob": mean_of([float(row.mean()) for row in rows[: len(shown)]]),
        "attempt_logprob": mean_of([float(one.turns[-1].reply.logprobs.mean()) for each in tried for one in each]),
        "answer_after_explanation": mean_of(answers[: len(shown)]),
        "answer_after_attempt": mean_of(answers[len(shown) :]),
    }


def answer_parted(text: str) -> tuple[str, str]:
    """What stands before the answer of a reply, and the answer: its last line, or of one line the end that holds
    neither a space nor = nor :."""
    before, line_break, last = text.rpartition("\n")
    if line_break:
        return before + line_break, last
    found = _END.search(text)
    at = found.start() if found else 0
    return text[:at], text[at:]


def _written(episode: Episode, learner: Writer) -> str:
    """A reply as it was written, thoughts and marks included, without its end."""
    return learner.format.decode(episode.turns[-1].reply.tokens.tolist()).rstrip()


def _after(head: str, said: Trajectory, row: np.ndarray, learner: Writer) -> float:
    """The mean of the log-probabilities [R] of the tokens of a reply that come after `head`, without its end."""
    tokens = said.turns[0].reply.tokens.tolist()
    last = len(tokens) - (tokens[-1] == learner.format.end)
    return float(row[min(tokens_of(head, tokens, learner), last - 1) : last].mean())


def answer_first(explanation: Trajectory) -> bool:
    """Whether the answer stands in a line of the explanation before the last."""
    before = whole_reply(explanation.episode).strip().rpartition("\n")[0]
    return stands_in(before, explanation.episode.task.answer)
