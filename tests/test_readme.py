"""What the README shows is run, and what it quotes stands where it says."""

import re
from pathlib import Path
from random import Random

import pytest

from redqueen.contracts.games import check_game
from redqueen.credit.rewards import payoff, score
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.play.lockstep import play
from redqueen.play.seating import mirror
from redqueen.players.scripted import Uniform

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.S)


def block(word):
    (found,) = [text for text in BLOCKS if word in text]
    return found


def names(text):
    space = {}
    exec(compile(text, "README.md", "exec"), space)
    return space


def test_the_example_prints_an_exploitability(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names(block("magnetic.Config(steps=100)").replace("steps=100", "steps=10"))
    assert 0.0 < float(capsys.readouterr().out) < 11 / 24


def test_the_quoted_loop_stands_in_the_recipe():
    assert block("for _ in run.steps") in (ROOT / "redqueen/recipes/games/spiral.py").read_text()


def test_the_game_keeps_the_contract():
    check_game(names(block("class Pennies"))["Pennies"]())


@pytest.mark.parametrize("word", ["by_match_and_role", "class RankBased"])
def test_the_estimators_estimate(word):
    space = names(block(word))
    game = KuhnPoker()
    trajectories = score(play(mirror(game, game.tasks(), Uniform()), Random(0)), payoff)
    estimate = space.get("estimate") or space["RankBased"]()
    advantages = estimate(trajectories)
    assert [len(row) for row in advantages] == [len(trajectory.turns) for trajectory in trajectories]


@pytest.mark.parametrize("path", re.findall(r"\]\((?!http)([^)]+)\)", TEXT))
def test_every_link_leads_somewhere(path):
    assert (ROOT / path).exists()
