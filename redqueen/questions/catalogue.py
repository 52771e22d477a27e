"""Finding a question set by its name: those shipped, and the user's own."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar, cast, get_args, get_type_hints

from redqueen.catalogue import Catalogue
from redqueen.protocols import Proposable, Questions, StatesNeeds, has, lacking, members
from redqueen.questions.data_rows import names_data
from redqueen.types import RedQueenError

P = TypeVar("P")

QUESTIONS: Mapping[str, str] = MappingProxyType(
    {
        "sums": "redqueen.questions.small.sums:Sums",
        "verified": "redqueen.questions.verifying:verified",
        "matchups": "redqueen.questions.small.matchups:Matchups",
        "red_team": "redqueen.questions.small.red_words:RedTeamWords",
        "step_traces": "redqueen.questions.small.step_traces:StepTraces",
        "known": "redqueen.questions.small.known:Known",
        "chain": "redqueen.questions.small.known:Chain",
        "dataset": "redqueen.questions.dataset:Dataset",
        "instructions": "redqueen.questions.dataset:instructions",
        "preferences": "redqueen.questions.dataset:preferences",
        "reasoning_gym": "redqueen.adapters.reasoning_gym:Reasoning",
        "tool_sums": "redqueen.questions.small.tool_sums:ToolSums",
        "variants": "redqueen.questions.small.variants:Variants",
        "growing": "redqueen.questions.small.growing:Growing",
        "documents": "redqueen.questions.small.documents:Documents",
        "facts": "redqueen.questions.small.facts:Facts",
        "knowledge": "redqueen.questions.small.knowledge:Knowledge",
        "concepts": "redqueen.questions.small.concepts:Concepts",
        "templates": "redqueen.questions.small.templates:Templates",
        "judged": "redqueen.questions.judging:judged",
        "scored": "redqueen.questions.judging:scored",
        "programs": "redqueen.questions.programs:programs",
        "expressions": "redqueen.questions.expressions:expressions",
        "cued": "redqueen.questions.small.cued:Cued",
        "roled": "redqueen.questions.roled:roled",
        "paired": "redqueen.questions.pair_verdicts:paired",
        "rhymes": "redqueen.questions.small.rhymes:Rhymes",
        "worked": "redqueen.questions.small.worked:Worked",
        "translation": "redqueen.questions.small.translation:Translation",
        "done": "redqueen.questions.task_done:Done",
        "hindsight": "redqueen.questions.set_by_doing:SetByDoing",
    }
)
_CATALOGUE = Catalogue("question set", QUESTIONS, "redqueen.questions", older="redqueen.domains")
MOST_LEVELS = 1000  # problems of each are made and measured


def find_questions(spec: str) -> Questions:
    """The question set that `spec` names: "sums", "sums:digits=3", a file such as "train.jsonl" or another data set
    (`rows.names_data`), "path/to/file.py:MyQuestions", "some.module:MyQuestions", or an entry point of the group
    `redqueen.questions`. Raises RedQueenError with one line that says what is wrong."""
    if spec not in QUESTIONS and as_spec(spec) == spec and (folder := Path(spec).expanduser()).is_dir():
        files = sorted(each for each in folder.iterdir() if names_data(str(each)))
        one = files[0] if files else folder / "train.jsonl"
        raise RedQueenError(f"{spec} is a folder, and not a data set: name the file with the questions, such as {one}")
    found = _CATALOGUE.find(as_spec(spec))
    missing = lacking(found, Questions)
    if missing:
        raise RedQueenError(
            f"{spec!r} is not a question set: {type(found).__name__} has no {' and no '.join(missing)}; one has "
            f"{', '.join(members(Questions))} (redqueen.protocols.Questions)"
        )
    if not found.levels:
        raise RedQueenError(f"the question set {spec!r} has no levels, and so no problems: see its settings")
    if len(found.levels) > MOST_LEVELS:
        raise RedQueenError(f"the question set {spec!r} has {len(found.levels)} levels, more than {MOST_LEVELS}")
    return cast(Questions, found)


def as_spec(spec: str, settings: Mapping[str, object] = MappingProxyType({})) -> str:
    """What finds a question set: a file of data as "dataset:path=FILE", with these settings; any other name as it is.
    Raises RedQueenError for settings of what is no file, and for a comma in a path or a setting."""
    if not is_data(spec):
        if settings:
            flag = next(iter(settings)).replace("_", "-")
            raise RedQueenError(f"--{flag} is for a file of questions (--questions FILE.jsonl), and {spec} is none")
        return spec
    parts = [*([] if spec.startswith("dataset:") else [spec]), *map(str, settings.values())]
    if wrong := [part for part in parts if "," in part]:
        raise RedQueenError(f"a path or a column must have no comma, unlike {wrong[0]!r}: rename it")
    told = "".join(f",{name}={value}" for name, value in settings.items())
    return spec + told if spec.startswith("dataset:") else f"dataset:path={spec}{told}"


def is_data(spec: str) -> bool:
    """Whether a name is that of a file, folder or hub data set."""
    return spec.startswith("dataset:") or (spec.partition(":")[0] not in QUESTIONS and names_data(spec))


def having(questions: Questions, wanted: type[P]) -> P:
    """The question set, checked to implement the protocol `wanted`: `having(questions, Proposable)`.
    Raises RedQueenError with one line that names what it lacks, and the shipped sets that have it."""
    if has(questions, wanted):
        if has(questions, StatesNeeds) and (needs := questions.needs(wanted)):
            raise RedQueenError(needs)
        return questions
    raise RedQueenError(
        f"{questions.name} is not {_described(wanted)}: it has no {' and no '.join(lacking(questions, wanted))}; "
        f"shipped sets that have it: {', '.join(shipped_with(wanted)) or 'none'}"
    )


def find_questions_with(spec: str, wanted: type[P]) -> P:
    """The question set that a specification names, as one that has all that the protocol `wanted` asks for."""
    return having(find_questions(spec), wanted)


def find_proposable(spec: str) -> Proposable:
    """The question set that a specification names, if tasks may be proposed to it."""
    return find_questions_with(spec, Proposable)


def _described(wanted: type) -> str:
    """A protocol in words, by its first sentence: "a question set to which tasks may be proposed (Proposable)"."""
    words = re.split(r"[.:]", inspect.getdoc(wanted) or "a question set")[0]
    return f"{words[0].lower()}{words[1:]} ({wanted.__name__})"


def shipped_with(wanted: type) -> list[str]:
    """The names of the shipped question sets whose classes implement the protocol `wanted`."""
    return [
        name
        for name, place in QUESTIONS.items()
        if any(_offers(each, wanted) for each in _classes(place)) and not _needs(name, wanted)
    ]


def _needs(name: str, wanted: type) -> str:
    """What a shipped set lacks that could have it, if it can be made without settings."""
    if name not in ("instructions", "preferences"):
        return ""
    return str(_CATALOGUE.find(name).needs(wanted))


def _classes(place: str) -> tuple[type, ...]:
    """The class that "module:Name" names, or the return types of the function of that name."""
    module, _, name = place.partition(":")
    found = vars(import_module(module))[name]
    if inspect.isclass(found):
        return (found,)
    made = get_type_hints(found)["return"]
    return get_args(made) or (made,)


def _offers(made: type, wanted: type) -> bool:
    known = {*dir(made), *(field for each in made.__mro__ for field in inspect.get_annotations(each))}
    return known >= set(members(wanted))
