"""Who cooks in `mini_kitchen` by rules: five kinds of partners, and a planner that reckons with its partner."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from redqueen.chance import one_of, uniform
from redqueen.games.mini_kitchen import (
    DISCARD,
    DISH,
    FULL,
    NOTHING,
    ONION,
    POT,
    SERVE,
    SKILLS,
    SOUP,
    WAIT,
    Kitchen,
)
from redqueen.types import Ask, RedQueenError, Reply

IDLES = 6  # steps for which a blocker stands still


@dataclass(frozen=True)
class View:
    """What a cook is shown, read from its ask."""

    onions: int
    ready: bool
    mine: str  # what it holds
    theirs: str
    did: tuple[str, ...]
    partner_did: tuple[str, ...]

    @property
    def turned(self) -> View:
        """The same from the partner's place."""
        return View(self.onions, self.ready, self.theirs, self.mine, self.partner_did, self.did)


def view_of(ask: Ask) -> View:
    """What an ask of mini_kitchen shows. Raises RedQueenError for one of another game."""
    text = ask.messages[0].text
    pattern = r"The pot: (.*?)\. You hold (.*?)\. Your partner holds (.*?)\. You did: (.*?)\. Your partner did: (.*?)\."
    found = re.search(pattern, text)
    if not found:
        raise RedQueenError(f"a cook plays mini_kitchen, and cannot read {text[:80]!r}")
    pot, mine, theirs, *lists = found.groups()
    did, partner_did = (tuple(skill for skill in each.split(", ") if skill in SKILLS) for each in lists)
    onions = int(pot[0]) if pot[0].isdigit() else FULL
    return View(onions, pot.endswith("ready"), mine, theirs, did, partner_did)


def possible_for(view: View) -> list[str]:
    """The skills that a cook can use."""
    kitchen = Kitchen(1, holds=[view.mine, view.theirs], onions=view.onions, left=int(not view.ready))
    return [skill for skill in SKILLS if not kitchen.unmet(0, skill)]


def greedy(view: View) -> str:
    """What brings soup nearest for a cook who is alone."""
    if view.mine == "soup":
        return SERVE
    if view.mine == "a dish":
        return SOUP if view.ready else WAIT if view.onions == FULL else DISCARD
    if view.mine == "an onion":
        return POT if view.onions < FULL else DISCARD
    return ONION if view.onions < FULL else DISH


def only_dishes(view: View) -> str:
    """Carries soup out and brings no onions."""
    if view.mine == "soup":
        return SERVE
    if view.mine == "a dish":
        return SOUP if view.ready else WAIT
    return DISH if view.mine == NOTHING else DISCARD


def only_onions(view: View) -> str:
    """Brings onions and carries nothing out."""
    if view.mine == "an onion":
        return POT if view.onions < FULL else WAIT
    return ONION if view.mine == NOTHING else DISCARD


def idle(view: View) -> str:
    return WAIT


def blocker(view: View) -> str:
    """Brings an onion, then stands where it is for a while, in front of the pot."""
    rest = view.did[::-1].index(POT) if POT in view.did else IDLES
    return WAIT if rest < IDLES else only_onions(view)


KINDS: Mapping[str, Callable[[View], str]] = MappingProxyType(
    {"greedy": greedy, "idle": idle, "blocker": blocker, "dishes": only_dishes, "onions": only_onions}
)


@dataclass(frozen=True)
class Cook:
    """A cook of one of the `KINDS`, which takes another possible skill with the chance `slips`."""

    kind: str
    slips: float = 0.0

    @property
    def name(self) -> str:
        return f"cook:{self.kind}"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._said(ask), self.name) for ask in asks]

    def _said(self, ask: Ask) -> str:
        view = view_of(ask)
        if uniform(ask.seed) >= self.slips:
            return KINDS[self.kind](view)
        return one_of(possible_for(view), uniform(ask.seed, 1))


def planned(view: View, partner: str) -> str:
    """The skill of a cook who reckons with what its partner will do next: it does what would be left to do."""
    brings = (view.theirs == "an onion" and partner == POT) or (view.theirs == NOTHING and partner == ONION)
    carries = (view.theirs == "a dish" and partner in (SOUP, WAIT)) or partner == DISH
    carries = carries and view.theirs in ("a dish", NOTHING)
    missing = FULL - view.onions - brings
    if view.mine == "soup":
        return SERVE
    if view.mine == "a dish":
        if view.ready:
            return SOUP
        return DISCARD if view.onions < FULL and missing > 0 and not brings else WAIT
    if view.mine == "an onion":
        return POT if view.onions < FULL else WAIT if carries else DISCARD
    if missing > 0:
        return ONION
    return ONION if carries else DISH


@dataclass(frozen=True)
class Planner:
    """Plans by rule, with what its ask says that it believes of its partner; as if it were alone where that says
    nothing."""

    name: str = "planner"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._said(ask), self.name) for ask in asks]

    def _said(self, ask: Ask) -> str:
        view = view_of(ask)
        believed = re.search(r"You believe that your partner's next skill is (\w+)\.", ask.messages[0].text)
        return planned(view, believed[1]) if believed else greedy(view)
