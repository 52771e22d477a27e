"""Volley: what passes, what is blocked, where it ends, and what a coach pays."""

from random import Random

import pytest

from redqueen.contracts.games import check_game
from redqueen.games.catalogue import find_game
from redqueen.games.volley import (
    ATTACKS,
    HITTER,
    NET,
    RECEIVER,
    SEATS,
    SETTER,
    SPIKE,
    TIP,
    Volley,
    apart,
    coached,
    side_of,
    steps_from,
    toward,
)
from redqueen.play.lockstep import play
from redqueen.players.scripted import Uniform
from redqueen.types import Match, RedQueenError, Reply

GAME = Volley()


class Sure:
    """Runs where it is told to, calls one attack and one defence, and hits to one cell."""

    name = "sure"

    def __init__(self, attack="spike left", defence="hold", aim="left back", sets=None):
        self.attack, self.defence, self.aim, self.sets = attack, defence, aim, sets

    def reply(self, asks):
        return [Reply(self.said(each), self.name) for each in asks]

    def said(self, asked):
        told, who = asked.messages[-1].text, asked.seat.role.partition("_")[2]
        if who == "captain":
            return self.attack if asked.choices == ATTACKS else self.defence
        if who == SETTER:
            return self.sets or told.partition("The call is ")[2].split()[1].rstrip(".")
        if "Where to?" in told:
            return self.aim
        return self.step(told, asked.choices)

    def step(self, told, choices):
        from redqueen.games.volley import CELLS, stepped

        here = CELLS[told.partition("You stand at ")[2].partition(".")[0]]
        if told.startswith("The call is "):
            goal = CELLS[f"{told.split()[4].rstrip('.')} net"]
        else:
            goal = CELLS[" ".join(told.partition(".")[0].split()[-2:])]
        return min(choices, key=lambda each: (apart(stepped(here, each), goal), choices.index(each)))


def rally(home, away, seed=0, task=0, game=GAME):
    cast = {seat.role: home if side_of(seat) == "home" else away for seat in SEATS}
    (episode,) = play([Match(game, game.tasks()[task], cast, seed)], Random(0))
    return episode.outcome


def test_the_contract_holds():
    assert "volley" in check_game(find_game("volley:longest=2"))


def test_a_spike_is_blocked_in_its_lane_and_nowhere_else():
    blocked = rally(Sure("spike left"), Sure(defence="block left"))
    assert blocked.facts["history"][-1] == "away blocks"
    assert blocked.scores[SEATS[0]] == -1.0
    assert sum(blocked.scores.values()) == 0.0
    free = rally(Sure("spike left", aim="right back"), Sure(defence="block centre"))
    assert "away blocks" not in free.facts["history"]


def test_a_tip_goes_over_the_block():
    assert "away blocks" not in rally(Sure("tip left"), Sure(defence="block left")).facts["history"]


def test_a_ball_reached_at_the_last_step_is_passed_every_other_time():
    """A spike to the back of a lane falls a step behind the player who holds it."""
    passed = [
        "away passes the ball at left back" in rally(Sure(aim="left back"), Sure(), seed).facts["history"]
        for seed in range(200)
    ]
    assert 0.38 < sum(passed) / len(passed) < 0.62
    held = [
        "away loses the ball at left middle" in rally(Sure(aim="left middle"), Sure(), seed).facts["history"]
        for seed in range(20)
    ]
    assert not any(held)


def test_nobody_wins_a_rally_that_is_too_long():
    out = rally(Sure(aim="centre middle"), Sure(aim="centre middle"), game=Volley(longest=3))
    assert set(out.scores.values()) == {0.0}
    assert sum("hits" in each for each in out.facts["history"]) == 3


def test_whoever_breaks_the_rules_loses_the_point_for_its_side():
    out = rally(Sure(), Sure(defence="fly"))
    assert out.facts["forfeit"] == "away_captain"
    assert out.scores[SEATS[0]] == 1.0
    assert sum(out.scores.values()) == 0.0


@pytest.mark.parametrize(("skill", "last"), [(RECEIVER, "passes"), (SETTER, "sets"), (HITTER, "hits")])
def test_a_drill_ends_with_its_skill_and_nobody_scores(skill, last):
    cast = dict.fromkeys(GAME.roles, Sure())
    (episode,) = play([Match(GAME, GAME.drills(skill)[0], cast, 3)], Random(0))
    assert last in episode.outcome.facts["history"][-1]
    assert set(episode.outcome.scores.values()) == {0.0}


def test_a_coach_pays_the_way_the_place_and_the_set_as_called():
    """The receiver gains half a cell's pay a cell and 1 where the ball falls; a set elsewhere than called pays 0."""
    cast = dict.fromkeys(GAME.roles, Sure(sets="right"))
    for seed in range(4):
        (episode,) = play([Match(GAME, GAME.drills(SETTER)[0], cast, seed)], Random(0))
        paid = episode.outcome.facts["paid"]
        first = next(each.ask.messages[-1].text for each in episode.turns if each.ask.seat.role == "home_receiver")
        from redqueen.games.volley import CELLS

        falls = CELLS[first.split(".")[0].removeprefix("The ball falls at ")]
        way = 0.5 * apart((falls[0], 1), falls)
        assert sum(paid["home_receiver"]) == pytest.approx(1.0 + way)
        assert sum(paid["home_setter"]) == 0.0
    assert [coached(SPIKE, (1, row)) for row in range(3)] == [0.0, 0.5, 1.0]
    assert [coached(TIP, (1, row)) for row in range(3)] == [1.0, 0.5, 0.0]


def test_who_does_not_act_goes_back_to_its_lane():
    assert toward((2, NET), (0, 1)) == (1, NET)
    assert toward((0, NET), (0, 1)) == (0, 1)
    assert toward((0, 1), (0, 1)) == (0, 1)
    assert steps_from((0, NET)) == ("stay", "back", "right")


def test_players_at_random_are_paid_for_every_turn():
    tasks = [GAME.tasks()[0]] * 30
    for each in play([Match(GAME, task, dict.fromkeys(GAME.roles, Uniform())) for task in tasks], Random(1)):
        said = {str(seat): sum(turn.ask.seat == seat for turn in each.turns) for seat in SEATS}
        assert {seat: len(values) for seat, values in each.outcome.facts["paid"].items()} == said


def test_a_rally_without_attacks_is_refused():
    with pytest.raises(RedQueenError, match="1 to 100 attacks, not 0"):
        Volley(longest=0)
