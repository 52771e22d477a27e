"""A judge who ranks the attempts of a group in one call: `--answers judge:WHO`."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from redqueen.measures.alarms import Alarm
from redqueen.protocols import State
from redqueen.questions.judge_oracles import Manner
from redqueen.questions.rankings import Ranker, ranked
from redqueen.questions.verdicts import Truncated
from redqueen.settings.oracles import Hearing, JudgeSettings, Seating, asked_judge, refuse
from redqueen.types import Group, Metrics

UNDECIDED = Alarm(
    "ranking", "surely", "{unread} of the last {seen} rankings of the judge put nobody before another{excuse}", 0.5
)


class Ranked:
    """The judge that ranks the attempts of each group in one call, named `judge:WHO`, and whose silence is heard.
    Raises RedQueenError for settings that have no effect, and once 64 rankings or more put nobody before another."""

    def __init__(self, spec: str, seat: Seating, settings: JudgeSettings, truncated: Truncated) -> None:
        refuse(settings, ("scale", "expected", "device"), f"--answers {spec}")
        judge = asked_judge(spec, spec.partition(":")[2], seat, settings)
        self._rank = Ranker(judge, Manner(settings.rubric_text(), settings.repeats))
        self._truncated = truncated
        silence = (
            f"the judge of --answers {spec} put no attempt before another in any of {{asked}} rankings: it is to end "
            "with the numbers of the answers, the best first, as in 2 > 1 > 3; name another judge"
        )
        self._hearing = Hearing("ranking/undecided", UNDECIDED, silence, 64, (judge,), judge.excuse)

    def __call__(self, groups: Sequence[Group], rng: Random) -> list[Group]:
        """The groups with the fact `wins` of each attempt (`questions.rankings.ranked`)."""
        found = ranked(self._rank, groups, self._truncated, rng)
        self._hearing.observe(self._rank.decides)
        return found

    def metrics(self) -> Metrics:
        """`ranking/undecided`, the share of the rankings since the last call that put nobody before another, once there
        was one; `alarm/ranking`; and the judge's calls."""
        return self._hearing.metrics()

    def alarms(self) -> list[str]:
        return self._hearing.alarms()

    def state(self) -> State:
        return self._hearing.state()

    def restore(self, state: State) -> None:
        self._hearing.restore(state)
