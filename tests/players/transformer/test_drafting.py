"""Drafts change no word."""

import numpy as np
import pytest
import torch

from redqueen.chance import derive
from redqueen.objectives.batch import one_turn, pack
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.players.language.formats import Nucleus
from redqueen.players.transformer import drafting
from redqueen.players.transformer.drafting import Drafting
from redqueen.players.transformer.forward import Forward
from redqueen.players.transformer.key_values import KeyValueStore
from redqueen.players.transformer.layers import ATTENTION, GATES
from redqueen.players.transformer.sampling import Manner, sample
from redqueen.settings.learner import Learner
from redqueen.types import Ask, Message, RedQueenError, Seat

PROMPTS = [(1, 2, 3, 4, 5), (7,), (1, 2, 3, 4, 5)]
SEEDS = [derive(4, number) for number in range(len(PROMPTS))]
PLENTY = 10_000
MANNERS = {
    "sampled": Manner(frozenset({0, 5, 9}), 20, 1.0),
    "cold": Manner(frozenset({0}), 20, 0.3),
    "greedy": Manner(frozenset({0}), 20, 0.0),
    "nucleus": Manner(frozenset({0}), 20, 1.0, Nucleus(top_k=20, top_p=0.9)),
}


@pytest.fixture(scope="module")
def forward():
    return Forward(Learner(model="tiny:hidden=32,layers=6").build_model(1)._loaded.model)


@pytest.mark.parametrize("manner", MANNERS.values(), ids=MANNERS)
def test_the_words_are_those_without_drafts(forward, manner):
    ends = [None, None, lambda tokens: len(tokens) == 7]
    plain = sample(forward, KeyValueStore(forward, PLENTY), PROMPTS, SEEDS, manner, ends)
    drafts = Drafting(forward, 0.5, PLENTY)
    for _ in range(3):  # while the search goes on
        said = drafts.sample(KeyValueStore(forward, PLENTY), PROMPTS, SEEDS, [manner] * 3, ends)
        assert [each.tokens for each in said] == [each.tokens for each in plain]
        assert [each.truncated for each in said] == [each.truncated for each in plain]
        for one, other in zip(said, plain, strict=True):
            assert one.logprobs == pytest.approx(other.logprobs, abs=1e-5)
    counts = drafts.counts
    assert counts.tokens == 3 * sum(len(each.tokens) for each in plain)
    assert 0 < counts.accepted <= counts.drafted
    # each pass adds a word that was not drafted, but one that ends in the midst of a draft
    assert counts.rows < counts.rows + counts.accepted - 9 <= counts.tokens <= counts.rows + counts.accepted


def test_a_model_that_leaves_out_what_adds_nothing_drafts_without_fault():
    """Sub-layers whose last weights are zero: all drafts stand, and a pass says the words of a draft and one more."""
    policy = Learner(model="tiny:hidden=32,layers=6").build_model(1)
    model = policy._loaded.model
    with torch.no_grad():
        for layer in model.model.layers[1:-1]:
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
    forward = Forward(model)
    drafts = Drafting(forward, 1.0, PLENTY)
    assert drafts.left_out == {(number, part) for number in range(1, 5) for part in (ATTENTION, GATES)}
    manner = Manner(frozenset(), 53, 0.0)
    drafting_sure, drafting.SURE = drafting.SURE, 0.0  # the model is random: it is never sure
    try:
        (said,) = drafts.sample(KeyValueStore(forward, PLENTY), [(1, 2)], [3], [manner], [None])
    finally:
        drafting.SURE = drafting_sure
    assert len(said.tokens) == 53
    assert drafts.counts.acceptance == 1.0
    assert drafts.counts.passes == 3  # 26 words, 26, and the last
    assert drafts.score == 1.0


def test_the_search_keeps_the_better_set(forward):
    drafts = Drafting(forward, 0.25, PLENTY)
    scores = []
    for seed in range(8):
        drafts.sample(KeyValueStore(forward, PLENTY), [(1, 2, 3)], [seed], [MANNERS["sampled"]], [None])
        scores.append((drafts.tries, len(drafts.left_out)))
    assert {size for _, size in scores} == {2}
    assert drafts.score > 0.0


def test_a_policy_with_drafts_says_the_same():
    asks = [Ask(Seat("poet", 0), (Message("rules", text),), seed=seed) for seed, text in enumerate(["say", "sing"])]
    plain = Learner(model="tiny:hidden=32,layers=4", max_completion_length=12).build_model(2)
    drafts = Learner(model="tiny:hidden=32,layers=4", max_completion_length=12, draft=0.5).build_model(2)
    for policy in (drafts, drafts.freeze()):
        assert [each.tokens.tolist() for each in policy.reply(asks)] == [
            each.tokens.tolist() for each in plain.reply(asks)
        ]
    assert drafts.drafting.counts.tokens > 0
    many = [Ask(Seat("poet", 0), (Message("rules", "say"),), seed=seed) for seed in range(drafting.FEW + 1)]
    before = drafts.drafting.counts.tokens
    drafts.reply(many)
    assert drafts.drafting.counts.tokens == before  # many replies at once are sampled as ever


def test_a_step_that_drafts_nothing_says_so():
    policy = Learner(model="tiny:hidden=32,layers=4", max_completion_length=4, draft=0.5).build_model(2)
    asks = [Ask(Seat("poet", 0), (Message("rules", "say"),), seed=seed) for seed in range(drafting.FEW + 1)]
    batch = pack([one_turn(ask, reply) for ask, reply in zip(asks, policy.reply(asks), strict=True)], [np.ones(1)] * 5)
    with pytest.warns(UserWarning, match="--draft has had no effect so far"):
        policy.update(batch, Reinforce())


def test_what_cannot_be_drafted_is_refused():
    with pytest.raises(RedQueenError, match=r"--draft 0.1 leaves out none of the 4 sub-layers between the first and"):
        Learner(model="tiny:hidden=32,layers=4", draft=0.1).build_model(0)
    with pytest.raises(RedQueenError, match="--draft has no effect with --sampler vllm"):
        Learner(model="tiny", draft=0.5, sampler="vllm").build_model(0)
    with pytest.raises(RedQueenError, match="--draft has no effect on a tabular policy"):
        Learner(draft=0.5).build(0)
