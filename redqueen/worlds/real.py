"""The three text sites as REAL judges them (Garg et al. 2025, arXiv:2504.11543): by what changed, or by an answer, and
some tasks cannot be done.

    act          Order 2 cup.                     exactly that has changed
    answer       How many cup are left?           `say 5`, and nothing has changed
    impossible   Order 9 cup.    (5 are left)     `impossible`, and nothing has changed

What the agent claims counts for nothing in the first kind, and a change beside what was asked for undoes a task of any
kind: nobody can be moved to an hour that is booked, since who is there would lose it. `say` takes any of the words
shown; of free text the number or the words are compared. Differences: there eleven copies of real sites, 112 tasks,
hosted by the authors; here three sites of text on this machine, tasks from a seed. Answers that a judge reads by a
rubric are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random

from redqueen.chance import derive
from redqueen.checks.numeric import normalised, number
from redqueen.checks.state_diff import diff
from redqueen.games.talk import titled
from redqueen.protocols import State, Tool
from redqueen.types import Assessment, Observation, RedQueenError, Task
from redqueen.worlds.site import (
    DONE,
    FREE,
    GOODS,
    NAMES,
    SITES,
    SiteState,
    SiteVisit,
    distinct,
    shortest,
)

SAY, IMPOSSIBLE = "say ", "impossible"  # acts that end a visit, as `DONE` does
FORM = "End with done, with say and a word that answers, or with impossible where it cannot be done."
LONGEST = 200  # characters of an answer
KINDS = ("act", "answer", "act", "impossible")  # in turn: half of the tasks are acts


def shop_question(state: SiteState, rng: Random) -> tuple[str, str]:
    if rng.random() < 0.3:
        return "Which city is the account set to?", str(state["user"]["city"])
    good = rng.choice(list(state["stock"]))
    return f"How many {good} are left?", str(state["stock"][good])


def mail_question(state: SiteState, rng: Random) -> tuple[str, str]:
    name = rng.choice(list(state["letters"]))
    subject = str(state["letters"][name]["subject"])
    if rng.random() < 0.5:
        return f"What is the letter of {name} about?", subject
    return f"Who wrote about {subject}?", name


def agenda_question(state: SiteState, rng: Random) -> tuple[str, str]:
    day, hour = rng.choice([(day, hour) for day, found in state["days"].items() for hour in found])
    name = str(state["days"][day][hour])
    if rng.random() < 0.5:
        return f"Who is booked on {day} at {hour}?", name
    return f"At what hour is {name} booked on {day}?", hour


def shop_in_vain(state: SiteState, rng: Random) -> str:
    stock = state["stock"]
    good = rng.choice(list(stock))
    none = rng.choice([each for each in GOODS if each not in stock])
    city = rng.choice(("paris", "cairo", "berlin"))
    return rng.choice((f"Order {stock[good] + 1} {good}.", f"Order 1 {none}.", f"Set the city to {city}."))


def mail_in_vain(state: SiteState, rng: Random) -> str:
    name = rng.choice([each for each in NAMES if each not in state["letters"]])
    return rng.choice((f"Star the letter of {name}.", f"Move the letter of {name} to archive."))


def agenda_in_vain(state: SiteState, rng: Random) -> str:
    booked = [(day, hour, name) for day, found in state["days"].items() for hour, name in found.items()]
    day, _, name = rng.choice(booked)
    there, then, _ = rng.choice([each for each in booked if each[2] != name])
    nobody = rng.choice([each for each in NAMES if each not in {who for _, _, who in booked}])
    return rng.choice((f"Cancel {nobody} on {day}.", f"Move {name} to {there} {then}."))  # where somebody else is


QUESTIONS: Mapping[str, Callable[[SiteState, Random], tuple[str, str]]] = {
    "shop": shop_question,
    "mail": mail_question,
    "agenda": agenda_question,
}
IN_VAIN: Mapping[str, Callable[[SiteState, Random], str]] = {
    "shop": shop_in_vain,
    "mail": mail_in_vain,
    "agenda": agenda_in_vain,
}


@dataclass(frozen=True)
class Real:
    """Tasks on the three sites, or on one of them: `count` to train on and `tests` held out, half of them acts, a
    quarter questions, a quarter that cannot be done. The kind of a task is its site and one of these."""

    only: str = ""  # shop, mail or agenda
    count: int = 400
    tests: int = 108
    repeatable = True

    def __post_init__(self) -> None:
        if self.only and self.only not in SITES:
            raise RedQueenError(f"there is no site {self.only!r}: the sites are {', '.join(SITES)}")
        if self.count < 1 or self.tests < 1:
            raise RedQueenError(f"there is at least a task and a held-out one, not {self.count} and {self.tests}")

    @property
    def name(self) -> str:
        return titled("real", self)

    def tasks(self) -> Sequence[Task]:
        return self._dealt[self.tests :]

    def held_out(self) -> Sequence[Task]:
        return self._dealt[: self.tests]

    @cached_property
    def _dealt(self) -> tuple[Task, ...]:
        sites = [self.only] if self.only else list(SITES)

        def drawn(number: int) -> Task:
            site, kind = sites[number % len(sites)], KINDS[number // len(sites) % len(KINDS)]
            return _drawn(f"{site}{number + 1}", site, kind, Random(derive(number, "real", site)))

        return distinct(self.count + self.tests, drawn, "begins")

    def open(self, task: Task, seed: int) -> RealVisit:
        return RealVisit(task)

    def expert(self, task: Task) -> tuple[str, ...]:
        """The fewest acts that do the task, or that show the answer, and the act that ends it."""
        kind, site = task.facts["asks"], _site(task)
        if kind == "act":
            return (*shortest(site, site.done, task.prompt), DONE)
        if kind == "impossible":
            return (IMPOSSIBLE,)
        said = str(task.facts["says"])
        return (*shortest(site, lambda state: said in _words(site.page_of(state).text), task.prompt), SAY + said)


def _drawn(name: str, site: str, kind: str, rng: Random) -> Task:
    begins = SITES[site].begin(rng)
    becomes, says = begins, ""
    if kind == "act":
        prompt, becomes = SITES[site].goal(begins, rng)
    elif kind == "answer":
        prompt, says = QUESTIONS[site](begins, rng)
    else:
        prompt = IN_VAIN[site](begins, rng)
    hidden = json.dumps(becomes) if kind == "act" else f"answer: {says or IMPOSSIBLE}"
    facts = {"on": site, "asks": kind, "begins": begins, "becomes": becomes, "says": says, "hidden": (hidden,)}
    return Task(name, kind=f"{site}/{kind}", prompt=f"{prompt}\n{FORM}", facts=facts)


def _site(task: Task) -> SiteVisit:
    return SiteVisit(task.facts["on"], task.facts["begins"], task.facts["becomes"])


def _words(text: str) -> list[str]:
    """The words of a page, each once, without what it is called."""
    return list(dict.fromkeys(re.findall(r"\w+", text.partition(":")[2])))


class RealVisit:
    """One site with a state of its own, and what was said of it in the end."""

    tools: tuple[Tool, ...] = ()

    def __init__(self, task: Task) -> None:
        self._task, self._site, self._said = task, _site(task), ""

    def look(self) -> Observation:
        return self._seen(self._site.look())

    def act(self, said: str) -> Observation:
        if said in (DONE, IMPOSSIBLE) or said.startswith(SAY):
            self._said = said if len(said) <= LONGEST else f"{said[:LONGEST]}..."  # no answer is as long
            return Observation("The end.", over=True)
        return self._seen(self._site.act(said))

    def _seen(self, view: Observation) -> Observation:
        """A view of the site, and what else may be done."""
        words = [SAY + word for word in _words(self._site.page_of(self._site.state()).text)]
        return Observation(view.shown, (*view.choices, IMPOSSIBLE, *words))

    def state(self) -> State:
        return {**self._site.state(), "said": self._said}

    def assess(self, answer: str = "") -> Assessment:
        """Score 1 where exactly what was asked for has changed; of a question and of what cannot be done, where the
        right thing was said and nothing has changed. Parts: `reached`, `kept`."""
        facts = self._task.facts
        if facts["asks"] == "act":
            return self._site.assess()
        changed = diff(facts["begins"], self._site.state(), FREE).as_facts()
        says = self._said.removeprefix(SAY) if self._said.startswith(SAY) else ""
        right = same(says, str(facts["says"])) if facts["asks"] == "answer" else self._said == IMPOSSIBLE
        parts = {"reached": float(right), "kept": float(not changed)}
        return Assessment(float(right and not changed), parts, {"changes": changed})

    def close(self) -> None:
        return None


def same(said: str, known: str) -> bool:
    """Whether two answers are the same number, or the same words."""
    one, other = number(said, units=True), number(known)
    return one == other if other is not None else normalised(said) == normalised(known)
