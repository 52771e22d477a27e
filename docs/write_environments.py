"""Writes docs/environments.md: environments of others that keep a contract here, with figures of two simple players.

    python docs/write_environments.py                    the page, from what was measured before (environments.jsonl)
    python docs/write_environments.py PACKAGE ...        measures the environments of these packages first
    python docs/write_environments.py PACKAGE/NAME ...   measures these alone

Each package is installed as the page says. An environment that does not keep its contract is written with what is
wrong.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this checkout, whatever else is installed

from redqueen.contracts import games as contract_of_games  # noqa: E402
from redqueen.contracts.games import check_game  # noqa: E402
from redqueen.contracts.questions import check_questions  # noqa: E402
from redqueen.contracts.worlds import check_world  # noqa: E402
from redqueen.curricula.held_out import training_levels  # noqa: E402
from redqueen.games.acting import Acting  # noqa: E402
from redqueen.games.catalogue import find_game  # noqa: E402
from redqueen.guests.installed import environment  # noqa: E402
from redqueen.play.lockstep import play  # noqa: E402
from redqueen.questions.catalogue import find_questions  # noqa: E402
from redqueen.types import Ask, Match, Reply  # noqa: E402
from redqueen.worlds.catalogue import find_world  # noqa: E402

PAGE, KEPT = ROOT / "docs" / "environments.md", ROOT / "docs" / "environments.jsonl"
EPISODES, ACTS = 10, 30
MATCHES = 4  # of each property of a game
SUMS = "examples/arithmetic.jsonl"


@dataclass(frozen=True)
class Package:
    """Environments that one package brings."""

    name: str  # on the package index
    install: str
    kind: str  # "world", "game" or "questions"
    spec: str  # with {} for the name of an environment
    names: str  # of the environments, with spaces between
    phrases: Sequence[str] = ("yes", "no", "[0]", "[1]")
    guest: str = ""  # where it is installed; "" is here
    source: str = ""  # where it is not the package index


GRIDS = (
    "Empty-5x5 Empty-Random-6x6 DoorKey-5x5 FourRooms LavaGapS5 GoToDoor-5x5 Fetch-5x5-N2 Unlock UnlockPickup "
    "MultiRoom-N2-S4 RedBlueDoors-6x6 SimpleCrossingS9N1"
)
POMDPS = (
    "Autoencode Battleship Concentration CountRecall HigherLower LabyrinthEscape LabyrinthExplore MineSweeper "
    "MultiarmedBandit PositionOnlyCartPole RepeatFirst RepeatPrevious"
)
CLASSIC = (
    "tictactoe_v3 connect_four_v3 rps_v2 chess_v6 go_v5 leduc_holdem_v4 texas_holdem_v4 texas_holdem_no_limit_v6 "
    "gin_rummy_v4 hanabi_v5"
)
PACKAGES = (
    Package(
        *("gymnasium", "redqueen guest add gym gymnasium", "world", "gym({},count=3,tests=2)"),
        "FrozenLake-v1 FrozenLake8x8-v1 Taxi-v4 CliffWalking-v1 CliffWalkingSlippery-v1 Blackjack-v1 CartPole-v1 "
        "Acrobot-v1 MountainCar-v0",
        guest="gym",
    ),
    Package(
        *("minigrid", "redqueen guest add gym gymnasium minigrid", "world"),
        *("gym(minigrid:MiniGrid-{}-v0,count=3,tests=2)", GRIDS),
        guest="gym",
    ),
    Package(
        *("popgym", "redqueen guest add popgym popgym", "world"),
        *("gym(popgym:popgym-{}Easy-v0,count=3,tests=2,guest=popgym)", POMDPS),
        guest="popgym",
    ),
    Package(
        *("mazegym", "redqueen guest add mazegym mazegym", "world", "gym(mazegym:{},count=3,tests=2,guest=mazegym)"),
        "Maze3x7Fixed-v0 Maze5x5Fixed-v0 Maze9x9Random-v0",
        guest="mazegym",
    ),
    Package(
        *("gym-simplegrid", "redqueen guest add simplegrid gym-simplegrid", "world"),
        *("gym(gym_simplegrid:{},count=3,tests=2,guest=simplegrid)", "SimpleGrid-4x4-v0 SimpleGrid-8x8-v0"),
        guest="simplegrid",
    ),
    Package(
        *("gymnasium-2048", "redqueen guest add g2048 gymnasium-2048", "world"),
        *("gym(gymnasium_2048:{},count=3,tests=2,guest=g2048)", "gymnasium_2048/TwentyFortyEight-v0"),
        guest="g2048",
    ),
    Package(
        *("skyrl-gym", "redqueen guest add skyrl skyrl-gym", "world", f"skyrl({{}},tasks={SUMS})"),
        "gsm8k gsm8k_multi_turn aime",
        ("#### 4", "The answer is \\boxed{4}", "hello"),
        guest="skyrl",
    ),
    Package(
        *("verifiers", "redqueen guest add verifiers verifiers==0.4.0", "game", "verifiers:{},count=3,tests=2"),
        "kuhn_poker proposer_solver",
        ("[check]", "[bet]", "[call]", "[fold]", '{"problem": "What is 3 + 4?", "answer": 7}', "7"),
        guest="verifiers",
        source="`environments/kuhn_poker` and `environments/proposer_solver` of its repository, beside it, unchanged",
    ),
    Package(
        *("pettingzoo", "redqueen guest add pettingzoo 'pettingzoo[classic]'", "game"),
        *("pettingzoo:classic.{},count=3,tests=2,limit=60", CLASSIC),
        guest="pettingzoo",
    ),
    Package(
        *("open-spiel", "pip install 'redqueen[games]'", "game", "openspiel:{}"),
        "kuhn_poker leduc_poker tic_tac_toe connect_four liars_dice goofspiel(num_cards=4) nim blotto tiny_hanabi "
        "first_sealed_auction oware pig",
    ),
    Package(
        *("textarena", "pip install 'redqueen[games]'", "game", "textarena:{}"),
        "TicTacToe-v0 ConnectFour-v0 KuhnPoker-v0 Nim-v0 IteratedPrisonersDilemma-v0 PigDice-v0 "
        "IteratedRockPaperScissors-v0 Chopsticks-v0 Othello-v0 Breakthrough-v0 SimpleBlindAuction-v0 IndianPoker-v0",
        ("[0]", "[1]", "[cooperate]", "[roll]", "[check]", "[bet]", "[rock]"),
    ),
    Package(
        *("reasoning-gym", "pip install 'redqueen[gym]'", "questions", "reasoning_gym:dataset={}"),
        "chain_sum gcd lcm basic_arithmetic leg_counting spell_backward number_sorting base_conversion "
        "letter_counting prime_factorization simple_equations fraction_simplification",
    ),
)


@dataclass(frozen=True)
class Rule:
    """A player by a rule: what it says depends on the ask alone."""

    name: str
    says: Callable[[Ask, Random], str] = field(repr=False)

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self.says(ask, Random(ask.seed)), self.name) for ask in asks]


def players(phrases: Sequence[str]) -> tuple[Rule, Rule]:
    """One that draws from the listed replies, or else from the phrases; and one that always says the first of them."""
    return (
        Rule("random", lambda ask, rng: rng.choice(ask.choices or tuple(phrases))),
        Rule("first", lambda ask, rng: (ask.choices or tuple(phrases))[0]),
    )


def measured(package: Package, name: str) -> dict[str, Any]:
    """Whether an environment keeps its contract, and what the two players come to."""
    spec = package.spec.format(name)
    row: dict[str, Any] = {
        "package": package.name,
        "environment": name,
        "kind": package.kind,
        "spec": spec,
        "fault": "",
    }
    begun = time.monotonic()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)  # of a guest that failed
            row |= {"world": of_a_world, "game": of_a_game, "questions": of_questions}[package.kind](package, spec)
    except Exception as error:
        row["fault"] = f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]
    return {**row, "seconds": round(time.monotonic() - begun, 1)}


def of_a_world(package: Package, spec: str) -> dict[str, Any]:
    world = find_world(spec)
    check_world(world, package.phrases)
    game = Acting(world, ACTS)
    return {"seats": 1, "figures": [scored(game, {"agent": player}) for player in players(package.phrases)]}


def of_a_game(package: Package, spec: str) -> dict[str, Any]:
    contract_of_games.MATCHES = MATCHES
    game = find_game(spec)
    check_game(game, package.phrases)
    chance, first = players(package.phrases)
    casts = [dict.fromkeys(game.roles, chance), {**dict.fromkeys(game.roles, chance), game.roles[0]: first}]
    return {"seats": len(game.roles), "figures": [scored(game, cast) for cast in casts]}


def of_questions(package: Package, spec: str) -> dict[str, Any]:
    questions = find_questions(spec)
    check_questions(questions)
    level = training_levels(questions)[0]
    tasks = questions.problems(level, EPISODES, Random(0))
    figures = []
    for number in range(2):  # an answer drawn from those of the others, and always that of the first
        others = [tasks[0] if number else tasks[(place + 1) % len(tasks)] for place in range(len(tasks))]
        rights = questions.right(tasks, [other.answer for other in others])
        figures.append(sum(map(bool, rights)) / len(rights))
    return {"seats": 1, "figures": figures}


def scored(game: Any, cast: dict[str, Rule]) -> float:
    """The mean score of the first role over some episodes."""
    tasks = list(game.tasks())
    matches = [Match(game, tasks[number % len(tasks)], cast, number) for number in range(EPISODES)]
    scores = []
    for match in matches:  # one after another: a guest's visits end before the next begin
        (episode,) = play([match], Random(0))
        scores.append(next(score for seat, score in episode.outcome.scores.items() if seat.role == game.roles[0]))
    return sum(scores) / len(scores)


ABOUT = """
import importlib.metadata as m, json, sys
about = m.metadata(sys.argv[1])
kinds = [each.split(" :: ")[-1] for each in about.get_all("Classifier") or () if each.startswith("License ::")]
said = about.get("License-Expression") or (about.get("License") or "").strip().split("\\n")[0][:40] or ", ".join(kinds)
print(json.dumps({"version": about["Version"], "licence": said or "not stated"}))
"""


def about(package: Package) -> dict[str, str]:
    """The version and the licence that a package states of itself."""
    found = environment(package.guest) if package.guest else None
    python = str(found.python) if found else sys.executable
    done = subprocess.run([python, "-c", ABOUT, package.name], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in KEPT.read_text().splitlines()] if KEPT.exists() else []


def page(found: Sequence[dict[str, Any]]) -> str:
    """The page."""
    kept = [row for row in found if not row["fault"]]
    counted = {name: min(12, count) for name, count in Counter(row["package"] for row in kept).items()}
    several = sum(row["seats"] > 1 for row in kept)
    lines = [
        "# Environments of others",
        "",
        "Written by `python docs/write_environments.py` from what it measured (`docs/environments.jsonl`); do not edit",
        "it by hand. Each was installed with the packages of its line and kept the contract of its kind (checked here:",
        f"worlds on five seeds, games in {MATCHES} random matches of each property, question sets as ever). The",
        f"figures are mean scores of the first seat over {EPISODES} episodes (of {ACTS} acts in a world): of a player",
        "that draws from the listed replies (or from a few phrases), and of one that always says the first; in games",
        f"all other seats draw. For question sets they are shares of right answers in {EPISODES} problems: another",
        "problem's answer, and always the first problem's.",
        "",
        f"**{sum(counted.values())} environments of {len(counted)} packages** keep it, at most twelve of a package;",
        f"{several} have two or more seats.",
        "",
    ]
    for package in PACKAGES:
        mine = [row for row in found if row["package"] == package.name]
        if not mine:
            continue
        lines += [f"## {package.name}", ""]
        lines += [f"{mine[0]['version']}, licence: {mine[0]['licence']}. `{package.install}`"]
        lines += [f"From {package.source}."] if package.source else []
        lines += ["", "| environment | named | seats | random | first |", "|---|---|---|---|---|"]
        for row in mine:
            if not row["fault"]:
                figures = " | ".join(f"{figure:.3g}" for figure in row["figures"])
                lines.append(f"| {row['environment']} | `{row['spec']}` | {row['seats']} | {figures} |")
        left = [name for name in package.names.split() if name not in {row["environment"] for row in mine}]
        lines += ["", f"Not measured yet: {', '.join(left)}."] if left else []
        faults = [row for row in mine if row["fault"]]
        lines += ["", *(f"Not kept: {row['environment']}: {row['fault']}" for row in faults)] if faults else []
        lines.append("")
    return "\n".join(lines)


def main(names: Sequence[str]) -> None:
    found = {(row["package"], row["environment"]): row for row in rows()}
    for package in PACKAGES:
        for name in package.names.split():
            if {package.name, f"{package.name}/{name}"} & set(names):
                found[package.name, name] = {**measured(package, name), **about(package)}
                print(found[package.name, name], flush=True)
                KEPT.write_text("".join(f"{json.dumps(row)}\n" for row in found.values()))
    if unknown := set(names) - {each for package in PACKAGES for each in known(package)}:
        raise SystemExit(f"there is no {min(unknown)} among the packages here")
    PAGE.write_text(page(list(found.values())))


def known(package: Package) -> list[str]:
    """What of a package can be named."""
    return [package.name, *(f"{package.name}/{name}" for name in package.names.split())]


if __name__ == "__main__":
    main(sys.argv[1:])
