"""Two attempts in one conversation that only grows."""

from random import Random

from redqueen.contracts import games as contract
from redqueen.games.second_try import AGAIN, SecondTry
from redqueen.play.lockstep import play
from redqueen.players.scripted import Scripted
from redqueen.types import Match, Message, Seat, Task

TASK = Task("57+68", prompt="What is 57+68?", answer="125")


def tried(*answers):
    (episode,) = play([Match(SecondTry(), TASK, {"solver": Scripted(answers)})], Random(0))
    return episode


def test_the_second_ask_is_the_first_with_the_own_answer_and_the_request():
    first, second = (turn.ask.messages for turn in tried("115", "125").turns)
    assert first == (Message("game", "What is 57+68?"),)
    assert second == (*first, Message("solver", "115"), Message("game", AGAIN))


def test_the_request_does_not_tell_whether_the_first_answer_is_right():
    wrong, right = (tried(answer, "125").turns[1].ask.messages[-1] for answer in ("115", "125"))
    assert wrong == right


def test_both_answers_are_facts_and_nothing_is_worth_anything_yet():
    outcome = tried(" 115 ", "").outcome
    assert outcome.facts["replies"] == ("115", "")
    assert outcome.scores == {Seat("solver"): 0.0}


def test_a_conversation_keeps_its_roles_and_goes_on():
    said = [("system", "Be brief."), ("user", "Hi"), ("assistant", "Hello."), ("user", "What is 57+68?")]
    task = Task(
        "57+68", prompt="System: Be brief.", answer="125", messages=tuple(Message(role, text) for role, text in said)
    )
    (episode,) = play([Match(SecondTry(), task, {"solver": Scripted(("115", "125"))})], Random(0))
    first, second = (turn.ask.messages for turn in episode.turns)
    speakers = {"system": "system", "user": "game", "assistant": "solver"}
    assert first == tuple(Message(speakers[role], text) for role, text in said)
    assert second == (*first, Message("solver", "115"), Message("game", AGAIN))


def test_it_keeps_the_contract():
    contract.check_game(SecondTry(dealt=(TASK,)))
