"""How well a player answers questions that a recipe keeps from its training (`curricula.parts`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from math import comb
from random import Random
from typing import Any

import numpy as np

from redqueen.credit.outcomes import verdicts, vote, whole_reply
from redqueen.curricula.held_out import apart_from, groups_apart, held_out, labelled
from redqueen.measures.first_replies import Answered, answered_questions, as_text
from redqueen.measures.narrowing import Narrowing
from redqueen.play.groups import attempts, episodes_of
from redqueen.protocols import Player, Questions, Remarks, State, has
from redqueen.questions.asking import SOLVE, graded, tasks_among
from redqueen.questions.labels import votes_right
from redqueen.questions.verdicts import Truncated, share_right
from redqueen.types import Basis, Group, Mean, Metrics, Refusal, Task, mean_of


def pass_at(k: int, right: int, tried: int) -> float:
    """The chance that one of k attempts is right, unbiased, where `right` of `tried` attempts were (Chen et al. 2021,
    arXiv:2107.03374, equation 1)."""
    assert 0 < k <= tried
    return 1.0 - comb(tried - right, k) / comb(tried, k)


def shares_right(right: np.ndarray, suffix: str = "") -> Metrics:
    """`accuracy` and `pass@k` of verdicts [tasks, k attempts], NaN where nobody knows, as `HeldOut` measures them; of
    both also the share that is unknown, where there is any. The names end in `suffix`."""
    if not right.size:
        return {}
    unknown, count = np.isnan(right), right.shape[1]
    found: Metrics = {f"accuracy_unknown{suffix}": Mean(float(unknown.mean()), unknown.size)} if unknown.any() else {}
    if unknown.all():
        return found
    found[f"accuracy{suffix}"] = Mean(float(np.nanmean(right)), int((~unknown).sum()))
    told = [row for row in right if np.nansum(row) > 0 or not np.isnan(row).any()]  # one right answer is enough
    if count > 1 and told:
        found[f"pass@{count}{suffix}"] = mean_of([pass_at(count, int(np.nansum(row)), count) for row in told])
    if count > 1 and len(told) < len(right):
        found[f"pass@{count}_unknown{suffix}"] = Mean(1.0 - len(told) / len(right), len(right))
    return found


ATTEMPTS = 8  # at each held-out problem
KEPT = 3  # problems of which a reply is kept, to look at


class HeldOut:
    """A player's answers to held-out tasks at its own temperature, on the same seeds at every measurement:
    `accuracy/LEVEL` (pass@1) and `pass@k/LEVEL`, and both over all levels. Answers of which nobody knows whether they
    are right are left out; where there are any, `accuracy_unknown` is their share, and `pass@k_unknown` that of the
    problems without a right answer of which nobody knows whether one was: these are left out of `pass@k`, which leans
    upwards by that.

    What the question set says of replies besides (`Remarks`) is measured too.

    A set without levels, such as a corpus of the user's own, has no figures.

    `tasks` are the held-out ones by level, or how many of each level `held_out` draws; then what is learned from
    `besides` is not among them where a level has others. `tests` are these tasks. Without `attempts` the run says how
    often each is attempted (`sample`), and how many replies a measurement has at most (`limit`). `truncated` is the
    verdict on an answer that was cut off. With `votes` also `majority`, the accuracy of the majority of the attempts at
    each task, about what learning from it can reach, and `room`, how much that is above the accuracy; and an alarm
    where pass@k falls while the attempts come to agree."""

    def __init__(
        self,
        questions: Questions,
        solver: Player,
        tasks: Mapping[str, Sequence[Task]] | int,
        attempts: int | None = None,
        seed: int = 0,
        besides: Sequence[Task] = (),
        truncated: Truncated = "wrong",
        votes: bool = False,
    ) -> None:
        self.tests = held_out(questions, tasks, besides, seed) if isinstance(tasks, int) else tasks
        assert all(self.tests.values()), "every level needs a task"
        self._questions = questions
        self._solver = solver
        self._tasks = [(level, task) for level, group in self.tests.items() for task in group]
        self._given, self._attempts = attempts is not None, attempts or ATTEMPTS
        self._seed = seed
        self._truncated = truncated
        self._votes = votes
        self._narrowing = Narrowing()  # of the votes
        self._first, self._latest = "", list[Answered]()

    def __call__(self) -> Metrics:
        tasks = [task for _, task in self._tasks]
        tries = attempts(SOLVE, tasks, self._solver, self._attempts, Random(self._seed))
        groups = graded(self._questions, tries, self._truncated)
        if groups and not self._first:
            self._first = as_text(answered_questions(self._questions, groups))
        one_each = [replace(group, attempts=group.attempts[:1]) for group in groups[:KEPT]]
        self._latest = answered_questions(self._questions, one_each)
        right = np.array([verdicts(group) for group in groups])  # [tasks, attempts]
        metrics: Metrics = {}
        levels = np.array([level for level, _ in self._tasks])
        for level in dict.fromkeys(levels.tolist()):
            metrics |= shares_right(right[levels == level], f"/{level}")
        metrics |= shares_right(right)
        metrics |= self._of_remarks(groups)
        return metrics | (self._of_votes(groups, metrics) if self._votes else {})

    def _of_remarks(self, groups: Sequence[Group]) -> Metrics:
        """The means of what the question set says of replies besides their verdicts."""
        questions, episodes = self._questions, episodes_of(groups)
        if not has(questions, Remarks):
            return {}
        said = questions.remarks([each.task for each in episodes], [whole_reply(each) for each in episodes])
        known: dict[str, list[float]] = {}
        for name, value in (pair for each in said for pair in each.items()):
            if value is not None:
                known.setdefault(name, []).append(value)
        return {name: mean_of(values) for name, values in known.items()}

    def _of_votes(self, groups: Sequence[Group], known: Metrics) -> Metrics:
        votes = [vote(group, truncated=self._truncated) for group in groups]
        known_to_any = [not np.isnan(verdicts(group)).all() for group in groups]
        right = votes_right(self._questions, [group.task for group in groups], votes, known_to_any)
        found = share_right("majority", right)
        if "majority" in found and "accuracy" in known:
            found["room"] = Mean(found["majority"] - known["accuracy"], len(groups))
        return found | self._narrowing.observe(known, votes, self._attempts)

    def alarms(self) -> list[str]:
        return self._narrowing.alarms()

    def sample(self, attempts: int) -> None:
        """From now on each task is attempted `attempts` times, unless a number was given when this was made."""
        if not self._given:
            self._attempts = attempts

    def limit(self, replies: int) -> None:
        attempted, self._attempts = within_limit(self.tests, self._attempts, replies)
        self._tasks = [(level, task) for level, tasks in attempted.items() for task in tasks]

    def first_replies(self) -> str:
        """Ten replies of the first measurement, each with the answer found in it, the expected one and the verdict, and
        a line on all of them; "" before it."""
        return self._first

    def latest_replies(self) -> list[dict[str, Any]]:
        """The first reply of the latest measurement to each of the first three problems, as plain data."""
        return [asdict(each) for each in self._latest]

    def apart(self, written: Sequence[Task | Refusal]) -> list[Task]:
        """The tasks that are not held out, without refusals."""
        return apart_from(self.tests, tasks_among(written))

    def groups_apart(self, groups: Sequence[Group]) -> list[Group]:
        """The groups whose tasks are not held out."""
        return groups_apart(self.tests, groups)

    def training(self, count: int, seed: int, levels: Sequence[str] = ()) -> list[Task]:
        """Up to `count` different problems of each level (default: all for training), none held out."""
        return labelled(self._questions, levels, count, self.tests, seed)

    def basis(self) -> dict[str, Basis]:
        whole = {"": [task for _, task in self._tasks]}
        groups = whole | {f"/{level}": [task for own, task in self._tasks if own == level] for level in self.tests}
        names = ("accuracy", f"pass@{self._attempts}") if self._attempts > 1 else ("accuracy",)
        of_votes = ("majority", "room") if self._votes else ()
        voted = {name: on_problems(whole[""], self._attempts, guesses=False) for name in of_votes}
        return voted | {
            f"{name}{level}": on_problems(tasks, self._attempts, guesses=name == "accuracy")
            for level, tasks in groups.items()
            for name in names
            if tasks
        }

    def state(self) -> State:
        return self._narrowing.state() if self._votes else {}

    def restore(self, state: State) -> None:
        self._narrowing.restore(state)


def within_limit(
    tests: Mapping[str, Sequence[Task]], attempts: int, most: int, each: int = 1
) -> tuple[dict[str, Sequence[Task]], int]:
    """The tasks of each level that are attempted, and how often each, in a measurement of at most `most` replies (0: no
    limit) where an attempt costs `each` of them. Where all tasks take more, there are fewer attempts at each; where one
    attempt at each takes more, the first tasks of each level are attempted, as many of one level as of another, at
    least one."""
    total, most = sum(map(len, tests.values())), max(most // each, 1) if most else 0
    if not most or total * attempts <= most:
        return dict(tests), attempts
    if total <= most:
        return dict(tests), most // total
    of_each = max(most // len(tests), 1)
    return {level: tasks[:of_each] for level, tasks in tests.items()}, 1


def spread(tasks: Sequence[Task], most: int) -> list[Task]:
    """At most `most` of the tasks, at even distances, at least one; all of them where `most` is 0."""
    kept = min(max(most, 1), len(tasks)) if most else len(tasks)
    return [tasks[place * len(tasks) // kept] for place in range(kept)]


def on_problems(tasks: Sequence[Task], attempts: int = 1, guesses: bool = True) -> Basis:
    """The basis of a share of held-out problems. With `guesses`, the references are the shares that are right of
    uniform guesses, where the replies are listed, and of always the same answer, where that is right more than once."""
    references = {}
    if guesses and tasks and all(task.choices for task in tasks):
        references["uniform guesses"] = float(np.mean([1.0 / len(task.choices) for task in tasks]))
    commonest = Counter(task.answer for task in tasks if task.answer).most_common(1)
    if guesses and commonest and commonest[0][1] > 1:
        references["always the same answer"] = commonest[0][1] / len(tasks)
    return Basis(count=len(tasks), of="held-out problems", attempts=attempts, references=references)
