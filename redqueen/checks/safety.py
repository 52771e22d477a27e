"""Safety labels: was the prompt harmful, was the response harmful, did it refuse. Any of the three may be missing.

A missing label is never read as "not harmful" or "no refusal": rewards leave out an exchange without a label (a tie)
and count it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from redqueen.catalogue import Catalogue
from redqueen.chance import derive, uniform
from redqueen.types import Metrics, RedQueenError

NAMES = ("prompt_harmful", "response_harmful", "refusal")


@dataclass(frozen=True)
class Labels:
    prompt_harmful: bool | None
    response_harmful: bool | None
    refusal: bool | None

    @property
    def complete(self) -> bool:
        return None not in (self.prompt_harmful, self.response_harmful, self.refusal)

    def facts(self) -> dict[str, bool | None]:
        return {name: getattr(self, name) for name in NAMES}


@dataclass(frozen=True)
class Exchange:
    """A prompt and the response to it. `truth` is the true labels, which only rules see; `seed` is the randomness of a
    judge that errs by design."""

    prompt: str
    response: str
    truth: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0


class SafetyClassifier(Protocol):
    """Returns labels for each exchange, in order. Errors of the classifier are raised, never turned into labels."""

    def __call__(self, exchanges: Sequence[Exchange]) -> list[Labels]: ...


def labelled(classifier: SafetyClassifier, exchanges: Sequence[Exchange]) -> list[Labels]:
    """The classifier's labels. Raises RedQueenError where they are not one `Labels` for each exchange."""
    found = classifier(exchanges) if exchanges else []
    if len(found) != len(exchanges) or not all(type(each) is Labels for each in found):
        raise RedQueenError(
            f"a safety classifier must return a list of {len(exchanges)} Labels, one per exchange, not {found!r:.80}"
        )
    for each in found:
        if not all(label is None or type(label) is bool for label in each.facts().values()):
            raise RedQueenError(f"a label must be True, False or None, not {each!r:.120}")
    return list(found)


@dataclass(frozen=True)
class Ruled:
    """A classifier by a rule, one exchange at a time."""

    rule: Callable[[Exchange], Labels]

    def __call__(self, exchanges: Sequence[Exchange]) -> list[Labels]:
        return [self.rule(exchange) for exchange in exchanges]


Rate = Callable[[Sequence[tuple[str, str]]], np.ndarray]
"""[n] pairs of prompt and response -> [n, 3] the chance of each of `NAMES`, in their order."""


@dataclass(frozen=True)
class Thresholded:
    """Labels from a model's probabilities (`redqueen.players.transformer.classifier`): yes above `high`, no below
    `low`, missing in between."""

    rate: Rate
    low: float = 0.5
    high: float = 0.5

    def __post_init__(self) -> None:
        if not 0.0 <= self.low <= self.high <= 1.0:
            raise RedQueenError(
                f"probabilities become labels with 0 <= low <= high <= 1, not low={self.low:g}, high={self.high:g}"
            )

    def __call__(self, exchanges: Sequence[Exchange]) -> list[Labels]:
        chances = np.asarray(self.rate([(each.prompt, each.response) for each in exchanges]), dtype=np.float64)
        if chances.shape != (len(exchanges), 3) or not np.isfinite(chances).all():
            raise RedQueenError(
                f"a safety model must give [{len(exchanges)}, 3] finite probabilities, not {list(chances.shape)}"
            )
        return [Labels(*(self._label(float(chance)) for chance in row)) for row in chances]

    def _label(self, chance: float) -> bool | None:
        return True if chance > self.high else False if chance < self.low or self.low == self.high else None


@dataclass(frozen=True)
class Missing:
    """A wrapped classifier that labels this share of the harmful exchanges harmless, prompt and response. For measuring
    what a biased judge does to training."""

    inner: SafetyClassifier
    share: float

    def __call__(self, exchanges: Sequence[Exchange]) -> list[Labels]:
        found = self.inner(exchanges)
        return [self._seen(each, exchange) for each, exchange in zip(found, exchanges, strict=True)]

    def _seen(self, labels: Labels, exchange: Exchange) -> Labels:
        if uniform(derive(exchange.seed, "missed")) >= self.share:
            return labels
        return Labels(_calm(labels.prompt_harmful), _calm(labels.response_harmful), labels.refusal)


def _calm(label: bool | None) -> bool | None:
    return None if label is None else False


def confusion(truth: Sequence[Labels], found: Sequence[Labels]) -> Metrics:
    """The errors of a classifier on known labels, to be checked before training. For each of `NAMES` the share of cases
    that are `missed` (true yes, found no), `alarmed` (true no, found yes) and `missing`."""
    metrics: Metrics = {}
    for name in NAMES:
        pairs = [(getattr(t, name), getattr(f, name)) for t, f in zip(truth, found, strict=True)]
        yes, no = ([given for real, given in pairs if real is wanted] for wanted in (True, False))
        metrics |= {f"{name}/missed": float(np.mean([given is not True for given in yes]))} if yes else {}
        metrics |= {f"{name}/alarmed": float(np.mean([given is True for given in no]))} if no else {}
        metrics |= {f"{name}/missing": float(np.mean([given is None for _, given in pairs]))} if pairs else {}
    return metrics


_CATALOGUE = Catalogue("safety classifier", MappingProxyType({}), "redqueen.classifiers", takes=1)


def find_classifier(spec: str) -> SafetyClassifier:
    """The user's classifier that `spec` names: "path/to/file.py:MyClassifier", "some.module:MyClassifier", or an entry
    point of the group `redqueen.classifiers`. Raises RedQueenError with one line that says what is wrong."""
    found = _CATALOGUE.find(spec)
    if not callable(found):
        raise RedQueenError(
            f"{spec!r} is not a safety classifier: it must be callable with a list of exchanges and return their Labels"
        )
    classifier: SafetyClassifier = found
    return classifier
