from dataclasses import replace

import numpy as np

from redqueen.credit.advantages.keys import by_task_and_role
from redqueen.credit.pairs import Pairs, against, best_and_worst, closest, every_pair, likeness, margins
from redqueen.credit.rewards import payoff, score
from redqueen.objectives.batch import pack_pairs
from redqueen.types import Ask, Episode, Group, Outcome, Reply, Seat, Task, Turn

SEAT = Seat("solver")


def said(task, text, mark=0.0):
    turns = (
        Turn(
            Ask(SEAT, ()),
            Reply(text, "learner", prompt_tokens=np.array([1]), tokens=np.array([2]), logprobs=np.zeros(1)),
        ),
    )
    return Episode("game", Task(task), 0, turns, Outcome({SEAT: mark}), (SEAT,))


def trajectories(*episodes):
    return score(episodes, payoff)


def texts(pairs):
    return [[each.turns[0].reply.text for each in side] for side in pairs]


GROUPS = trajectories(
    said("a", "one", 0.2), said("a", "two", 0.9), said("a", "tow", 0.9), said("a", "old", 0.1), said("b", "x", 0.5),
    said("b", "y", 0.5), said("c", "even", 0.0), said("c", "ever", -1.0),
)  # fmt: skip


def test_best_and_worst_by_hand():
    chosen, rejected = best_and_worst(GROUPS, by_task_and_role)
    assert texts((chosen, rejected)) == [["two", "even"], ["old", "ever"]]
    assert margins(chosen, rejected) == [0.9 - 0.1, 1.0]
    assert best_and_worst([], by_task_and_role) == Pairs([], [])


def test_equal_texts_are_no_pair_although_a_judge_rewarded_them_differently():
    group = trajectories(said("a", "same", 0.9), said("a", "same", 0.1), said("a", "even", 0.5))
    assert best_and_worst(group, by_task_and_role) == Pairs([], [], equal=1)
    found = every_pair(group, by_task_and_role)
    assert (texts(found), found.equal) == ([["same", "even"], ["even", "same"]], 1)
    assert texts(closest(group, by_task_and_role)) in ([["same"], ["even"]], [["even"], ["same"]])
    assert closest(group[:2], by_task_and_role) == Pairs([], [], equal=1)


def test_written_replies_that_say_the_same_after_different_thoughts_are_a_pair():
    def thought(about, mark, recited):
        (turn,) = (each := said("a", "four", mark)).turns
        reply = replace(turn.reply, thought=about, recited=recited)
        return replace(each, turns=(replace(turn, reply=reply),))

    written = trajectories(thought("2 + 2 is 4", 1.0, True), thought("2 + 2 is 5, say 4", -1.0, True))
    assert [len(side) for side in best_and_worst(written, by_task_and_role)] == [1, 1]
    sampled = trajectories(thought("2 + 2 is 4", 1.0, False), thought("2 + 2 is 5, say 4", -1.0, False))
    assert best_and_worst(sampled, by_task_and_role).equal == 1


def test_replies_are_credited_as_the_loss_of_their_pair_credits_them():
    pairs = best_and_worst(GROUPS, by_task_and_role)
    assert [each.tolist() for each in pairs.advantages(GROUPS)] == [
        [0.0], [1.0], [0.0], [-1.0], [0.0], [0.0], [1.0], [-1.0],
    ]  # fmt: skip
    batch = pack_pairs(pairs.chosen, pairs.rejected)
    assert batch.advantages[batch.loss_weights > 0].tolist() == [1.0, -1.0, 1.0, -1.0]


def test_a_task_that_was_drawn_twice_makes_pairs_of_each_group_alone():
    """Win rates are against the replies of the own group: over both groups "low" and "high" would be the ends."""
    groups = [
        Group(number, Task("a"), tuple(said("a", text, mark) for text, mark in marks))
        for number, marks in enumerate([[("fair", 0.6), ("low", 0.1)], [("high", 0.9), ("good", 0.7)]])
    ]
    assert texts(best_and_worst(score(groups, payoff))) == [["fair", "high"], ["low", "good"]]


def test_every_pair_of_unequal_reward():
    chosen, rejected = every_pair(GROUPS, by_task_and_role)
    assert list(zip(*texts((chosen, rejected)), strict=True)) == [
        ("two", "one"), ("tow", "one"), ("one", "old"), ("two", "old"), ("tow", "old"), ("even", "ever"),
    ]  # fmt: skip


def test_the_closest_pair_differs_least():
    """Of two, tow, one and old: "tow" and "old" have no two letters in one order; "two" and "one" share one letter."""
    chosen, rejected = closest(GROUPS, by_task_and_role)
    assert texts((chosen[1:], rejected[1:])) == [["even"], ["ever"]]
    found = likeness(*(each.turns[0].reply.text for each in (chosen[0], rejected[0])))
    others = [
        likeness(a, b) for a, b in (("two", "one"), ("tow", "one"), ("one", "old"), ("two", "old"), ("tow", "old"))
    ]
    assert found == max(others)


def test_likeness_by_hand():
    assert likeness("abcd", "abxd") == 2 * 3 / 8
    assert likeness("same", "same") == 1.0
    assert likeness("ab", "cd") == 0.0


def test_data_stand_against_what_the_policy_says_unless_it_says_the_same():
    gold = trajectories(said("a", "right"), said("b", "same"))
    own = trajectories(said("a", "wrong"), said("b", "same"))
    found = against(gold, own)
    assert (texts(found), found.equal) == ([["right"], ["wrong"]], 1)


def test_a_conversation_is_compared_as_a_whole():
    (first,) = trajectories(said("a", "x"))
    longer = replace(first, turns=first.turns * 2)
    assert texts(against([longer], [first])) == [["x"], ["x"]]
