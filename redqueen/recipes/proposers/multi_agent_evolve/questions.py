"""What the judge of Multi-Agent Evolve is asked in a step, and what it says (2510.23595)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from redqueen.credit.outcomes import cut_off, numbers, verdicts
from redqueen.measures.judges import Agreement
from redqueen.play.groups import episodes_of, with_facts
from redqueen.protocols import Questions, State
from redqueen.questions.asking import JUDGE, empty_lowest, graded, judged_answers, opinions, readable, with_opinions
from redqueen.questions.judging import about_question
from redqueen.types import Episode, Group, Metrics, Task, Truncated


class Judging:
    """The judgements of a step, and how far those of late agree with the verdicts of the question set. `truncated` says
    what an answer that was cut off is worth: wrong is the lowest opinion, whatever a judge says of it, and so is an
    answer that says nothing."""

    game = JUDGE
    reward = staticmethod(readable)  # 1 for a score that can be read, else 0

    def __init__(self, questions: Questions, truncated: Truncated = "wrong") -> None:
        self._questions = questions
        self._truncated = truncated
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
        own = graded(self._questions, [*tries, *answers], self._truncated)
        told = with_opinions(own, of_answers)
        quality = zip(opinions(judgements[:count]).tolist(), tries, strict=True)
        facts = [{"quality": each} for each, group in quality for _ in group.attempts]
        for group in told[count:]:
            self._agreement.observe(numbers(group, "opinion").tolist(), verdicts(group).tolist())
        self._of_answers = episodes_of(of_answers)
        told = self._as_truncated(empty_lowest(told))
        return with_facts(told[:count], facts), told[count:]

    def _as_truncated(self, groups: Sequence[Group]) -> list[Group]:
        """The groups, with the opinion that an answer gets where it was cut off."""
        if self._truncated == "graded":
            return list(groups)
        worth = 0.0 if self._truncated == "wrong" else None
        told = [worth if cut_off(each) else each.outcome.facts["opinion"] for each in episodes_of(groups)]
        return with_facts(groups, [{"opinion": opinion} for opinion in told])

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
