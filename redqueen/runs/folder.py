"""Finished and unfinished runs on disk: their settings, their policies, their episodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_type_hints

from redqueen.chance import derive
from redqueen.credit.outcomes import result
from redqueen.curricula.held_out import apart_from, held_out
from redqueen.games.catalogue import ADAPTERS, GAMES, find_game, spec_of
from redqueen.measures.accuracy import HeldOut
from redqueen.players.by_role import ByRole
from redqueen.players.tabular import TabularPolicy
from redqueen.protocols import Game, Player, Policy, Questions, Trained, Value, shaped
from redqueen.questions.asking import seeds_of
from redqueen.questions.catalogue import find_questions
from redqueen.records import episode_from_json, episode_line
from redqueen.runs.checkpoints import best_checkpoints, check, checkpoints, fitting, is_number
from redqueen.runs.run import recorded_steps
from redqueen.settings.finding import find_recipe
from redqueen.settings.learner import Learner
from redqueen.settings.limits import _flag
from redqueen.settings.renamed import renamed
from redqueen.trust.door import Untrusted, shut
from redqueen.trust.no_links import refuse_foreign, write_new, write_whole
from redqueen.trust.reading import as_object, mismatch, read_json, read_text
from redqueen.types import Damaged, Episode, RedQueenError, Seat, Task, Truncated

T = TypeVar("T")
_HELD_OUT = Value(  # of each level; they are held in memory, whatever is asked of them then
    "a whole number from 1 to 1,000,000", lambda value: type(value) is int and 1 <= value <= 1_000_000
)
_CUT_OFF = Value(f"one of {', '.join(get_args(Truncated))}", get_args(Truncated).__contains__)
SETTINGS = {  # what a `config.json` must hold
    "recipe": str,
    "config": {
        "game?": str,
        "games?": [str],
        "questions?": str,
        "steps?": int,
        "problems?": _HELD_OUT,
        "truncated_score?": _CUT_OFF,
    },
    "seed": int,
    "tests?": int,
    "schedule": dict,
    "watch?": dict,
    "versions": dict,
    "command?": [str],
    "report_to?": [str],
    "report_id?": str,
}


def settings(folder: Path) -> dict[str, Any]:
    """What `config.json` of a run says. Raises RedQueenError for none, and where links in the folder lead out."""
    path = folder / "config.json"
    if not path.is_file():
        run, at, step = str(folder).rpartition("@")
        if at and (Path(run) / "config.json").is_file():
            raise RedQueenError(
                f"{folder} names a player, a checkpoint of {run}: here give {run}, and --step {step} where it is taken"
            )
        raise RedQueenError(f"{folder} is not a run: it has no config.json (runs are folders such as outputs/spiral-0)")
    refuse_foreign(folder)
    found = read_json(path)
    missing = [name for name in ("recipe", "config", "seed", "schedule", "versions") if name not in found]
    if missing:
        raise RedQueenError(f"{path} is not that of a run: it does not say {', '.join(missing)}")
    return dict(shaped(found, SETTINGS, str(path)))


def rebuild(kind: type[T], data: dict[str, Any]) -> T:
    """A dataclass from its `asdict` as JSON has it."""
    hints = get_type_hints(kind)
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    unknown = set(data) - known
    for name in sorted(unknown):
        if flag := renamed(_flag(name), list(map(_flag, known))):
            raise RedQueenError(f"the run is older than this version: its {_flag(name)} is {flag} now; train it anew")
    if unknown:
        raise RedQueenError(f"the settings name {', '.join(sorted(unknown))}, which {kind.__module__} does not have")
    values: dict[str, Any] = {}
    for name, value in data.items():
        hint = hints[name]
        if isinstance(hint, type) and is_dataclass(hint):
            if not isinstance(value, dict):
                raise RedQueenError(
                    f"the run is older than this version: its {name} is a word, {value!r}; train it anew"
                )
            value = rebuild(hint, value)
        elif isinstance(value, list):
            value = _tuples(value)
        if wrong := mismatch(value, hint):
            raise Damaged(f"the settings of the run: {kind.__name__}.{name}{wrong}")
        values[name] = value
    return kind(**values)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


Saved = int | Literal["best"] | None  # a checkpoint: after so many updates, of the best measurement, the newest


def stored_policy(folder: Path, step: Saved | Literal["start"] = None) -> Policy:
    """The policy of a run as its newest checkpoint has it, the one after `step` updates, that of the best measurement,
    or as it was before the run began."""
    if step == "start":
        return _built(folder, settings(folder))
    return _from_checkpoint(folder, step, lambda chosen: _policy_of(folder, chosen))


def stored_team(folder: Path, game: Game, step: Saved = None) -> Trained:
    """The policy of a run, and in the roles of a game for which it trained further policies these: those that its
    recipe names (`plays`), else those that bear the name of a role."""
    return _from_checkpoint(folder, step, lambda chosen: _team_of(folder, game, chosen))


def _from_checkpoint(folder: Path, step: Saved, read: Callable[[Path], T]) -> T:
    """What `read` makes of the checkpoint, or of the one after it where a run that goes on takes it away meanwhile."""
    settings(folder)  # refuses what is no run
    chosen = stored_checkpoint(folder, step)
    try:
        return read(chosen)
    except (RedQueenError, OSError):
        if chosen.is_dir():
            raise
    return _from_checkpoint(folder, step, read)


def _policy_of(folder: Path, chosen: Path) -> Policy:
    policy_folder = chosen / "learner"
    if not policy_folder.is_dir():
        raise RedQueenError(f"{chosen} holds no policy called learner")
    policy = TabularPolicy() if (policy_folder / "table.json").exists() else _built(folder, settings(folder))
    with fitting(chosen):
        policy.load(policy_folder)
    return policy


def _team_of(folder: Path, game: Game, chosen: Path) -> Trained:
    policy, config = _policy_of(folder, chosen), settings(folder)
    plays = _offered(config, "plays") or str
    kept = {path.name for path in chosen.iterdir() if path.is_dir()} - {"learner"}
    found: dict[str, Policy] = {}
    for name in sorted(kept & {plays(role) for role in game.roles}):
        if (chosen / name / "table.json").exists():
            found[name] = TabularPolicy()
        else:
            learner, _ = _learner_of(folder, config)
            with shut():
                found[name] = learner.build_beside(policy, derive(int(config["seed"]), name), name)
        with fitting(chosen):
            found[name].load(chosen / name)
    others = {role: found[plays(role)] for role in game.roles if plays(role) in found}
    return ByRole(policy, others) if others else policy


def stored_checkpoint(folder: Path, step: Saved = None) -> Path:
    """As `chosen_checkpoint`; raises RedQueenError for one that is damaged, too."""
    chosen = chosen_checkpoint(folder, step)
    check(chosen)
    return chosen


def chosen_checkpoint(folder: Path, step: Saved = None) -> Path:
    """The newest checkpoint of a run, the one after `step` updates, or that of the best measurement. Raises
    RedQueenError where there is none; nothing in it is read."""
    saved = checkpoints(folder)
    if not saved:
        raise RedQueenError(f"{folder} has no checkpoint yet")
    chosen = saved[-1]
    if step == "best":
        best = best_checkpoints(folder)
        if not best:
            raise RedQueenError(f"{folder} kept no best checkpoint: train with --keep-best")
        chosen = best[-1]
    elif step is not None:
        named = {int(path.name.removeprefix("step_")): path for path in saved}
        if step not in named:
            raise RedQueenError(f"{folder} has no checkpoint at step {step}: it has {', '.join(map(str, named))}")
        chosen = named[step]
    return chosen


def _built(folder: Path, config: Mapping[str, Any]) -> Policy:
    """The learner as the settings of a run make it."""
    learner, seed = _learner_of(folder, config)
    with shut():
        return learner.build(seed)


def _learner_of(folder: Path, config: Mapping[str, Any]) -> tuple[Learner, int]:
    """The settings of a run's learner, and the seed that it is made from."""
    if "learner" not in config["config"]:
        raise RedQueenError(f"the settings of {folder} do not say what its learner is: they have no field learner")
    with shut():
        learner = rebuild(Learner, config["config"]["learner"])
        seed = derive(int(config["seed"]), "learner")  # as every recipe: a tiny model is made from it
        return replace(learner, sampler=None, sampler_memory=None), seed


def stored_game(folder: Path) -> Game:
    """The game a run was trained on (the first, if there were several)."""
    return stored_games(folder)[0]


def stored_games(folder: Path) -> list[Game]:
    """All games a run was trained on, by its settings or as its recipe makes it (`game_played`)."""
    if made := made_game(folder):
        return [made]
    with shut():
        return [find_game(spec) for spec in game_specs(folder)]


def made_game(folder: Path) -> Game | None:
    """The game that the recipe of a run makes of its settings, where it is none that these name."""
    with shut():
        try:
            offered = _offered(settings(folder), "game_played")
            made: Game | None = offered() if offered else None
        except Untrusted:  # it is what the settings name, then
            return None
        return made


def game_specs(folder: Path) -> list[str]:
    """How the games of a run are named: by its settings, or else by its first episode. Raises RedQueenError where
    neither says it."""
    specs = _chosen_games(folder) or [spec_of(episode.game) for _, episode, _ in stored_episodes(folder)[:1]]
    if not specs:
        raise RedQueenError(f"{folder} does not say which game it played: name it with --game")
    return specs


def recorded_game(name: str, folder: Path, own: bool = True) -> Game:
    """The game that goes by that name in the episodes of a run: one of its settings, or one of those shipped. Unless
    `own`, only shipped ones are looked at: nobody's code is imported because a folder names it."""
    refused: Untrusted | None = None
    if own and (made := made_game(folder)) and made.name == name:
        return made
    for spec in [*_chosen_games(folder), spec_of(name)]:
        if not own and spec.partition(":")[0] not in {**GAMES, **ADAPTERS}:
            continue
        try:
            with shut():
                game = find_game(spec)
        except Untrusted as error:  # another one may be it
            refused = refused or error
            continue
        if spec_of(game.name) == spec_of(name):
            return game
    if refused:
        raise refused
    raise RedQueenError(f"{folder} played {name!r}, which its settings do not name")


@cache
def game_to_show(name: str, folder: Path) -> Game | None:
    """A game that a run played, to show what was said in it; None for one that is not found, and for a user's own,
    whose code is not run for that."""
    try:
        return recorded_game(name, folder, own=False)
    except RedQueenError:
        return find_game(name) if name in GAMES else None


def _chosen_games(folder: Path) -> list[str]:
    return games_named(settings(folder))


def games_named(found: Mapping[str, Any]) -> list[str]:
    """The games that the settings of a run name."""
    config = found["config"]
    return [config["game"], *config.get("also", ())] if config.get("game") else list(config.get("games", ()))


def stored_questions(folder: Path) -> Questions | None:
    """The question set that a run was about, by its settings or as its recipe makes it (`questions_of`); None for a run
    of games. Raises RedQueenError where they are no longer there."""
    found = settings(folder)
    with shut():
        if found["config"].get("game"):  # in place of questions
            return None
        if "questions" in found["config"]:
            spec = found["config"]["questions"]
            try:
                return find_questions(spec)
            except Untrusted:
                raise
            except RedQueenError as error:
                raise RedQueenError(f"{folder} was trained on {spec!r}: {error}") from None
        try:
            offered = _offered(found, "questions_of")
        except Untrusted:
            if games_named(found):  # it is about these, then
                return None
            raise
        made: Questions | None = offered() if offered else None
        return made


def stored_tests(folder: Path, questions: Questions, most: int) -> dict[str, list[Task]]:
    """Up to `most` problems of each level that the run kept from its training, the first of them but for seeds."""
    found = settings(folder)
    tests = held_out(questions, found["config"].get("problems", 64), seed=found.get("tests", 0))
    seeds = {"": seeds_of(questions)}  # which some recipes learn from
    return {level: (apart_from(seeds, tasks) or tasks)[:most] for level, tasks in tests.items()}


def stored_measure(folder: Path, questions: Questions, policy: Policy, most: int, seed: int) -> HeldOut:
    """The measure of a policy on up to `most` held-out problems of each level of a run. Raises RedQueenError for a run
    that held none out."""
    tests = stored_tests(folder, questions, most)
    if not tests:
        raise RedQueenError(f"{folder} names no questions to measure it by: train with some, as --questions")
    return HeldOut(questions, measured_player(folder, policy), tests, seed=seed, truncated=stored_truncated(folder))


def stored_truncated(folder: Path) -> Truncated:
    """The verdict of a run on an answer that was cut off."""
    found: Truncated = settings(folder)["config"].get("truncated_score", "wrong")
    return found


def measured_player(folder: Path, policy: Player) -> Player:
    """The policy of a run as its recipe measures it: with its tools, where it has any (`equipped`)."""
    with shut():
        offered = _offered(settings(folder), "equipped")
        player: Player = offered(policy) if offered else policy
        return player


def _offered(found: dict[str, Any], part: str) -> Callable[..., Any] | None:
    """A function of a run's recipe, given the run's config; None where the recipe has none, or is not there."""
    try:
        recipe = find_recipe(found["recipe"])
    except Untrusted:
        raise
    except RedQueenError:
        return None
    function = vars(recipe).get(part)
    return partial(function, rebuild(recipe.Config, found["config"])) if callable(function) else None


def stored_episodes(folder: Path) -> list[tuple[str, Episode, dict[str, Any]]]:
    """The recorded episodes of a run, in order: (name, episode, credit), named STEP.NUMBER; then those that a person
    played against its policy, named played.NUMBER, without credit."""
    found = []
    for step, path in recorded_steps(folder):
        for number, text in enumerate(read_text(path).splitlines()):
            episode, credit = episode_of(text, f"{path}, line {number + 1}")
            found.append((f"{step}.{number}", episode, credit))
    for path in sorted((folder / "episodes").glob("played_*.json")):
        if (text := read_text(path)) and is_number(path.stem.removeprefix("played_")):  # an empty one is being written
            found.append((_played_name(path), episode_of(text, str(path))[0], {}))
    return found


def episode_of(text: str, place: str) -> tuple[Episode, dict[str, Any]]:
    """An episode and its credit. Raises Damaged for what is none."""
    try:
        data = as_object(text, "it")
        credit = data.pop("credit", {})
        episode = episode_from_json(data)
        if wrong := mismatch(episode, Episode):
            raise Damaged(wrong.lstrip("."))
        if wrong := mismatch(dict(episode.outcome.scores), dict[Seat, float]):
            raise Damaged(f"scores{wrong}")
        for seat in episode.seats:
            result(episode, seat)  # the fact `right` may be anything
        _check_credit(episode, credit)
    except Exception as error:  # each part has its own way to be wrong
        kind = "" if isinstance(error, Damaged) else f"{type(error).__name__}: "
        said = " ".join(f"{kind}{error}".split())[:100]
        raise Damaged(f"{place} is no episode: it was cut short or changed ({said})") from None
    return episode, credit


def _check_credit(episode: Episode, credit: Any) -> None:
    """Raises ValueError where credit is not one number, or null, for each turn of the seats that it names."""
    turns = Counter(str(turn.ask.seat) for turn in episode.turns)
    shaped(credit, {...: {"rewards": [object], "advantages": [object], "parts?": {...: [object]}}}, "credit")
    for seat, own in credit.items():
        lists = {"rewards": own["rewards"], "advantages": own["advantages"], **own.get("parts", {})}
        for name, values in lists.items():
            if not isinstance(values, list) or len(values) != turns[seat]:
                raise ValueError(f"{name} of {seat} must be a list of {turns[seat]} numbers")
            if not all(value is None or type(value) in (int, float) for value in values):
                raise ValueError(f"{name} of {seat} must be numbers")


def keep_played(folder: Path, episode: Episode) -> str:
    """Writes a game that a person played among the episodes of a run, where no resumed run forgets it, and returns its
    name, played.NUMBER. Whoever else does so at the same moment gets another number."""
    text = episode_line(episode)
    place = folder / "episodes"
    try:
        path = _new_name(folder, place)
        write_whole(folder, f"episodes/{path.name}", text)
    except OSError as error:
        raise RedQueenError(f"cannot write into {place}: {error.strerror}") from error
    return _played_name(path)


def _new_name(folder: Path, place: Path) -> Path:
    """The first that is not taken; an empty file takes it."""
    for number in count(len(list(place.glob("played_*.json")))):
        path = place / f"played_{number:06d}.json"
        try:
            write_new(folder, f"episodes/{path.name}")
        except FileExistsError:
            continue
        break
    return path


def _played_name(path: Path) -> str:
    return f"played.{int(path.stem.removeprefix('played_'))}"
