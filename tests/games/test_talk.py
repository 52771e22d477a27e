"""Asking: second chances, simultaneous questions, forfeits and titles."""

from __future__ import annotations

from redqueen.games.connect import Connect
from redqueen.games.liars_dice import LiarsDice
from redqueen.games.talk import GAME, ask_together, forfeit, recent, told
from redqueen.types import Ask, Message, Reply, Seat

FIRST, SECOND, THIRD = Seat("first"), Seat("second"), Seat("third")


def test_only_the_seat_at_fault_is_asked_again_and_its_words_are_kept() -> None:
    questions = [Ask(seat, told("Yes or no?"), ("yes", "no")) for seat in (FIRST, SECOND)]
    talk = ask_together(questions, retries=1)
    assert next(talk) == questions
    (again,) = talk.send([Reply(" maybe "), Reply("no")])
    complaint = "'maybe' is not a legal reply. Reply with exactly one of: yes, no."
    assert again.seat == FIRST
    assert again.messages == (*told("Yes or no?"), Message("first", "maybe"), Message(GAME, complaint))
    try:
        talk.send([Reply("yes")])
    except StopIteration as stop:
        answers = stop.value
    assert [(answer.text, answer.legal, answer.attempts) for answer in answers] == [("yes", True, 2), ("no", True, 1)]
    assert answers[0].messages[-1] == Message("first", "yes")


def test_what_the_offender_loses_the_others_share() -> None:
    outcome = forfeit(SECOND, (FIRST, SECOND, THIRD), stake=3.0, text="")
    assert outcome.scores == {FIRST: 1.5, SECOND: -3.0, THIRD: 1.5}
    assert outcome.facts == {"forfeit": "second", "reason": "malformed"}


def test_a_title_names_the_rules_that_differ_from_their_defaults() -> None:
    assert LiarsDice().name == "liars_dice"
    assert LiarsDice(sides=4, retries=2).name == "liars_dice(sides=4)"
    assert Connect(3, 3, 3).name == "connect(3,3,3)"
    assert Connect(7, 6, 4, drop=True).name == "connect(7,6,4,drop=true)"


def test_a_window_leaves_the_turns_before_it_out_and_says_how_many():
    seat = Seat("agent")
    whole = (
        Message("game", "start"),
        *(each for n in range(3) for each in (Message("agent", f"act {n}"), Message("game", f"view {n}"))),
    )
    shown = [each.text for each in recent(whole, seat, 1)]
    assert shown == ["start", "(Your first 2 turns are left out.)", "act 2", "view 2"]
    assert [each.text for each in recent(whole, seat, 2)][:3] == ["start", "(Your first turn is left out.)", "act 1"]
    assert recent(whole, seat, 0) == recent(whole, seat, 3) == whole
