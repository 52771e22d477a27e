"""Critique: an expert recommends items and says why; a seeker who wants one of them says what is wrong with the rest.

Items are "i1", "i2", ..., what may be true of an item are aspects "a1", "a2", ...: a fixed table of low rank, without a
meaning. The expert knows `likes` aspects of the wanted item. In each of the `turns` it recommends an item and names
`shown` aspects of it, which may be untrue; the seeker says yes, no, or which of them it does not want. Both score 1 if
the wanted item is found, else 0, also where a seat breaks the rules, which ends the match.

Without `heard` the expert is not told what the seeker said. Without `remember` a seat is shown what was liked and
refused, in the order of the numbers, and nothing of the talk else; the expert may then recommend an item again.

After the self-supervised bot play of Li et al. (arXiv:2112.05197). `Seeker` is its rule-based seeker.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from random import Random

from redqueen.chance import derive, one_of, uniform
from redqueen.games.talk import ask, number_of, offence, titled, told
from redqueen.protocols import Play
from redqueen.types import Ask, Outcome, RedQueenError, Reply, Seat, Task

SEATS = EXPERT, SEEKER = Seat("expert"), Seat("seeker")
YES, NO = "yes", "no"
RANK, NOISE = 3, 0.7  # of the matrix behind the table, and what is added to its values
DENSITY = 0.45  # share of the aspects that are true of an item
MOST = 512  # tasks in the sample where there are more
HELD_OUT = 128


@dataclass(frozen=True)
class Critique:
    items: int = 24
    aspects: int = 8
    likes: int = 2
    shown: int = 2
    turns: int = 5
    heard: bool = True
    remember: bool = True
    retries: int = 0  # second chances after an illegal reply, before it ends the match
    roles: tuple[str, ...] = field(default=("expert", "seeker"), init=False)
    zero_sum: bool = field(default=False, init=False)
    perfect_information: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if not 2 <= self.items <= 1000 or self.turns < 1:
            raise RedQueenError(
                f"critique needs 2 to 1000 items and at least 1 turn, not {self.items} and {self.turns}"
            )
        if not 2 <= self.aspects <= 64 or not 0 <= self.shown < self.aspects or self.likes < 0:
            raise RedQueenError(
                f"critique needs 2 to 64 aspects, fewer of them shown, and likes of 0 or more, not {self.aspects}, "
                f"{self.shown} and {self.likes}"
            )
        if self.turns > self.items:
            raise RedQueenError(f"critique of {self.items} items is over in {self.items} turns, not {self.turns}")

    @property
    def heard_by(self) -> Mapping[str, tuple[str, ...]]:
        return {"expert": ("seeker",), "seeker": ("expert",) if self.heard else ()}

    @property
    def name(self) -> str:
        return titled("critique", self)

    @cached_property
    def true(self) -> tuple[frozenset[int], ...]:
        """The numbers of the aspects that are true of each item: those with the largest values in a row of a matrix of
        rank 3 with some noise, at least one and as many more as reach the threshold of all."""
        rng = Random(derive(0, "critique"))
        items, aspects = (
            [[rng.gauss(0.0, 1.0) for _ in range(RANK)] for _ in range(count)] for count in (self.items, self.aspects)
        )
        values = [
            [sum(x * y for x, y in zip(item, aspect, strict=True)) + rng.gauss(0.0, NOISE) for aspect in aspects]
            for item in items
        ]
        ranked = sorted((value for row in values for value in row), reverse=True)
        threshold = ranked[int(DENSITY * (len(ranked) - 1))]
        return tuple(
            frozenset(number for number, value in enumerate(row) if value >= min(threshold, max(row))) for row in values
        )

    @cached_property
    def popularity(self) -> tuple[int, ...]:
        """Of how many items each aspect is true."""
        return tuple(sum(aspect in own for own in self.true) for aspect in range(self.aspects))

    def tasks(self) -> list[Task]:
        """All pairs of a wanted item and what is liked of it, or a fixed sample of 512 where there are more."""
        return self._pairs()[:MOST]

    def held_out(self) -> list[Task]:
        """Up to 128 pairs that are not among the tasks; none where these are all."""
        return self._pairs()[MOST : MOST + HELD_OUT]

    def _pairs(self) -> list[Task]:
        pairs = [
            (item, liked)
            for item, own in enumerate(self.true)
            for liked in combinations(sorted(own), min(self.likes, len(own)))
        ]
        if len(pairs) > MOST:
            Random(derive(0, "critique")).shuffle(pairs)
        return [
            Task(
                f"{item_named(item)}-{'-'.join(map(aspect_named, liked))}",
                "wish",
                facts={"wanted": item, "liked": liked},
            )
            for item, liked in pairs
        ]

    def play(self, task: Task, rng: Random) -> Play:
        wanted, liked = task.facts["wanted"], task.facts["liked"]
        history: list[str] = []  # of each turn what was recommended, why, and what the seeker said
        recommended: list[int] = []
        refused: set[int] = set()
        found = False

        def facts() -> dict[str, object]:
            return {"history": tuple(history), "recommended": tuple(recommended), "found": found}

        def broken(seat: Seat, text: str) -> Outcome:
            return Outcome(dict.fromkeys(SEATS, 0.0), {**offence(seat, text), **facts()})

        def expert() -> str:
            known = f"The user likes {', '.join(map(aspect_named, liked)) or 'nothing yet'}."
            if not self.remember:
                return f"{known} It refused {_listed(refused if self.heard else ())}."
            said = history if self.heard else [line.partition(":")[0] for line in history]
            return f"{known} {_told(said)}"

        for _ in range(self.turns):
            left = [each for each in range(self.items) if not self.remember or each not in recommended]
            choices = tuple(map(item_named, left))
            item = yield from ask(EXPERT, told(f"{expert()} Which item?"), choices, self.retries)
            if item not in choices:
                return broken(EXPERT, item)
            named: list[str] = []
            for _ in range(self.shown):
                choices = tuple(aspect_named(each) for each in range(self.aspects) if aspect_named(each) not in named)
                because = f", with {', '.join(named)}" if named else ""
                whole = f"{expert()} You" if self.remember else "You"
                question = f"{whole} recommend {item}{because}. What is true of it?"
                aspect = yield from ask(EXPERT, told(question), choices, self.retries)
                if aspect not in choices:
                    return broken(EXPERT, aspect)
                named.append(aspect)
            line = f"{item} with {', '.join(named)}" if named else item
            own = f"You want {item_named(wanted)}: {_listed(self.true[wanted])}."
            so_far = _told(history) if self.remember else f"You refused {_listed(refused)}."
            choices = (YES, NO, *(f"not {each}" for each in named))
            question = f"{own} {so_far} The expert recommends {line}. What do you say?"
            answer = yield from ask(SEEKER, told(question), choices, self.retries)
            if answer not in choices:
                return broken(SEEKER, answer)
            recommended.append(number_of(item))
            history.append(f"{line}: {answer}")
            refused |= {number_of(answer.removeprefix("not "))} if answer not in (YES, NO) else set()
            found = number_of(item) == wanted
            if found:
                break
        return Outcome(dict.fromkeys(SEATS, float(found)), facts())


@dataclass(frozen=True)
class Seeker:
    """A seeker by rule: yes to the item that it wants, else the most popular aspect that was shown of another, is not
    of its own and was not refused before, or any of these (`at_random`); no where there is none."""

    game: Critique
    at_random: bool = False
    name: str = "seeker"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._said(ask), self.name) for ask in asks]

    def _said(self, ask: Ask) -> str:
        own, _, rest = ask.messages[0].text.partition(". ")
        so_far, _, offer = rest.rpartition("The expert recommends ")
        wanted, item = number_of(own.split()[2].rstrip(":")), number_of(re.split(r"[ .]", offer)[0])
        if item == wanted:
            return YES
        said = re.findall(r"not (a\d+)|refused ([^.]*)", so_far)
        before = {each for one, several in said for each in (one, *several.split(", ")) if each}
        wrong = [
            each
            for each in (choice.removeprefix("not ") for choice in ask.choices[2:])
            if number_of(each) not in self.game.true[wanted] and each not in before
        ]
        if not wrong:
            return NO
        if self.at_random:
            return f"not {one_of(wrong, uniform(ask.seed))}"
        return f"not {max(wrong, key=lambda each: self.game.popularity[number_of(each)])}"


def item_named(number: int) -> str:
    return f"i{number + 1}"


def aspect_named(number: int) -> str:
    return f"a{number + 1}"


def _listed(aspects: Iterable[int]) -> str:
    return ", ".join(map(aspect_named, sorted(aspects))) or "nothing"


def _told(lines: Sequence[str]) -> str:
    return f"So far: {'; '.join(lines)}." if lines else "This is the first turn."
