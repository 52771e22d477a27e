"""Negotiation: actions in words, trades, the traps of older versions, and what the other seat hears."""

from __future__ import annotations

from random import Random

import pytest

from redqueen.games.negotiation import FIRST, SECOND, Negotiation, actions, choices, offer, worth
from redqueen.types import Ask, Message, Outcome, RedQueenError, Reply, Task

# wood is worth more to the second seat, gold to the first
TASK = Task("t", facts={"goods": ((10, 5), (8, 9)), "values": ((6, 30), (19, 23))})


def played(line: list[str], game: Negotiation) -> tuple[list[Ask], Outcome | None]:
    talk = game.play(TASK, Random(0))
    asked = next(talk)[:]
    for text in line:
        try:
            asked += talk.send([Reply(text)])
        except StopIteration as stop:
            return asked, stop.value
    return asked, None


def test_a_trade_moves_goods_and_the_larger_profit_wins() -> None:
    _, outcome = played(["[offer 3 wood for 2 gold]", "[accept]"], Negotiation(moves=2))
    assert outcome is not None
    # first: -3*6 + 2*30 = 42; second: 3*19 - 2*23 = 11
    assert outcome.facts["profits"] == {"first": 42.0, "second": 11.0}
    assert outcome.scores == {FIRST: 1.0, SECOND: -1.0}


def test_own_profits_are_scored_as_they_fall_where_nothing_is_compared() -> None:
    line = ["[deny]", "[offer 1 gold for 2 wood]", "[accept]", "[deny]"]
    _, outcome = played(line, Negotiation(moves=4, compare=False))
    assert outcome is not None
    assert outcome.scores == {FIRST: 30.0 - 12.0, SECOND: 38.0 - 23.0}
    assert outcome.facts["gains"] == ((1, {"first": 0.0, "second": 0.0}), (3, {"first": 18.0, "second": 15.0}))


def test_a_round_is_a_move_of_each_and_a_last_move_alone_is_one_too() -> None:
    line = ["[offer 1 wood for 1 gold]", "[accept]", "[deny]"]
    _, outcome = played(line, Negotiation(moves=3, compare=False))
    assert outcome is not None
    assert outcome.facts["gains"] == ((1, {"first": 24.0, "second": -4.0}), (2, {"first": 0.0, "second": 0.0}))


def test_a_forfeit_takes_back_what_was_gained_and_its_gains_sum_to_the_scores() -> None:
    line = ["[offer 1 wood for 1 gold]", "[accept]", "[deny]", "I keep all"]
    _, outcome = played(line, Negotiation(moves=6, compare=False))
    assert outcome is not None
    held = float(8 * 19 + 9 * 23)
    assert outcome.scores == {FIRST: 0.0, SECOND: -held}
    gained = {"first": 24.0, "second": -4.0}
    assert outcome.facts["gains"] == ((1, gained), (3, {"first": -24.0, "second": -held + 4.0}))


def test_listed_actions_go_from_the_kindest_to_the_greediest() -> None:
    game = Negotiation(moves=4, compare=False, listed=True, remember=False, deals=1)
    asked, _ = played(["[offer 5 wood for 1 gold]", "[offer 1 gold for 5 wood]"], game)
    assert asked[0].choices[0] == "[offer 5 wood for 1 gold]" and asked[0].choices[-1] == "[offer 1 gold for 5 wood]"
    assert len(asked[0].choices) == 9 and "[deny]" in asked[0].choices[-3:]
    assert asked[1].choices[0] == "[accept]", "what was offered is open"
    assert len(asked[2].messages) == 1 and "other player offers 1 gold for 5 wood" in asked[2].messages[0].text
    goods = {"wood": 1, "gold": 0}
    assert choices(None, goods, {"wood": 9, "gold": 9}) == (
        *("[offer 1 wood for 1 gold]", "[deny]", "[offer 1 wood for 5 gold]"),
    )
    assert len(game.tasks()) == 2


@pytest.mark.parametrize(
    ("settings", "message"), [({"deals": 0}, "at least 1 deal"), ({"moves": 0}, "at least 1 move")]
)
def test_what_cannot_be_played_is_refused(settings: dict[str, int], message: str) -> None:
    with pytest.raises(RedQueenError, match=message):
        Negotiation(**settings)


def test_as_many_moves_are_played_as_the_rules_say() -> None:
    asked, outcome = played(["[deny]"] * 20, Negotiation(moves=10))
    assert len(asked) == 10
    assert outcome is not None
    assert outcome.scores == {FIRST: 0.0, SECOND: 0.0}


@pytest.mark.parametrize(
    ("line", "offender"),
    [
        (["[accept]"], "first"),  # there is nothing to accept
        (["[offer 1 wood for 1 gold]", "[deny]", "[accept]"], "first"),  # nobody accepts an offer of their own
        (["[offer 1 wood for 1 gold]", "[deny]", "[deny]", "[accept]"], "second"),  # a refused offer is gone
        (["[offer 11 wood for 1 gold]"], "first"),  # more than it holds
        (["[offer 1 wood for 10 gold]"], "first"),  # more than the other holds
        (["[offer 1 wood for 1 wood]"], "first"),
        (["[offer 0 wood for 1 gold]"], "first"),
        (["[offer 5 wood for 1 gold]", "[accept]", "[offer 9 gold for 1 wood]"], "first"),  # 6 gold after the trade
        (["[deny] or [accept]"], "first"),  # two actions
        (["I accept"], "first"),  # words and no action
        (["[deny"], "first"),
        ([""], "first"),
        (["xyzzy"], "first"),
    ],
)
def test_what_cannot_be_carried_out_is_a_forfeit(line: list[str], offender: str) -> None:
    _, outcome = played(line, Negotiation())
    assert outcome is not None
    assert outcome.facts["forfeit"] == offender
    lost = FIRST if offender == "first" else SECOND
    assert outcome.scores[lost] == -1.0
    assert sum(outcome.scores.values()) == 0.0


def test_a_forfeit_where_nothing_is_compared_costs_the_offender_its_goods() -> None:
    _, outcome = played(["[offer 3 wood for 2 gold]", "[accept]", "xyzzy"], Negotiation(compare=False))
    assert outcome is not None
    assert outcome.scores == {FIRST: -(10 * 6 + 5 * 30.0), SECOND: 0.0}


def test_an_action_is_found_bare_or_in_brackets_in_any_case() -> None:
    assert actions("Accept") == actions("  well [ACCEPT] then ") == ["accept"]
    assert offer(actions("Take it: [Offer: 3 Wood  for 2 gold]")[0]) == offer("offer 3 wood for 2 gold") is not None
    assert offer("offer three wood for 2 gold") is None
    assert worth({"wood": 2, "gold": 3}, {"wood": 5, "gold": 7}) == 31


def test_the_other_seat_hears_legal_words_only_and_never_the_values() -> None:
    game = Negotiation(retries=1)
    asked, _ = played(["my gold is worth 30 to me", "Let us trade! [offer 3 wood for 2 gold]", "[accept]"], game)
    second = asked[2]
    assert second.seat == SECOND
    shown = "\n".join(message.text for message in second.messages)
    assert "Let us trade!" in shown
    assert "worth 30" not in shown
    assert "one wood is worth 19 and one gold 23" in shown
    assert "The other player offers 3 wood for 2 gold." in shown


def test_a_conversation_is_the_last_one_with_the_own_words_and_one_message_more() -> None:
    asked, _ = played(["x", "[offer 3 wood for 2 gold]", "[accept]", "[deny]"], Negotiation(retries=1))
    first = [ask for ask in asked if ask.seat == FIRST]
    assert first[1].messages[:-1] == (*first[0].messages, Message("first", "x"))
    assert first[2].messages[:-1] == (*first[1].messages, Message("first", "[offer 3 wood for 2 gold]"))
    assert "You hold 7 wood and 7 gold; the other player holds 11 wood and 7 gold." in first[2].messages[-1].text


def test_every_deal_also_comes_with_the_seats_exchanged() -> None:
    tasks = Negotiation().tasks()
    assert len(tasks) == 64
    assert tasks[1].facts["goods"] == tasks[0].facts["goods"][::-1]
    assert tasks[1].facts["values"] == tasks[0].facts["values"][::-1]
