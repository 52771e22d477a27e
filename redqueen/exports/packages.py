"""Packages with which trainers of others run a game: `redqueen export GAME --as trl`.

Each is a folder with a `pyproject.toml`, one module of a few lines, a script that trains in ten, and the game's file
where it is the user's own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from redqueen.exports.match import lists_replies
from redqueen.games.catalogue import find_game
from redqueen.measures.exact.exploitability import GameTree
from redqueen.measures.of_games import TREE_NODES, lists_choices
from redqueen.play.table import waits
from redqueen.protocols import Game
from redqueen.trust.no_links import write_whole
from redqueen.types import RedQueenError


@dataclass(frozen=True)
class Form:
    """How a package for one trainer is written: `{module}` and `{title}` are filled in."""

    needs: str  # packages beside redqueen, with spaces between
    module: str
    script: str
    about: str
    exact: str = ""  # the end of the script where the game is measured exactly
    plain: str = ""  # and where it is not: in a world, with free text, with too many histories
    measured: str = ""  # said of the exact measure in the README


FOUND = '''"""{title} for {form}, written by `redqueen export`."""

from pathlib import Path

from redqueen.games.catalogue import find_game
'''
GAME = "\nGAME = find_game({spec})\n"
INSTALL = """In an environment of its own, from this folder; Red Queen comes from its own tree:

    pip install PATH/TO/REDQUEEN ."""

FORMS: Mapping[str, Form] = MappingProxyType(
    {
        "gymnasium": Form(
            "gymnasium",
            "from redqueen.exports.gymnasium_env import game_env\nfrom gymnasium import register\n"
            + GAME
            + '''

def make(role="", others=None, render_mode=None):
    """The environment; `role` acts, `others` (a player, uniform by default) has the other seats."""
    return game_env(GAME, others, role, render_mode)


register("{title_id}-v0", entry_point=make)
''',
            """from gymnasium.utils.env_checker import check_env

from {module} import make

env = make()
check_env(env, skip_render_check=True)
for seed in range(100):
    (_, info), over = env.reset(seed=seed), False
    while not over:
        _, score, over, _, info = env.step(env.action_space.sample(info["action_mask"]))
""",
            "One seat acts, a player has the others; without a role each seed has its own.\n\n"
            '    gymnasium.make("{module}:{title_id}-v0", role="{role}")',
            'print("exploitability", env.exploitability(lambda seen, legal: [1 / len(legal)] * len(legal)))\n',
            'print("score", score)\n',
        ),
        "trl": Form(
            "trl datasets",
            "from redqueen.exports.trl_rollouts import ExactCallback, Rollouts, rows\n"
            + GAME
            + '''

def dataset(repeats=1):
    """Every task in every role."""
    from datasets import Dataset

    return Dataset.from_list(rows(GAME, repeats))


def rollouts(seed=0):
    return Rollouts(GAME, seed)


def exact(tokenizer, every=1):
    """A callback: `found` holds the exact exploitability step by step."""
    return ExactCallback(GAME, tokenizer, every)
''',
            """import sys, torch

from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

from {module} import {parts}

tokenizer, model = (kind.from_pretrained(sys.argv[1]) for kind in (AutoTokenizer, AutoModelForCausalLM))
args = GRPOConfig("out", per_device_train_batch_size=16, max_steps=20, use_cpu=not torch.accelerator.is_available())
""",
            "The trainer's model plays every seat. `python train.py MODEL` trains.",
            exact="""play, measured = rollouts(), exact(tokenizer, every=5)
own = {{"processing_class": tokenizer, "rollout_func": play, "callbacks": [measured]}}
GRPOTrainer(model, play.reward, args, dataset(100), **own).train()
print([(step, round(figures["exploitability"], 3)) for step, figures in measured.found])
""",
            plain="""play = rollouts()
own = {{"processing_class": tokenizer, "rollout_func": play}}
GRPOTrainer(model, play.reward, args, dataset(100), **own).train()
""",
            measured="It prints the exact exploitability every five steps.",
        ),
        "verifiers": Form(
            "verifiers==0.4.0",
            "from redqueen.exports.match import Exact\nfrom redqueen.exports.verifiers_game import classes_of\n"
            + GAME
            + """
GameTaskset, GameEnv = classes_of(GAME)
__all__ = ["GameTaskset", "GameEnv"]

exact = Exact(GAME)  # exact(chances)["exploitability"]
""",
            """import asyncio, sys, verifiers.v1 as vf
from verifiers.v1.utils.loaders import load_environment, resolve_env_config
env = load_environment(resolve_env_config({{"taskset": {{"id": "{module}"}}, {seats}}}))
model = vf.ModelContext(model=sys.argv[2], client=vf.EvalClientConfig(base_url=sys.argv[1]))
async def main():
    async with env.serving():
        for episode in [await env.run_episode(task, model) for task in env.taskset.take(8)]:
            scores = [(each.info["redqueen"]["seat"], each.reward) for each in episode.traces if episode.ok]
            print(scores or [each.message for each in episode.errors])
asyncio.run(main())
""",
            "Each seat is an agent. `python use.py http://HOST/v1 MODEL` plays it with verifiers.",
            measured="`redqueen exploitability {named} --model http://HOST/v1#MODEL` measures the model exactly.",
        ),
        "openenv": Form(
            "openenv==0.10.0",
            "from redqueen.exports.openenv_game import environment_of\n"
            + GAME
            + """
GameAction, GameObservation, GameEnvironment = environment_of(GAME)


def app():
    from openenv.core.env_server import create_app

    return create_app(GameEnvironment, GameAction, GameObservation, env_name="{title}", max_concurrent_envs=64)
""",
            """from {module} import GameAction, GameEnvironment

env, total = GameEnvironment(), 0.0
for seed in range(100):
    seen = env.reset(seed=seed)
    while not seen.done:
        seen = env.step(GameAction(message=seen.choices[0] if seen.choices else "I pass."))
    total += seen.reward
print("mean score", total / 100)
""",
            "One seat acts by `GameAction(message=...)`, a player has the others. "
            "`uvicorn --factory {module}:app` serves it; "
            'OpenEnv\'s `GenericEnvClient` plays there, each session a match, with acts `{{"message": ...}}`.',
            exact="""always_first = lambda asks: [[1.0, *[0.0] * (len(ask.choices) - 1)] for ask in asks]
print("exploitability", env.exact(always_first)["exploitability"])
""",
        ),
    }
)


@dataclass(frozen=True)
class Package:
    """The files of a package by name, and the game in it."""

    name: str
    files: Mapping[str, str]


def package(spec: str, form: str, title: str = "") -> Package:
    """The package of a game. Raises RedQueenError for a form that is not known and for a game that cannot be stepped
    from outside."""
    if form not in FORMS:
        raise RedQueenError(f"there is no form {form!r}: name {', '.join(FORMS)}")
    game = checked(find_game(spec))
    if form == "gymnasium" and not lists_replies(game):
        raise RedQueenError(f"{game.name} asks for free text: an environment of Gymnasium lists its acts")
    if form == "openenv" and len(game.roles) > 1 and not lists_choices(game):
        raise RedQueenError(
            f"{game.name} asks for free text: in an environment of OpenEnv the other seats are a uniform player's, who "
            "needs listed replies; --as trl or verifiers seats a model in each"
        )
    place, _, rest = spec.partition(":")
    own = files_in(spec)
    called = rest.partition(":")[0] if place.endswith(".py") else game.name
    short = title or re.sub(r"\W+", "_", called).strip("_").lower()
    module, how = f"{short}_for_{form}", FORMS[form]
    words = {
        "module": module,
        "seats": ", ".join(f'"{role}": {{"runtime": {{"type": "subprocess"}}}}' for role in game.roles),
        "title": short,
        "role": game.roles[0],
        "title_id": "".join(part.capitalize() for part in short.split("_")),
        "form": form,
        "spec": _beside(spec, own),
        "named": _in_package(spec, own, module),
    }
    exact = measured_exactly(game)
    words["parts"] = "dataset, exact, rollouts" if exact else "dataset, rollouts"
    about = " ".join(filter(None, (how.about, how.measured if exact else ""))).format(**words)
    head = FOUND if own else FOUND.replace("from pathlib import Path\n\n", "")
    files = {
        "pyproject.toml": _project(module, ["redqueen", *how.needs.split()]),
        "README.md": f"# {short} for {form}\n\n{about}\n\n{INSTALL}\n",
        f"{module}/__init__.py": (head + how.module).format(**words),
    }
    script = (how.script + (how.exact if exact else how.plain)).format(**words)
    files["train.py" if form == "trl" else "use.py"] = script
    for file in own:
        files[f"{module}/{Path(file).name}"] = Path(file).read_text(encoding="utf-8")
    return Package(module, files)


def measured_exactly(game: Game) -> bool:
    """Whether somebody else may exploit who plays the game, and its histories can be listed."""
    try:
        return len(game.roles) > 1 and bool(GameTree(game, TREE_NODES).states)
    except RedQueenError:
        return False


def files_in(spec: str) -> list[str]:
    """The files that a specification names, as they are written there: a game's or a world's own, or its tasks. Raises
    RedQueenError for two of one name."""
    found = list(dict.fromkeys(word for word in re.split(r"[:,()=]", spec) if word and Path(word).is_file()))
    names = [Path(file).name for file in found]
    if len(set(names)) < len(names):
        raise RedQueenError(f"two files of one name cannot stand in a package: {', '.join(found)}")
    return found


def _beside(spec: str, files: Sequence[str]) -> str:
    """The code of a specification whose files stand beside the module."""
    if not files:
        return repr(spec)
    pieces = re.split("(" + "|".join(map(re.escape, sorted(files, key=len, reverse=True))) + ")", spec)
    code = [f"str(Path(__file__).with_name({Path(each).name!r}))" if each in files else repr(each) for each in pieces]
    return " + ".join(each for each in code if each != "''")


def _in_package(spec: str, files: Sequence[str], module: str) -> str:
    """A specification whose files are those of the package."""
    for file in files:
        spec = spec.replace(file, f"{module}/{Path(file).name}")
    return spec


def checked(game: Game) -> Game:
    """The game, if another's trainer can step it."""
    if waits(game):
        raise RedQueenError(f"{game.name} runs a program that asks when it likes: it cannot be stepped from outside")
    return game


def write(found: Package, folder: Path) -> Path:
    """Writes a package into a new folder of its name. Raises RedQueenError where something is there already."""
    place = folder / found.name
    if place.exists():
        raise RedQueenError(f"{place} is there already: remove it or name another --output")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in found.files.items():
        write_whole(folder, f"{found.name}/{name}", text)
    return place


def _project(module: str, needs: list[str]) -> str:
    quoted = ", ".join(f'"{each}"' for each in needs)
    return f"""[project]
name = "{module.replace("_", "-")}"
version = "0.1.0"
requires-python = ">=3.11"
dependencies = [{quoted}]

[build-system]
requires = ["setuptools>=61"]
build-backend = "setuptools.build_meta"
"""
