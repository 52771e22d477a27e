"""How likely a character's replies to questions that are never asked have become without its profile."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from redqueen.credit.rewards import payoff, score
from redqueen.demonstrations.transfer import unaided
from redqueen.measures.recitations import reference_logprobs
from redqueen.play.groups import attempts
from redqueen.players.language.writing import Writer
from redqueen.protocols import State
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.self_training.ditto_roleplay.steps import (
    PLAY,
    Asked,
    with_profile,
    without_profile,
    worth_learning,
)
from redqueen.types import Basis, Metrics, mean_of


class Unasked:
    """`unasked_logprob`: the mean log-probability, in nats a token, that the learner gives without the profile to what
    it said at its start with the profile in view, on `held` questions; in `unasked_logprob/known` and
    `unasked_logprob/unknown` by whether the profile answers them. Only replies that would be learned count; nothing is
    measured where there are none."""

    def __init__(self, held: Sequence[Asked], learner: Writer, seed: int, truncated: Truncated) -> None:
        groups = attempts(PLAY, [with_profile(one) for one in held], learner, 1, Random(seed))
        said = zip(held, score(groups, payoff), strict=True)
        kept = [(one, each) for one, each in said if worth_learning(each.episode, truncated)]
        self._known = [one.known for one, _ in kept]
        self._replies = unaided([each for _, each in kept], [without_profile(one) for one, _ in kept], learner)
        self._learner = learner

    def __call__(self) -> Metrics:
        if not self._replies:
            return {}
        rated = [float(row.mean()) for (row,) in reference_logprobs(self._learner, self._replies)]
        parts = {"": rated}
        for name, known in (("/known", True), ("/unknown", False)):
            parts[name] = [each for each, own in zip(rated, self._known, strict=True) if own is known]
        return {f"unasked_logprob{name}": mean_of(values) for name, values in parts.items() if values}

    def basis(self) -> dict[str, Basis]:
        counts = {"": len(self._known), "/known": sum(self._known), "/unknown": len(self._known) - sum(self._known)}
        return {
            f"unasked_logprob{name}": Basis(exact=True, count=count, of="held-out replies")
            for name, count in counts.items()
            if count
        }

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None
