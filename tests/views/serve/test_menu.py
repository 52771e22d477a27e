"""What can be chosen, and nothing else."""

import json
import shutil

import pytest

from redqueen.types import Ask, Message, RedQueenError, Reply, Seat
from redqueen.views.serve import menu as menu_module
from redqueen.views.serve.menu import Menu, Opponent
from redqueen.views.serve.refusals import Declined

ASK = Ask(Seat("first"), (Message("game", "Your move?"),), ("pass", "bet"))


def test_the_checkpoints_come_first_and_the_newest_of_them(board_run, card_run):
    (board,) = Menu(board_run).listed()["games"]
    assert board["players"] == [f"{board_run}@4", f"{board_run}@2", "uniform", "minimax"]
    assert (board["name"], board["roles"], board["tasks"]) == ("tic_tac_toe", ["first", "second"], ["empty"])
    (cards,) = Menu(card_run, also=("http://localhost:1/v1#m",)).listed()["games"]
    assert cards["players"][2:] == ["http://localhost:1/v1#m", "uniform", "equilibrium", "honest"]
    assert len(cards["tasks"]) == 6


def test_the_best_checkpoint_can_be_chosen(board_run, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(board_run, folder)
    shutil.copytree(folder / "checkpoints" / "step_000002", folder / "checkpoints" / "best_000002")
    menu = Menu(folder)
    (board,) = menu.listed()["games"]
    assert board["players"] == [f"{folder}@4", f"{folder}@2", f"{folder}@best", "uniform", "minimax"]
    assert menu.opponent("tic_tac_toe", f"{folder}@best").name == f"{folder}@best"


@pytest.mark.filterwarnings("ignore:the table of")
@pytest.mark.parametrize(
    ("spec", "offered"),
    [
        ("connect:3,3,3", True),
        ("connect:4,3,3,drop=true", True),
        ("connect", False),
        ("connect:7,6,4,drop=true", False),
        ("kuhn_poker", False),
    ],
)
def test_minimax_is_offered_where_nobody_waits_for_it(spec, offered, board_run):
    (game,) = Menu(board_run, spec).listed()["games"]
    assert ("minimax" in game["players"]) == offered


@pytest.mark.filterwarnings("ignore:the table of")
@pytest.mark.parametrize(
    ("spec", "offered"),
    [
        ("negotiation", False),
        ("price_talk", True),
        ("price_talk:words=6", True),
        ("price_talk:words=6,listed=false", False),  # adviser and buyer write, and a person takes one role
        ("volley", True),
    ],
)
def test_a_player_who_draws_among_listed_replies_is_offered_where_it_can_hold_all_roles_but_one(
    spec, offered, board_run
):
    (game,) = Menu(board_run, spec).listed()["games"]
    assert ("uniform" in game["players"]) == offered


@pytest.mark.slow
def test_an_older_checkpoint_and_bots_can_be_chosen(board_run):
    menu = Menu(board_run)
    assert menu.opponent("tic_tac_toe", f"{board_run}@2").name == f"{board_run}@2"
    assert menu.opponent("tic_tac_toe", "minimax").name == "minimax"


@pytest.mark.parametrize("spec", ["RUN", "RUN@3", "/", "http://localhost:1/v1#m", "equilibrium", ""])
def test_nothing_is_loaded_that_is_not_on_the_list(spec, board_run):
    with pytest.raises(Declined, match="there is no player"):
        Menu(board_run).opponent("tic_tac_toe", spec.replace("RUN", str(board_run)))


def test_few_players_stay_in_memory(board_run, monkeypatch):
    monkeypatch.setattr(menu_module, "MOST_LOADED", 2)
    menu = Menu(board_run)
    first = menu.opponent("tic_tac_toe", f"{board_run}@4")
    menu.opponent("tic_tac_toe", "uniform")
    assert menu.opponent("tic_tac_toe", f"{board_run}@4") is first
    menu.opponent("tic_tac_toe", f"{board_run}@2")
    assert menu.opponent("tic_tac_toe", f"{board_run}@4") is first  # it was looked at last
    menu.opponent("tic_tac_toe", "uniform")
    assert menu.opponent("tic_tac_toe", f"{board_run}@2") is not first


def test_a_policy_of_several_games_is_loaded_once_and_a_bot_for_each(card_run, tmp_path):
    shutil.copytree(card_run / "checkpoints", tmp_path / "checkpoints")
    menu = Menu(settings(tmp_path, games=["kuhn_poker", "tic_tac_toe"]))
    policy, bot = ([menu.opponent(title, spec) for title in menu.games] for spec in (f"{tmp_path}@4", "uniform"))
    assert policy[0] is policy[1] and bot[0] is not bot[1]


@pytest.mark.filterwarnings("ignore:the table of")
def test_other_games_are_played_where_they_are_named(card_run):
    menu = Menu(card_run, "liars_dice:sides=4")
    assert list(menu.games) == ["liars_dice(sides=4)"]
    assert menu.games["liars_dice(sides=4)"].spec == "liars_dice:sides=4"


def settings(folder, **config):
    folder.mkdir(exist_ok=True)
    data = {"recipe": "r", "config": config, "seed": 0, "schedule": {}, "versions": {}}
    (folder / "config.json").write_text(json.dumps(data))
    return folder


def test_a_run_that_plays_no_game_is_refused(tmp_path, board_run):
    with pytest.raises(RedQueenError, match="answers questions of 'sums' and plays no game"):
        Menu(settings(tmp_path / "a", questions="sums"))
    with pytest.raises(RedQueenError, match="has no checkpoint yet"):
        Menu(settings(tmp_path / "b", game="kuhn_poker"))
    with pytest.raises(RedQueenError, match="is not a run"):
        Menu(tmp_path)
    with pytest.raises(RedQueenError, match="does not say which game it played"):
        Menu(settings(tmp_path / "c"))
    alone = tmp_path / "alone.py"
    alone.write_text("class Alone:\n    name, roles = 'alone', ('only',)\n    tasks = play = lambda self: []\n")
    with pytest.raises(RedQueenError, match="alone has one role, only: there is nobody to play against"):
        Menu(board_run, f"{alone}:Alone")
    with pytest.raises(RedQueenError, match="have one role each"):
        Menu(settings(tmp_path / "d", game=f"{alone}:Alone"))


def test_a_further_player_that_is_not_there_is_said_at_once(board_run):
    with pytest.raises(RedQueenError, match="there is no player 'nobody'"):
        Menu(board_run, also=("nobody",))


def test_a_policy_forgets_before_it_is_asked():
    class Counting:
        name, open, forgot = "counting", True, 0

        def forget(self):
            self.forgot += 1

        def reply(self, asks):
            return [Reply("pass", "counting") for _ in asks]

        def probabilities(self, asks):
            return [[0.5, 0.5] for _ in asks]

    player = Counting()
    opponent = Opponent(player)
    opponent.reply([ASK])
    opponent.probabilities(ASK)
    assert player.forgot == 2
