"""Said with help, learned as said without."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from redqueen.credit.rewards import payoff, score
from redqueen.demonstrations.transfer import aided, said_plainly, unaided
from redqueen.games.single_reply import SingleReply
from redqueen.measures.recitations import reference_logprobs
from redqueen.objectives.batch import pack
from redqueen.play.lockstep import play
from redqueen.players.scripted import Constant
from redqueen.settings.learner import Learner
from redqueen.types import SOLVER, Match, Message, RedQueenError, Task

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=8)
PLAIN = Task("t", prompt="What is 17+25?", answer="42")
HELP = "A zebra says 42."


def said(learner, task, seed=3):
    return score(play([Match(SingleReply(SOLVER), task, {SOLVER: learner}, seed)], Random(0)), payoff)


def test_the_row_holds_the_plain_prompt_and_the_same_tokens_and_nothing_of_the_help():
    learner = TINY.build_model(0)
    helped = said(learner, aided(PLAIN, HELP))
    (shown,) = unaided(helped, [PLAIN], learner)
    reply, sampled = shown.turns[0].reply, helped[0].turns[0].reply
    assert reply.tokens.tolist() == sampled.tokens.tolist()
    assert np.array_equal(reply.prompt_tokens, said(learner, PLAIN)[0].turns[0].reply.prompt_tokens)
    assert reply.recited
    assert not reply.logprobs.any()
    row = pack([shown], [np.ones(1)])
    text = learner.format.decode(row.tokens[0].tolist())
    assert "zebra" not in text
    assert "zebra" in learner.format.decode(sampled.prompt_tokens.tolist())
    assert "17+25" in text
    assert float(row.loss_weights.sum()) == pytest.approx(1.0)
    assert int((row.loss_weights > 0).sum()) == len(reply.tokens)
    assert bool(row.recited[0, -len(reply.tokens) :].all())


def test_after_its_own_prompt_the_tokens_have_the_log_probabilities_that_they_were_sampled_with():
    learner = TINY.build_model(0)
    own = said(learner, PLAIN)
    (found,) = reference_logprobs(learner, unaided(own, [PLAIN], learner))
    np.testing.assert_allclose(found[0], own[0].turns[0].reply.logprobs, atol=1e-5)


@pytest.mark.parametrize("name", ["learner", "before"])
def test_a_reply_that_ended_within_its_thoughts_is_said_plainly_in_its_own_tokens(name):
    learner = TINY.build_model(0)
    (helped,) = said(learner, aided(PLAIN, HELP))
    tokens = np.array(learner.format.tokenizer.encode("<think>\nIt may be 42, or 43"))
    turn = helped.turns[0]
    reply = replace(turn.reply, text="", malformed=True, thought="It may be 42, or 43", tokens=tokens, player=name)
    cut = replace(helped, turns=(replace(turn, reply=reply),))
    assert said_plainly(cut, PLAIN, learner).turns[0].reply.tokens.tolist() == tokens.tolist()


def test_a_reply_has_at_most_one_end_of_text():
    learner = TINY.build_model(0)
    for seed in range(8):
        (shown,) = unaided(said(learner, aided(PLAIN, HELP), seed), [PLAIN], learner)
        ends = [token in learner.ends for token in shown.turns[0].reply.tokens.tolist()]
        assert sum(ends) <= 1
        assert not any(ends[:-1])


def test_help_stands_behind_the_prompt_or_the_last_message():
    assert aided(PLAIN, "It is 42.").prompt == "What is 17+25?\n\nIt is 42."
    talk = replace(PLAIN, messages=(Message("system", "Be short."), Message("user", "17+25?")))
    assert [each.text for each in aided(talk, "It is 42.").messages] == ["Be short.", "17+25?\n\nIt is 42."]


def test_a_reply_without_tokens_is_refused():
    with pytest.raises(RedQueenError, match="has no tokens that could be learned"):
        unaided(said(Constant("42"), PLAIN), [PLAIN], TINY.build_model(0))
