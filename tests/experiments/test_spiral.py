"""The favoured game of SPIRAL's experiment, and several games in one run."""

from random import Random

import pytest

from experiments.spiral import NEVER_FORGETS, Favoured
from redqueen.contracts.recipes import metrics, small, trained
from redqueen.credit.advantages.keys import by_game_and_role
from redqueen.credit.advantages.statistics import MovingBaseline
from redqueen.credit.rewards import payoff, score
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.measures.exact.exploitability import GameTree
from redqueen.play.lockstep import play
from redqueen.play.seating import mirror
from redqueen.players.scripted import Uniform
from redqueen.recipes.games import spiral
from redqueen.types import RedQueenError


def test_a_bonus_changes_no_best_reply():
    plain, favoured = GameTree(KuhnPoker()), GameTree(Favoured(1.0))
    assert favoured.exploitability(favoured.strategy(Uniform())) == pytest.approx(
        plain.exploitability(plain.strategy(Uniform()))
    )
    first, second = favoured.values(favoured.strategy(Uniform()))
    assert first + second == pytest.approx(1.0)


def test_a_baseline_for_each_role_takes_the_bonus_out_and_none_leaves_it():
    """Over many matches the advantages of the first seat have a mean of 0, and with no baseline one of 1 + 1/8."""
    game = Favoured(1.0)
    trajectories = score(play(mirror(game, game.tasks() * 300, Uniform()), Random(0)), payoff)
    found = {}
    for decay in (0.95, NEVER_FORGETS):
        advantages = MovingBaseline(by_game_and_role, decay=decay)(trajectories)
        own = [
            float(given[0]) for each, given in zip(trajectories, advantages, strict=True) if each.seat.role == "first"
        ]
        found[decay] = sum(own) / len(own)
    assert abs(found[0.95]) < 0.1
    assert found[NEVER_FORGETS] == pytest.approx(1.125, abs=0.1)


def test_several_games_in_one_run_are_measured_each_under_its_name(tmp_path):
    config = small(spiral, steps=2, matches_per_step=5, also=("liars_dice:sides=2",))
    lines = metrics(trained(spiral, config, tmp_path))
    assert [line["episodes"] for line in lines] == [5, 5]
    for name in ("kuhn_poker", "liars_dice(sides=2)"):
        assert f"{name}/exploitability" in lines[0]


def test_a_further_game_that_is_none_is_said_in_one_line(tmp_path):
    with pytest.raises(RedQueenError, match="no game 'kuhn'"):
        trained(spiral, small(spiral, also=("kuhn",)), tmp_path)
