"""What the judge of Multi-Agent Evolve is asked in a step, and what it says (2510.23595)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from redqueen.credit.outcomes import numbers, verdicts
from redqueen.measures.judges import Agreement
from redqueen.play.groups import episodes_of, with_facts
from redqueen.protocols import State
from redqueen.questions.asking import JUDGE, judged_answers, opinions, readable, with_opinions
from redqueen.questions.judging import about_question
from redqueen.types import Episode, Group, Metrics, Task


class Judging:
    """The judgements of a step, and how far those of late agree with the verdicts of the question set."""

    game = JUDGE
    reward = staticmethod(readable)  # 1 for a score that can be read, else 0

    def __init__(self) -> None:
        self._agreement = Agreement()
        self._of_answers: list[Episode] = []  # the judgements of this step

    def asked(self, tries: Sequence[Group], answers: Sequence[Group]) -> list[Task]:
        """Each question that was tried, then each attempt at it, then each answer to a stored one."""
        return [about_question(group.task) for group in tries] + judged_answers([*tries, *answers])

    def heard(
        self, tries: Sequence[Group], answers: Sequence[Group], judgements: Sequence[Group]
    ) -> tuple[list[Group], list[Group]]:
        """The groups with what the judge thinks of each attempt, the fact `opinion`; tries also with what it thinks of
        their question, the fact `quality`. Verdicts are for audits: no reward looks at them."""
        count, of_answers = len(tries), judgements[len(tries) :]
        told = with_opinions([*tries, *answers], of_answers)
        quality = zip(opinions(judgements[:count]).tolist(), tries, strict=True)
        facts = [{"quality": each} for each, group in quality for _ in group.attempts]
        for group in told[count:]:
            self._agreement.observe(numbers(group, "opinion").tolist(), verdicts(group).tolist())
        self._of_answers = episodes_of(of_answers)
        return with_facts(told[:count], facts), told[count:]

    def drawn(self, count: int, rng: Random) -> list[Episode]:
        """Up to `count` of this step's judgements of answers, to learn from."""
        return rng.sample(self._of_answers, min(len(self._of_answers), count))

    def metrics(self) -> Metrics:
        return self._agreement.metrics()

    def alarms(self) -> list[str]:
        return self._agreement.alarms()

    def state(self) -> State:
        return self._agreement.state()

    def restore(self, state: State) -> None:
        self._agreement.restore(state)
