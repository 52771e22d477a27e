"""Diversity of proposals: within a batch, against recent ones, and against all earlier ones.

| system           | term                                                                              |
|------------------|-----------------------------------------------------------------------------------|
| R-Zero, Agent0   | `Repetition()`: subtract the share of the batch that is in a text's cluster       |
| PasoDoble        | `WindowNovelty()`: add 0.2 times the share of the last 100 that a text is unlike  |
| counts           | `CountNovelty()`: add 1 / sqrt(times seen), by any feature of a text              |

Every pure difficulty reward collapses to one kind of task (`make experiments NAME=learnability`), so a proposer needs
one of these or an entropy bonus. A text is None or blank if no proposal could be read.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from redqueen.protocols import AMOUNT, Row, State, shaped
from redqueen.types import RedQueenError, Refusal, Task, tuples

Text = str | None  # None or blank if no proposal could be read
LONGEST_GRAM = 4  # BLEU-4
FORGOTTEN = 1e-3  # a faded count below this is dropped


def readable(text: Text) -> TypeGuard[str]:
    return text is not None and bool(text.strip())


def words(text: str) -> list[str]:
    """The words of a text, split at white space, in lower case."""
    return text.lower().split()


def collapsed(text: str) -> str:
    """A text in lower case with single spaces: two proposals are the same if these are."""
    return " ".join(words(text))


def distinct_share(texts: Sequence[Text], feature: Callable[[str], Hashable] = collapsed) -> float:
    """The number of different features of the readable texts over the number of these; 1 if there are none."""
    features = [feature(text) for text in texts if readable(text)]
    return len(set(features)) / len(features) if features else 1.0


def entropy(texts: Sequence[Text], feature: Callable[[str], Hashable] = collapsed) -> float:
    """The entropy in nats of the feature over the readable texts: log K where K features are equally frequent."""
    counts = np.array(list(Counter(feature(text) for text in texts if readable(text)).values()), dtype=np.float64)
    shares = counts / counts.sum() if len(counts) else np.ones(1)
    return float(max(0.0, -(shares * np.log(shares)).sum()))


# --- repetition within a batch ---------------------------------------------------------------


@dataclass(frozen=True)
class Repetition:
    """weight * |cluster| / B for each of B texts, to be subtracted from their rewards (R-Zero, 2508.05004; Agent0).

    Clusters are of average linkage on 1 - BLEU, cut at `cut`. Each unreadable text is a cluster of its own and counts
    in B: the BLEU of two empty texts is 0 in the released code too. Time and memory grow with B^2, so that a larger
    batch than `largest` raises RedQueenError; texts of 60 words take 0.6 s for B = 512 and 4 s for B = 2048.
    """

    weight: float = 1.0  # lambda in the paper
    cut: float = 0.5
    largest: int = 2048

    def __post_init__(self) -> None:
        if not 0.0 < self.cut <= 1.0:
            raise RedQueenError(f"the cut of a clustering on 1 - BLEU must be above 0 and at most 1, not {self.cut:g}")

    def __call__(self, texts: Sequence[Text]) -> np.ndarray:
        if len(texts) > self.largest:
            raise RedQueenError(
                f"{len(texts)} texts are too many to compare in pairs: give them in parts of at most {self.largest}"
            )
        numbers = self.clusters(texts)
        return self.weight * np.bincount(numbers)[numbers] / max(len(texts), 1) if len(numbers) else np.zeros(0)

    def of_tasks(self, written: Sequence[Task | Refusal]) -> np.ndarray:
        """The same for the tasks among the proposals that were `written`; refused ones count in B."""
        texts = [each.prompt if isinstance(each, Task) else None for each in written]
        return self(texts)[[text is not None for text in texts]]

    def clusters(self, texts: Sequence[Text]) -> np.ndarray:
        """[B] int, equal numbers for texts of one cluster, counted from zero in the order they appear."""
        found = np.arange(len(texts), 2 * len(texts))
        read = [readable(text) for text in texts]
        found[read] = average_linkage(1.0 - bleu([words(text) for text in texts if readable(text)]), self.cut)
        return _numbered(found)


def bleu(texts: Sequence[Sequence[Hashable]]) -> np.ndarray:
    """[B, B] similarities, 0 to 1, of texts of at least one word: sentence BLEU, the mean of both directions.

    Up to 4-grams, or fewer if a text is shorter, equally weighted; an order without a match counts as 0.1 matches
    (method 1 of Chen and Cherry, 2014), and texts without a common word have 0. Published code fills the missing
    orders of short texts too, so that there a text of two words is unlike itself.
    """
    lengths = np.array([len(text) for text in texts], dtype=np.float64)
    shorter = np.minimum.outer(lengths, lengths)
    logs, orders = np.zeros(shorter.shape), np.zeros(shorter.shape)
    alike = np.ones(shorter.shape, dtype=bool)
    for order in range(1, LONGEST_GRAM + 1):
        exists = shorter >= order
        matches = _matches(texts, order)
        if order == 1:
            alike = matches > 0
        grams = np.maximum(lengths - order + 1.0, 1.0)[:, None]  # [B, 1], rows are the rated texts
        logs += np.where(exists, np.log(np.maximum(matches, 0.1) / grams), 0.0)
        orders += exists
    brevity = np.minimum(0.0, 1.0 - lengths[None, :] / lengths[:, None])
    directed = np.where(alike, np.exp(brevity + logs / np.maximum(orders, 1.0)), 0.0)
    return np.asarray((directed + directed.T) / 2.0)


def _matches(texts: Sequence[Sequence[Hashable]], order: int) -> np.ndarray:
    """[B, B] the number of n-grams of this order that two texts share, counted with multiplicity."""
    holders: dict[Hashable, list[tuple[int, int]]] = defaultdict(list)  # n-gram -> (text, how often)
    for number, text in enumerate(texts):
        grams = Counter(tuple(text[at : at + order]) for at in range(len(text) - order + 1))
        for gram, count in grams.items():
            holders[gram].append((number, count))
    shared = np.zeros((len(texts), len(texts)))
    for held in holders.values():
        numbers, counts = np.array(held).T
        shared[np.ix_(numbers, numbers)] += np.minimum.outer(counts, counts)
    return shared


def average_linkage(distances: np.ndarray, cut: float) -> np.ndarray:
    """[B] int, the cluster of each item by average linkage on symmetric `distances` [B, B]: the two closest clusters
    are merged as long as their average distance is below `cut`. Each merge takes time of order B^2."""
    between = np.array(distances, dtype=np.float64)
    np.fill_diagonal(between, np.inf)
    sizes = np.ones(len(between))
    clusters = np.arange(len(between))
    while len(between):
        one, other = np.unravel_index(int(between.argmin()), between.shape)
        if not between[one, other] < cut:
            break
        joined = (sizes[one] * between[one] + sizes[other] * between[other]) / (sizes[one] + sizes[other])
        between[one], between[:, one] = joined, joined
        between[one, one] = np.inf
        between[other], between[:, other] = np.inf, np.inf
        sizes[one] += sizes[other]
        clusters[clusters == other] = one
    return clusters


def _numbered(names: np.ndarray) -> np.ndarray:
    numbers: dict[int, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names.tolist()], dtype=np.int64)


# --- novelty against what came before --------------------------------------------------------


class WindowNovelty:
    """The share of the last `window` proposals that a text is unlike (PasoDoble, 2511.11881); 1 if there are none yet.

    Two texts are alike if the Jaccard index of their words is above `alike`. A call only reads: texts of one
    batch are compared with the window, not with one another. `observe` then adds them to the window. An unreadable
    text has novelty 0 and is not added.
    """

    def __init__(self, window: int = 100, alike: float = 0.8, tokens: Callable[[str], Iterable[str]] = words) -> None:
        if window < 1:
            raise RedQueenError(f"a window holds at least 1 text, not {window}")
        self.alike, self.tokens = alike, tokens
        self._seen: deque[frozenset[str]] = deque(maxlen=window)

    def __call__(self, texts: Sequence[Text]) -> np.ndarray:
        """[B] in [0, 1]."""
        return np.array([self._unlike(frozenset(self.tokens(text))) if readable(text) else 0.0 for text in texts])

    def _unlike(self, own: frozenset[str]) -> float:
        if not self._seen:
            return 1.0
        return sum(jaccard(own, other) <= self.alike for other in self._seen) / len(self._seen)

    def observe(self, texts: Sequence[Text]) -> None:
        self._seen.extend(frozenset(self.tokens(text)) for text in texts if readable(text))

    def state(self) -> State:
        return {"seen": [sorted(tokens) for tokens in self._seen]}

    def restore(self, state: State) -> None:
        shaped(state, {"seen": [list]}, "the latest texts: ")
        self._seen = deque(map(frozenset, state["seen"]), maxlen=self._seen.maxlen)


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """The Jaccard index of two sets, size of intersection over size of union; 1 for two empty ones."""
    together = len(one | other)
    return len(one & other) / together if together else 1.0


class CountNovelty:
    """weight / sqrt(n) for each text, where n counts how often its feature was proposed, this batch included.

    Counts are multiplied by `decay` at every `observe`, so that what was not proposed for long is novel again, which
    keeps proposals diverse. With a decay of 1 counts only grow, and the bonus vanishes in time. A call only reads. An
    unreadable text has novelty 0.
    """

    def __init__(self, weight: float = 1.0, feature: Callable[[str], Hashable] = collapsed, decay: float = 0.9) -> None:
        if not 0.0 <= decay <= 1.0:
            raise RedQueenError(f"the decay of counts must lie between 0 and 1, not {decay:g}")
        self.weight, self.feature, self.decay = weight, feature, decay
        self._counts: dict[Hashable, float] = {}

    def __call__(self, texts: Sequence[Text]) -> np.ndarray:
        """[B], 0 to `weight`."""
        batch = self._count(texts)
        seen = {feature: self._counts.get(feature, 0.0) + count for feature, count in batch.items()}
        return np.array([self.weight / seen[self.feature(text)] ** 0.5 if readable(text) else 0.0 for text in texts])

    def observe(self, texts: Sequence[Text]) -> None:
        counts = self._count(texts)
        faded = {feature: self.decay * count for feature, count in self._counts.items()}
        sums = {feature: faded.get(feature, 0.0) + counts[feature] for feature in faded | counts}
        self._counts = {feature: count for feature, count in sums.items() if count >= FORGOTTEN}

    def _count(self, texts: Sequence[Text]) -> Counter[Hashable]:
        return Counter(self.feature(text) for text in texts if readable(text))

    def state(self) -> State:
        """The counts as lists, numbers and strings: exact through JSON."""
        return {"counts": [[feature, count] for feature, count in self._counts.items()]}

    def restore(self, state: State) -> None:
        shaped(state, {"counts": [Row(object, AMOUNT)]}, "the counts: ")
        self._counts = {tuples(feature): count for feature, count in state["counts"]}
