"""What PasoDoble's proposer reads, what both players are paid, and the buffer between them (2511.11881)."""

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
    """The passages that proposers read, and figures of what they write, for which an oracle is asked: no reward rests
    on them."""

    def __init__(self, questions: Informed) -> None:
        self._questions = questions
        self._health = Proposals(questions, questions.true_answer)

    def invited(self, count: int, rng: Random) -> list[Task]:
        """An invitation for each of up to `count` different passages, drawn at random."""
        passages = self._questions.passages()
        drawn = rng.sample(passages, min(count, len(passages)))
        return [self._questions.invite_after(passage, number) for number, passage in enumerate(drawn)]

    def check(self, written: Sequence[Task | Refusal], tries: Sequence[Group], learned: Sequence[Group]) -> Metrics:
        """The figures of `Proposals`; `valid_share`, the proposals that are a problem with its true answer, of all; and
        `label_accuracy`, the true answers among the problems that are learned from. No figure of nothing, and none of
        what nobody knows."""
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
    """What the roles earn. A problem is paid where its pass rate is above `floor` and its diversity, over the last
    `window` problems, above `diverse`; `weight` is that of diversity. Without the `gate` every problem is paid, and
    learned from unless no attempt or every attempt is right: for comparisons."""

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
        """What each proposal earns by the tries at its problem; nothing if it is none. The problems then count as seen,
        so that none is like itself."""
        texts = [group.task.prompt for group in tries]
        self._diversity = self._novelty(texts).tolist()
        self._novelty.observe(texts)
        rates = [rate(group).mean for group in tries]
        return FromBelow(tries, {"limits": list(map(self.limits, rates, self._diversity))})

    def graded(self, tries: Sequence[Group]) -> list[Group]:
        """The groups with a verdict on each attempt, by the proposer's answer."""
        return held_to_label(tries, self._truncated)

    def limits(self, rate: float, diversity: float) -> float:
        """What a problem pays by its pass rate and diversity; NaN where the rate is."""
        paid = not self._gate or (rate > self._shape.floor and diversity > self._diverse)
        return self._shape.top - rate + self._weight * diversity if paid else 0.0 * rate

    def kept(self, tries: Sequence[Group]) -> list[Group]:
        """The groups that are learned from: of a pass rate above the floor and below 1; an unknown one is neither."""
        floor = self._shape.floor if self._gate else 0.0
        return [group for group in tries if floor < rate(group).mean < 1.0]

    def metrics(self) -> Metrics:
        """`diversity`, the mean of the problems that were paid last."""
        return {"diversity": mean_of(self._diversity)} if self._diversity else {}

    def state(self) -> State:
        return self._novelty.state()

    def restore(self, state: State) -> None:
        self._novelty.restore(state)


class Buffer:
    """Problems that the solver learns from while the proposer stands still, until they are `exhausted`. Problems are
    told apart by question and answer."""

    def __init__(self) -> None:
        screens = [SameKey(by_text_and_answer())]
        self._store = TaskStore(sampling=Distinct(Uniform()), screens=screens, name="buffer")

    def add(self, groups: Sequence[Group], origin: str, step: int) -> None:
        """Adds the tasks of the groups that are not held yet, each with its pass rate at entry as its first result."""
        refused = self._store.add([group.task for group in groups], origin=origin, step=step)
        entered = [group for group, reason in zip(groups, refused, strict=True) if not reason]
        self._store.observe_groups(entered, lambda group: rate(group).mean)

    def draw(self, count: int, rng: Random) -> list[Task]:
        """Up to `count` different problems."""
        return self._store.draw(count, rng) if len(self._store) else []

    def observe(self, tries: Sequence[Group]) -> None:
        """Records the pass rate of each group, and removes what is exhausted by it."""
        self._store.observe_groups(tries, lambda group: rate(group).mean)
        self._store.prune(exhausted)

    def metrics(self) -> Metrics:
        return self._store.metrics()

    def state(self) -> State:
        return self._store.state()

    def restore(self, state: State) -> None:
        self._store.restore(state)


def exhausted(history: TaskHistory, patience: int = 3) -> bool:
    """Whether the last round was solved by every attempt, or none of the last `patience` rounds was better than the
    best before them. The results are pass rates: the one at entry, then one of each round."""
    results = history.results
    if len(results) < 2:
        return False
    earlier, late = results[:-patience], results[-patience:]
    return results[-1] >= 1.0 or (bool(earlier) and max(late) <= max(earlier))
