"""The staircase: its rules, what a table that knows nothing climbs, and orders that are what they say."""

from random import Random

import numpy as np
import pytest

from experiments.sec import LEVELS, SLOTS, Climb, Staircase, chances_to_climb, easy_to_hard, hard_to_easy, uniform
from redqueen.contracts.games import check_game
from redqueen.curricula.bandit import SelfEvolving, dealt_by
from redqueen.players.tabular import TabularPolicy

LADDER = Staircase().tasks()
ARMS = SelfEvolving(dealt_by(LADDER, lambda task: task.kind))


def test_the_staircase_keeps_the_contracts_of_a_game():
    check_game(Staircase(levels=3))


def test_a_table_that_knows_nothing_climbs_level_n_once_in_four_to_the_n():
    assert chances_to_climb(TabularPolicy(), Staircase()) == pytest.approx(0.25 ** np.arange(1, LEVELS + 1))


def test_the_orders_go_up_down_and_everywhere():
    up = [easy_to_hard(LADDER, ARMS, done, Random(0))[0].kind for done in (0.0, 0.55, 0.99, 1.4)]
    down = [hard_to_easy(LADDER, ARMS, done, Random(0))[0].kind for done in (0.0, 0.99)]
    assert up == ["level 1", "level 6", "level 10", "level 10"]
    assert down == ["level 10", "level 1"]
    everywhere = uniform(LADDER, ARMS, 0.0, Random(0))
    assert len(everywhere) == SLOTS
    assert len({task.kind for task in everywhere}) > 3


def test_a_climb_is_whole_at_the_first_step_with_all_levels():
    assert Climb((9, 10, 9, 10), (0.0,) * 4).whole == 2.0
    assert Climb((9, 9), (0.0,) * 2).whole == float("inf")
