"""One prompt before and after, and what is played in each state: chosen by a rule, read as data."""

import json
import math

import pytest

from redqueen.measures.exact.known_equilibria import kuhn_bets, kuhn_states
from redqueen.players.tabular import TabularPolicy
from redqueen.types import Ask, Episode, Message, Outcome, Reply, Seat, Task, Turn
from redqueen.views.report.first_screen import MOST_STATES, Pair, answered, pairs, states, told_apart

SOLVER = Seat("solver")


def episode(task, said="x", game="g", kind="k", answer="", choices=(), player="learner", shown="What?"):
    turn = Turn(Ask(SOLVER, (Message("game", shown),), choices), Reply(said, player))
    return Episode(game, Task(task, kind=kind, answer=answer), 0, (turn,), Outcome({SOLVER: 0.0}), (SOLVER,))


def test_the_same_task_is_taken_where_the_first_and_the_last_steps_share_one():
    recorded = [(0, episode("a")), (0, episode("b")), (50, episode("a")), (99, episode("c")), (99, episode("b"))]
    assert pairs(recorded) == [Pair(1, 4, "task")]


def test_the_first_and_the_last_are_taken_whatever_came_of_them():
    recorded = [(0, episode("a", "early")), (0, episode("a")), (9, episode("a")), (9, episode("a", "late"))]
    assert pairs(recorded) == [Pair(0, 3, "task")]


def test_else_the_same_kind_and_else_the_same_game():
    recorded = [(0, episode("a", kind="sum")), (0, episode("b", kind="product")), (9, episode("c", kind="product"))]
    assert pairs(recorded) == [Pair(1, 2, "kind")]
    assert pairs([(0, episode("a", kind="sum")), (9, episode("c", kind="product"))]) == [Pair(0, 1, "game")]


def test_graded_games_come_first_and_one_step_makes_no_pair():
    recorded = [(0, episode("i", game="pose")), (0, episode("a", answer="2"))]
    assert pairs(recorded) == []
    recorded += [(5, episode("i", game="pose")), (5, episode("a", answer="2"))]
    assert [(recorded[pair.before][1].game, pair.same) for pair in pairs(recorded)] == [("g", "task"), ("pose", "task")]


def table(folder, asks, logits):
    policy = TabularPolicy()
    policy.reply(asks)
    place = folder / "checkpoints" / "step_000040" / "learner"
    place.mkdir(parents=True)
    kept = {**policy.state(), "logits": logits}
    (place / "table.json").write_text(json.dumps(kept))
    return folder


def test_a_table_is_shown_with_the_probability_of_each_reply(tmp_path):
    rules = "The rules.\n\nYou have the "
    asks = [Ask(SOLVER, (Message("game", f"{rules}{card}. Bet?"),), ("no", "yes")) for card in ("queen", "jack")]
    found = states(table(tmp_path, asks, [[0.0, 0.0], [0.0, 1.0986123]]), [])
    assert found["source"] == "the table of the last checkpoint, after step 40"
    assert [(row["seat"], row["text"], row["choices"], row["after"]) for row in found["rows"]] == [
        ("solver", "You have the jack.", ["no", "yes"], [0.25, 0.75]),
        ("solver", "You have the queen.", ["no", "yes"], [0.5, 0.5]),
    ]


def test_of_a_large_table_the_states_met_most_often_are_shown(tmp_path):
    asks = [Ask(SOLVER, (Message("game", f"state {n}"),), ("a", "b")) for n in range(MOST_STATES + 1)]
    folder = table(tmp_path, asks, [[0.0, 0.0]] * len(asks))
    met = [(0, episode("t", "a", choices=("a", "b"), shown=f"state {n}")) for n in (7, 7, 3)]
    found = states(folder, met)
    assert found["total"] == MOST_STATES + 1
    assert {"state 7", "state 3"} <= {row["text"] for row in found["rows"]} and len(found["rows"]) == 6
    assert found["which"] == "that were met most often"
    assert states(folder, [])["which"] == "in the order of the table"  # a run that played no match


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{", '{"asks": [], "logits": [[1]]}', '{"asks": [{"seat": 3}], "logits": [[1]]}', '{"asks": 1}'),
        f'{{"asks": {"[" * 9000 + "]" * 9000}}}',
    ],
    ids=str.__len__,
)
def test_a_table_that_is_none_is_not_shown(text, tmp_path):
    folder = table(tmp_path, [], [])
    (folder / "checkpoints" / "step_000040" / "learner" / "table.json").write_text(text)
    assert states(folder, []) is None


def test_without_a_table_the_recorded_replies_are_counted(tmp_path):
    def said(step, text, player="learner"):
        return step, episode("t", text, choices=("a", "b"), player=player)

    early = [said(0, "a"), said(0, "b"), said(1, "a"), said(1, "a")]
    late = [said(8, "b"), said(9, "b"), said(9, "b"), said(9, "a"), said(9, "a", player="learner@3"), said(9, "none")]
    between = [said(step, "a") for step in range(2, 8)]
    found = states(tmp_path, [*early, *between, *late])
    (row,) = found["rows"]
    assert (row["before"], row["after"], row["count"]) == ([0.75, 0.25], [0.25, 0.75], 4)
    assert (found["before"], found["source"]) == ("steps 0 to 1", "steps 8 to 9 (4 recorded replies)")


def test_replies_in_free_text_and_states_that_are_too_many_are_not_counted(tmp_path):
    free = [(step, episode("t", "a")) for step in range(10)]
    assert states(tmp_path, free) is None
    many = [
        (step, episode("t", "a", choices=("a",), shown=f"state {step} {n}")) for step in range(10) for n in range(30)
    ]
    assert states(tmp_path, many) is None


def test_what_all_states_say_is_left_out():
    boards = [f"Rules. You mark X. The board:\n1 2 3\n{row}\nWhich square?" for row in ("4 5 6", "X 5 6")]
    assert told_apart(boards) == ["1 2 3\n4 5 6", "1 2 3\nX 5 6"]
    assert told_apart(["Same."]) == ["Same."]
    assert told_apart(["one", "other"]) == ["one", "other"]
    assert told_apart(["Rules. ", "Rules. More."]) == ["", "More."]


def test_in_kuhn_poker_the_states_stand_in_their_order_with_what_they_are_in_the_equilibria(tmp_path):
    asks = kuhn_states()
    bets = kuhn_bets(0.2)
    logits = [[math.log(max(1.0 - bets[ask], 1e-9)), math.log(max(bets[ask], 1e-9))] for ask in asks]
    found = states(table(tmp_path, asks[::-1], logits[::-1]), [])
    assert found["nearest"] == "0.20"
    jack, queen, king = found["rows"][:3]
    assert "jack" in jack["text"] and "queen" in queen["text"] and "king" in king["text"]
    assert jack["known"] == [[0.6667, 1.0, 0.8], [0.0, 0.3333, 0.2]]  # pass, bet: least, most, nearest
    assert king["known"] == [[0.0, 1.0, 0.4], [0.0, 1.0, 0.6]]
    assert queen["known"] == [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]


def test_of_another_game_no_equilibria_are_told(tmp_path):
    asks = [*kuhn_states()[:1], Ask(Seat("first"), (Message("game", "Your card is the ace."),), ("pass", "bet"))]
    found = states(table(tmp_path, asks, [[0.0, 0.0], [0.0, 0.0]]), [])
    assert found["nearest"] == "" and {row["known"] for row in found["rows"]} == {None}


def kept(folder, which, step, *replies):
    rows = [
        {
            "question": question,
            "reply": text,
            "extracted": text,
            "expected": "7",
            "verdict": text == "7",
            "cut_off": False,
            "tests": 0,
        }
        for question, text in replies
    ]
    (folder / f"{which}_replies.json").write_text(json.dumps({"step": step, "replies": rows}))


def test_held_out_questions_are_shown_with_both_their_replies(tmp_path):
    kept(tmp_path, "first", 0, ("3 + 4?", "8"), ("2 + 5?", "7"))
    assert answered(tmp_path) is None  # nothing was measured at the end yet
    kept(tmp_path, "last", 20, ("3 + 4?", "7"), ("1 + 6?", "7"))
    found = answered(tmp_path)
    assert found["steps"] == [0, 20]
    assert [[(each["question"], each["reply"], each["verdict"]) for each in both] for both in found["replies"]] == [
        [("3 + 4?", "8", False), ("3 + 4?", "7", True)]
    ]


@pytest.mark.parametrize("text", ["[]", "{", '{"step": 20}', '{"step": 20, "replies": [{"question": 1}]}'])
def test_replies_that_are_none_are_not_shown(text, tmp_path):
    kept(tmp_path, "first", 0, ("3 + 4?", "8"))
    (tmp_path / "last_replies.json").write_text(text)
    assert answered(tmp_path) is None
