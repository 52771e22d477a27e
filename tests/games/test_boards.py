from dataclasses import replace
from random import Random

import pytest

from redqueen.games.boards import frames
from redqueen.games.catalogue import find_game
from redqueen.play.lockstep import play
from redqueen.players.scripted import Constant, Uniform
from redqueen.types import Match


def played(spec, player=None, seed=0):
    game = find_game(spec)
    player = player or Uniform()
    (episode,) = play([Match(game, game.tasks()[0], dict.fromkeys(game.roles, player), seed)], Random(0))
    return episode


def rows(frame):
    return [" ".join(cell or "." for cell in row) for row in frame["rows"]]


@pytest.mark.parametrize("spec", ["tic_tac_toe", "connect", "connect:5,4,3", "connect:7,6,4,drop=true"])
@pytest.mark.parametrize("seed", range(3))
def test_the_last_board_is_the_one_that_the_game_reports(spec, seed):
    episode = played(spec, seed=seed)
    found = frames(episode)
    assert len(found) == len(episode.turns) + 1
    marks = "".join(cell if cell in ("X", "O") else "." for row in found[-1]["rows"] for cell in row)
    reported = episode.outcome.facts["board"]
    drawn = reported.split() if " " in reported or "\n" in reported else list(reported)
    assert marks == "".join(cell if cell in ("X", "O") else "." for cell in drawn)[-len(marks) :]  # below the numbers


def test_the_board_of_an_older_record_is_drawn():
    episode = played("connect:7,6,4,drop=true")
    assert frames(replace(episode, game="connect(7,6,4,drop)")) == frames(episode)


def test_each_frame_shows_the_board_before_its_turn():
    episode = played("tic_tac_toe")
    found = frames(episode)
    assert rows(found[0]) == ["1 2 3", "4 5 6", "7 8 9"]
    assert found[0]["last"] is None
    row, column = found[1]["last"]
    assert found[1]["rows"][row][column] == "X"
    assert str(3 * row + column + 1) == episode.turns[0].reply.text


def test_a_match_that_begins_on_a_board_is_drawn_from_there():
    game = find_game("tic_tac_toe:openings=1")
    task = game.tasks()[5]
    episode = play([Match(game, task, dict.fromkeys(game.roles, Constant("9")))], Random(0))[0]
    assert [rows(frame) for frame in frames(episode)][:2] == [["1 2 3", "4 X 6", "7 8 9"], ["1 2 3", "4 X 6", "7 8 O"]]


@pytest.mark.parametrize(
    ("spec", "facts"),
    [
        *(("tic_tac_toe", {"board": board}) for board in ("", "XX", 5, None, [], {"a": 1})),
        *(("kuhn_poker", facts) for facts in ({}, {"cards": 5}, {"cards": ("jack",)})),
        ("liars_dice", {}),
    ],
)
def test_a_record_whose_facts_are_not_those_of_its_game_is_not_drawn(spec, facts):
    episode = played(spec)
    assert frames(episode) != []
    assert frames(replace(episode, task=replace(episode.task, facts=facts))) == []


def test_words_that_are_no_move_leave_the_board_as_it_is():
    found = frames(played("tic_tac_toe", Constant("nonsense")))
    assert rows(found[-1]) == ["1 2 3", "4 5 6", "7 8 9"]


def test_hands_are_shown_and_the_open_card_from_the_second_round_on():
    kuhn = played("kuhn_poker")
    first, second = kuhn.task.facts["cards"]
    assert frames(kuhn)[0] == {"kind": "cards", "hands": {"first": [first], "second": [second]}, "shared": []}
    ended = []
    for seed in range(12):
        leduc = played("leduc_poker", seed=seed)
        shared = [frame["shared"] for frame in frames(leduc)]
        public = [str(leduc.task.facts["public"])]
        second = len(leduc.outcome.facts["history"]) > 1 and bool(leduc.outcome.facts["history"][1])
        ended.append(second)
        assert shared[0] == []
        assert shared[-1] == (public if second else [])
        assert sorted(shared) == shared  # once it lies open it stays
    assert {True, False} == set(ended)
    assert frames(played("iterated_dilemma")) == []
