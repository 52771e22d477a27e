"""Pages of MiniWoB++ (Liu et al. 2018, arXiv:1802.08802) in Debian's Chromium, as they are in the package miniwob.

    Enter the username "leo" and the password "x7" into the text fields and press login.
    1 field ""                                                click 1 | type 1 leo | type 1 x7 | click 2
    2 field ""                                                type 2 leo | type 2 x7 | click 3
    3 button Login

Elements are numbered as they stand on the page. What is listed to be typed is what the task has in quotes. The score is
the page's raw reward, -1 for what is wrong, without its discount by the clock: a page's clock stands still while nobody
acts, and passes two seconds for each act (`worlds.chromium`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

from redqueen.games.talk import titled
from redqueen.protocols import Tool
from redqueen.types import Assessment, Observation, RedQueenError, Task
from redqueen.worlds.chromium import PASSES, Chromium, Loan, PageLost, Tab, why_no_pages

MOST_SHOWN, LONGEST = 40, 60  # elements of a page, and characters of each
LONGEST_TYPED = 200
MOST_ACTS = 12  # of an expert
SAID = re.compile(r"(click|type|choose) (\d{1,3})(?: (.*))?", re.DOTALL)
QUOTED = re.compile(r'"([^"]+)"')

Element = Mapping[str, Any]  # kind, name, value, options
Rule = Callable[[str, Sequence[Element], int], str]  # the next act, of what is asked, what is seen, and acts before


def _number(seen: Sequence[Element], name: str, kind: str = "", place: int = 0) -> int:
    """The number of the `place`-th element with this name and kind; "" is any. Raises RedQueenError without one."""
    found = [at for at, each in enumerate(seen, 1) if name in ("", each["name"]) and kind in ("", each["kind"])]
    if place >= len(found):
        raise RedQueenError(f"the page shows no {kind or 'element'} {name!r}")
    return found[place]


def _submit(seen: Sequence[Element]) -> str:
    return f"click {_number(seen, 'Submit', 'button')}"


def _named(asked: str, seen: Sequence[Element], acts: int) -> str:
    """Clicks what is in quotes; the "x" of a dialog is called Close."""
    name = QUOTED.findall(asked)[-1]
    return f"click {_number(seen, 'Close' if name == 'x' else name)}"


def _typed(asked: str, seen: Sequence[Element], acts: int) -> str:
    """Types what is in quotes into the fields, in order and the last one again, and presses the button."""
    words = QUOTED.findall(asked)
    for place, field in enumerate([each for each in seen if each["kind"] == "field"]):
        word = words[min(place, len(words) - 1)]
        if field["value"] != word:
            return f"type {_number(seen, '', 'field', place)} {word}"
    return f"click {_number(seen, '', 'button')}"


def _ticked(asked: str, seen: Sequence[Element], acts: int) -> str:
    """Ticks "Select a, b and click Submit.\""""
    listed = asked.removeprefix("Select ").rpartition(" and click")[0]
    wanted = [] if listed == "nothing" else listed.split(", ")
    for at, each in enumerate(seen, 1):
        if each["kind"] in ("box", "choice") and each["name"] in wanted and each["value"] == "off":
            return f"click {at}"
    return _submit(seen)


def _chosen(asked: str, seen: Sequence[Element], acts: int) -> str:
    wanted = asked.removeprefix("Select ").rpartition(" from the list")[0]
    at = _number(seen, "", "list")
    return _submit(seen) if seen[at - 1]["name"] == wanted else f"choose {at} {wanted}"


def _focused(asked: str, seen: Sequence[Element], acts: int) -> str:
    """Clicks "the 2nd input textbox\""""
    return f"click {_number(seen, '', 'field', int(re.findall(r'[0-9]+', asked)[0]) - 1)}"


def _tabbed(asked: str, seen: Sequence[Element], acts: int) -> str:
    """Clicks "Tab #2\""""
    return f"click {_number(seen, re.findall(r'Tab #[0-9]+', asked)[0])}"


def _found(opener: str) -> Rule:
    """Opens "Tab #1", "Tab #2", ... until what is in quotes is seen, and clicks it."""

    def rule(asked: str, seen: Sequence[Element], acts: int) -> str:
        wanted = QUOTED.findall(asked)[-1]
        here = any(each["name"] == wanted for each in seen)
        return f"click {_number(seen, wanted if here else f'{opener} #{acts + 1}')}"

    return rule


def _letter(asked: str, seen: Sequence[Element], acts: int) -> str:
    """The icon of the letter of somebody."""
    at = _number(seen, re.findall(r"email by (\w+)", asked)[0])
    return f"click {at + _number(seen[at:], 'trash' if 'delete' in asked else 'star')}"


def _entry(asked: str, seen: Sequence[Element], acts: int) -> str:
    """Turns the pages of a contact book until somebody is there, and clicks what is asked of them."""
    who, what = re.findall(r"Find (\w+) in .* their (\w+)", asked)[0]
    if all(each["name"] != who for each in seen):
        return f"click {_number(seen, '>')}"
    return f"click {_number(seen, f'{what.capitalize()}:') + 1}"


# the pages for which there is an expert, of which the shelf is made
EXPERTS: Mapping[str, Rule] = MappingProxyType(
    {
        "click-button": _named,
        "click-link": _named,
        "click-dialog-2": _named,
        "click-tab": _tabbed,
        "click-tab-2": _found("Tab"),
        "click-collapsible-2": _found("Section"),
        "click-checkboxes": _ticked,
        "click-option": _ticked,
        "choose-list": _chosen,
        "focus-text-2": _focused,
        "enter-text": _typed,
        "enter-password": _typed,
        "login-user": _typed,
        "email-inbox-delete": _letter,
        "email-inbox-important": _letter,
        "phone-book": _entry,
    }
)


def folder() -> Path:
    """Where the pages are. Raises RedQueenError where they, or Chromium, are not installed."""
    found = find_spec("miniwob")
    if found is None or found.origin is None:
        raise RedQueenError("the pages of MiniWoB++ need the extra `web`: pip install 'redqueen[web]'")
    if missing := why_no_pages():
        raise RedQueenError(missing)
    return Path(found.origin).parent / "html" / "miniwob"


@dataclass(frozen=True)
class Web:
    """One page of MiniWoB++, or all that have an expert. Of each the seeds 0, 1, ... are held out until there are
    `tests` tasks, and the next are trained on until there are `count`."""

    page: str = ""
    count: int = 400
    tests: int = 100
    repeatable = True

    def __post_init__(self) -> None:
        if self.count < 1 or self.tests < 1:
            raise RedQueenError(f"a world needs a task and a held-out one, not {self.count} and {self.tests}")
        known = sorted(each.stem for each in folder().glob("*.html"))
        if missing := set(self._pages) - set(known):
            raise RedQueenError(f"MiniWoB++ has no page {min(missing)!r}; its pages are {', '.join(known)}")

    @property
    def name(self) -> str:
        return titled("web", self)

    @property
    def _pages(self) -> tuple[str, ...]:
        return (self.page,) if self.page else tuple(EXPERTS)

    def tasks(self) -> Sequence[Task]:
        return [self._task(number) for number in range(self.tests, self.tests + self.count)]

    def held_out(self) -> Sequence[Task]:
        return [self._task(number) for number in range(self.tests)]

    def _task(self, number: int) -> Task:
        page, seed = self._pages[number % len(self._pages)], number // len(self._pages)
        return Task(f"{page}_{seed}", kind=page, facts={"page": page, "seed": seed})

    @cached_property
    def _browser(self) -> Chromium:
        return Chromium()

    def open(self, task: Task, seed: int) -> PageVisit:
        return PageVisit(self._browser, folder() / f"{task.facts['page']}.html", int(task.facts["seed"]))

    def expert(self, task: Task) -> tuple[str, ...]:
        """The acts of a rule for the page. Raises RedQueenError for a page without one, and where it fails."""
        page = str(task.facts["page"])
        if page not in EXPERTS:
            raise RedQueenError(f"nobody knows how the page {page} is done; known are {', '.join(EXPERTS)}")
        visit, acts = self.open(task, 0), list[str]()
        try:
            while not visit.over and len(acts) < MOST_ACTS:
                acts.append(EXPERTS[page](visit.asked, visit.seen, len(acts)))
                visit.act(acts[-1])
            if visit.assess().score == 1.0:
                return tuple(acts)
        finally:
            visit.close()
        raise RedQueenError(f"the expert does not do the task {task.id} with the acts {acts}")


class PageVisit:
    """One page from its seed. It is over where the page ends its episode, and where it is lost: then the facts hold
    `failed`, the reason, and `right`, None. Raises RedQueenError where a browser has never shown a page yet."""

    tools: tuple[Tool, ...] = ()

    def __init__(self, browser: Chromium, page: Path, seed: int) -> None:
        self.asked, self.seen = "", list[Element]()
        self.over, self._reward, self._reason = False, 0.0, ""
        self._page, self._seed, self._acts = page, seed, list[str]()
        self._loan = Loan(browser, page.stem)
        self._loan.open(self._begin)
        self.over |= bool(self._loan.failed)
        self._first = self._view()

    def _begin(self, tab: Tab) -> None:
        tab.open(self._page.as_uri())
        tab.run("__page.still()")
        begin = "(core.EPISODE_MAX_TIME = 1e9, Math.seedrandom(given[0]), core.startEpisodeReal())"
        asked = tab.run(f"({begin}, core.getUtterance())", self._seed)
        self.asked = str(asked["utterance"] if isinstance(asked, dict) else asked).strip()
        self._read(tab)

    def look(self) -> Observation:
        return self._first

    def act(self, said: str) -> Observation:
        tab = self._loan.tab
        if self.over or tab is None:
            return self._end()
        try:
            if fault := self._done(tab, said):
                return self._view(f"{fault}\n")
            self._acts.append(said)
            self._read(tab)
        except PageLost as lost:
            self._loan.lose(lost)
            self.over = True
        return self._view()

    def _done(self, tab: Tab, said: str) -> str:
        """Does what was said; what is wrong with it, where it cannot be done."""
        found = SAID.fullmatch(said.strip())
        if found is None:
            return "An act is: click 1, or type 1 WORDS, or choose 1 WORDS."
        verb, number, words = found[1], int(found[2]), (found[3] or "").strip()
        if not 1 <= number <= len(self.seen):
            return f"There is no element {number}."
        element = self.seen[number - 1]
        if verb == "click":
            tab.click(tab.run("__page.place(given[0])", number - 1))
            return ""
        if verb == "choose":
            if words not in element["options"]:
                return f"Element {number} has no {words[:LONGEST]!r} to be chosen."
            tab.run("__page.choose(...given)", number - 1, element["options"].index(words))
            return ""
        if element["kind"] != "field" or not words.isprintable() or not 1 <= len(words) <= LONGEST_TYPED:
            return f"Element {number} takes no such words." if element["kind"] == "field" else "Words go into a field."
        tab.run("__page.into(given[0])", number - 1)
        tab.write(words)
        return ""

    def _read(self, tab: Tab) -> None:
        look = f"__page.look({MOST_SHOWN}, {LONGEST})"
        ended = "WOB_DONE_GLOBAL, WOB_RAW_REWARD_GLOBAL, WOB_REWARD_REASON || ''"
        seen, over, reward, reason = tab.run(f"(__page.pass({PASSES}), {look}.then((seen) => [seen, {ended}]))")
        self.seen, self.over = seen, bool(over)
        self._reward, self._reason = float(reward or 0.0) if over else 0.0, str(reason)

    def _end(self) -> Observation:
        return Observation(self._loan.told if self._loan.failed else "It is over.", over=True)

    def _shown(self) -> str:
        lines = [f"{number} {_in_words(each)}" for number, each in enumerate(self.seen, 1)]
        return "\n".join((self.asked, *lines)).strip() or "Nothing is seen."

    def _view(self, before: str = "") -> Observation:
        if self.over:
            return self._end()
        return Observation(before + self._shown(), self._choices())

    def _choices(self) -> tuple[str, ...]:
        found = list[str]()
        for number, each in enumerate(self.seen, 1):
            if each["kind"] == "list":
                found += [f"choose {number} {option}" for option in each["options"] if option]
            else:
                found.append(f"click {number}")
            if each["kind"] == "field":
                found += [f"type {number} {word}" for word in QUOTED.findall(self.asked)]
        return tuple(dict.fromkeys(" ".join(each.split()) for each in found))

    def state(self) -> Mapping[str, Any]:
        seen = [dict(each) for each in self.seen]
        return {
            "page": self._page.stem,
            "seed": self._seed,
            "acts": list(self._acts),
            "seen": seen,
            "reward": self._reward,
        }

    def assess(self, answer: str = "") -> Assessment:
        if self._loan.failed:
            return self._loan.unknown
        return Assessment(self._reward, facts={"reason": self._reason, "ended": self.over})

    def close(self) -> None:
        self._loan.close()


def _in_words(element: Element) -> str:
    kind, value = element["kind"] or "text", element["value"]
    said = f'"{value}"' if kind == "field" else value
    return " ".join(filter(None, (kind, element["name"], said)))
