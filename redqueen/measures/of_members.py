"""What several members know of held-out tasks: each by itself, and their vote."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from redqueen.checks.consensus import distances
from redqueen.checks.votes import Elect, Vote, collective
from redqueen.credit.outcomes import answers, verdicts, vote
from redqueen.curricula.held_out import held_out
from redqueen.measures.accuracy import ATTEMPTS, on_problems, shares_right, within_limit
from redqueen.measures.judges import auc
from redqueen.measures.narrowing import Narrowing
from redqueen.play.groups import attempts
from redqueen.protocols import Policy, Questions, State
from redqueen.questions.asking import SOLVE, graded
from redqueen.questions.labels import votes_right
from redqueen.questions.verdicts import Truncated, share_right
from redqueen.types import Basis, Group, Mean, Metrics, mean_of


class OfMembers:
    """The answers of all members to held-out tasks: `accuracy`, the mean over the members, and `accuracy/NAME` of each;
    `pass@k` and `majority`, means of each by itself; `collective`, the accuracy of the vote of all (a tie is not
    right), or what `elect` chooses; `room`, how much that is above the accuracy; and if `errors`, `errors_auc`. What
    nobody knows is left out, and its share is in `accuracy_unknown`. An alarm rings where pass@k falls while the
    attempts of each come to agree."""

    def __init__(
        self,
        questions: Questions,
        members: Sequence[Policy],
        problems: int,
        seed: int,
        truncated: Truncated,
        elect: Elect = lambda said: collective(said)[0],
        errors: bool = False,
    ) -> None:
        self.tests = held_out(questions, problems, seed=seed)
        self._tasks = [task for tasks in self.tests.values() for task in tasks]
        self._questions = questions
        self._members = members
        self._seed = seed
        self._truncated: Truncated = truncated
        self._elect, self._errors = elect, errors
        self._attempts = ATTEMPTS
        self._narrowing = Narrowing()  # of the members, each by itself

    def sample(self, attempts: int) -> None:
        """From now on each member attempts each task `attempts` times."""
        self._attempts = attempts

    def limit(self, replies: int) -> None:
        attempted, self._attempts = within_limit(self.tests, self._attempts, replies, len(self._members))
        self._tasks = [task for tasks in attempted.values() for task in tasks]

    def __call__(self) -> Metrics:
        tried = {
            each.name: graded(
                self._questions,
                attempts(SOLVE, self._tasks, each, self._attempts, Random(self._seed)),
                self._truncated,
            )
            for each in self._members
        }
        found: Metrics = {}
        alone: list[Vote] = []
        columns = list(zip(*tried.values(), strict=True))
        known = [not all(np.isnan(verdicts(group)).all() for group in column) for column in columns]
        for name, groups in tried.items():
            right = np.array([verdicts(group) for group in groups])
            own = [vote(group, truncated=self._truncated) for group in groups]
            alone += own
            found |= shares_right(right, f"/{name}")
            found |= share_right(f"majority/{name}", votes_right(self._questions, self._tasks, own, known))
        for figure in ("accuracy", "accuracy_unknown", f"pass@{self._attempts}", "majority"):
            if each_own := [found[f"{figure}/{name}"] for name in tried if f"{figure}/{name}" in found]:
                found[figure] = mean_of(each_own)
        found |= self._narrowing.observe(found, alone, self._attempts)
        said = [[answers(group.attempts, self._truncated) for group in column] for column in columns]
        votes = [self._elect(each) for each in said]
        found |= share_right("collective", votes_right(self._questions, self._tasks, votes, known))
        if "collective" in found and "accuracy" in found:
            found["room"] = Mean(found["collective"] - found["accuracy"], len(self._tasks))
        return found | (self._told_wrong(list(tried.values())) if self._errors else {})

    def _told_wrong(self, by_member: Sequence[Sequence[Group]]) -> Metrics:
        """`errors_auc`: how well the distance of an answer to all others at its task tells that it is wrong."""
        far, wrong = list[float](), list[bool]()
        for column in zip(*by_member, strict=True):
            said = [text for group in column for text in answers(group.attempts, self._truncated)]
            right = np.concatenate([verdicts(group) for group in column])
            known = [place for place, each in enumerate(right) if not np.isnan(each) and said[place].strip()]
            apart = distances([said[place].strip() for place in known])
            far += apart[~np.isnan(apart)].tolist()
            wrong += [bool(right[place] == 0.0) for place, each in zip(known, apart, strict=True) if not np.isnan(each)]
        area = auc(far, wrong)
        return {} if area is None else {"errors_auc": Mean(area, len(far))}

    def basis(self) -> dict[str, Basis]:
        stated = ("accuracy", f"pass@{self._attempts}", "majority")
        names = [*stated, "collective", "room", *(f"{name}/{each.name}" for name in stated for each in self._members)]
        return {name: on_problems(self._tasks, self._attempts, guesses=False) for name in names}

    def alarms(self) -> list[str]:
        return self._narrowing.alarms()

    def state(self) -> State:
        return self._narrowing.state()

    def restore(self, state: State) -> None:
        self._narrowing.restore(state)
