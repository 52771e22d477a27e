"""Updates on pairs: the same whatever the micro-batches, and towards what was chosen."""

from random import Random

import numpy as np
import pytest
import torch

from redqueen.credit.rewards import payoff, score
from redqueen.games.single_reply import SingleReply
from redqueen.objectives.batch import beside, pack_pairs
from redqueen.objectives.preference import Dpo
from redqueen.play.lockstep import play
from redqueen.players.language.reciter import Reciter
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.players.transformer.rows import parts_of
from redqueen.settings.learner import Learner
from redqueen.types import Ask, Match, Message, RedQueenError, Seat, Task

GAME = SingleReply("solver")
QUESTIONS = [
    ("What is red?", "a fire", "the sea is"),
    ("What is blue?", "the sea", "a fire"),
    ("What?", "that", "this"),
]


def pairs(policy):
    def told(texts):
        matches = [
            Match(GAME, Task(question, prompt=question), {"solver": Reciter(policy, text)}) for question, text in texts
        ]
        return score(play(matches, Random(0)), payoff)

    return pack_pairs(told([(q, good) for q, good, _ in QUESTIONS]), told([(q, bad) for q, _, bad in QUESTIONS]))


def test_micro_batches_do_not_change_an_update_on_pairs(made):
    found = []
    for budget, parts in ((100_000, 1), (20, 2), (1, 3)):
        policy = TransformerPolicy(made(), token_budget=budget, learning_rate=1e-2)
        batch = pairs(policy)
        assert len(parts_of(batch, budget)) == parts
        batch = beside(batch, policy.likelihoods(batch))
        metrics = policy.update(batch, Dpo(0.5))
        metrics |= {f"again {key}": value for key, value in policy.update(batch, Dpo(0.5)).items()}
        found.append((metrics, policy.likelihoods(batch).logprobs))
    for metrics, logprobs in found[1:]:
        assert metrics == pytest.approx(found[0][0], rel=1e-3, abs=1e-4)
        torch.testing.assert_close(logprobs, found[0][1], atol=1e-3, rtol=1e-3)
    assert found[0][0]["loss"] == pytest.approx(np.log(2), abs=1e-5)  # the reference is the policy itself
    assert found[0][0]["again loss"] < np.log(2)


def test_the_chosen_replies_become_likelier_than_the_rejected_ones(made):
    policy = TransformerPolicy(made(), learning_rate=3e-3)
    batch = pairs(policy)
    batch = beside(batch, policy.likelihoods(batch))
    margins = [policy.update(batch, Dpo(0.1))["preference_margin"] for _ in range(8)]
    assert margins[0] == pytest.approx(0.0, abs=1e-4)
    assert margins[-1] > 1.0


def test_what_is_recited_is_held_to_the_listed_replies_as_what_is_chosen():
    policy = Learner(model="tiny:hidden=16,heads=2").build_model(0)
    ask = Ask(Seat("solver"), (Message("game", "Choose a or b."),), ("a", "b"), seed=3)
    (chosen,) = policy.reply([ask])
    recited = policy.recite(ask, chosen.text)
    assert recited.legal_tokens == chosen.legal_tokens
    assert recited.tokens.tolist() == chosen.tokens.tolist()
    assert (recited.recited, recited.logprobs.tolist()) == (True, [0.0] * len(chosen.tokens))
    with pytest.raises(RedQueenError, match="'c' is not among the choices a, b"):
        policy.recite(ask, "c")
