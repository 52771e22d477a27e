"""TextArena's games: generators kept apart, fresh environments, forfeits, and errors that a user can put right."""

from __future__ import annotations

import random
import sys
from random import Random

import numpy as np
import pytest

from redqueen.adapters.textarena import TextArena, _Chance
from redqueen.contracts.recipes import trained
from redqueen.recipes.games import spiral
from redqueen.runs.folder import stored_episodes
from redqueen.settings.learner import Learner
from redqueen.types import Ask, Outcome, RedQueenError, Reply, Seat, Task

pytest.importorskip("textarena")
FIRST, SECOND = Seat("first"), Seat("second")
TASK = Task("t", facts={"seed": 5})


def test_its_games_are_trained_on_in_one_run_with_our_own(tmp_path):
    tiny = Learner(model="tiny:hidden=16,heads=2", max_completion_length=3)
    games = ("textarena:TicTacToe-v0", "textarena:SimpleNegotiation-v0")
    config = spiral.Config(tiny, "negotiation", games, steps=1, matches_per_step=3)
    folder = trained(spiral, config, tmp_path, record_episodes=9).folder
    assert {episode.game for _, episode, _ in stored_episodes(folder)} == {"negotiation", *games}


def played(game: TextArena, line: list[str]) -> tuple[list[Ask], Outcome | None]:
    talk = game.play(TASK, Random(0))
    asked = next(talk)[:]
    for text in line:
        try:
            asked += talk.send([Reply(text, thought="the thought")])
        except StopIteration as stop:
            return asked, stop.value
    return asked, None


def test_a_line_of_tic_tac_toe_is_won_by_who_completes_it() -> None:
    asked, outcome = played(TextArena("TicTacToe-v0"), ["[0]", "[3]", "[1]", "[4]", "[2]"])
    assert [str(ask.seat) for ask in asked] == ["first", "second"] * 2 + ["first"]
    assert outcome is not None
    assert outcome.scores == {FIRST: 1.0, SECOND: -1.0}
    assert outcome.facts == {"reason": "Player 0 has won!"}


@pytest.mark.parametrize("env_id", ["TicTacToe-v0", "TicTacToe-v0-raw"])
def test_what_a_seat_has_seen_is_kept_for_it(env_id: str) -> None:
    asked, _ = played(TextArena(env_id), ["[0]", "[3]", "[1]"])
    first, third = asked[0].messages[0].text, asked[2].messages[0].text
    assert "You are Player 0" in third
    assert len(third) > len(first)
    assert "Player 1 placed their symbol (X) in cell 3." in third


def test_a_match_does_not_show_what_another_showed() -> None:
    game = TextArena("TicTacToe-v0")
    fresh, _ = played(game, [])
    played(game, ["[0]", "[3]"])
    again, _ = played(game, [])
    assert fresh == again


@pytest.mark.parametrize("text", ["", "xyzzy"])
def test_the_error_allowance_is_the_number_of_retries(text: str) -> None:
    asked, outcome = played(TextArena("TicTacToe-v0"), [text])
    assert outcome is not None
    assert outcome.scores == {FIRST: -1.0, SECOND: 1.0}
    assert outcome.facts["forfeit"] == "first"
    assert outcome.facts["reason"] == ("illegal" if text else "malformed")
    asked, outcome = played(TextArena("TicTacToe-v0", retries=1), [text])
    assert outcome is None
    assert [str(ask.seat) for ask in asked] == ["first", "first"]


def test_a_match_that_goes_on_and_on_is_a_draw() -> None:
    _, outcome = played(TextArena("TicTacToe-v0", limit=2), ["[0]", "[3]"])
    assert outcome is not None
    assert outcome.scores == {FIRST: 0.0, SECOND: 0.0}


def test_games_between_two_are_zero_sum_and_others_are_not_promised_to_be() -> None:
    assert TextArena("TicTacToe-v0").zero_sum
    assert not TextArena("ThreePlayerIPD-v0", players=3).zero_sum


def test_every_match_has_generators_of_its_own_and_leaves_the_global_ones_alone() -> None:
    def draws(chance: _Chance) -> tuple[float, float]:
        with chance.in_place():
            return random.random(), float(np.random.random())

    random.seed(1)
    np.random.seed(1)
    untouched = random.random(), float(np.random.random())
    alone = _Chance(5)
    expected = [draws(alone) for _ in range(3)]
    one, other = _Chance(5), _Chance(5)
    random.seed(1)
    np.random.seed(1)
    got = [(draws(one), draws(other)) for _ in range(3)]
    assert [pair[0] for pair in got] == [pair[1] for pair in got] == expected
    assert (random.random(), float(np.random.random())) == untouched


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: TextArena("TicTacTo-v0"), "did you mean"),
        (lambda: TextArena("TicTacToe-v0", players=0), "seats 1 to 15 players"),
        (lambda: played(TextArena("TicTacToe-v0", players=3), []), "does not start with 3 players"),
    ],
)
def test_what_cannot_be_played_is_refused_in_one_line(make: object, complaint: str) -> None:
    with pytest.raises(RedQueenError, match=complaint) as error:
        make()
    assert "\n" not in str(error.value)


def test_without_the_extra_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textarena", None)
    with pytest.raises(RedQueenError, match=r"needs the extra \[games\]: pip install 'redqueen\[games\]'"):
        TextArena("TicTacToe-v0")
