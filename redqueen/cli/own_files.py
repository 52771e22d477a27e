"""The settings of a file of questions on the command line: flags that become part of its name, as config.json has it.

redqueen train grpo --questions sums.csv --columns question=Frage,answer=Antwort --held-out 0.2
config.json: "questions": "dataset:path=sums.csv,question=Frage,answer=Antwort,held_out=0.2"
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from redqueen.protocols import StatesNotes, has
from redqueen.questions.catalogue import as_spec, find_questions, is_data
from redqueen.questions.dataset import ROLES
from redqueen.settings.fitting import FIELDS
from redqueen.settings.limits import Within, check_settings, unset
from redqueen.types import RedQueenError

T = TypeVar("T")


@dataclass(frozen=True)
class FileOptions:
    columns: Annotated[str | None, unset("ROLE=COL,...")] = None
    """of a file of questions, where they have unusual names: question=COL,answer=COL, also choices, tests, context,
    category, level, concepts, split; ignore=COL leaves one out (docs/own_questions.md)"""
    compare: Annotated[str | None, unset("HOW")] = None
    """how a file's answers are compared: number, text, choice, tests, FILE.py:FUNCTION or none; left out, each as what
    it is"""
    test: Annotated[str | None, unset("FILE")] = None
    """another file, all of it held out"""
    held_out: Annotated[float | None, Within(0.0, 0.99), unset("FLOAT")] = None
    """share of a file's problems that is held out, 0.1 by default"""

    def settings(self) -> dict[str, str | float]:
        """What is set, as settings of a data set."""
        check_settings(self)
        named = dict(_roles(self.columns)) if self.columns is not None else {}
        given = {"compare": self.compare, "test": self.test, "held_out": self.held_out}
        return {**named, **{name: value for name, value in given.items() if value is not None}}


def _roles(columns: str) -> Mapping[str, str]:
    """The column of each role that is named. Raises RedQueenError for what is no role."""
    found: dict[str, str] = {}
    for part in columns.split(","):
        role, equals, column = (piece.strip() for piece in part.partition("="))
        if not (equals and column) or role not in (*ROLES, "split", "ignore"):
            raise RedQueenError(
                f"--columns says which column has which role, question=COL,answer=COL, not {part!r}: the roles are "
                f"{', '.join((*ROLES, 'split'))}; ignore=COL leaves one out"
            )
        found[role] = f"{found[role]}+{column}" if role == "ignore" and role in found else column
    return found


def field_of_questions(config: type[Any]) -> str:
    """The field of a recipe's Config that names its question set; "" where it has none, or uses one of these flags for
    something of its own."""
    names = {field.name for field in dataclasses.fields(config)} if dataclasses.is_dataclass(config) else set()
    if names & {field.name for field in dataclasses.fields(FileOptions)}:
        return ""
    return next((name for name in FIELDS if name in names), "")


def with_file(config: T, options: FileOptions) -> T:
    """The config, its question set named with these settings. Raises RedQueenError where it is no file."""
    name = field_of_questions(type(config))
    return dataclasses.replace(config, **{name: as_spec(getattr(config, name), options.settings())})  # type: ignore


def notes_on(config: Any) -> list[str]:
    """What a file of questions is found to hold, a line each; none where the recipe is not given one. A file that
    cannot be read is refused here, before anything is loaded."""
    name = field_of_questions(type(config))
    spec = str(getattr(config, name, ""))
    if not is_data(spec):
        return []
    questions = find_questions(spec)
    return list(questions.notes) if has(questions, StatesNotes) else []
