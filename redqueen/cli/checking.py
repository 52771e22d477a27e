"""`check`: whether a game, a question set, a world, a player, an objective or a recipe keeps the contract of its kind;
and what is found in a file of questions, with ten replies of a model to them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import entry_points
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Annotated, Any

import tyro

from redqueen.catalogue import Catalogue, one_line
from redqueen.cli.own_files import FileOptions
from redqueen.cli.words import only_word, parse
from redqueen.contracts.games import check_game
from redqueen.contracts.objectives import check_objective
from redqueen.contracts.players import check_player
from redqueen.contracts.questions import check_questions, own_answer
from redqueen.contracts.recipes import check_recipe
from redqueen.contracts.worlds import check_world
from redqueen.curricula.held_out import held_out_levels, training_levels
from redqueen.games.catalogue import ADAPTERS, GAMES, find_game
from redqueen.markup import visible
from redqueen.measures.first_replies import LONGEST, SHOWN, answered_questions, as_text, expected_in_words
from redqueen.play.groups import attempts
from redqueen.players.scripted import Uniform
from redqueen.protocols import Game, Player, Questions, StatesNotes, World, has, lacking, members
from redqueen.questions.asking import SOLVE, graded
from redqueen.questions.catalogue import QUESTIONS, as_spec, find_questions, is_data
from redqueen.questions.dataset import BadRows, Dataset
from redqueen.settings.finding import RECIPES, find_recipe
from redqueen.settings.fitting import fitting_file
from redqueen.settings.learner import Flat, Learner
from redqueen.types import RedQueenError, Task
from redqueen.user_code import module_from_file
from redqueen.worlds.catalogue import ADAPTERS as OF_OTHERS
from redqueen.worlds.catalogue import WORLDS, find_world

USAGE = "redqueen check NAME, FILE.py (a recipe), FILE.py:NAME or a file of questions (FILE.jsonl)"
# right replies to the tasks of a shipped question set whose answer alone is none
REPLIES: Mapping[str, Callable[[Task], str]] = MappingProxyType(
    {"variants": lambda task: f"on 0+{task.answer}={task.answer}"}
)
MOST_FAULTS = 10  # of the rows of a file, that are listed
_OWN = Catalogue("part", {}, "redqueen.parts")


@dataclass(frozen=True)
class Kind:
    """One kind of thing with a contract, told by what it has."""

    noun: str
    protocol: type
    check: Callable[[Any], str]


KINDS = (
    Kind("game", Game, check_game),
    Kind("question set", Questions, check_questions),
    Kind("world", World, check_world),
    Kind("player", Player, check_player),
)


def check(words: Sequence[str]) -> None:
    """NAME, FILE.py[:NAME] or FILE.jsonl: whether it keeps its contract; of questions, what is expected and replied"""
    folder = Path(words[0]) if words else Path("nowhere")
    if (folder / "metrics.jsonl").is_file():
        raise RedQueenError(
            f"{folder} is the folder of a run: redqueen report {folder} shows it, redqueen resume {folder} goes on"
        )
    recipe = (folder / "recipe.py").is_file()
    if words and is_data(words[0]) and not recipe and words[0].partition(":")[0] not in ADAPTERS:
        check_file(words)
        return
    spec = only_word(words, USAGE)
    file, colon, _ = spec.partition(":")
    if colon and is_data(file) and Path(file).suffix:
        raise RedQueenError(
            f"{file} is a file of questions, whose settings are flags: redqueen check {file} --columns ROLE=COL,..., "
            "--compare, --test, --held-out"
        )
    thing = found(spec)
    try:
        print(visible(thing()))
    except AssertionError as error:
        raise RedQueenError(" ".join(str(error).split())) from error
    except RedQueenError:
        raise
    except Exception as error:
        raise RedQueenError(f"{spec} breaks its contract: it raises {one_line(error)}") from error


@dataclass(frozen=True)
class FileCheck:
    questions: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
    """of questions: .jsonl, .json, .csv, .parquet, a saved folder, or a name on the hub"""
    file: Annotated[FileOptions, tyro.conf.arg(name="")] = FileOptions()
    learner: Flat = Learner(model="")
    seed: int = 0


def check_file(words: Sequence[str]) -> None:
    """Prints what is found in a file of questions, ten of them with what is expected, and with a --model its replies to
    them."""
    options = parse(FileCheck, words, "redqueen check")
    if options.seed and not options.learner.model:
        raise RedQueenError("--seed has no effect without a model: it is of the replies of --model")
    spec = as_spec(options.questions, options.file.settings())
    try:
        spec, too_long = fitting_file(spec, options.learner)
        questions = find_questions(spec)
    except BadRows as error:
        print(visible(listed(error.faults)))
        raise
    if too_long:
        print(visible(too_long))
    for line in questions.notes if has(questions, StatesNotes) else ():
        print(visible(line))
    if isinstance(questions, Dataset) and questions.faults:
        print(visible(listed(questions.faults)))
    levels = dict.fromkeys((*held_out_levels(questions), *training_levels(questions)))
    dealt = [task for level in levels for task in questions.problems(level, SHOWN, Random(0))]
    tasks = list({task.id: task for task in dealt}.values())[:SHOWN]
    if options.learner.model:
        player = options.learner.build_model(options.seed)
        groups = graded(questions, attempts(SOLVE, tasks, player, 1, Random(options.seed)))
        print(visible(as_text(answered_questions(questions, groups))))
    else:
        print(visible("\n".join(map(expected_of, tasks))))
    if isinstance(questions, Dataset) and questions.doubts:
        return  # of the file's own answers some are wrong, which is said above
    if any(task.answer for task in tasks):
        try:
            print(visible(check_questions(questions)))
        except AssertionError as error:
            raise RedQueenError(" ".join(str(error).split())) from error


def listed(faults: Sequence[str]) -> str:
    """The first faults, a line each, and how many more there are."""
    more = len(faults) - MOST_FAULTS
    return "\n".join([*faults[:MOST_FAULTS], *([f"and {more} more rows that cannot be used"] if more > 0 else [])])


def expected_of(task: Task) -> str:
    """A question and what is expected, as text."""
    wanted = expected_in_words(task.answer, len(task.facts.get("tests", ())))
    return f"asked     {' '.join(task.prompt.split())[-LONGEST:]}\nexpected  {wanted}"


def found(spec: str) -> Callable[[], str]:
    """The check of what a word names. Raises RedQueenError for what has no contract."""
    place = spec.partition(":")[0]
    if spec in RECIPES or spec in _entries("redqueen.recipes"):
        return lambda: check_recipe(find_recipe(spec))
    if place in GAMES or place in ADAPTERS or place in _entries("redqueen.games"):
        return lambda: check_game(find_game(spec))
    if place in QUESTIONS or place in _entries("redqueen.questions"):
        return lambda: check_questions(find_questions(spec), REPLIES.get(place, own_answer))
    if place in {**WORLDS, **OF_OTHERS} or place in _entries("redqueen.worlds"):
        return lambda: check_world(find_world(spec))
    if spec == "uniform":
        return lambda: check_player(Uniform())
    if Path(spec).is_file() and Path(spec).suffix != ".py":
        raise RedQueenError(
            f"{spec} is no file of Python and no file of questions: these are .jsonl, .json, .csv, .tsv or .parquet"
        )
    if ":" in spec:
        return by_shape(own(spec), spec)
    if spec.endswith(".py") and not {"Config", "train"} & vars(module := module_from_file(Path(spec))).keys():
        classes = [name for name, value in vars(module).items() if _defined_in(module.__name__, value)]
        raise RedQueenError(
            f"say what of {spec} to check, {spec}:{classes[0] if classes else 'NAME'}; a recipe has Config and train"
        )
    if "/" in spec or "." in spec or Path(spec).is_dir():
        return lambda: check_recipe(find_recipe(spec))
    close = get_close_matches(spec, [*RECIPES, *GAMES, *QUESTIONS, *WORLDS], n=1)
    hint = f"did you mean {close[0]}?" if close else f"usage: {USAGE}"
    raise RedQueenError(f"there is no {spec!r} to check: {hint}")


def own(spec: str) -> Any:
    """What FILE.py:NAME or some.module:NAME names: a function of two arguments as it is, which is an objective; a class
    or another function is called."""
    place, _, name = spec.partition(":")
    if place.endswith(".py") and name.isidentifier():
        member = vars(module_from_file(Path(place))).get(name)
        if inspect.isfunction(member) and len(inspect.signature(member).parameters) == 2:
            return member
    return _OWN.find(spec)


def by_shape(thing: Any, spec: str) -> Callable[[], str]:
    """The check that applies to a thing by what it has. Raises RedQueenError for what fits no contract."""
    for kind in KINDS:
        if has(thing, kind.protocol):
            return lambda: kind.check(thing)
    halves = [(_share(thing, kind.protocol), -place, kind) for place, kind in enumerate(KINDS)]
    share, _, nearest = max(halves, key=lambda half: half[:2])
    if share > 0:
        missing = " and no ".join(lacking(thing, nearest.protocol))
        raise RedQueenError(
            f"{spec} is half a {nearest.noun}: {type(thing).__name__} has no {missing}; a {nearest.noun} has "
            f"{', '.join(members(nearest.protocol))}"
        )
    if callable(thing):
        if len(inspect.signature(thing).parameters) == 1:
            raise RedQueenError(
                f"{spec} is called with one thing, as an estimator is with trajectories, and these have no contract: "
                "use it in a recipe, LearningStep(config, [learner], estimate=...), and check that file"
            )
        return lambda: check_objective(thing)
    shapes = "; ".join(f"a {kind.noun} has {', '.join(members(kind.protocol))}" for kind in KINDS)
    raise RedQueenError(f"{spec} is nothing that has a contract: {shapes}; an objective is called with a batch")


def _share(thing: Any, protocol: type) -> float:
    """How much of a protocol a thing has; a name alone is nothing."""
    wanted = [name for name in members(protocol) if name != "name"]
    return sum(name not in lacking(thing, protocol) for name in wanted) / len(wanted)


def _entries(group: str) -> set[str]:
    return {entry.name for entry in entry_points(group=group)}


def _defined_in(module: str, value: Any) -> bool:
    return inspect.isclass(value) and value.__module__ == module
