"""Screens: they refuse a task that a store holds already, or that belongs to an evaluation.

A screen knows the tasks held, and returns why another may not be added.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from hashlib import blake2b
from math import ceil, floor
from typing import Protocol

import numpy as np

from redqueen.texts import Gram, Wording, grams, tokens
from redqueen.types import RedQueenError, Task

Embed = Callable[[list[str]], np.ndarray]
"""Returns [n, d] float, a vector for each of n texts, independent of the other texts."""
FEWEST = 4  # words in a text that is searched for inside others


class Screen(Protocol):
    @property
    def refusal(self) -> str:
        """The word under which its refusals are counted."""
        ...

    def prepare(self, tasks: Sequence[Task]) -> None:
        """Announces the `tasks` that `reason` will be called for, so that slow work is done in one batch."""
        ...

    def reason(self, task: Task) -> str:
        """Why the task may not be added, or the empty string."""
        ...

    def hold(self, tasks: Sequence[Task]) -> None: ...
    def release(self, tasks: Sequence[Task]) -> None: ...


class SameKey:
    """Refuses a task whose key is that of a task held."""

    refusal = "duplicate"

    def __init__(self, key: Callable[[Task], Hashable]) -> None:
        self.key = key
        self._holder: dict[Hashable, str] = {}  # key -> id
        self._keys: dict[str, Hashable] = {}  # id -> key: keys may be dear, and are made once
        self._asked: tuple[Task, Hashable] | None = None  # the last task asked about

    def prepare(self, tasks: Sequence[Task]) -> None:
        pass

    def reason(self, task: Task) -> str:
        key = self.key(task)
        self._asked = (task, key)
        holder = self._holder.get(key)
        return "" if holder is None else f"duplicate of {holder}"

    def hold(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            key = self._asked[1] if self._asked and self._asked[0] is task else self.key(task)
            self._keys[task.id] = key
            self._holder.setdefault(key, task.id)

    def release(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            key = self._keys.pop(task.id)
            if self._holder.get(key) == task.id:
                del self._holder[key]


class NearDuplicates:
    """Refuses a task whose n-grams of words nearly equal those of a held task of its kind: |A ∩ B| / |A ∪ B| >=
    `threshold` (Jaccard), A and B the sets of runs of `length` successive words of the prompts.

    Exact, without comparing all pairs. Sets of sizes a and b that similar share at least
    c = t (a + b) / (1 + t) runs, so B holds one of any a - c + 1 runs of A. Only tasks that hold one of A's
    a - c + 1 rarest runs are compared, which excludes the words of a common template.
    """

    refusal = "duplicate"

    def __init__(self, threshold: float = 0.8, length: int = 3, wording: Wording = Wording()) -> None:
        if not 0.0 < threshold <= 1.0 or length < 1:
            raise RedQueenError(
                f"near duplicates need a threshold above 0 and up to 1 and a length of at least 1, "
                f"not {threshold} and {length}"
            )
        self.threshold = threshold
        self.length = length
        self.wording = wording
        self._runs: dict[str, set[int]] = {}  # id -> numbers of its runs
        self._frequency: Counter[int] = Counter()  # run -> how many tasks hold it
        self._having: dict[tuple[int, int], list[str]] = {}  # (run, runs of the task) -> ids
        self._asked: tuple[Task, set[int]] | None = None  # the last task whose runs were numbered

    def prepare(self, tasks: Sequence[Task]) -> None:
        pass

    def reason(self, task: Task) -> str:
        found = self.nearest(task)
        return "" if found is None else f"near duplicate of {found[0]} ({found[1]:.2f})"

    def nearest(self, task: Task) -> tuple[str, float] | None:
        """The id and similarity of the most similar task held, of equals the first id in the alphabet; None if below
        the threshold."""
        mine = self._numbered(task)
        rarest = sorted(mine, key=self._frequency.__getitem__)
        found: dict[str, float] = {}
        for size in range(ceil(self.threshold * len(mine) - 1e-9), floor(len(mine) / self.threshold + 1e-9) + 1):
            shared = ceil(self.threshold * (len(mine) + size) / (1.0 + self.threshold) - 1e-9)
            for run in rarest[: len(mine) - shared + 1]:
                for other in self._having.get((run, size), ()):
                    if other not in found:
                        both = len(mine & self._runs[other])
                        found[other] = both / (len(mine) + size - both)
        best = min(found, key=lambda other: (-found[other], other), default=None)
        return None if best is None or found[best] < self.threshold else (best, found[best])

    def hold(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            mine = self._runs[task.id] = self._numbered(task)
            for run in mine:
                self._frequency[run] += 1
                self._having.setdefault((run, len(mine)), []).append(task.id)

    def release(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            mine = self._runs.pop(task.id)
            for run in mine:
                self._frequency[run] -= 1
                if not self._frequency[run]:
                    del self._frequency[run]
                holders = self._having[run, len(mine)]
                holders.remove(task.id)
                if not holders:
                    del self._having[run, len(mine)]

    def _numbered(self, task: Task) -> set[int]:
        """The runs of a task and its kind as 64-bit hashes, which take less memory than words."""
        if self._asked and self._asked[0] is task:
            return self._asked[1]
        runs = grams(tokens(self.wording(task.prompt)), self.length)
        texts = ("\0".join((task.kind, *run)).encode() for run in runs)
        self._asked = (task, {int.from_bytes(blake2b(text, digest_size=8).digest(), "big") for text in texts})
        return self._asked[1]


class SimilarMeaning:
    """Refuses a task whose prompt's vector has a cosine of at least `threshold` with that of a held task.

    Every task held is compared, in one product of [S, d] with [d]. After a checkpoint the vectors are made again:
    `embed` must give a text the same vector in every batch, or a resumed run may decide differently.
    """

    refusal = "duplicate"

    def __init__(self, embed: Embed, threshold: float = 0.9) -> None:
        if not -1.0 <= threshold <= 1.0:
            raise RedQueenError(f"a cosine lies between -1 and 1: the threshold cannot be {threshold}")
        self.embed = embed
        self.threshold = threshold
        self._ids: list[str] = []
        self._places: dict[str, int] = {}
        self._vectors = np.zeros((0, 0))  # [at least S, d], unit length
        self._ahead: dict[str, np.ndarray] = {}  # prompt -> [d], of the tasks prepared

    def prepare(self, tasks: Sequence[Task]) -> None:
        self._ahead = dict(zip([task.prompt for task in tasks], self._units(tasks), strict=True)) if tasks else {}

    def reason(self, task: Task) -> str:
        if not self._ids:
            return ""
        vector = self._ahead[task.prompt] if task.prompt in self._ahead else self._units([task])[0]
        cosines = self._vectors[: len(self._ids)] @ vector
        nearest = int(np.argmax(cosines))
        if cosines[nearest] < self.threshold:
            return ""
        return f"means the same as {self._ids[nearest]} ({cosines[nearest]:.2f})"

    def hold(self, tasks: Sequence[Task]) -> None:
        if any(task.prompt not in self._ahead for task in tasks):
            self.prepare(tasks)
        for task in tasks:
            vector = self._ahead[task.prompt]
            if len(self._ids) == len(self._vectors):
                grown = np.zeros((max(64, 2 * len(self._vectors)), len(vector)))
                grown[: len(self._ids)] = self._vectors.reshape(-1, len(vector))
                self._vectors = grown
            self._places[task.id] = len(self._ids)
            self._vectors[len(self._ids)] = vector
            self._ids.append(task.id)

    def release(self, tasks: Sequence[Task]) -> None:
        for task in tasks:  # the last one moves to the free place
            place, last = self._places.pop(task.id), self._ids.pop()
            if last != task.id:
                self._ids[place] = last
                self._places[last] = place
                self._vectors[place] = self._vectors[len(self._ids)]

    def _units(self, tasks: Sequence[Task]) -> np.ndarray:
        vectors = np.asarray(self.embed([task.prompt for task in tasks]), dtype=np.float64)
        if vectors.ndim != 2 or len(vectors) != len(tasks) or not np.isfinite(vectors).all():
            raise RedQueenError(f"embed must return finite vectors of shape [{len(tasks)}, d], not {vectors.shape}")
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.where(lengths > 0.0, lengths, 1.0))


class Overlap:
    """Refuses a prompt that equals that of an evaluation task (under `wording`), or holds at least the share
    `containment` of its runs of `length` words.

    An evaluation task shorter than that is one run, searched for inside longer prompts if it has `FEWEST` words or
    more, numbers and signs counted: "What is 12+7?" has five. A shorter one, such as "12+7" or "2", occurs in too many
    prompts, and is compared as a whole. With Wording(numbers=False) an evaluation task with other numbers
    is found too, which exact comparison misses.
    """

    refusal = "overlap"

    def __init__(
        self,
        evaluation: Sequence[Task],
        containment: float = 0.5,
        length: int = 8,
        wording: Wording = Wording(punctuation=False),
    ) -> None:
        if not 0.0 < containment <= 1.0 or length < 1:
            raise RedQueenError(
                f"overlap needs a containment above 0 and up to 1 and a length of at least 1, "
                f"not {containment} and {length}"
            )
        self.containment = containment
        self.length = length
        self.wording = wording
        self._ids = [task.id for task in evaluation]
        self._same: dict[str, int] = {}  # text -> place in the evaluation
        self._sizes: list[int] = []  # runs of each evaluation task
        self._having: dict[Gram, list[int]] = defaultdict(list)
        self._lengths = {length}  # of the runs by which evaluation tasks are known
        for place, task in enumerate(evaluation):
            text = wording(task.prompt)
            if not text:
                raise RedQueenError(f"the evaluation task {task.id!r} has no prompt to compare with")
            self._same.setdefault(text, place)
            words = tokens(text)
            mine = grams(words, length)
            if FEWEST <= len(words) < length:
                self._lengths.add(len(words))
            self._sizes.append(len(mine))
            for gram in mine:
                self._having[gram].append(place)

    def prepare(self, tasks: Sequence[Task]) -> None:
        pass

    def reason(self, task: Task) -> str:
        text = self.wording(task.prompt)
        if text in self._same:
            return f"is the evaluation task {self._ids[self._same[text]]}"
        words = tokens(text)
        mine = {gram for length in self._lengths for gram in grams(words, length)}
        shared = Counter(place for gram in mine for place in self._having.get(gram, ()))
        place = max(shared, key=lambda at: (shared[at] / self._sizes[at], -at), default=None)
        if place is None or shared[place] < self.containment * self._sizes[place]:
            return ""
        return f"overlaps the evaluation task {self._ids[place]} ({shared[place] / self._sizes[place]:.2f})"

    def hold(self, tasks: Sequence[Task]) -> None:
        pass

    def release(self, tasks: Sequence[Task]) -> None:
        pass
