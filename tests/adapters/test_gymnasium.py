"""Environments of Gymnasium and the grids of BabyAI as worlds."""

import numpy as np
import pytest

from redqueen.adapters.babyai import Grid, in_words
from redqueen.contracts.games import check_game
from redqueen.contracts.worlds import check_world
from redqueen.games.catalogue import find_game
from redqueen.types import RedQueenError, Task
from redqueen.worlds.catalogue import find_world

pytest.importorskip("gymnasium")
pytest.importorskip("minigrid")


@pytest.mark.parametrize(
    "name",
    [
        "gymnasium(FrozenLake-v1,left/down/right/up)",
        "gymnasium:Blackjack-v1",
        "gymnasium(CartPole-v1,left/right)",
        "grid:GoToLocal",
        "grid:OpenDoor",
    ],
)
def test_an_environment_keeps_the_contract(name):
    assert "keeps the contract of worlds" in check_world(find_world(name))


def test_a_game_in_one_keeps_the_contract_of_games():
    assert "played by agent" in check_game(find_game("acting:gymnasium(FrozenLake-v1,left/down/right/up),9"))


def test_a_frozen_lake_is_crossed_and_pays_at_the_goal():
    world = find_world("gymnasium(FrozenLake-v1,left/down/right/up)")
    visit = world.open(Task("seed", facts={"seed": 0}), 0)
    assert visit.look().shown == ">SFFF\nFHFH\nFFFH\nHFFG"
    view = visit.act("down")
    while not view.over:  # the ice is slippery: where this seed leads is the library's to say, not ours
        view = visit.act("right")
    assert visit.assess().score == view.gain
    assert visit.act("up").over
    assert "There is no such act." in world.open(Task("seed", facts={"seed": 0}), 0).act("jump").shown


EMPTY, WALL, KEY, BALL, DOOR = (1, 0, 0), (2, 5, 0), (5, 0, 0), (6, 2, 0), (4, 4, 2)


def test_a_grid_is_told_from_where_the_agent_stands():
    cells = np.array([[EMPTY] * 7 for _ in range(7)], dtype=np.uint8)
    cells[3][1] = WALL  # straight ahead, five cells
    cells[3][4] = KEY
    cells[1][6] = BALL
    cells[5][0] = DOOR
    seen = in_words(None, {"image": cells, "mission": "go to the red key"})
    assert seen == (
        "go to the red key\nWall 5 ahead. You see: blue ball 2 left, red key 2 ahead, "
        "locked yellow door 6 ahead 2 right"
    )
    cells[3][6] = KEY
    assert "Wall 5 ahead. You hold a red key. You see:" in in_words(None, {"image": cells, "mission": "x"})


def test_the_bot_does_what_the_grid_asks_for():
    grid = Grid("PickupLoc", count=5, tests=5)
    for task in grid.held_out():
        visit = grid.open(task, 0)
        views = [visit.act(act) for act in grid.expert(task)]
        assert views[-1].over
        assert visit.assess().score == 1.0


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gymnasium:Pendulum-v1", "only a numbered list of acts"),
        ("gymnasium:Lake-v1", "no environment 'Lake-v1'"),
        ("gymnasium(CartPole-v1,left)", "has 2 acts, not the 1"),
        ("gymnasium(CartPole-v1,left/left)", "names that differ"),
        ("grid:Maze", "no level 'Maze'; its levels are ActionObjDoor"),
        ("grid(GoToLocal,0)", "a task and a held-out one"),
    ],
)
def test_what_cannot_be_is_one_line(name, said):
    with pytest.raises(RedQueenError, match=said) as raised:
        world = find_world(name)
        world.open(world.tasks()[0], 0)
    assert "\n" not in str(raised.value)
