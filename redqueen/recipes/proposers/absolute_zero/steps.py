"""The buffers of Absolute Zero, and what its two roles are paid (2505.03335)."""

from __future__ import annotations

from collections.abc import Sequence

from redqueen.credit.group_rewards import Correctness, FromBelow
from redqueen.credit.learnability import HardButSolved, Shape
from redqueen.credit.novelty import CountNovelty
from redqueen.credit.outcomes import rate, verdicts
from redqueen.curricula.draws import NewestFirst, Uniform
from redqueen.curricula.duplicates import SameKey
from redqueen.curricula.sameness import word_for_word
from redqueen.curricula.store import TaskStore
from redqueen.protocols import Proposable, State
from redqueen.questions.asking import seeded
from redqueen.types import Group, Task


def buffers(questions: Proposable, capacity: int) -> TaskStore:
    """A store of the seeds, from which the newest tasks of a kind are drawn first, and which holds no task twice."""
    newest, screens = NewestFirst(Uniform(), age=0), [SameKey(word_for_word)]
    return seeded(TaskStore(capacity, newest, screens=screens), questions)


class Rewards:
    """What the roles earn. A `shape` other than equation 4 and a share for `novelty` are for comparisons."""

    gates = ()
    solver = Correctness()

    def __init__(self, shape: Shape = HardButSolved(), novelty: float = 0.0) -> None:
        self._shape = shape
        self._novelty = CountNovelty(novelty) if novelty else None

    def proposer(self, tries: Sequence[Group]) -> FromBelow:
        """What each proposal earns by the tries at its task; -1 if it is no task. The tasks of a step are recorded
        after they are paid, so that novelty never compares one with itself. Novelty is paid where some tries are right
        and some wrong."""
        earned = {"difficulty": [self._shape(verdicts(group)) for group in tries]}
        if self._novelty:
            texts = [group.task.prompt for group in tries]
            paid = zip(self._novelty(texts).tolist(), map(rate, tries), strict=True)
            earned["novelty"] = [new if 0.0 < solved.mean < 1.0 else 0.0 for new, solved in paid]
            self._novelty.observe(texts)
        return FromBelow(tries, earned, refused=-1.0)

    def kept(self, tries: Sequence[Group]) -> list[Task]:
        """The tasks that go into the buffers: every one that is valid, whatever it pays."""
        return [group.task for group in tries]

    def state(self) -> State:
        return self._novelty.state() if self._novelty else {}

    def restore(self, state: State) -> None:
        if self._novelty:
            self._novelty.restore(state)
