"""What leaves the server: before the end nothing that the person's seat may not see."""

import json
from threading import Lock

import numpy as np
import pytest

from redqueen.games.connect import Connect
from redqueen.games.iterated_dilemma import IteratedDilemma
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.games.leduc_poker import LeducPoker
from redqueen.games.odd_one_out import OddOneOut
from redqueen.games.tic_tac_toe import TicTacToe
from redqueen.players.scripted import Constant, FirstChoice, Scripted, Uniform
from redqueen.types import Reply
from redqueen.views.serve.menu import Opponent
from redqueen.views.serve.refusals import Declined
from redqueen.views.serve.sitting import Sitting
from redqueen.views.serve.view import again, chances, shown


def sat(game, player, role="first", task=None, seed=3):
    opponent = Opponent(player)
    sitting = Sitting(game, task or game.tasks()[0], seed, role, lambda: opponent, Lock())
    sitting.go_on()
    return sitting


def deal(game, name):
    (task,) = [task for task in game.tasks() if task.id == name]
    return task


@pytest.mark.parametrize("role", ["first", "second"])
def test_the_other_card_changes_nothing_before_the_end(role):
    game = KuhnPoker()
    deals = ("queen-jack", "queen-king") if role == "first" else ("jack-queen", "king-queen")
    tables = [sat(game, Scripted(("pass", "pass")), role, deal(game, name)) for name in deals]
    before = [json.dumps([shown(table), chances(table, None)]) for table in tables]
    assert before[0] == before[1]
    assert [table.ask.seat.role for table in tables] == [role, role]
    for table in tables:
        table.say("pass", 0)
    after = [json.dumps(shown(table)) for table in tables]
    assert after[0] != after[1]
    assert "queen" in json.loads(after[0])["result"]["task"]


def test_a_card_game_shows_the_own_hand_and_in_the_end_both():
    game = KuhnPoker()
    table = sat(game, Constant("pass"), "first", deal(game, "queen-king"))
    assert shown(table)["frame"] == {"kind": "cards", "hands": {"first": ["queen"]}, "shared": []}
    table.say("bet", 0)
    assert shown(table)["frame"]["hands"] == {"first": ["queen"], "second": ["king"]}


def test_the_open_card_comes_when_the_seat_is_told_of_it():
    game = LeducPoker()
    table = sat(game, Constant("check"))
    public = str(table.table.match.task.facts["public"])
    assert shown(table)["frame"]["shared"] == []
    table.say("check", 0)
    assert shown(table)["frame"]["shared"] == [public]


def test_moves_of_a_game_without_secrets_are_open_and_thoughts_are_not():
    class Thinker:
        name = "thinker"

        def reply(self, asks):
            return [Reply(ask.choices[0], "thinker", thought="my secret plan") for ask in asks]

    table = sat(TicTacToe(), Thinker())
    table.say("9", 0)
    seen = shown(table)
    assert [(move["seat"], move["said"], move["yours"]) for move in seen["moves"]] == [
        ("first", "9", True),
        ("second", "1", False),
    ]
    assert seen["moves"][1]["shown"] == []
    assert "secret plan" not in json.dumps(seen)
    for move in ("8", "7"):
        table.say(move, table.entries)
    assert table.over
    assert "secret plan" in json.dumps(shown(table))


def test_moves_of_a_game_with_secrets_wait_for_the_end():
    table = sat(KuhnPoker(), Scripted(("bet",)))
    table.say("pass", 0)
    assert [move["yours"] for move in shown(table)["moves"]] == [True]
    with pytest.raises(Declined, match="no such move"):
        chances(table, 1)
    table.say("pass", 1)
    assert [move["yours"] for move in shown(table)["moves"]] == [True, False, True]


def test_what_the_other_has_chosen_at_the_same_moment_is_not_told():
    views = []
    for choice in ("cooperate", "defect"):
        table = sat(IteratedDilemma(rounds=2), Constant(choice))
        views.append(json.dumps(shown(table)))
    assert views[0] == views[1]


def test_neither_seed_nor_deal_is_told_before_the_end():
    game = KuhnPoker()
    table = sat(game, Constant("pass"), task=deal(game, "jack-king"), seed=987654321)
    before = json.dumps(shown(table))
    assert "987654321" not in before and "jack-king" not in before
    table.say("bet", 0)
    result = shown(table)["result"]
    assert (result["task"], result["seed"]) == ("jack-king", "987654321")
    assert result["scores"] == [["first", "+1", True], ["second", "-1", False]]


def test_a_board_is_drawn_as_it_is_now():
    table = sat(TicTacToe(), Scripted(("5",)))
    assert shown(table)["frame"]["last"] is None
    table.say("1", 0)
    frame = shown(table)["frame"]
    assert (frame["rows"][0], frame["rows"][1], frame["last"]) == (["X", "2", "3"], ["4", "O", "6"], [1, 1])
    falling = sat(Connect(drop=True), Uniform())
    assert set(falling.ask.choices) == {"1", "2", "3", "4"}
    assert shown(falling)["frame"]["rows"] == [[""] * 4] * 4


class Known:
    """Always the same odds, and the ask that it was read at."""

    name, open = "known", True

    def __init__(self):
        self.read = []

    def reply(self, asks):
        return [Reply("bet", "known") for _ in asks]

    def probabilities(self, asks):
        self.read += asks
        return [np.array([0.25, 0.75]) for _ in asks]


def test_probabilities_are_those_of_the_mind_at_that_ask():
    mind = Known()
    table = sat(KuhnPoker(), mind)
    assert chances(table, None) == [["pass", 0.25], ["bet", 0.75]]
    assert mind.read[-1] == table.ask
    table.say("pass", 0)
    table.say("bet", 1)
    asked = [turn.ask for turn in table.table.turns]
    for move, ask in enumerate(asked):
        assert chances(table, move) == [["pass", 0.25], ["bet", 0.75]]
        assert mind.read[-1] == ask
    assert mind.read[-1].past == ()  # what a person said before are not the mind's own words
    with pytest.raises(Declined, match="nobody is asked now"):
        chances(table, None)


def test_a_mind_that_cannot_be_read_is_said_to_be_closed():
    class Closed:
        name = "closed"

        def reply(self, asks):
            return [Reply("bet", "closed") for _ in asks]

    class Free(Known):
        open = False

    for player in (Closed(), Free()):
        with pytest.raises(Declined, match="can only be asked, not read"):
            chances(sat(KuhnPoker(), player), None)


def test_the_same_deal_is_dealt_at_the_keyboard():
    assert again("kuhn_poker", "my runs/a@4", "second", 7) == (
        "redqueen play kuhn_poker --against 'my runs/a@4' --role second --seed 7"
    )


def test_a_talk_says_who_hears_the_person_and_who_else_heard_what_they_are_told():
    """Before the end as the game states it, and of the whole talk at its end."""
    from redqueen.games.catalogue import find_game

    game = find_game("price_talk")
    adviser = sat(game, Uniform(), "adviser")
    assert shown(adviser)["ask"]["heard"] == "to buyer alone"
    buyer = sat(game, Uniform(), "buyer")
    assert shown(buyer)["ask"]["heard"] == "to all"
    for table in (adviser, buyer):
        number = 0
        while table.ask is not None:
            table.say(table.ask.choices[0], number)
            number += 1
            found = shown(table)
            if not table.over:
                assert {move["line"] for move in found["moves"]} == {f"{table.role} {found['ask']['heard']}"}
        lines = [move["line"] for move in shown(table)["moves"]]
        assert {"adviser to buyer alone", "buyer to all"} <= set(lines)


def test_what_a_person_is_told_by_another_seat_bears_who_else_heard_it():
    from redqueen.games.catalogue import find_game

    table = sat(find_game("hidden_state"), Uniform(), "therapist")
    table.say(table.ask.choices[0], 0)
    told = [speaker for move in shown(table)["moves"] for speaker, _ in move["shown"]]
    told += [speaker for speaker, _ in shown(table)["ask"]["messages"]] if table.ask else []
    assert set(told) <= {"game", "patient to all", "system", "therapist to all"}


class LastChoice(FirstChoice):
    def reply(self, asks):
        return [Reply(ask.choices[-1]) for ask in asks]


def test_a_score_of_nothing_is_without_a_sign():
    sitting = sat(OddOneOut(), LastChoice(), role="voter")
    sitting.say("N/A", sitting.entries)
    scores = [score for _, score, _ in shown(sitting)["result"]["scores"]]
    assert scores == ["0", "0", "0", "-0.5", "-0.5"]  # the spy's is minus nothing
