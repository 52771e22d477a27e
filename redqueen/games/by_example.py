"""By example: a speaker shows examples of a pattern, and a listener who sees nothing else guesses it.

The reference game of programming by example (arXiv:2311.05740). A pattern is up to `atoms` atoms, each a letter or `.`
(any letter), plain or with `?` (at most once), `*` (any number) or `+` (at least once). An example is a text of up to
`longest` letters that the whole pattern matches; with `negative=true` also "not TEXT", for one that it does not. The
speaker gives `examples` of them one after the other, fewer where no other is left; the listener then names one of the
patterns that agree with all. Both score 1 if it is the one, else 0. Patterns that match the same texts are one pattern,
called by the first of its names.

`file` is a lexicon of your own, {"MEANING": ["EXAMPLE", ...]} in JSON, in place of patterns. Every `apart`th pattern is
held out: it is no task, but a listener may name it.

A task whose facts hold examples (`given`) goes on from there; one whose facts name who is `asked` asks this seat once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from random import Random

from redqueen.games.talk import ask, offence, titled, told
from redqueen.protocols import Play
from redqueen.texts import file_text
from redqueen.types import Outcome, RedQueenError, Seat, Task

SEATS = SPEAKER, LISTENER = Seat("speaker"), Seat("listener")
LETTERS = "abcd"
LONGEST = 100  # atoms, letters: far more than can be listed
MOST_TEXTS, MOST_PATTERNS = 2000, 50_000
Lexicon = Mapping[str, tuple[str, ...]]  # the examples of each meaning
OF_PATTERNS = (
    "A pattern matches whole texts: . is any letter, ? after a letter means at most once, * any number of times, + at "
    "least once."
)
IN_FILE = 'a lexicon is {"MEANING": ["EXAMPLE", ...], ...}, at least two meanings with an example each'


@dataclass(frozen=True)
class ByExample:
    letters: int = 2
    atoms: int = 2
    longest: int = 4  # letters of a text
    examples: int = 3
    negative: bool = False
    apart: int = 0  # of 5, every fifth pattern is held out; of 0, none
    file: str = ""
    retries: int = 0  # second chances after an illegal reply, before it ends the match
    roles: tuple[str, ...] = field(default=("speaker", "listener"), init=False)
    zero_sum: bool = field(default=False, init=False)
    perfect_information: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if not 1 <= self.letters <= len(LETTERS) or not 1 <= self.atoms <= LONGEST or not 1 <= self.longest <= LONGEST:
            raise RedQueenError(
                f"patterns are of 1 to {len(LETTERS)} letters, and of 1 to {LONGEST} atoms for texts of as many, "
                f"not of {self.letters}, {self.atoms} and {self.longest}"
            )
        if self.examples < 1 or self.apart < 0 or self.apart == 1:
            raise RedQueenError(
                f"by_example takes at least 1 example, and holds out every 2nd pattern or fewer (0: none), not "
                f"examples={self.examples} and apart={self.apart}"
            )
        texts, patterns = self.letters**self.longest, (4 * (self.letters + 1)) ** self.atoms
        if texts > MOST_TEXTS or patterns > MOST_PATTERNS:
            raise RedQueenError(
                f"{self.letters} letters make {texts} texts of {self.longest} and {patterns} patterns of {self.atoms} "
                f"atoms; at most {MOST_TEXTS} and {MOST_PATTERNS} are taken"
            )
        usual = (type(self).letters, type(self).atoms, type(self).longest, type(self).negative)
        if self.file and (self.letters, self.atoms, self.longest, self.negative) != usual:
            raise RedQueenError("letters, atoms, longest and negative are of patterns: leave them out with a file")
        if self.file:
            self.lexicon()

    @property
    def heard_by(self) -> Mapping[str, tuple[str, ...]]:
        return {"speaker": ("listener",)}

    @property
    def name(self) -> str:
        return titled("by_example", self)

    def lexicon(self) -> Lexicon:
        """The examples of every pattern."""
        return read(self.file) if self.file else patterns(self.letters, self.atoms, self.longest, self.negative)

    def tasks(self) -> list[Task]:
        """All patterns that are not held out, equally likely."""
        return [_task(name) for number, name in enumerate(self.lexicon()) if not self._is_apart(number)]

    def held_out(self) -> list[Task]:
        """The patterns that are held out; none where all are tasks."""
        return [_task(name) for number, name in enumerate(self.lexicon()) if self._is_apart(number)]

    def _is_apart(self, number: int) -> bool:
        return bool(self.apart) and number % self.apart == self.apart - 1

    def left(self, pattern: str, given: Sequence[str]) -> tuple[str, ...]:
        """The examples of a pattern that were not given yet."""
        return tuple(text for text in self.lexicon()[pattern] if text not in given)

    def agreeing(self, given: Sequence[str]) -> tuple[str, ...]:
        """The patterns that agree with all examples."""
        shown = set(given)
        return tuple(name for name, examples in as_sets(self).items() if shown <= examples)

    def play(self, task: Task, rng: Random) -> Play:
        pattern, given = task.facts["pattern"], tuple(task.facts.get("given", ()))
        asked = task.facts.get("asked", "")
        wanted = {"speaker": len(given) + 1, "listener": len(given)}.get(asked, self.examples)
        nothing = dict.fromkeys(SEATS, 0.0)
        while len(given) < wanted and (choices := self.left(pattern, given)):
            text = yield from ask(SPEAKER, told(self.invitation(pattern, given)), choices, self.retries)
            if text not in choices:
                return Outcome(nothing, {**offence(SPEAKER, text), "history": given})
            given += (text,)
        if asked == "speaker":
            return Outcome(nothing, {"history": given})
        choices = self.agreeing(given)
        guess = yield from ask(LISTENER, told(self.question(given)), choices, self.retries)
        if guess not in choices:
            return Outcome(nothing, {**offence(LISTENER, guess), "history": given})
        right = guess == pattern
        return Outcome(dict.fromkeys(SEATS, float(right)), {"history": (*given, guess), "right": right})

    def invitation(self, pattern: str, given: Sequence[str]) -> str:
        """What the speaker is told before an example."""
        so_far = f" So far: {', '.join(given)}." if given else ""
        aim = "Show an example from which a listener can tell it from others."
        return f"{self._rules()} {aim} {self._thing().capitalize()}: {pattern}{so_far}"

    def question(self, given: Sequence[str]) -> str:
        """What the listener is told before its guess."""
        chosen = "The examples were chosen so that you can tell it from others."
        return f"{self._rules()} {chosen} Which {self._thing()}? {', '.join(given) or 'No example'}"

    def _rules(self) -> str:
        return "You speak of meanings by examples of them." if self.file else OF_PATTERNS

    def _thing(self) -> str:
        return "meaning" if self.file else "pattern"


def _task(name: str) -> Task:
    return Task(name, "pattern", facts={"pattern": name})


@cache
def patterns(letters: int, atoms: int, longest: int, negative: bool) -> Lexicon:
    """The examples of all patterns that match a text, in the order of their length."""
    alphabet = LETTERS[:letters]
    texts = ["".join(each) for size in range(1, longest + 1) for each in product(alphabet, repeat=size)]
    single = [letter + often for letter in (*alphabet, ".") for often in ("", "?", "*", "+")]
    found: dict[tuple[str, ...], str] = {}
    for size in range(1, atoms + 1):
        for each in product(single, repeat=size):
            name = "".join(each)
            matched = tuple(text for text in texts if re.fullmatch(name, text))
            if matched:
                found.setdefault(matched, name)
    return {name: (*own, *_others(texts, own)) if negative else own for own, name in found.items()}


def _others(texts: Sequence[str], matched: Sequence[str]) -> list[str]:
    return [f"not {text}" for text in texts if text not in matched]


@cache
def as_sets(game: ByExample) -> Mapping[str, frozenset[str]]:
    """The examples of each pattern of a game, as sets."""
    return {name: frozenset(examples) for name, examples in game.lexicon().items()}


@cache
def read(file: str) -> Lexicon:
    """The lexicon in a file. Raises RedQueenError with one line for a file that holds none."""
    try:
        data = json.loads(file_text(Path(file)))
    except OSError as error:
        raise RedQueenError(f"the lexicon {file!r} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise RedQueenError(f"{file!r} is no JSON: {' '.join(str(error).split())}") from error
    if not isinstance(data, Mapping) or len(data) < 2:
        raise RedQueenError(f"{file!r} holds no lexicon: {IN_FILE}")
    found: dict[tuple[str, ...], str] = {}
    for name, examples in data.items():
        if not isinstance(examples, list) or not examples or not all(map(_is_plain, (name, *examples))):
            raise RedQueenError(
                f"the examples of {name!r:.60} in {file!r} are no texts without spaces around: {IN_FILE}"
            )
        own = tuple(dict.fromkeys(examples))
        same = found.setdefault(tuple(sorted(own)), name)
        if same != name:
            raise RedQueenError(
                f"{same!r} and {name!r} in {file!r} have the same examples: no listener tells them apart"
            )
    return {name: tuple(dict.fromkeys(examples)) for name, examples in data.items()}


def _is_plain(text: object) -> bool:
    return isinstance(text, str) and bool(text) and text == text.strip()
