"""Hidden state: a therapist asks a patient about symptoms, and names the condition behind them.

Symptoms are "s1", "s2", ..., conditions "c1", "c2", ...: tokens without a meaning, of which nothing about people
follows. A condition is `marks` of the `symptoms`; a patient has one of them and one further symptom of its own. The
therapist asks about `first` symptoms, the patient answers yes or no, and the therapist names a condition. All score 1
if it is the patient's, else 0, also where a seat breaks the rules, which ends the match.

With a gate the talk goes on in between. The decoder says which condition the therapist believes in, and what it has of
each symptom is compared with what the patient's condition has (`unlike`). Where they differ in one the therapist asks
once more, at most `extra` times:

    gate=on         it is told a symptom in which they differ, though not how
    gate=released   it is told nothing, so that the gate makes the talk longer and no more
    gate=off        there is no gate

With `tries` above 1 the patient rates each condition that is named, from 0 to 10, and the therapist names another until
one has at least 9 or the tries are used up; the first with the highest rating is the one that counts. Without
`remember` a seat is shown what the patient has said of its symptoms, in their order, and nothing of the talk else.

The mechanism of MentalArena (arXiv:2410.06845) on abstract tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import comb
from random import Random

from redqueen.chance import derive
from redqueen.games.talk import ask, number_of, offence, titled, told
from redqueen.protocols import Play
from redqueen.types import Outcome, RedQueenError, Seat, Task

SEATS = THERAPIST, PATIENT, DECODER = Seat("therapist"), Seat("patient"), Seat("decoder")
GATES = ON, RELEASED, OFF = "on", "released", "off"
YES, NO = "yes", "no"
ALIKE = 0.9  # below this similarity a component is off
ENOUGH, BEST = 9, 10  # the rating with which no further condition is tried, and the highest


@dataclass(frozen=True)
class HiddenState:
    symptoms: int = 8
    conditions: int = 6
    marks: int = 3  # symptoms of a condition
    first: int = 4  # questions before the gate
    extra: int = 5  # further ones at most
    gate: str = ON
    tries: int = 1  # conditions that are named at most
    remember: bool = True
    retries: int = 0  # second chances after an illegal reply, before it ends the match
    roles: tuple[str, ...] = field(default=("therapist", "patient", "decoder"), init=False)
    zero_sum: bool = field(default=False, init=False)
    perfect_information: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if self.gate not in GATES:
            raise RedQueenError(f"the gate of hidden_state is {', '.join(GATES)}, not {self.gate!r}")
        if not 1 <= self.marks < self.symptoms <= 16:
            raise RedQueenError(
                f"a condition has at least 1 symptom and fewer than the 2 to 16 there are, not {self.marks} of "
                f"{self.symptoms}"
            )
        if not 2 <= self.conditions <= comb(self.symptoms, self.marks):
            raise RedQueenError(
                f"there are 2 to {comb(self.symptoms, self.marks)} conditions of {self.marks} among {self.symptoms} "
                f"symptoms, not {self.conditions}"
            )
        if not 1 <= self.first <= self.symptoms or self.extra < 0:
            raise RedQueenError(
                f"the therapist asks about 1 to {self.symptoms} symptoms at first and 0 or more after, not "
                f"{self.first} and {self.extra}"
            )
        if not 1 <= self.tries <= self.conditions:
            raise RedQueenError(f"1 to {self.conditions} conditions can be tried, not {self.tries}")

    @property
    def heard_by(self) -> Mapping[str, tuple[str, ...]]:
        return {"therapist": ("patient", "decoder"), "patient": ("therapist", "decoder"), "decoder": ()}

    @property
    def name(self) -> str:
        return titled("hidden_state", self)

    @cached_property
    def marked(self) -> tuple[frozenset[int], ...]:
        """The numbers of the symptoms of each condition: a fixed choice, in which two have as few in common as can
        be."""
        sets = list(map(frozenset, combinations(range(self.symptoms), self.marks)))
        Random(derive(0, "hidden_state")).shuffle(sets)
        found: list[frozenset[int]] = []
        for common in range(self.marks):
            for each in sets:
                if len(found) < self.conditions and each not in found:
                    found += [each] if all(len(each & other) <= common for other in found) else []
        return tuple(found)

    def tasks(self) -> list[Task]:
        """A patient for each condition and each symptom that is not of it, equally likely."""
        pairs = [(c, s) for c, own in enumerate(self.marked) for s in range(self.symptoms) if s not in own]
        return [Task(f"c{c + 1}-s{s + 1}", "patient", facts={"condition": c, "trait": s}) for c, s in pairs]

    def play(self, task: Task, rng: Random) -> Play:
        condition, trait = task.facts["condition"], task.facts["trait"]
        said = Said(self.remember)
        hint = ""
        while len(said.known) < self.symptoms:
            if len(said.known) >= self.first:
                if self.gate == OFF or len(said.known) >= self.first + self.extra:
                    break
                question = f"{self.rules()} {said.told(DECODER)} Which condition do you believe it is?"
                belief = yield from ask(DECODER, told(question), self.names(), self.retries)
                if belief not in self.names():
                    return said.broken(DECODER, belief)
                said.believed(belief)
                off = unlike(self.similarities(number_of(belief), condition))
                if not off:
                    break
                if self.gate == ON:
                    hint = said.hinted([each for each in off if each not in said.known] or off)
            choices = tuple(f"s{number + 1}" for number in range(self.symptoms) if number not in said.known)
            question = f"{self.rules()} {said.told(THERAPIST)}{hint} Which symptom do you ask about?"
            asked = yield from ask(THERAPIST, told(question), choices, self.retries)
            if asked not in choices:
                return said.broken(THERAPIST, asked)
            question = f"{self.profile(condition, trait)}{said.told(PATIENT)} Have you {asked}?"
            answer = yield from ask(PATIENT, told(question), (YES, NO), self.retries)
            if answer not in (YES, NO):
                return said.broken(PATIENT, answer)
            said.answered(number_of(asked), answer)
        while len(said.named) < self.tries and max(said.ratings, default=0) < ENOUGH:
            choices = tuple(each for each in self.names() if each not in said.named)
            question = f"{self.rules()} {said.told(THERAPIST)} Which condition is it?"
            named = yield from ask(THERAPIST, told(question), choices, self.retries)
            if named not in choices:
                return said.broken(THERAPIST, named)
            rating = ""
            if self.tries > 1:
                fits = f"How well does {named} fit, from 0 to {BEST}?"
                question = f"{self.profile(condition, trait)}{said.told(PATIENT)} {fits}"
                scale = tuple(map(str, range(BEST + 1)))
                rating = yield from ask(PATIENT, told(question), scale, self.retries)
                if rating not in scale:
                    return said.broken(PATIENT, rating)
            said.tried(named, rating)
        right = float(number_of(said.diagnosis) == condition)
        return Outcome(dict.fromkeys(SEATS, right), said.facts(said.diagnosis))

    def names(self) -> tuple[str, ...]:
        """How the conditions are called."""
        return tuple(f"c{number + 1}" for number in range(self.conditions))

    def similarities(self, believed: int, true: int) -> list[float]:
        """Of each symptom 1 where two conditions both have it or both lack it, else 0."""
        own, other = self.marked[believed], self.marked[true]
        return [float((number in own) == (number in other)) for number in range(self.symptoms)]

    def fit(self, named: int, true: int) -> int:
        """What an honest patient of a condition rates another: 10 for its own, the less the fewer symptoms they
        share."""
        return round(BEST * len(self.marked[named] & self.marked[true]) / self.marks)

    def rules(self) -> str:
        """What the therapist and the decoder are told of the conditions."""
        each = "; ".join(f"c{number + 1}: {listed(own)}" for number, own in enumerate(self.marked))
        return f"A patient has one condition and one symptom more. {each}."

    def profile(self, condition: int, trait: int) -> str:
        """What the patient is told of itself."""
        return f"You are a patient with c{condition + 1}: {listed(self.marked[condition])}; you also have s{trait + 1}."


class Said:
    """What was said in a talk: aloud, and to one seat alone."""

    def __init__(self, remember: bool) -> None:
        self.known: dict[int, str] = {}  # what the patient said of each symptom, in the order of the questions
        self.beliefs: list[str] = []
        self.named: list[str] = []
        self.ratings: list[int] = []
        self._lines: list[tuple[tuple[Seat, ...], str]] = []  # each with the seats that know it
        self._remember = remember

    def answered(self, symptom: int, answer: str) -> None:
        self.known[symptom] = answer
        self._lines.append((SEATS, f"s{symptom + 1} {answer}"))

    def believed(self, condition: str) -> None:
        self.beliefs.append(condition)
        self._lines.append(((DECODER,), f"you believed {condition}"))

    def hinted(self, symptoms: Sequence[int]) -> str:
        """The hint to look at the first of the symptoms, as the next question shows it."""
        hint = f"look at s{symptoms[0] + 1}"
        self._lines.append(((THERAPIST,), hint))
        return "" if self._remember else f" L{hint[1:]}."

    def tried(self, condition: str, rating: str) -> None:
        self.named.append(condition)
        if rating:
            self.ratings.append(int(rating))
            self._lines.append(((THERAPIST, PATIENT), f"{condition} rated {rating}"))

    @property
    def diagnosis(self) -> str:
        """The condition that counts: the first of the highest rating, or the one that was named."""
        return self.named[self.ratings.index(max(self.ratings))] if self.ratings else self.named[-1]

    def told(self, seat: Seat) -> str:
        """What a seat is shown of the talk."""
        if self._remember:
            lines = [line for seats, line in self._lines if seat in seats]
        else:
            lines = [f"s{number + 1} {self.known[number]}" for number in sorted(self.known) if seat != PATIENT]
        if seat == PATIENT:
            return f" So far: {'; '.join(lines)}." if lines else ""
        return f"So far: {'; '.join(lines)}." if lines else "Nothing was asked yet."

    def broken(self, seat: Seat, text: str) -> Outcome:
        return Outcome(dict.fromkeys(SEATS, 0.0), {**offence(seat, text), **self.facts("")})

    def facts(self, diagnosis: str) -> dict[str, object]:
        return {
            "history": tuple(f"s{number + 1} {answer}" for number, answer in self.known.items()),
            "beliefs": tuple(self.beliefs),
            "named": tuple(self.named),
            "ratings": tuple(self.ratings),
            "diagnosis": diagnosis,
        }


def unlike(similarities: Sequence[float]) -> list[int]:
    """The numbers, from 0, of the components that are below `ALIKE`: the gate is shut where there is one."""
    return [number for number, each in enumerate(similarities) if each < ALIKE]


def listed(symptoms: frozenset[int]) -> str:
    return " ".join(f"s{number + 1}" for number in sorted(symptoms))
