"""Characters: who they are in one line, and what they know, from a file or made up."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from redqueen.texts import file_text
from redqueen.types import RedQueenError

NAMES = ("Ada", "Bo", "Cy", "Dag", "Eli", "Fay", "Gus", "Hal", "Ida", "Jo", "Kit", "Lea")
VALUES = {
    "home": ("oak", "reef", "cave", "mill", "farm", "ship"),
    "tool": ("axe", "net", "pen", "saw", "bow", "map"),
    "pet": ("cat", "owl", "dog", "fox", "hen", "toad"),
}
SHAPE = '{"name": "Ada", "description": "a miller", "profile": "Ada lives in a mill ...", "questions": ["..."]}'


@dataclass(frozen=True)
class Character:
    """A character: `questions` are such as it can answer; where there are none, they are written."""

    name: str
    description: str
    profile: str
    questions: tuple[str, ...] = ()

    @property
    def brief(self) -> str:
        """The line that a model is shown when it plays the character."""
        return f"You are {self.name}, {self.description}."


def found_characters(file: str) -> list[Character]:
    """The characters of a file of JSON lines, or twelve made-up ones for an empty name. Raises RedQueenError for a file
    that cannot be read, a row that is no character, a name that comes twice, and fewer than two characters."""
    found = _read(Path(file)) if file else made_up(Random(0))
    if len(found) < 2:
        raise RedQueenError(f"{file} holds {len(found)} characters: two are the least, as each is asked about another")
    if len({each.name for each in found}) < len(found):
        raise RedQueenError(f"{file} names a character twice: each has a name of its own")
    return found


def made_up(rng: Random) -> list[Character]:
    """Twelve characters with a home, a tool and a pet each."""
    found = []
    for name in NAMES:
        known = {kind: rng.choice(values) for kind, values in VALUES.items()}
        profile = ", ".join(f"{kind} {value}" for kind, value in known.items())
        questions = tuple(f"What is the {kind} of {name}?" for kind in VALUES)
        found.append(Character(name, f"number {NAMES.index(name) + 1} of twelve", f"{name}: {profile}", questions))
    return found


def _read(file: Path) -> list[Character]:
    try:
        lines = file_text(file).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise RedQueenError(f"cannot read the characters of {file}: {error}") from None
    return [_character(line, f"{file}:{number}") for number, line in enumerate(lines, 1) if line.strip()]


def _character(line: str, place: str) -> Character:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    texts = [row.get(key) if isinstance(row, dict) else None for key in ("name", "description", "profile")]
    asked = row.get("questions", []) if isinstance(row, dict) else []
    if not all(_is_text(each) for each in texts) or not isinstance(asked, list) or not all(map(_is_text, asked)):
        raise RedQueenError(f"{place} is no character: a row is as {SHAPE}; questions may be left out")
    name, description, profile = map(str, texts)
    questions = tuple(each.strip() for each in asked)
    return Character(" ".join(name.split()), description.strip(" .\n"), profile.strip(), questions)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())
