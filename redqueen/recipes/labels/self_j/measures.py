"""What withholding answers by a judge's score is worth on held-out problems (Self-J, 2409.00935), and how often a judge
of two answers tells the right one (EvolvR, 2508.06046)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from redqueen.credit.outcomes import number
from redqueen.curricula.held_out import held_out
from redqueen.measures.accuracy import ATTEMPTS, on_problems, within_limit
from redqueen.measures.judges import auc
from redqueen.play.groups import attempts, episodes_of
from redqueen.protocols import Player, Questions, State
from redqueen.questions.asked_judges import AskedJudge
from redqueen.questions.asking import SOLVE, graded, said
from redqueen.questions.judge_oracles import JudgedScores, Manner
from redqueen.questions.judging import HIGHEST, LOWEST
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.labels.self_j.questions import Form, Letters, given_pairs, pairs_in
from redqueen.types import Basis, Group, Metrics, mean_of


class Withholding:
    """The judge's scores of the answers of `author`, without any reference, on held-out problems:
    `held_out/judge_auc`, how often a right one is scored above a wrong one; the shares that are right of all
    (`held_out/kept_all`), of the better scored half (`held_out/kept_half`) and of the best scored of each problem
    (`held_out/best_of@k`). Ties count by their mean. Answers of which nobody knows are left out; nothing is measured
    where none is known."""

    def __init__(
        self, questions: Questions, author: Player, judge: Player, problems: int, seed: int, truncated: Truncated
    ) -> None:
        self.tests = held_out(questions, problems, seed=seed)
        self._tasks = [task for tasks in self.tests.values() for task in tasks]
        self._questions, self._author, self._seed = questions, author, seed
        self._judge = JudgedScores(AskedJudge(judge, f"the judge {judge.name}"), LOWEST, HIGHEST, Manner(expected=True))
        self._truncated: Truncated = truncated
        self._attempts = ATTEMPTS

    def sample(self, attempts: int) -> None:
        """From now on each problem has `attempts` answers."""
        self._attempts = attempts

    def limit(self, replies: int) -> None:
        attempted, self._attempts = within_limit(self.tests, self._attempts, replies)
        self._tasks = [task for tasks in attempted.values() for task in tasks]

    def __call__(self) -> Metrics:
        tried = attempts(SOLVE, self._tasks, self._author, self._attempts, Random(self._seed))
        episodes = episodes_of(graded(self._questions, tried, self._truncated))
        scores = self._judge.scores([each.task for each in episodes], said(episodes), Random(self._seed))
        right = np.array([number(each.outcome.facts["right"]) for each in episodes])
        found = withheld(scores, right)
        rows = zip(scores.reshape(-1, self._attempts), right.reshape(-1, self._attempts), strict=True)
        best = [best_of(own, truths) for own, truths in rows if not np.isnan(truths).any()]
        return found | ({f"held_out/best_of@{self._attempts}": mean_of(best)} if best else {})

    def basis(self) -> dict[str, Basis]:
        names = ("judge_auc", "kept_all", "kept_half", f"best_of@{self._attempts}")
        return {f"held_out/{name}": on_problems(self._tasks, self._attempts, guesses=False) for name in names}

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None


def withheld(scores: np.ndarray, right: np.ndarray) -> Metrics:
    """Figures of [n] scores and verdicts (1, 0, NaN): see `Withholding`."""
    known = ~np.isnan(right)
    scores, right = scores[known], right[known]
    if not len(right):
        return {}
    area = auc(scores.tolist(), [bool(each) for each in right])
    half = mean_of(_best(scores, right, -(-len(right) // 2)))
    return {"held_out/kept_all": mean_of(right.tolist()), "held_out/kept_half": half} | (
        {} if area is None else {"held_out/judge_auc": area}
    )


def best_of(scores: np.ndarray, right: np.ndarray) -> float:
    """How often the best scored of several answers is right."""
    return float(np.mean(right[scores == scores.max()]))


def _best(scores: np.ndarray, right: np.ndarray, count: int) -> Sequence[float]:
    """The verdicts on the `count` best scored; those of equal scores, of which only some have room, by their mean."""
    least = np.sort(scores)[-count]
    above, level = right[scores > least].tolist(), float(np.mean(right[scores == least]))
    return [*above, *[level] * (count - len(above))]


class Told:
    """Whether the judge tells a right from a wrong answer of `author` to held-out problems, or without an author the
    chosen from the rejected one of held-out pairs of the question set, asked in both orders:
    `held_out/pair_accuracy`, the share of its verdicts that are right, `held_out/pair_consistency`, the share of the
    pairs of which it prefers the same answer in both orders, and `held_out/pair_unread`; and what the `form` of its
    verdicts measures. A verdict that cannot be read, or by which both are equal, is not right, and no pair with one is
    consistent. Nothing is measured where no problem has both answers."""

    def __init__(
        self,
        questions: Questions,
        author: Player | None,
        judge: Player,
        problems: int,
        seed: int,
        truncated: Truncated,
        form: Form = Letters(),
    ) -> None:
        self.tests = held_out(questions, problems, seed=seed)
        self._tasks = [task for tasks in self.tests.values() for task in tasks]
        self._questions, self._author, self._seed = questions, author, seed
        self._judge, self._form = AskedJudge(judge, f"the judge {judge.name}"), form
        self._truncated: Truncated = truncated

    def limit(self, replies: int) -> None:
        attempted, _ = within_limit(self.tests, ATTEMPTS if self._author else 1, replies)
        self._tasks = [task for tasks in attempted.values() for task in tasks]

    def __call__(self) -> Metrics:
        shown = pairs_in(self._groups(), self._form)
        if not shown:
            return {}
        chances, more = self._form.compared(self._judge, shown, Random(self._seed))
        return told_apart(chances) | more

    def _groups(self) -> list[Group]:
        if self._author is None:
            return given_pairs(self._questions, self._tasks, Random(self._seed))
        tried = attempts(SOLVE, self._tasks, self._author, ATTEMPTS, Random(self._seed))
        return graded(self._questions, tried, self._truncated)

    def basis(self) -> dict[str, Basis]:
        found = on_problems(self._tasks, ATTEMPTS if self._author else 1, guesses=False)
        names = ("pair_accuracy", "pair_consistency", "pair_unread")
        return {f"held_out/{name}": found for name in (*names, *self._form.figures)}

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None


def told_apart(chances: np.ndarray) -> Metrics:
    """Figures of [2 n] verdicts on pairs in both orders, the better answer first and then second: 1 where the first was
    preferred, NaN where nothing can be read. See `Told`."""
    first, second = chances[::2], chances[1::2]
    return {
        "held_out/pair_accuracy": mean_of([*(first > 0.5), *(second < 0.5)]),
        "held_out/pair_consistency": mean_of(((first > 0.5) & (second < 0.5)) | ((first < 0.5) & (second > 0.5))),
        "held_out/pair_unread": mean_of(np.isnan(chances).tolist()),
    }
