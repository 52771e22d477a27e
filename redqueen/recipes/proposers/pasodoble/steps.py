"""Passages for PasoDoble's proposer, the rewards of both players, and the buffer between them (2511.11881)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from redqueen.credit.group_rewards import FromBelow, correct
from redqueen.credit.learnability import HardAboveFloor
from redqueen.credit.novelty import WindowNovelty
from redqueen.credit.outcomes import rate
from redqueen.curricula.draws import Distinct, Uniform
from redqueen.curricula.duplicates import SameKey
from redqueen.curricula.history import TaskHistory
from redqueen.curricula.sameness import by_text_and_answer
from redqueen.curricula.store import TaskStore
from redqueen.measures.proposals import Proposals
from redqueen.protocols import State
from redqueen.questions.catalogue import find_questions_with
from redqueen.questions.labels import held_to_label
from redqueen.questions.small.facts import Informed
from redqueen.questions.verdicts import share_right
from redqueen.types import Group, Metrics, Refusal, Task, Truncated, mean_of


def find_informed(spec: str) -> Informed:
    """The question set that `spec` names. Raises RedQueenError where it has no corpus."""
    return find_questions_with(spec, Informed)


class Corpus:
    """Passages shown to proposers, and figures of the problems that they write. The figures use the true answers of the
    question set, which no reward sees."""

    def __init__(self, questions: Informed) -> None:
        self._questions = questions
        self._health = Proposals(questions, questions.true_answer)

    def invited(self, count: int, rng: Random) -> list[Task]:
        """An invitation for each of up to `count` different passages, drawn at random."""
        passages = self._questions.passages()
        drawn = rng.sample(passages, min(count, len(passages)))
        return [self._questions.invite_after(passage, number) for number, passage in enumerate(drawn)]

    def check(self, written: Sequence[Task | Refusal], tries: Sequence[Group], learned: Sequence[Group]) -> Metrics:
        """Figures of the proposals `written` and the groups `learned` from: those of `Proposals`; `valid_share`, the
        share of proposals that are a problem with a true answer; `label_accuracy`, the share of true answers among the
        problems trained on. A figure is left out where there is nothing to count or no answer is known."""
        right = [isinstance(each, Task) and self._true(each) for each in written]
        labels = [self._true(group.task) for group in learned]
        found = share_right("valid_share", right) | share_right("label_accuracy", labels)
        return found | self._health.check(written, tries)

    def _true(self, task: Task) -> bool | None:
        true = self._questions.true_answer(task)
        return None if true is None else true == task.answer

    def alarms(self) -> list[str]:
        return self._health.alarms()

    def state(self) -> State:
        return self._health.state()

    def restore(self, state: State) -> None:
        self._health.restore(state)


class Rewards:
    """Rewards of both roles. A problem is rewarded if its pass rate is above `floor` and its diversity, compared with
    the last `window` problems, is above `diverse`; `weight` multiplies the diversity. Without the `gate` every problem
    is rewarded, and trained on unless none or all of its attempts are right (a control)."""

    solver = correct

    def __init__(
        self,
        floor: float,
        diverse: float,
        weight: float,
        window: int,
        gate: bool = True,
        truncated: Truncated = "wrong",
    ) -> None:
        self._truncated = truncated
        self._shape = HardAboveFloor(floor=floor)
        self._diverse = diverse
        self._weight = weight
        self._novelty = WindowNovelty(window)
        self._gate = gate
        self._diversity: list[float] = []  # of the problems that were paid last

    def proposer(self, tries: Sequence[Group]) -> FromBelow:
        """Reward of each proposal, from the attempts `tries` at its problem; 0 for a proposal without a problem. The
        problems are added to the window afterwards, so that none is compared with itself."""
        texts = [group.task.prompt for group in tries]
        self._diversity = self._novelty(texts).tolist()
        self._novelty.observe(texts)
        rates = [rate(group).mean for group in tries]
        return FromBelow(tries, {"limits": list(map(self.limits, rates, self._diversity))})

    def graded(self, tries: Sequence[Group]) -> list[Group]:
        """The groups with a verdict on each attempt: right if it gives the proposer's answer."""
        return held_to_label(tries, self._truncated)

    def limits(self, rate: float, diversity: float) -> float:
        """Reward of a problem with pass rate `rate` and this `diversity`; NaN if the rate is NaN."""
        paid = not self._gate or (rate > self._shape.floor and diversity > self._diverse)
        return self._shape.top - rate + self._weight * diversity if paid else 0.0 * rate

    def kept(self, tries: Sequence[Group]) -> list[Group]:
        """The groups to train on: those with a pass rate above the floor and below 1. An unknown (NaN) rate is left
        out."""
        floor = self._shape.floor if self._gate else 0.0
        return [group for group in tries if floor < rate(group).mean < 1.0]

    def metrics(self) -> Metrics:
        """`diversity`: the mean over the problems of the last step."""
        return {"diversity": mean_of(self._diversity)} if self._diversity else {}

    def state(self) -> State:
        return self._novelty.state()

    def restore(self, state: State) -> None:
        self._novelty.restore(state)


class Buffer:
    """Buffer of problems that the solver trains on while the proposer is frozen. A problem leaves it once it is
    `exhausted`. Two problems are the same if question and answer are."""

    def __init__(self) -> None:
        screens = [SameKey(by_text_and_answer())]
        self._store = TaskStore(sampling=Distinct(Uniform()), screens=screens, name="buffer")

    def add(self, groups: Sequence[Group], origin: str, step: int) -> None:
        """Adds the tasks of `groups` that are not in the buffer yet. The first result of each is its pass rate now."""
        refused = self._store.add([group.task for group in groups], origin=origin, step=step)
        entered = [group for group, reason in zip(groups, refused, strict=True) if not reason]
        self._store.observe_groups(entered, lambda group: rate(group).mean)

    def draw(self, count: int, rng: Random) -> list[Task]:
        """Up to `count` different problems."""
        return self._store.draw(count, rng) if len(self._store) else []

    def observe(self, tries: Sequence[Group]) -> None:
        """Records the pass rate of each group and removes the problems that are exhausted."""
        self._store.observe_groups(tries, lambda group: rate(group).mean)
        self._store.prune(exhausted)

    def metrics(self) -> Metrics:
        return self._store.metrics()

    def state(self) -> State:
        return self._store.state()

    def restore(self, state: State) -> None:
        self._store.restore(state)


def exhausted(history: TaskHistory, patience: int = 3) -> bool:
    """Whether a problem has nothing left to teach: every attempt of the last round was right, or none of the last
    `patience` rounds had a higher pass rate than the best earlier one. The results of its `history` are pass rates: at
    entry, then one a round."""
    results = history.results
    if len(results) < 2:
        return False
    earlier, late = results[:-patience], results[-patience:]
    return results[-1] >= 1.0 or (bool(earlier) and max(late) <= max(earlier))
