"""Pseudo data by hand: which sentence, how often, and where each copy stands."""

from random import Random

import numpy as np
import pytest
import torch

from redqueen.demonstrations.loops import (
    Loops,
    consecutive,
    distances,
    looped,
    repeated_grams,
    repeated_sentences,
    sentence_ends,
)
from redqueen.measures.recitations import recited
from redqueen.objectives.batch import pack
from redqueen.players.tabular import TabularPolicy
from redqueen.players.transformer.loading import load_model
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.types import Ask, Demonstration, Episode, Outcome, RedQueenError, Reply, Seat, Task, Trajectory, Turn

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


class Words:
    """A tokenizer whose tokens are these texts."""

    texts = ("a", "b.", 'c?"', "d\n", "e,", "f. g", "!")

    def __len__(self):
        return len(self.texts)

    def batch_decode(self, rows):
        return ["".join(self.texts[token] for token in row) for row in rows]


def test_a_sentence_ends_with_its_mark_or_its_line():
    assert sentence_ends(Words()) == {1, 2, 3, 6}


def small():
    loaded = load_model("tiny:hidden=16,layers=1", torch.float32, "cpu", 0)
    return TransformerPolicy(loaded, learning_rate=1e-2, max_completion_length=24, constrain=False)


def test_loops_of_what_is_shown_end_where_its_sentences_do():
    learner = small()
    shown = recited([Demonstration("solver", Task("t", prompt="say"), "deal row. bet now.")] * 20, learner)
    plain = learner.verbatim().tokenizer
    rows, back = Loops(learner).of([*shown, said([8], [1, 2, 3])], Random(4))
    assert len(rows) == 20
    assert [each.tolist() for each in back] == [distances(row).tolist() for row in rows]
    repeated = {plain.decode(row.turns[1].reply.tokens) for row in rows}
    assert repeated == {"deal row.", " bet now."}
    room = len(shown[0].turns[0].reply.prompt_tokens) + 24
    assert all(len(turn.reply.prompt_tokens) + len(turn.reply.tokens) <= room for row in rows for turn in row.turns)


def test_texts_without_a_sentence_are_said_at_once_and_later_left_out():
    learner = small()
    loops, bare = Loops(learner), [said([8], [1, 2, 3])]
    with pytest.raises(RedQueenError, match="none of the 1 texts shown has a sentence that could be said twice in 24"):
        loops.of(bare, Random(0))
    loops.of(recited([Demonstration("solver", Task("t", prompt="say"), "deal row.")], learner), Random(0))
    assert loops.of(bare, Random(0)) == ([], [])
    with pytest.raises(RedQueenError, match="a table and cannot write"):
        Loops(TabularPolicy()).of(bare, Random(0))
