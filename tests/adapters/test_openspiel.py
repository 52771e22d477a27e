"""OpenSpiel's games: deals, seats, asks, forfeits, and errors that a user can put right."""

from __future__ import annotations

import sys
from random import Random

import pytest

from redqueen.adapters.openspiel import OpenSpiel
from redqueen.types import Ask, Outcome, RedQueenError, Reply, Seat, Task

pyspiel = pytest.importorskip("pyspiel")
FIRST, SECOND = Seat("first"), Seat("second")


def played(game: OpenSpiel, line: list[list[str]], task: Task | None = None) -> tuple[list[list[Ask]], Outcome | None]:
    talk = game.play(task or game.tasks()[0], Random(0))
    asked = [next(talk)]
    for texts in line:
        try:
            asked.append(talk.send([Reply(text) for text in texts]))
        except StopIteration as stop:
            return asked, stop.value
    return asked, None


def test_deals_are_listed_with_their_chances_where_all_chance_comes_first() -> None:
    tasks = OpenSpiel("kuhn_poker").tasks()
    assert len(tasks) == 6
    assert [task.weight for task in tasks] == pytest.approx([1 / 6] * 6)
    assert len(OpenSpiel("kuhn_poker(players=3)").tasks()) == 24
    assert len(OpenSpiel("liars_dice").tasks()) == 36
    assert [task.facts["chance"] for task in OpenSpiel("leduc_poker").tasks()] == [()]
    assert [task.id for task in OpenSpiel("tic_tac_toe").tasks()] == ["start"]


def test_a_dealt_game_draws_nothing_and_pays_what_the_deal_says() -> None:
    game = OpenSpiel("kuhn_poker")
    deals = {task.facts["chance"]: task for task in game.tasks()}
    talk = game.play(deals[2, 0], Refusing())
    next(talk)
    talk.send([Reply("Bet")])
    with pytest.raises(StopIteration) as end:
        talk.send([Reply("Bet")])
    assert end.value.value.scores == {FIRST: 2.0, SECOND: -2.0}


class Refusing(Random):
    def random(self) -> float:
        raise AssertionError("nothing is left to chance")


def test_seats_that_move_at_once_are_asked_together() -> None:
    asked, outcome = played(OpenSpiel("matrix_pd"), [["Cooperate", "Defect"]])
    assert [ask.seat for ask in asked[0]] == [FIRST, SECOND]
    assert asked[0][0].choices == ("Cooperate", "Defect")
    assert outcome is not None
    assert outcome.scores == {FIRST: 0.0, SECOND: 10.0}


def test_a_board_game_shows_the_position_alone() -> None:
    game = OpenSpiel("tic_tac_toe")
    assert game.perfect_information
    one, _ = played(game, [["x(0,0)"], ["o(1,1)"], ["x(2,2)"]])
    other, _ = played(game, [["x(2,2)"], ["o(1,1)"], ["x(0,0)"]])
    assert one[-1] == other[-1]
    assert "x..\n.o.\n..x" in one[-1][0].messages[0].text


def test_a_forfeit_costs_the_least_that_the_game_pays() -> None:
    _, outcome = played(OpenSpiel("kuhn_poker(players=3)"), [["Check"]])
    assert outcome is not None
    assert list(outcome.scores.values()) == [-2.0, 1.0, 1.0]
    _, outcome = played(OpenSpiel("matrix_pd"), [["Cooperate", ""]])
    assert outcome is not None
    assert outcome.scores == {FIRST: 0.0, SECOND: 0.0}
    assert outcome.facts["forfeit"] == "second"


def test_a_game_that_samples_its_chance_is_seeded_from_the_match() -> None:
    game = OpenSpiel("negotiation")
    views = [next(game.play(game.tasks()[0], Random(seed)))[0].messages for seed in (1, 1, 2)]
    assert views[0] == views[1] != views[2]


@pytest.mark.parametrize(
    ("game_string", "complaint"),
    [
        ("kuhn_pocker", "no game 'kuhn_pocker'; did you mean kuhn_poker"),
        ("kuhn_poker(cards=3)", "Unknown parameter 'cards'"),
        ("mfg_garnet", "mean-field"),
    ],
)
def test_what_cannot_be_played_is_refused_in_one_line(game_string: str, complaint: str) -> None:
    with pytest.raises(RedQueenError, match=complaint) as error:
        OpenSpiel(game_string)
    assert "\n" not in str(error.value)


def test_without_the_extra_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    with pytest.raises(RedQueenError, match=r"needs the extra \[games\]: pip install 'redqueen\[games\]'"):
        OpenSpiel("blotto(players=2)")
