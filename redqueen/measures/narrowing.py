"""Whether a vote loses what the attempts knew: pass@k of held-out problems falls while the attempts come to agree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from redqueen.checks.votes import Vote
from redqueen.measures.alarms import Alarm, Alarms
from redqueen.protocols import FINITE, State, shaped
from redqueen.types import Metrics

NARROWED = Alarm(
    "narrowed",
    "lost",
    "pass@{attempts} of the held-out problems has fallen by {value:.2f} from its best, and {share:.0%} of the attempts "
    "give the majority's answer: the vote sharpens what it has and loses the rest",
    limit=0.1,
)
AGREED = 0.8  # share of the attempts that give the majority's answer; a vote that lost .2 of pass@8 stood at .85


class Narrowing:
    """Rings where pass@k stands below its best measurement by more than a tenth and more than eight attempts in ten
    give the majority's answer."""

    def __init__(self) -> None:
        self._best: dict[str, float] = {}  # pass@k at its highest, by its name
        self._alarms = Alarms([NARROWED], quiet=True)

    def observe(self, known: Metrics, votes: Sequence[Vote], attempts: int) -> Metrics:
        """The alarm after a measurement of these figures and votes, of `attempts` at each problem."""
        name = f"pass@{attempts}"
        if name not in known or not votes:
            return {}
        rate, share = float(known[name]), float(np.mean([each.share for each in votes]))
        self._best[name] = max(rate, self._best.get(name, 0.0))
        lost = self._best[name] - rate if share > AGREED else 0.0
        return self._alarms.observe({"lost": lost, "share": share, "attempts": attempts})

    def alarms(self) -> list[str]:
        return self._alarms.alarms()

    def state(self) -> State:
        return {"best": dict(self._best), "alarms": self._alarms.state()}

    def restore(self, state: State) -> None:
        shaped(state, {"best?": {...: FINITE}, "alarms?": dict}, "the held-out measure: ")
        self._best = dict(state.get("best", {}))
        if "alarms" in state:  # runs that are older have none
            self._alarms.restore(state["alarms"])
