"""The corridor: who reaches the door, and who runs out of turns."""

import pytest

from redqueen.games.corridor import CHOICES, WALKER, Corridor
from redqueen.play.table import Table
from redqueen.players.scripted import Constant
from redqueen.types import Match, RedQueenError, Reply


def walked(game, *moves, steps=2):
    (task,) = [task for task in game.tasks() if task.facts["steps"] == steps]
    table = Table(Match(game, task, {"walker": Constant("go")}), 0)
    shown = []
    for move in moves:
        shown.append(table.asks[0].messages[0].text)
        table.hear([Reply(move)])
    return table.outcome, shown


def test_who_walks_to_the_door_scores_one():
    outcome, shown = walked(Corridor(turns=4), "stay", "go", "go")
    assert outcome.scores == {WALKER: 1.0}
    assert outcome.facts == {"cut": False}
    assert shown[0] == "Steps to the door: 2. Turns left: 4."
    assert shown[-1] == "Steps to the door: 1. Turns left: 2."


def test_back_at_the_start_stays_there_and_used_up_turns_cut_a_walk():
    outcome, shown = walked(Corridor(clock=False).within(2), "back", "go")
    assert outcome.scores == {WALKER: 0.0}
    assert outcome.facts == {"cut": True}
    assert shown == ["Steps to the door: 2."] * 2


def test_staying_pays_what_can_be_farmed():
    outcome, _ = walked(Corridor(turns=3, farm=0.25), "stay", "stay", "back")
    assert outcome.scores == {WALKER: 0.5}


def test_another_reply_ends_the_walk():
    outcome, _ = walked(Corridor(), "jump")
    assert outcome.facts == {"forfeit": "walker", "reason": "illegal"}


def test_the_doors_are_every_second_step_away():
    assert [task.facts["steps"] for task in Corridor().tasks()] == [2, 4, 6, 8, 10]
    assert CHOICES == ("go", "stay", "back")
    assert Corridor().perfect_information
    assert not Corridor(clock=False).perfect_information


@pytest.mark.parametrize("rules", [{"nearest": 0}, {"nearest": 5, "farthest": 4}, {"turns": 0}])
def test_a_corridor_without_doors_or_turns_is_refused(rules):
    with pytest.raises(RedQueenError, match="a corridor has doors 1 step away or more"):
        Corridor(**rules)
