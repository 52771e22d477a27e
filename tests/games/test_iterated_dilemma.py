"""The iterated dilemma: payoffs, gains by turn, conversations that only grow, and forfeits."""

from __future__ import annotations

from random import Random

import pytest

from redqueen.games.iterated_dilemma import FIRST, SECOND, IteratedDilemma
from redqueen.games.last_round import LastRound
from redqueen.types import Ask, Message, Outcome, RedQueenError, Reply


def played(game: IteratedDilemma, rounds: list[list[str]]) -> tuple[list[list[Ask]], Outcome]:
    """All that was asked, and the outcome, when these replies are given to each batch of asks."""
    talk = game.play(game.tasks()[0], Random(0))
    asked = [next(talk)]
    for texts in rounds:
        try:
            asked.append(talk.send([Reply(text) for text in texts]))
        except StopIteration as stop:
            return asked, stop.value
    raise AssertionError("the game goes on")


def test_points_of_every_pair_of_choices_fall_after_the_round() -> None:
    rounds = [["cooperate", "cooperate"], ["cooperate", "defect"], ["defect", "cooperate"], ["defect", "defect"]]
    asked, outcome = played(IteratedDilemma(rounds=4), rounds)
    assert [len(batch) for batch in asked] == [2, 2, 2, 2]
    assert outcome.facts["gains"] == (
        (1, {"first": 3.0, "second": 3.0}),
        (3, {"first": 0.0, "second": 5.0}),
        (5, {"first": 5.0, "second": 0.0}),
        (7, {"first": 1.0, "second": 1.0}),
    )
    assert outcome.scores == {FIRST: 9.0, SECOND: 9.0}


def test_a_conversation_is_the_last_one_with_the_own_words_and_the_news() -> None:
    asked, _ = played(IteratedDilemma(rounds=2), [["cooperate", "defect"], ["defect", "defect"]])
    for before, after, said, news in (
        (asked[0][0], asked[1][0], "cooperate", "You gained 0."),
        (asked[0][1], asked[1][1], "defect", "You gained 5."),
    ):
        assert after.messages[:-1] == (*before.messages, Message(str(before.seat), said))
        assert news in after.messages[-1].text
        assert "Round 2 of 2" in after.messages[-1].text


def test_only_the_seat_that_broke_the_rules_is_asked_again_and_turns_are_counted() -> None:
    asked, outcome = played(IteratedDilemma(rounds=1, retries=1), [["cooperate", "maybe"], ["defect"]])
    assert [[str(ask.seat) for ask in batch] for batch in asked] == [["first", "second"], ["second"]]
    assert outcome.facts["gains"] == ((2, {"first": 0.0, "second": 5.0}),)


def test_a_forfeit_gives_the_sucker_payoff_and_pays_the_other_the_punishment() -> None:
    _, outcome = played(IteratedDilemma(rounds=3), [["cooperate", "cooperate"], ["", "defect"]])
    assert outcome.scores == {FIRST: 3.0, SECOND: 3.0 + 2 * 1.0}
    assert outcome.facts["forfeit"] == "first"
    assert outcome.facts["reason"] == "malformed"
    _, both = played(IteratedDilemma(rounds=2), [["perhaps", "maybe"]])
    assert both.scores == {FIRST: 0.0, SECOND: 0.0}


def test_payoffs_that_are_no_dilemma_are_refused() -> None:
    with pytest.raises(RedQueenError, match="temptation > reward > punishment > sucker"):
        IteratedDilemma(reward=6.0)


@pytest.mark.parametrize("rounds", [0, -1, 2_001, 10**18])
def test_rounds_that_no_conversation_holds_are_refused(rounds: int) -> None:
    with pytest.raises(RedQueenError, match=f"iterated_dilemma has 1 to 2000 rounds, not {rounds}"):
        IteratedDilemma(rounds)
    with pytest.raises(RedQueenError, match=f"has 1 to 2000 rounds, not {rounds}"):
        LastRound(rounds)
