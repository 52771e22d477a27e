"""Stories of six words whose true quality is known: how many neighbours rhyme, and whether the hero comes twice.

"Six words about cat, from dog on:" asks for six words of the list, the first of them dog. "dog fog log cat hat cat" is
worth 4 neighbours that rhyme and 2 for the hero, 6 of 7, which is a score of 4 out of 5. No prompt says any of this. A
judge can give reasons, and they can be false: "A: 4 rhymes, hero 2. B: 1 rhymes, hero 1." A task's answer is one of the
best stories. (For the evaluator of EvolvR, arXiv:2508.06046, and for writers that it pays.)

    redqueen train self_j --pairs --given --scores --questions rhymes
    redqueen train spo --questions rhymes --oracle questions          # the true quality as judge
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from random import Random
from types import MappingProxyType

from redqueen.chance import derive
from redqueen.curricula.held_out import HELD_OUT, TRAIN
from redqueen.questions.dataset import Preference
from redqueen.questions.fenced import about_scores
from redqueen.types import SOLVER, Demonstration, RedQueenError, Task

RHYMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "at": ("cat", "hat", "rat", "bat", "mat"),
        "og": ("dog", "fog", "log", "hog", "bog"),
        "en": ("hen", "pen", "den", "men", "ten"),
        "ug": ("bug", "rug", "mug", "jug", "hug"),
    }
)
WORDS = tuple(word for words in RHYMES.values() for word in words)
LENGTH, HERO = 6, 2  # words of a story; what a hero who comes twice is worth
MOST = LENGTH - 1 + HERO


@dataclass(frozen=True)
class Rhymes:
    """See the module. Each of the 400 prompts has one pair of stories with true scores, drawn with `seed`; a fifth of
    the prompts is held out. `miscounts` is for demonstrations of judging: how often a reason counts wrongly."""

    enough: int = 5  # the quality from which a story is right
    miscounts: float = 0.4
    seed: int = 0
    name: str = field(default="rhymes", repr=False)

    def __post_init__(self) -> None:
        if not 1 <= self.enough < MOST:  # a first word that does not rhyme with the hero costs one
            raise RedQueenError(f"every prompt has stories worth 1 to {MOST - 1}, not enough={self.enough}")

    @property
    def levels(self) -> tuple[str, ...]:
        return (TRAIN, HELD_OUT)

    def task(self, hero: str, opening: str) -> Task:
        prompt = f"Six words about {hero}, from {opening} on:"
        one, *others = [word for word in _family(hero) if word not in (hero, opening)]
        best = [opening, hero, one, hero, *others] if opening != hero else [hero, one, hero, *others]
        facts = {"hero": hero, "opening": opening}
        return Task(f"{hero} from {opening}", "story", prompt, " ".join(best[:LENGTH]), facts)

    def quality(self, task: Task, story: str) -> int:
        """What a story is worth, 0 to 7; 0 for what is not six words of the list that begin as asked."""
        words = story.split()
        if len(words) != LENGTH or words[0] != task.facts["opening"] or not set(words) <= set(WORDS):
            return 0
        return _rhyming(words) + HERO * (words.count(task.facts["hero"]) >= 2)

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        """Whether a story is good enough."""
        return [self.quality(task, each) >= self.enough for task, each in zip(tasks, answers, strict=True)]

    def rewards(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[float]:
        """The true quality of each story, as a share of the highest."""
        return [self.quality(task, each) / MOST for task, each in zip(tasks, answers, strict=True)]

    def remarks(self, tasks: Sequence[Task], replies: Sequence[str]) -> list[dict[str, float | None]]:
        """The same, as a figure that no reward sees."""
        return [{"quality": each} for each in self.rewards(tasks, replies)]

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        """`count` prompts of a part, in random order; none twice before all were drawn."""
        part, found = self._part(level), list[Task]()
        while len(found) < count:
            found += rng.sample(part, min(len(part), count - len(found)))
        return found

    def preferences(self, level: str, count: int, rng: Random) -> list[Preference]:
        """Up to `count` different pairs of a part, each with its true scores, which differ."""
        part = self._part(level)
        return [self._pair(task) for task in rng.sample(part, min(count, len(part)))]

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        """Stories of all qualities, and one in three a reason with the scores that follow from it."""
        tasks = self.problems(TRAIN, count, rng)
        return [
            self._reason(task, rng) if number % 3 == 2 else Demonstration(SOLVER, task, self._story(task, rng))
            for number, task in enumerate(tasks)
        ]

    def _part(self, level: str) -> list[Task]:
        if level not in self.levels:
            raise RedQueenError(f"there is no level {level!r}: the levels are {', '.join(self.levels)}")
        every = [self.task(hero, opening) for hero in WORDS for opening in WORDS]
        return [task for task in every if (derive(0, "part", task.id) % 5 == 0) == (level == HELD_OUT)]

    def _pair(self, task: Task) -> Preference:
        rng = Random(derive(self.seed, "pair", task.id))
        while True:
            rated = [(scored(self.quality(task, each)), each) for each in (self._story(task, rng) for _ in range(2))]
            (low, worse), (high, better) = sorted(rated)
            if low < high:
                facts = {**task.facts, "scores": [high, low]}
                return Preference(replace(task, facts=facts), better, worse)

    def _story(self, task: Task, rng: Random) -> str:
        """A story by a writer who rhymes, and thinks of the hero, as often as chance says."""
        skill, words = rng.random(), [str(task.facts["opening"])]
        while len(words) < LENGTH:
            alike = [word for word in _family(words[-1]) if word != words[-1]]
            words.append(rng.choice(alike if rng.random() < skill else WORDS))
        if rng.random() < skill:
            for place in rng.sample(range(1, LENGTH), 2):
                words[place] = str(task.facts["hero"])
        return " ".join(words)

    def _reason(self, task: Task, rng: Random) -> Demonstration:
        first, second = self._story(task, rng), self._story(task, rng)
        counted = [self._counted(task, story, rng) for story in (first, second)]
        told = [f"{name}: {rhymes} rhymes, hero {times}." for name, (rhymes, times) in zip("AB", counted, strict=True)]
        scores = " ".join(str(scored(rhymes + HERO * (times >= 2))) for rhymes, times in counted)
        return Demonstration("judge", about_scores(task, first, second, rng, 1, 5), f"{' '.join(told)}\n{scores}")

    def _counted(self, task: Task, story: str, rng: Random) -> tuple[int, int]:
        words = story.split()
        rhymes, times = _rhyming(words), words.count(task.facts["hero"])
        if rng.random() < self.miscounts:
            others = [each for each in range(LENGTH) if each != rhymes]
            return rng.choice(others), times
        return rhymes, times


def scored(quality: int) -> int:
    """A quality of 0 to 7 as a score from 1 to 5."""
    return 1 + round(4 * quality / MOST)


def _family(word: str) -> tuple[str, ...]:
    return RHYMES[word[1:]]


def _rhyming(words: Sequence[str]) -> int:
    """How many neighbours rhyme; a word does not rhyme with itself."""
    return sum(one != other and one[1:] == other[1:] for one, other in pairwise(words))
