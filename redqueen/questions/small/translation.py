"""Sentences of one toy language to be said in another, whose right translation is known and never shown.

Forty words, each with one of its own in the other language; a sentence is who, what, whom, with adjectives before the
nouns: "tibu kalo remi". Two rules make it more than a list of words: the verb goes to the end, and an adjective takes
the last letter of its noun. (For SSR-Zero, arXiv:2505.16637: a translator that scores itself, and sees the sources
alone. `scored:inner=translation` adds a judge that is right as often as its `skill` says.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from random import Random

from redqueen.types import SOLVER, Demonstration, RedQueenError, Task

NOUNS, VERBS, ADJECTIVES = 16, 12, 12
_SOURCE = tuple(map("".join, product(("ti", "ka", "re", "mo", "su"), ("bu", "lo", "mi", "na", "pe", "do", "gi", "va"))))
_STEMS = tuple(map("".join, product("fhjwz", "aeou", "xq")))
SOURCE_NOUNS, SOURCE_VERBS = _SOURCE[:NOUNS], _SOURCE[NOUNS : NOUNS + VERBS]
SOURCE_ADJECTIVES = _SOURCE[NOUNS + VERBS :]
TARGET_NOUNS = tuple(f"{stem}{'ao'[number % 2]}" for number, stem in enumerate(_STEMS[:NOUNS]))
TARGET_VERBS = tuple(f"{stem}ut" for stem in _STEMS[NOUNS : NOUNS + VERBS])
TARGET_ADJECTIVES = _STEMS[NOUNS + VERBS :]  # without their ending
ORDER, AGREEMENT, WORD = "order", "agreement", "word"  # what a wrong demonstration has wrong


@dataclass(frozen=True)
class Phrase:
    """A noun and the adjectives before it, by number."""

    noun: int
    adjectives: tuple[int, ...] = ()

    @property
    def source(self) -> list[str]:
        return [*(SOURCE_ADJECTIVES[each] for each in self.adjectives), SOURCE_NOUNS[self.noun]]

    def target(self, agreed: bool = True) -> list[str]:
        noun = TARGET_NOUNS[self.noun]
        ending = noun[-1] if agreed else {"a": "o", "o": "a"}[noun[-1]]
        return [*(TARGET_ADJECTIVES[each] + ending for each in self.adjectives), noun]


@dataclass(frozen=True)
class Translation:
    """See the module. A level is the number of words, 3 to 6. `skill` is how often a demonstration is right; else its
    verb stands where it stood, its adjectives have the other ending, or one word is another."""

    skill: float = 0.6
    name: str = field(default="translation", repr=False)

    def __post_init__(self) -> None:
        if not 0.0 <= self.skill <= 1.0:
            raise RedQueenError(f"skill is a share, 0 to 1, of right demonstrations, not {self.skill:g}")

    @property
    def levels(self) -> tuple[str, ...]:
        return ("3_words", "4_words", "5_words", "6_words")

    def task(self, who: Phrase, verb: int, whom: Phrase) -> Task:
        source = " ".join([*who.source, SOURCE_VERBS[verb], *whom.source])
        return Task(source, "translation", f"Translate: {source}", " ".join(translated(who, verb, whom)))

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        return [self.task(*self._sentence(level, rng)) for _ in range(count)]

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        return [task.answer.split() == each.split() for task, each in zip(tasks, answers, strict=True)]

    def remarks(self, tasks: Sequence[Task], replies: Sequence[str]) -> list[dict[str, float | None]]:
        """The share of the words that stand at their place, as a figure that no reward sees."""
        return [{"words_right": at_place(task, reply)} for task, reply in zip(tasks, replies, strict=True)]

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        return [self._demonstration(rng) for _ in range(count)]

    def _demonstration(self, rng: Random) -> Demonstration:
        who, verb, whom = self._sentence(rng.choice(self.levels), rng)
        task = self.task(who, verb, whom)
        if rng.random() < self.skill:
            return Demonstration(SOLVER, task, task.answer)
        faults = [ORDER, WORD, *([AGREEMENT] if who.adjectives or whom.adjectives else [])]
        return Demonstration(SOLVER, task, " ".join(mistaken(who, verb, whom, rng.choice(faults), rng)))

    def _sentence(self, level: str, rng: Random) -> tuple[Phrase, int, Phrase]:
        if level not in self.levels:
            raise RedQueenError(f"there is no level {level!r}: the levels are {', '.join(self.levels)}")
        more = self.levels.index(level)
        before = rng.randint(max(0, more - 2), min(2, more))
        phrases = [
            Phrase(rng.randrange(NOUNS), tuple(rng.sample(range(ADJECTIVES), each))) for each in (before, more - before)
        ]
        return phrases[0], rng.randrange(VERBS), phrases[1]


def translated(who: Phrase, verb: int, whom: Phrase) -> list[str]:
    """The right translation, word by word."""
    return [*who.target(), *whom.target(), TARGET_VERBS[verb]]


def mistaken(who: Phrase, verb: int, whom: Phrase, fault: str, rng: Random) -> list[str]:
    """A translation with this fault."""
    if fault == ORDER:
        return [*who.target(), TARGET_VERBS[verb], *whom.target()]
    if fault == AGREEMENT:
        return [*who.target(agreed=False), *whom.target(agreed=False), TARGET_VERBS[verb]]
    other = rng.choice([each for each in range(VERBS) if each != verb])
    return [*who.target(), *whom.target(), TARGET_VERBS[other]]


def at_place(task: Task, reply: str) -> float:
    """The share of the words that are those of the right translation, place by place, of the longer of both."""
    wanted, given = task.answer.split(), reply.split()
    return sum(one == other for one, other in zip(wanted, given, strict=False)) / max(len(wanted), len(given))
