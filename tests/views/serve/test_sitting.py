"""A person at a table: entries that are explained, opponents that fail, games that nothing disturbs."""

from random import Random
from threading import Lock

import pytest

from redqueen.games.iterated_dilemma import IteratedDilemma
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.games.negotiation import Negotiation
from redqueen.games.odd_one_out import OddOneOut
from redqueen.games.talk import ask, told
from redqueen.games.tic_tac_toe import TicTacToe
from redqueen.play.lockstep import play
from redqueen.players.scripted import Constant, Scripted, Uniform
from redqueen.types import Match, Outcome, RedQueenError, Seat, Task
from redqueen.views.serve.menu import Opponent
from redqueen.views.serve.refusals import Declined
from redqueen.views.serve.sitting import BROKEN, LONGEST_ENTRY, PERSON, SILENT, Sitting


def sat(game, player, role="first", task=None, seed=3):
    opponent = Opponent(player)
    sitting = Sitting(game, task or game.tasks()[0], seed, role, lambda: opponent, Lock())
    sitting.go_on()
    return sitting


def refused(sitting, entry, entries=None):
    with pytest.raises(Declined) as caught:
        sitting.say(entry, sitting.entries if entries is None else entries)
    return str(caught.value)


def test_a_game_goes_to_its_end_and_is_the_one_that_is_played_without_a_page():
    sitting = sat(TicTacToe(), Uniform())
    said = []
    while not sitting.over:
        said.append(sitting.ask.choices[0])
        sitting.say(said[-1], sitting.entries)
    cast = {"first": Scripted(tuple(said)), "second": Uniform()}
    (same,) = play([Match(TicTacToe(), Task("empty", "board"), cast, 3)], Random(0))
    episode = sitting.table.episode()
    assert [turn.reply.text for turn in episode.turns] == [turn.reply.text for turn in same.turns]
    assert [turn.ask for turn in episode.turns] == [turn.ask for turn in same.turns]
    assert {turn.reply.player for turn in episode.turns} == {PERSON, "uniform"}


def test_the_opponent_begins_where_the_person_sits_second():
    sitting = sat(TicTacToe(), Uniform(), role="second")
    assert [turn.ask.seat for turn in sitting.turns()] == [Seat("first")]
    assert sitting.ask.seat == Seat("second")


def test_a_person_holds_one_of_the_seats_that_share_a_role():
    """Two players of three are civilians: the other one's card and clue would give the odd one out away."""
    deal = next(task for task in OddOneOut().tasks() if task.facts["spy"] == 1)
    sitting = sat(OddOneOut(), Uniform(), role="civilian", task=deal)
    assert sitting.ask.seat == Seat("civilian", 0) and sitting.turns() == []
    sitting.say(sitting.ask.choices[0], sitting.entries)
    assert sitting.over
    assert [turn.ask.seat for turn in sitting.table.turns if turn.reply.player == PERSON] == [Seat("civilian", 0)]
    voting = sat(OddOneOut(), Uniform(), role="voter", task=deal)
    assert voting.ask.seat == Seat("voter", 0) and "You are player 1" in voting.ask.messages[0].text


def test_an_entry_that_is_no_choice_is_explained_and_nothing_is_lost():
    sitting = sat(TicTacToe(), Uniform())
    before = sitting.ask
    for entry, why in (
        ("10", "'10' is not a choice. Enter one of: 1, 2, 3"),
        ("", "Nothing was entered"),
        ("x" * (LONGEST_ENTRY + 1), "That is too long: 4,001 characters, where 4,000 are taken."),
        ("\ud800", "half a character"),
    ):
        assert why in refused(sitting, entry)
    assert (sitting.ask, sitting.entries) == (before, 0)


def test_words_are_taken_in_any_case_and_by_their_number():
    sitting = sat(KuhnPoker(), Constant("pass"))
    assert "a number from 1 to 2" in refused(sitting, "3")
    sitting.say(" PASS ", 0)
    assert sitting.table.outcome is not None


def test_an_entry_is_taken_once():
    sitting = sat(TicTacToe(), Uniform())
    sitting.say("5", 0)
    assert "the game has gone on" in refused(sitting, sitting.ask.choices[0], entries=0)


def test_after_the_end_nothing_is_taken():
    sitting = sat(KuhnPoker(), Constant("pass"))
    sitting.say("bet", 0)
    assert sitting.over
    assert "the game has gone on" in refused(sitting, "bet")


def test_words_that_a_game_would_punish_are_told_in_its_own_words():
    sitting = sat(Negotiation(), Constant("[deny]"))
    assert "Reply with [offer 3 wood for 2 gold]" in refused(sitting, "hello")
    assert "no offer of the other player to accept" in refused(sitting, "[accept]")
    sitting.say("[deny]", 0)
    assert (sitting.over, sitting.entries, len(sitting.table.turns)) == (False, 1, 2)
    assert "beyond what the two players hold" in refused(sitting, "[offer 999 wood for 1 gold]")


def test_a_game_without_second_chances_is_asked_as_it_is():
    class Only:
        name, roles = "only", ("first", "second")

        def tasks(self):
            return [Task("t")]

        def play(self, task, rng):
            said = yield from ask(Seat("first"), told("Say yes."))
            facts = {} if said == "yes" else {"forfeit": "first"}
            return Outcome({Seat("first"): 1.0, Seat("second"): 0.0}, facts)

    sitting = sat(Only(), Uniform())
    assert refused(sitting, "no") == "The game does not take that as a legal reply."
    sitting.say("yes", 0)
    assert sitting.over


def test_both_speak_at_once_and_the_person_does_not_wait():
    sitting = sat(IteratedDilemma(rounds=2), Constant("defect"), role="second")
    sitting.say("cooperate", 0)
    sitting.say("defect", 1)
    assert sitting.table.outcome.scores == {Seat("first"): 6.0, Seat("second"): 1.0}


class Moody:
    """Fails as often as it is told, and then plays on."""

    name = "moody"

    def __init__(self, *errors):
        self.errors = list(errors)

    def reply(self, asks):
        if self.errors:
            raise self.errors.pop(0)
        return Uniform().reply(asks)


def test_an_opponent_that_fails_can_be_asked_again(capsys):
    sitting = sat(KuhnPoker(), Moody(RedQueenError("no answer; the card is the king"), KeyError("king")))
    sitting.say("pass", 0)
    assert (sitting.trouble, sitting.ask, sitting.entries) == (SILENT, None, 1)
    sitting.go_on()
    assert sitting.trouble == SILENT
    sitting.go_on()
    assert sitting.trouble == ""
    said = capsys.readouterr().err
    assert "redqueen: no answer; the card is the king" in said and "KeyError" in said


def test_too_few_replies_are_trouble(capsys):
    class Mute:
        name = "mute"

        def reply(self, asks):
            return []

    assert sat(TicTacToe(), Mute(), role="second").trouble == SILENT
    assert "0 replies came to 1 asks" in capsys.readouterr().err


def test_a_game_that_breaks_ends_for_its_player_alone(capsys):
    class Broken:
        name, roles = "broken", ("first", "second")

        def play(self, task, rng):
            yield from ask(Seat("first"), told("Go."), ("a",))
            raise ZeroDivisionError("the card is the king")

    sitting = sat(Broken(), Uniform(), task=Task("t"))
    sitting.say("a", 0)
    assert (sitting.trouble, sitting.over, sitting.ask) == (BROKEN, False, None)
    sitting.go_on()
    assert (sitting.trouble, len(sitting.table.turns)) == (BROKEN, 1)
    assert "ZeroDivisionError" in capsys.readouterr().err
