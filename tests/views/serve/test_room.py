"""Many people: their games apart, bounded, dropped when nobody looks, saved once."""

import json
from threading import Thread

import pytest

from redqueen.play.lockstep import replay
from redqueen.play.seating import dealt
from redqueen.runs.folder import recorded_game, stored_episodes
from redqueen.types import RedQueenError
from redqueen.views.serve import room as room_module
from redqueen.views.serve.menu import Menu
from redqueen.views.serve.refusals import Declined
from redqueen.views.serve.room import IDLE, Room, Wish

WISH = Wish("tic_tac_toe", "uniform", "first")


@pytest.fixture(scope="module")
def menu(board_run):
    return Menu(board_run)


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def finish(room, view):
    while not view["over"]:
        view = room.say(view["key"], view["ask"]["choices"][0], view["entries"])
    return view


def test_a_wish_that_cannot_be_met_is_explained(menu):
    room = Room(menu)
    for wish, why in (
        (Wish("chess", "uniform", "first"), "no game 'chess'"),
        (Wish("tic_tac_toe", "uniform", "third"), "no role 'third': it has first, second"),
        (Wish("tic_tac_toe", "http://10.0.0.1#m", "first"), "no player 'http://10.0.0.1#m' here"),
        (Wish("tic_tac_toe", "/etc", "first"), "no player '/etc' here"),
        (Wish("tic_tac_toe", "uniform", "first", task=1), "no task number 1"),
        (Wish("tic_tac_toe", "uniform", "first", task=-1), "no task number -1"),
    ):
        with pytest.raises(Declined, match=why):
            room.begin(wish)


@pytest.mark.filterwarnings("ignore:the table of")
def test_a_player_who_draws_among_listed_replies_is_not_seated_where_it_must_write(board_run):
    room = Room(Menu(board_run, "price_talk:words=6"))
    checkpoint = room.menu.listed()["games"][0]["players"][0]
    for role in ("buyer", "seller"):
        for player in ("uniform", checkpoint):
            with pytest.raises(Declined, match=f"{player} draws among listed replies, and adviser must write"):
                room.begin(Wish("price_talk(words=6)", player, role))
    assert room.begin(Wish("price_talk(words=6)", "uniform", "adviser"))["ask"]["choices"] == []


def test_a_seed_deals_what_it_deals_at_the_keyboard(card_run):
    menu = Menu(card_run)
    game = menu.games["kuhn_poker"].game
    for seed in range(4):
        room = Room(menu)
        view = finish(room, room.begin(Wish("kuhn_poker", "uniform", "second", seed=seed)))
        assert view["result"]["task"] == dealt(game, seed).id
        assert view["result"]["again"] == f"redqueen play kuhn_poker --against uniform --role second --seed {seed}"


def test_a_chosen_deal_is_dealt(card_run):
    room = Room(Menu(card_run))
    view = finish(room, room.begin(Wish("kuhn_poker", "uniform", "first", task=5)))
    assert (view["result"]["task"], view["result"]["again"]) == ("king-queen", "")


def test_games_do_not_disturb_one_another(menu):
    """Each of many at once is what it is alone."""
    alone = [
        finish(room := Room(menu), room.begin(Wish("tic_tac_toe", f"{menu.folder}@4", "second", seed=seed)))
        for seed in range(8)
    ]
    shared, found = Room(menu), {}

    def one(seed):
        found[seed] = finish(shared, shared.begin(Wish("tic_tac_toe", f"{menu.folder}@4", "second", seed=seed)))

    threads = [Thread(target=one, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [{**found[seed], "key": ""} for seed in range(8)] == [{**view, "key": ""} for view in alone]
    assert len({view["key"] for view in found.values()}) == 8


def test_a_game_goes_by_its_key_alone(menu):
    room = Room(menu)
    view = room.begin(WISH)
    assert len(view["key"]) == 22
    room.leave(view["key"])
    for key in (view["key"], "", "0"):
        with pytest.raises(Declined, match="no longer here"):
            room.view(key)


def test_tables_are_bounded_and_idle_ones_make_room(menu):
    clock = Clock()
    room = Room(menu, most=2, clock=clock)
    first, second = room.begin(WISH), room.begin(WISH)
    with pytest.raises(Declined, match="all 2 tables are taken"):
        room.begin(WISH)
    clock.now = IDLE
    room.view(first["key"])
    clock.now = IDLE + 1
    room.begin(WISH)
    room.view(first["key"])
    with pytest.raises(Declined, match="no longer here"):
        room.view(second["key"])


def test_a_finished_game_is_saved_once_and_can_be_replayed(menu):
    room = Room(menu)
    view = room.begin(WISH)
    with pytest.raises(Declined, match="the game is not over"):
        room.save(view["key"])
    view = finish(room, view)
    names = [name for name, _, _ in stored_episodes(menu.folder)]
    kept = room.save(view["key"])["result"]
    assert room.save(view["key"])["result"] == kept
    assert kept["replay"] == f"redqueen replay {menu.folder} {kept['saved']}"
    after = {name: episode for name, episode, _ in stored_episodes(menu.folder)}
    assert list(after) == [*names, kept["saved"]]
    episode = after[kept["saved"]]
    assert replay(menu.games["tic_tac_toe"].game, episode).outcome.scores == episode.outcome.scores


def test_saved_games_are_bounded(menu, monkeypatch):
    monkeypatch.setattr(room_module, "MOST_SAVED", 1)
    room = Room(menu)
    for number in range(2):
        view = finish(room, room.begin(WISH))
        if number == 0:
            room.save(view["key"])
    with pytest.raises(Declined, match="it takes no more"):
        room.save(view["key"])


def test_a_game_that_replay_would_not_find_is_not_saved(board_run, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "from redqueen.games.tic_tac_toe import TicTacToe\n"
        "class Mine:\n    name, roles = 'mine', ('first', 'second')\n"
        "    def tasks(self):\n        return TicTacToe().tasks()\n"
        "    def play(self, task, rng):\n        return (yield from TicTacToe().play(task, rng))\n"
    )
    room = Room(Menu(board_run, f"{tmp_path}/mine.py:Mine"))
    view = finish(room, room.begin(Wish("mine", "uniform", "first")))
    monkeypatch.setattr(room_module, "MOST_SAVED", 1)
    for _ in range(3):  # none of them is counted
        with pytest.raises(Declined, match="'mine' is not a game of this run"):
            room.save(view["key"])


def test_a_save_that_fails_is_not_counted(menu, monkeypatch):
    monkeypatch.setattr(room_module, "MOST_SAVED", 1)
    room = Room(menu)
    view = finish(room, room.begin(WISH))

    def failing(folder, episode):
        raise RedQueenError("cannot write: the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(room_module, "keep_played", failing)
        with pytest.raises(RedQueenError, match="the disk is full"):
            room.save(view["key"])
    assert room.save(view["key"])["result"]["saved"]


@pytest.mark.filterwarnings("ignore:the table of")
def test_a_game_with_a_rule_that_is_switched_on_is_saved_and_can_be_replayed(board_run):
    menu = Menu(board_run, "connect:4,3,3,drop=true")
    room = Room(menu)
    view = finish(room, room.begin(Wish("connect(4,3,3,drop=true)", "uniform", "first")))
    saved = room.save(view["key"])["result"]["saved"]
    episode = {name: episode for name, episode, _ in stored_episodes(board_run)}[saved]
    assert replay(recorded_game(episode.game, board_run), episode).outcome.scores == episode.outcome.scores


def test_a_view_is_json(menu):
    room = Room(menu)
    assert json.loads(json.dumps(room.begin(WISH)))["wish"] == {
        "game": "tic_tac_toe",
        "player": "uniform",
        "role": "first",
        "task": None,
    }
    assert room.begin(WISH)["against"] == "uniform"
