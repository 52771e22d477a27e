"""Three small text sites: a shop, a mail box and an agenda.

A task is done where the state has changed as it asks for and nowhere else; which page is open does not count.

    Put 2 cup into the order.
    shop, home: cup 5 left, pen 2 left                      open cup | open pen | cart | account

Every task can be done: `expert` finds the shortest acts by looking at all states that are near.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any

from redqueen.chance import derive
from redqueen.checks.state_diff import Goal, diff
from redqueen.games.talk import titled
from redqueen.protocols import State, Tool
from redqueen.types import Assessment, Observation, RedQueenError, Task

FREE = ("ui", "ui.*")  # where in a site somebody is looking
DONE = "done"  # the act that ends a visit
MOST_ACTS = 8  # of a task, before it
MOST_STATES = 20_000  # looked at for an expert's acts

SiteState = dict[str, Any]
Do = Callable[[SiteState], None]
GOODS = ("cup", "pen", "lamp", "book", "rope", "hat", "bell", "fork")
CITIES = ("rome", "oslo", "lima")
NAMES = ("ada", "bob", "eve", "kim", "lee", "max", "sam", "zoe")
SUBJECTS = ("rent", "tea", "trip", "news", "bill", "song")
DAYS = ("mon", "tue", "wed")
HOURS = (9, 11, 14)


@dataclass(frozen=True)
class Page:
    """What is shown, and what each of the listed acts does to the state."""

    text: str
    acts: Mapping[str, Do]


def _put(*path: str, to: Any) -> Do:
    """Sets the value at a path of keys."""

    def do(state: SiteState) -> None:
        for key in path[:-1]:
            state = state[key]
        state[path[-1]] = to

    return do


def _goes(page: str) -> Do:
    return _put("ui", "page", to=page)


# --- the shop ---------------------------------------------------------------------------------


def shop(rng: Random) -> SiteState:
    goods = rng.sample(GOODS, 3)
    return {
        "ui": {"page": "home"},
        "stock": {good: rng.randint(2, 5) for good in goods},
        "cart": {},
        "orders": {},
        "user": {"city": rng.choice(CITIES)},
    }


def shop_page(state: SiteState) -> Page:
    page, stock = state["ui"]["page"], state["stock"]
    if page == "home":
        return Page(
            "home: " + ", ".join(f"{good} {left} left" for good, left in stock.items()),
            {**{f"open {good}": _goes(good) for good in stock}, "cart": _goes("cart"), "account": _goes("account")},
        )
    if page == "cart":
        held = state["cart"]
        return Page(
            "cart: " + (", ".join(f"{count} {good}" for good, count in held.items()) or "empty"),
            {
                **({"order": _order} if held else {}),
                **{f"drop {good}": _dropping(good) for good in held},
                "home": _goes("home"),
            },
        )
    if page == "account":
        return Page(
            f"account: city {state['user']['city']}",
            {**{f"city {city}": _put("user", "city", to=city) for city in CITIES}, "home": _goes("home")},
        )
    return Page(
        f"{page}: {stock[page]} left, {state['cart'].get(page, 0)} in the cart",
        {
            **({"add": _adding(page)} if stock[page] > state["cart"].get(page, 0) else {}),
            "cart": _goes("cart"),
            "home": _goes("home"),
        },
    )


def _adding(good: str) -> Do:
    def do(state: SiteState) -> None:
        state["cart"] = dict(sorted({**state["cart"], good: state["cart"].get(good, 0) + 1}.items()))

    return do


def _dropping(good: str) -> Do:
    def do(state: SiteState) -> None:
        del state["cart"][good]

    return do


def _order(state: SiteState) -> None:
    state["orders"][str(len(state["orders"]) + 1)] = state["cart"]
    for good, count in state["cart"].items():
        state["stock"][good] -= count
    state["cart"] = {}
    state["ui"]["page"] = "home"


def shop_goal(state: SiteState, rng: Random) -> tuple[str, SiteState]:
    wanted = deepcopy(state)
    kind = rng.choice(("city", "cart", "order", "order"))
    if kind == "city":
        city = rng.choice([each for each in CITIES if each != state["user"]["city"]])
        wanted["user"]["city"] = city
        return f"Set the city to {city}.", wanted
    goods = sorted(rng.sample(list(state["stock"]), rng.choice((1, 1, 2))))
    counts = {good: 1 if len(goods) > 1 else rng.randint(1, 2) for good in goods}
    said = " and ".join(f"{count} {good}" for good, count in counts.items())
    wanted["cart"] = counts
    if kind == "cart":
        return f"Put {said} into the cart.", wanted
    _order(wanted)
    return f"Order {said}.", wanted


# --- the mail box -----------------------------------------------------------------------------


def mail(rng: Random) -> SiteState:
    letters = zip(rng.sample(NAMES, 4), rng.sample(SUBJECTS, 4), strict=True)
    return {
        "ui": {"page": "inbox"},
        "letters": {name: {"subject": subject, "place": "inbox", "star": False} for name, subject in letters},
    }


def mail_page(state: SiteState) -> Page:
    page, letters = state["ui"]["page"], state["letters"]
    if page in letters:
        letter = letters[page]
        places = {f"to {place}": _filing(page, place) for place in ("archive", "trash") if place != letter["place"]}
        star = {"unstar" if letter["star"] else "star": _put("letters", page, "star", to=not letter["star"])}
        where = f"in {letter['place']}{', starred' if letter['star'] else ''}"
        return Page(f"letter of {page}: {letter['subject']}, {where}", {**star, **places, "inbox": _goes("inbox")})
    here = {name: letter for name, letter in letters.items() if letter["place"] == page}
    shown = ", ".join(f"{name}: {each['subject']}{'*' if each['star'] else ''}" for name, each in here.items())
    others = [place for place in ("inbox", "archive", "trash") if place != page]
    return Page(
        f"{page}: {shown or 'empty'}",
        {**{f"open {name}": _goes(name) for name in here}, **{place: _goes(place) for place in others}},
    )


def _filing(name: str, place: str) -> Do:
    def do(state: SiteState) -> None:
        state["letters"][name]["place"] = place
        state["ui"]["page"] = "inbox"

    return do


def mail_goal(state: SiteState, rng: Random) -> tuple[str, SiteState]:
    wanted = deepcopy(state)
    name, other = rng.sample(list(state["letters"]), 2)
    by_name = rng.random() < 0.5
    called = f"the letter of {name}" if by_name else f"the letter about {state['letters'][name]['subject']}"
    kind = rng.choice(("star", "archive", "trash", "both"))
    if kind in ("star", "both"):
        wanted["letters"][name]["star"] = True
    if kind in ("archive", "trash"):
        wanted["letters"][name]["place"] = kind
        return f"Move {called} to {kind}.", wanted
    if kind == "star":
        return f"Star {called}.", wanted
    wanted["letters"][other]["place"] = "trash"
    return f"Star {called} and move the letter of {other} to trash.", wanted


# --- the agenda -------------------------------------------------------------------------------


def agenda(rng: Random) -> SiteState:
    slots = [(day, hour) for day in DAYS for hour in HOURS]
    booked = dict(zip(rng.sample(slots, 3), rng.sample(NAMES, 3), strict=True))
    return {
        "ui": {"page": "week"},
        "days": {day: {str(hour): name for hour in HOURS if (name := booked.get((day, hour)))} for day in DAYS},
    }


def agenda_page(state: SiteState) -> Page:
    page, days, moved = state["ui"]["page"], state["days"], state["ui"].get("held", "")
    held = f"; held: {moved}" if moved else ""
    if page == "week":
        shown = ", ".join(f"{day} {len(found)}" for day, found in days.items())
        return Page(f"week: {shown}{held}", {f"open {day}": _goes(day) for day in DAYS})
    found = days[page]
    acts: dict[str, Do] = {}
    for hour in map(str, HOURS):
        if hour in found:
            acts[f"cancel {hour}"] = _cancelling(page, hour)
        elif moved:
            acts[f"book {hour}"] = _booking(page, hour)
    shown = ", ".join(f"{hour} {found.get(str(hour), 'free')}" for hour in HOURS)
    return Page(f"{page}: {shown}{held}", {**acts, "week": _goes("week")})


def _cancelling(day: str, hour: str) -> Do:
    def do(state: SiteState) -> None:
        state["ui"]["held"] = state["days"][day].pop(hour)

    return do


def _booking(day: str, hour: str) -> Do:
    def do(state: SiteState) -> None:
        name = state["ui"].pop("held")
        state["days"][day] = dict(sorted({**state["days"][day], hour: name}.items(), key=lambda each: int(each[0])))

    return do


def shop_words(before: SiteState, after: SiteState) -> list[str]:
    city = after["user"]["city"]
    said = [f"Set the city to {city}."] if city != before["user"]["city"] else []
    said += [f"Order {_counted(order)}." for order in after["orders"].values()]
    return said + ([f"Put {_counted(after['cart'])} into the cart."] if after["cart"] else [])


def _counted(goods: Mapping[str, int]) -> str:
    return " and ".join(f"{count} {good}" for good, count in goods.items())


def mail_words(before: SiteState, after: SiteState) -> list[str]:
    said = []
    for name, letter in after["letters"].items():
        known = before["letters"][name]
        if letter["star"] != known["star"]:
            said.append(f"{'Star' if letter['star'] else 'Unstar'} the letter of {name}.")
        if letter["place"] != known["place"]:
            said.append(f"Move the letter of {name} to {letter['place']}.")
    return said


def agenda_words(before: SiteState, after: SiteState) -> list[str]:
    def booked(state: SiteState) -> dict[str, tuple[str, str]]:
        return {name: (day, hour) for day, found in state["days"].items() for hour, name in found.items()}

    old, new = booked(before), booked(after)
    moved = [f"Move {name} to {' '.join(new[name])}." for name in old if new.get(name, old[name]) != old[name]]
    return moved + [f"Cancel {name} on {old[name][0]}." for name in old if name not in new]


def agenda_goal(state: SiteState, rng: Random) -> tuple[str, SiteState]:
    wanted = deepcopy(state)
    booked = [(day, hour) for day, found in state["days"].items() for hour in found]
    day, hour = rng.choice(booked)
    name = wanted["days"][day].pop(hour)
    if rng.random() < 0.4:
        return f"Cancel {name} on {day}.", wanted
    free = [(day, hour) for day in DAYS for hour in map(str, HOURS) if hour not in state["days"][day]]
    there, then = rng.choice(free)
    _put("ui", "held", to=name)(wanted)
    _booking(there, then)(wanted)
    return f"Move {name} to {there} {then}.", wanted


@dataclass(frozen=True)
class Rules:
    """How a site begins, what a page of it shows, what is asked for, and how a change is worded."""

    begin: Callable[[Random], SiteState]
    page: Callable[[SiteState], Page]
    goal: Callable[[SiteState, Random], tuple[str, SiteState]]
    words: Callable[[SiteState, SiteState], list[str]]


SITES: Mapping[str, Rules] = {
    "shop": Rules(shop, shop_page, shop_goal, shop_words),
    "mail": Rules(mail, mail_page, mail_goal, mail_words),
    "agenda": Rules(agenda, agenda_page, agenda_goal, agenda_words),
}


# --- the world --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Site:
    """Tasks on the three sites, or on one of them; acts are listed. `count` tasks to train on and `tests` held out, of
    which no state and wording is the same as of one to train on."""

    only: str = ""  # shop, mail or agenda
    count: int = 400
    tests: int = 100
    repeatable = True

    def __post_init__(self) -> None:
        if self.only and self.only not in SITES:
            raise RedQueenError(f"there is no site {self.only!r}: the sites are {', '.join(SITES)}")
        if self.count < 1 or self.tests < 1:
            raise RedQueenError(f"a site needs at least a task and a held-out one, not {self.count} and {self.tests}")

    @property
    def name(self) -> str:
        return titled("site", self)

    def tasks(self) -> Sequence[Task]:
        return self._dealt[self.tests :]

    def held_out(self) -> Sequence[Task]:
        return self._dealt[: self.tests]

    @cached_property
    def _dealt(self) -> tuple[Task, ...]:
        kinds = [self.only] if self.only else list(SITES)

        def drawn(number: int) -> Task:
            kind = kinds[number % len(kinds)]
            rng = Random(derive(number, "site", kind))
            before = SITES[kind].begin(rng)
            prompt, after = SITES[kind].goal(before, rng)
            return _task(f"{kind}{number + 1}", kind, prompt, before, after)

        return distinct(self.count + self.tests, drawn, "before")

    def with_goal(self, task: Task, after: State, prompt: str) -> Task:
        before = task.facts["before"]
        changes = json.dumps(diff(before, after, FREE).as_facts(), sort_keys=True)
        return _task(f"{task.id.partition(' ')[0]} {changes}", task.kind, prompt, before, deepcopy(dict(after)))

    def worded(self, task: Task, after: State) -> str:
        return " ".join(SITES[task.kind].words(task.facts["before"], dict(after)))

    def open(self, task: Task, seed: int) -> SiteVisit:
        return SiteVisit(task.facts["site"], task.facts["before"], task.facts["after"])

    def expert(self, task: Task) -> tuple[str, ...]:
        """The shortest acts that do the task, and `DONE`."""
        visit = self.open(task, 0)
        return (*shortest(visit, visit.done, f"{task.id}: {task.prompt}"), DONE)


def distinct(count: int, draw: Callable[[int], Task], state: str) -> tuple[Task, ...]:
    """The first `count` tasks that `draw` makes of the numbers from 0 on, no two of which begin in the same state (the
    fact of that name) with the same wording."""
    found = dict[str, Task]()
    number = 0
    while len(found) < count:
        task = draw(number)
        found.setdefault(repr((task.facts[state], task.prompt)), task)
        number += 1
    return tuple(found.values())


def shortest(visit: SiteVisit, done: Callable[[SiteState], bool], what: str) -> tuple[str, ...]:
    """The fewest acts after which a state is `done`. Raises RedQueenError where `MOST_ACTS` are not enough."""
    start = visit.state()
    ways, known = deque([(start, tuple[str, ...]())]), {repr(start)}
    while ways and len(known) < MOST_STATES:
        state, acts = ways.popleft()
        if done(state):
            return acts
        for act, do in visit.page_of(state).acts.items() if len(acts) < MOST_ACTS else ():
            after = deepcopy(state)
            do(after)
            if repr(after) not in known:
                known.add(repr(after))
                ways.append((after, (*acts, act)))
    raise RedQueenError(f"no {MOST_ACTS} acts do the task {what}")


def _task(name: str, kind: str, prompt: str, before: SiteState, after: SiteState) -> Task:
    facts = {"site": kind, "before": before, "after": after, "hidden": (json.dumps(after),)}
    return Task(name, kind=kind, prompt=prompt, facts=facts)


class SiteVisit:
    """One site with a state of its own."""

    tools: tuple[Tool, ...] = ()

    def __init__(self, site: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        self._site = site
        self._before = deepcopy(dict(before))
        self._now: SiteState = deepcopy(dict(before))
        self.goal = Goal(diff(before, after, FREE), FREE)

    def done(self, state: SiteState) -> bool:
        """Whether a state is what the task asks for."""
        return self.goal.assess(self._before, state).score == 1.0

    def page_of(self, state: SiteState) -> Page:
        return SITES[self._site].page(state)

    def look(self) -> Observation:
        return self._seen("")

    def act(self, said: str) -> Observation:
        if said == DONE:
            return Observation("The end.", over=True)
        do = self.page_of(self._now).acts.get(said)
        if do is None:
            return self._seen("There is no such thing here.\n")
        do(self._now)
        return self._seen("")

    def _seen(self, before: str) -> Observation:
        page = self.page_of(self._now)
        choices = (*page.acts, DONE)
        shown = f"{before}{self._site}, {page.text}\n{' | '.join(choices)}"
        return Observation(shown, choices)

    def state(self) -> SiteState:
        return deepcopy(self._now)

    def assess(self, answer: str = "") -> Assessment:
        return self.goal.assess(self._before, self._now)

    def close(self) -> None:
        return None
