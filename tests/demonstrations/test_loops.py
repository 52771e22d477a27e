"""Pseudo data by hand: which sentence, how often, and where each copy stands."""

from random import Random

import numpy as np
import pytest

from redqueen.demonstrations.loops import consecutive, distances, looped, repeated_grams, repeated_sentences
from redqueen.objectives.batch import pack
from redqueen.types import Ask, Episode, Outcome, RedQueenError, Reply, Seat, Task, Trajectory, Turn

SEAT, STOP = Seat("solver"), 0


def said(prompt, tokens):
    reply = Reply("", "learner", 3, np.array(prompt), np.array(tokens), np.full(len(tokens), -0.5))
    turn = Turn(Ask(SEAT, ()), reply)
    return Trajectory(Episode("g", Task("t"), 0, (turn,), Outcome({SEAT: 0.0}), (SEAT,)), SEAT, (turn,), np.zeros(1))


def test_a_sentence_is_repeated_until_the_row_is_full():
    """Of 1 2 . 3 4 5 . only the second sentence has three words and more."""
    (loop,) = looped([said([8, 9], [1, 2, STOP, 3, 4, 5, STOP, 6])], {STOP}, 15, Random(0), shortest=4)
    batch = pack([loop], [distances(loop)])
    copy = [3, 4, 5, STOP]
    assert batch.tokens.tolist() == [[8, 9, 1, 2, STOP, *copy, *copy, *copy[:2]]]
    assert batch.advantages.tolist() == [[0.0] * 9 + [-4.0] * 6]
    assert (batch.loss_weights[0] != 0).tolist() == [False] * 5 + [True] * 10
    assert batch.recited.tolist() == [[False] * 5 + [True] * 10]
    assert {turn.reply.player for turn in loop.turns} == {"learner"}


def test_the_first_sentence_keeps_the_prompt_alone_before_it():
    (loop,) = looped([said([8], [1, 2, STOP])], {STOP}, 7, Random(0))
    assert pack([loop], [distances(loop)]).tokens.tolist() == [[8, 1, 2, STOP, 1, 2, STOP]]


def test_any_sentence_that_fits_twice_may_be_drawn():
    replies = [said([8], [1, 2, STOP, 3, 4, STOP])] * 40
    first = {int(loop.turns[0].reply.tokens[0]) for loop in looped(replies, {STOP}, 20, Random(1))}
    assert first == {1, 3}
    short = {int(loop.turns[0].reply.tokens[0]) for loop in looped(replies, {STOP}, 8, Random(1))}
    assert short == {1}  # the second one would end beyond 8


def test_a_sentence_that_is_too_short_is_never_drawn():
    replies = [said([8], [STOP, STOP, 1, 2, STOP])] * 20
    assert {len(loop.turns[0].reply.tokens) for loop in looped(replies, {STOP}, 20, Random(0))} == {3}


def test_replies_without_a_sentence_are_left_out_and_if_all_are_it_is_said():
    replies = [said([8], [1, 2, 3]), said([8], [1, 2, STOP])]
    assert len(looped(replies, {STOP}, 9, Random(0))) == 1
    with pytest.raises(RedQueenError, match="none of 1 replies has a sentence that fits twice into 9 tokens"):
        looped(replies[:1], {STOP}, 9, Random(0))
    assert looped([], {STOP}, 9, Random(0)) == []


def test_repetition_is_measured_by_hand():
    assert repeated_grams(["a", "b", "a", "b", "a", "b"], 2) == pytest.approx(3 / 5)  # ab ba ab ba ab
    assert repeated_grams(["a", "b", "c"], 4) == 0.0
    assert consecutive(["a", "a", "b", "b", "b"]) == pytest.approx(3 / 4)
    assert repeated_sentences("I am. I  am. You are! You are! Who?") == pytest.approx(2 / 4)
    assert repeated_sentences("No end") == repeated_sentences("") == 0.0
