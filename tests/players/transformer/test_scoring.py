import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from redqueen.players.transformer.scoring import Query, Target, rate

VOCABULARY = 7


def table(seed=0):
    """Logits that depend on the node's token and depth alone: [VOCABULARY, depths, VOCABULARY]."""
    return 3.0 * torch.randn(VOCABULARY, 8, VOCABULARY, generator=torch.Generator().manual_seed(seed))


def forward_of(logits, calls=None):
    def forward(trie, nodes):
        if calls is not None:
            calls.append(len(nodes))
        return logits[trie.tokens[nodes], trie.depths[nodes]]

    return forward


def by_brute_force(logits, query, target, temperature):
    """The log-probability, the entropy, and the legal log-probabilities of one place, in float64."""
    scores = logits[query.tokens[target.at - 1], target.at - 1].double().numpy() / temperature
    legal = target.legal or tuple(range(VOCABULARY))
    chances = {token: np.exp(scores[token]) for token in legal}
    total = sum(chances.values())
    chances = {token: chance / total for token, chance in chances.items()}
    entropy = -sum(chance * np.log(chance) for chance in chances.values())
    return np.log(chances[query.tokens[target.at]]), entropy, [np.log(chances[token]) for token in target.legal]


@st.composite
def queries(draw):
    made = []
    for _ in range(draw(st.integers(1, 4))):
        tokens = tuple(draw(st.lists(st.integers(0, VOCABULARY - 1), min_size=2, max_size=7)))
        targets = []
        for at in draw(st.sets(st.integers(1, len(tokens) - 1))):
            others = draw(st.sets(st.integers(0, VOCABULARY - 1), max_size=5))
            legal = tuple(sorted(others | {tokens[at]})) if draw(st.booleans()) else ()
            targets.append(Target(at, legal))
        made.append(Query(tokens, tuple(targets)))
    return made


@settings(deadline=None)
@given(queries(), st.sampled_from([0.5, 1.0, 3.0]), st.sampled_from([1, 2, 64]))
def test_held_and_free_places_are_rated_as_by_brute_force(made, temperature, chunk):
    logits = table()
    rating = rate(forward_of(logits), made, temperature, chunk)
    places = [(query, target) for query in made for target in query.targets]
    width = max((len(target.legal) for _, target in places), default=0)
    assert rating.legal_logprobs.shape == (len(places), width)
    for number, (query, target) in enumerate(places):
        logprob, entropy, legal = by_brute_force(logits, query, target, temperature)
        assert rating.logprobs[number].item() == pytest.approx(logprob, abs=2e-5)
        assert rating.entropies[number].item() == pytest.approx(entropy, abs=2e-5)
        row = rating.legal_logprobs[number].tolist()
        assert row[: len(legal)] == pytest.approx(legal, abs=2e-5)
        assert row[len(legal) :] == [-np.inf] * (width - len(legal))


def test_nothing_wanted_asks_the_model_nothing():
    calls = []
    rating = rate(forward_of(table(), calls), [Query((1, 2, 3), ())], 1.0)
    assert calls == []
    assert rating.logprobs.shape == rating.entropies.shape == (0,)
    assert rate(forward_of(table(), calls), [], 1.0).legal_logprobs.shape == (0, 0)


def test_logits_are_made_once_for_each_node_before_a_wanted_word():
    calls = []
    shared = [Query((1, 2, 3), (Target(2),)), Query((1, 2, 4), (Target(2, (3, 4)),)), Query((1, 5), (Target(1),))]
    rate(forward_of(table(), calls), shared, 1.0)
    assert calls == [2]  # after (1, 2) and after (1)


def test_a_word_that_is_alone_has_no_surprise():
    rating = rate(forward_of(table()), [Query((1, 2), (Target(1, (2,)),))], 1.0)
    assert rating.logprobs.tolist() == [0.0]
    assert rating.entropies.tolist() == [0.0]


@pytest.mark.parametrize("extreme", [0.0, 80.0, 1e4])
def test_gradients_are_numbers_and_those_of_the_definition(extreme):
    logits = table(1)
    logits[1, 0, 3] -= extreme  # a word all but impossible
    mixed = [
        Query((1, 2, 4), (Target(1, (0, 2, 3, 5)), Target(2))),
        Query((1, 3), (Target(1, (2, 3)),)),
        Query((2, 6), (Target(1, (1, 4, 6)),)),
    ]
    given_logits = logits.clone().requires_grad_()
    rating = rate(forward_of(given_logits), mixed, 2.0)
    chances = torch.where(rating.legal_logprobs == -torch.inf, 0.0, rating.legal_logprobs.exp())
    (rating.logprobs.sum() + rating.entropies.sum() + chances.square().sum()).backward()
    assert torch.isfinite(given_logits.grad).all()

    plain = logits.double().requires_grad_()
    total = 0.0
    for query in mixed:
        for target in query.targets:
            row = plain[query.tokens[target.at - 1], target.at - 1] / 2.0
            legal = list(target.legal) or list(range(VOCABULARY))
            logprobs = row[legal].log_softmax(dim=0)
            total = total + logprobs[legal.index(query.tokens[target.at])] - (logprobs.exp() * logprobs).sum()
            if target.legal:
                total = total + logprobs.exp().square().sum()
    total.backward()
    torch.testing.assert_close(given_logits.grad.double(), plain.grad, atol=1e-4, rtol=1e-4)
