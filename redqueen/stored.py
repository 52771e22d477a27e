"""Finished and unfinished runs on disk: their settings, their policies, their episodes."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from redqueen.config import Learner
from redqueen.domains.catalogue import find_domain
from redqueen.games.catalogue import find_game
from redqueen.players.tabular import TabularPolicy
from redqueen.protocols import Domain, Game, Policy
from redqueen.records import episode_from_json
from redqueen.run import check, checkpoints
from redqueen.types import Episode, RedQueenError

T = TypeVar("T")


def settings(folder: Path) -> dict[str, Any]:
    """What `config.json` of a run says."""
    path = folder / "config.json"
    if not path.is_file():
        raise RedQueenError(f"{folder} is not a run: it has no config.json (runs are folders such as outputs/spiral-0)")
    try:
        found = json.loads(path.read_text())
    except ValueError as error:
        raise RedQueenError(f"{path} is not JSON: {error}") from error
    missing = [name for name in ("recipe", "config", "seed", "schedule", "versions") if name not in found]
    if missing:
        raise RedQueenError(f"{path} is not that of a run: it does not say {', '.join(missing)}")
    return dict(found)


def rebuild(kind: type[T], data: dict[str, Any]) -> T:
    """A dataclass from its `asdict` as JSON has it."""
    hints = get_type_hints(kind)
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    unknown = set(data) - known
    if unknown:
        raise RedQueenError(f"the settings name {', '.join(sorted(unknown))}, which {kind.__module__} does not have")
    values: dict[str, Any] = {}
    for name, value in data.items():
        hint = hints[name]
        if isinstance(hint, type) and is_dataclass(hint):
            value = rebuild(hint, value)
        elif isinstance(value, list):
            value = tuple(value)
        values[name] = value
    return kind(**values)


def stored_policy(folder: Path, step: int | None = None) -> Policy:
    """The policy of a run as its newest checkpoint has it, or the one after `step` updates."""
    config = settings(folder)
    saved = checkpoints(folder)
    if not saved:
        raise RedQueenError(f"{folder} has no checkpoint yet")
    chosen = saved[-1]
    if step is not None:
        named = {int(path.name.removeprefix("step_")): path for path in saved}
        if step not in named:
            raise RedQueenError(f"{folder} has no checkpoint at step {step}: it has {', '.join(map(str, named))}")
        chosen = named[step]
    check(chosen)
    policy_folder = chosen / "learner"
    if not policy_folder.is_dir():
        raise RedQueenError(f"{chosen} holds no policy called learner")
    if (policy_folder / "table.json").exists():
        policy: Policy = TabularPolicy()
    elif "learner" not in config["config"]:
        raise RedQueenError(f"the settings of {folder} do not say what its learner is: they have no field learner")
    else:
        policy = rebuild(Learner, config["config"]["learner"]).build(int(config["seed"]))
    policy.load(policy_folder)
    return policy


def stored_game(folder: Path) -> Game:
    """The game a run was trained on (the first, if there were several)."""
    config = settings(folder)["config"]
    if "game" in config:
        return find_game(config["game"])
    if config.get("games"):
        return find_game(config["games"][0])
    for _, episode, _ in stored_episodes(folder):
        return find_game(episode.game)
    raise RedQueenError(f"{folder} does not say which game it played: name it with --game")


def stored_domain(folder: Path) -> Domain | None:
    """The domain whose questions a run was about; None for a run of games."""
    spec = settings(folder)["config"].get("domain")
    return None if spec is None else find_domain(spec)


def stored_episodes(folder: Path) -> list[tuple[str, Episode, dict[str, Any]]]:
    """The recorded episodes of a run, in order: (name, episode, credit), named STEP.NUMBER."""
    found = []
    for path in sorted((folder / "episodes").glob("step_*.jsonl")):
        step = int(path.stem.removeprefix("step_"))
        for number, text in enumerate(path.read_text().splitlines()):
            data = json.loads(text)
            credit = data.pop("credit")
            found.append((f"{step}.{number}", episode_from_json(data), credit))
    return found
