from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from redqueen.games.talk import ask, told
from redqueen.measures.ladder import HEADINGS, ladder
from redqueen.measures.tournament import tournament
from redqueen.players.scripted import Constant
from redqueen.protocols import Play
from redqueen.types import Outcome, Seat, Task

FIRST, SECOND = Seat("first"), Seat("second")
WINS = {("paper", "rock"), ("rock", "scissors"), ("scissors", "paper")}


@dataclass(frozen=True)
class Throw:
    """Rock, paper, scissors; any other word loses to all three. A kind game gives the loser nothing to lose."""

    kind: bool = False
    name: str = "throw"
    roles: tuple[str, ...] = ("first", "second")

    def tasks(self) -> Sequence[Task]:
        return [Task("only")]

    def play(self, task: Task, rng: Random) -> Play:
        first = yield from ask(FIRST, told("throw"))
        second = yield from ask(SECOND, told("throw"))
        won = float((first, second) in WINS or second == "nothing") - float(
            (second, first) in WINS or first == "nothing"
        )
        return Outcome({FIRST: max(won, 0.0), SECOND: max(-won, 0.0)} if self.kind else {FIRST: won, SECOND: -won})


PLAYERS = [Constant(word, word) for word in ("rock", "paper", "scissors", "nothing")]


def test_a_circle_is_named_and_its_members_share_everything():
    found = ladder(tournament(Throw(), PLAYERS, 20, seed=0), seed=0)
    assert found.headings == HEADINGS
    rows = {row[0]: row for row in found.rows}
    assert found.rows[-1][0] == "nothing"
    for word in ("rock", "paper", "scissors"):
        assert (rows[word][3], *rows[word][5:]) == ("0.333", "0.333", "+0.000")
    assert rows["nothing"][3:] == ("0.000", "[0.000, 0.000]", "0.000", "-1.000")
    (note,) = found.notes
    assert note.startswith("No order is right: ") and "scissors beats paper" in note and "paper beats rock" in note


def test_a_line_has_no_notes_and_its_best_player_has_all():
    found = ladder(tournament(Throw(), [PLAYERS[0], PLAYERS[3]], 20, seed=0), seed=0)
    assert [row[0] for row in found.rows] == ["rock", "nothing"]
    assert found.rows[0][3:] == ("1.000", "[1.000, 1.000]", "1.000", "+0.000")
    assert found.notes == ()


def test_where_both_may_win_there_is_no_best_mixture():
    found = ladder(tournament(Throw(kind=True), PLAYERS[:2], 20, seed=0), seed=0)
    assert found.headings == HEADINGS[:5]
    assert {len(row) for row in found.rows} == {5}


def test_every_match_counts_once():
    standings = tournament(Throw(), PLAYERS, 20, seed=0)
    won = dict(zip(standings.names(), 2.0 * standings.won.sum(axis=(0, 2)) - 10.0, strict=True))  # without itself
    assert standings.won.shape == standings.scored.shape == (10, 4, 4)
    assert won == {"rock": 40.0, "paper": 40.0, "scissors": 40.0, "nothing": 0.0}  # two of three opponents each
    assert np.allclose(standings.scored.mean(axis=0), standings.scores())


@dataclass(frozen=True)
class Generous:
    """The first name in the alphabet wins four matches of five, but loses ten times as much in the fifth."""

    name: str = "generous"
    roles: tuple[str, ...] = ("first", "second")

    def tasks(self) -> Sequence[Task]:
        return [Task(str(number)) for number in range(5)]

    def play(self, task: Task, rng: Random) -> Play:
        first = yield from ask(FIRST, told("name"))
        second = yield from ask(SECOND, told("name"))
        gain = (1.0 if first < second else -1.0) * (1.0 if task.id != "0" else -10.0)
        return Outcome({FIRST: gain, SECOND: -gain})


def test_a_ladder_that_goes_against_the_scores_says_so():
    found = ladder(tournament(Generous(), [Constant("a", "a"), Constant("b", "b")], 20, seed=0), seed=0)
    assert [row[0] for row in found.rows] == ["a", "b"]
    assert found.notes == ("Ratings count matches won, not by how much: by mean score the order is b, a.",)
