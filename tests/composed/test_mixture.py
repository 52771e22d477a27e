"""The geometric mixture of two policies, exact and by importance resampling."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from redqueen.composed.mixture import Mixture
from redqueen.games.talk import told
from redqueen.players.tabular import TabularPolicy
from redqueen.types import Ask, RedQueenError, Seat

ASK = Ask(Seat("solver"), told("Which?"), ("a", "b", "c"))


def table(chances):
    """A frozen table that answers so."""
    policy = TabularPolicy()
    policy.restore(
        {
            "name": "learner",
            "version": 0,
            "asks": [{"seat": ["solver", 0], "messages": [["game", "Which?"]], "choices": ["a", "b", "c"]}],
            "logits": [np.log(chances).tolist()],
        }
    )
    return policy


POLICY, REFERENCE = (0.64, 0.32, 0.04), (0.04, 0.32, 0.64)


def two():
    """A policy and a reference over one set of states."""
    policy = table(POLICY)
    reference = policy.freeze()
    reference.restore({"name": "learner@0", "version": 0, "asks": [], "logits": [np.log(REFERENCE).tolist()]})
    return policy, reference


def asked(count):
    return [replace(ASK, seed=seed) for seed in range(count)]


def test_the_chances_are_multiplied_and_renormalised():
    # half and half: sqrt(0.64 0.04) = 0.16, 0.32, 0.16, in sum 0.64
    (chances,) = Mixture(*two(), share=0.5).probabilities([ASK])
    assert chances == pytest.approx([0.25, 0.5, 0.25])


@pytest.mark.parametrize(("share", "chances"), [(0.0, POLICY), (1.0, REFERENCE)])
def test_the_ends_are_the_policy_and_the_reference(share, chances):
    assert Mixture(*two(), share).probabilities([ASK])[0] == pytest.approx(chances)


def test_listed_replies_are_drawn_from_it():
    mixture = Mixture(*two(), share=0.5)
    replies = mixture.reply(asked(4000))
    counts = Counter(reply.text for reply in replies)
    assert [counts[each] / 4000 for each in "abc"] == pytest.approx([0.25, 0.5, 0.25], abs=0.03)
    assert {reply.player for reply in replies} == {"mixture"}, "nobody learns from its words"


class Closed:
    """A table that can only be sampled, as a model that answers freely."""

    open = False

    def __init__(self, policy):
        self.policy, self.name, self.version = policy, policy.name, policy.version

    def reply(self, asks):
        return self.policy.reply(asks)

    def likelihoods(self, batch):
        return self.policy.likelihoods(batch)


def frequencies(candidates, share=0.5, count=1500):
    policy, reference = two()
    mixture = Mixture(Closed(policy), Closed(reference), share, candidates)
    counts = Counter(reply.text for reply in mixture.reply(asked(count)))
    return [counts[each] / count for each in "abc"]


@pytest.mark.slow
def test_resampling_tends_to_the_mixture_with_the_candidates():
    exact = np.array([0.25, 0.5, 0.25])
    near, far = (np.abs(np.array(frequencies(count)) - exact).sum() for count in (64, 2))
    assert near < 0.12
    assert far > 0.3
    assert frequencies(1) == pytest.approx(POLICY, abs=0.04), "one candidate is the policy itself"


def test_a_reply_does_not_depend_on_the_company():
    policy, reference = two()
    mixture = Mixture(Closed(policy), Closed(reference), 0.5, 4)
    together = [reply.text for reply in mixture.reply(asked(20))]
    assert together == [mixture.reply([ask])[0].text for ask in asked(20)]
    assert mixture.reply([]) == []


def test_what_cannot_be_is_refused():
    with pytest.raises(RedQueenError, match="from 0 to 1, not at 2"):
        Mixture(*two(), share=2.0)
    with pytest.raises(RedQueenError, match="at least one candidate"):
        Mixture(*two(), share=0.5, candidates=0)
