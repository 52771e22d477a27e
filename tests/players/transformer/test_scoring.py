import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from redqueen.players.transformer.forward import States
from redqueen.players.transformer.scoring import Query, Target, rate

VOCABULARY = 7


def table(seed=0):
    """Logits that depend on the word before and its place alone: [VOCABULARY, places, VOCABULARY]."""
    return 3.0 * torch.randn(VOCABULARY, 8, VOCABULARY, generator=torch.Generator().manual_seed(seed))


def body_of(logits, calls=None):
    """A model whose hidden states are its logits already; equal beginnings share one. `calls` hears the rows."""

    def body(rows, wanted):
        if calls is not None:
            calls.append((list(rows), [tuple(places) for places in wanted]))
        begun = [row[: place + 1] for row, places in zip(rows, wanted, strict=True) for place in places]
        assert all(begun), "a place beyond its row"
        distinct = list(dict.fromkeys(begun))
        hidden = torch.stack([logits[row[-1], len(row) - 1] for row in distinct])
        return States(hidden, [distinct.index(row) for row in begun])

    return body


def head(hidden):
    return hidden


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
        for at in sorted(draw(st.sets(st.integers(1, len(tokens) - 1)))):
            others = draw(st.sets(st.integers(0, VOCABULARY - 1), max_size=5))
            legal = tuple(sorted(others | {tokens[at]})) if draw(st.booleans()) else ()
            targets.append(Target(at, legal))
        made.append(Query(tokens, tuple(targets)))
    return made


@settings(deadline=None)
@given(queries(), st.sampled_from([0.5, 1.0, 3.0]), st.sampled_from([1, 2, 64]))
def test_held_and_free_places_are_rated_as_by_brute_force(made, temperature, chunk):
    logits = table()
    rating = rate(body_of(logits), head, made, temperature, chunk)
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
    rating = rate(body_of(table(), calls), head, [Query((1, 2, 3), ())], 1.0)
    assert calls == []
    assert rating.logprobs.shape == rating.entropies.shape == (0,)
    assert rate(body_of(table(), calls), head, [], 1.0).legal_logprobs.shape == (0, 0)


def test_what_comes_after_the_last_wanted_word_is_not_asked_for():
    calls = []
    made = [
        Query((1, 2, 3, 4, 5), (Target(1), Target(3, (4, 6)))),
        Query((1, 2), ()),
        Query((6, 5, 4), (Target(1),)),
    ]
    rate(body_of(table(), calls), head, made, 1.0)
    assert calls == [([(1, 2, 3), (), (6,)], [(0, 2), (), (0,)])]


def test_logits_are_made_once_for_each_beginning_of_a_wanted_word():
    sizes = []

    def counting(hidden):
        sizes.append(len(hidden))
        return hidden

    shared = [Query((1, 2, 3), (Target(2),)), Query((1, 2, 4), (Target(2, (3, 4)),)), Query((1, 5), (Target(1),))]
    rate(body_of(table()), counting, shared, 1.0)
    assert sizes == [2]  # after (1, 2) and after (1)


def test_a_word_that_is_alone_has_no_surprise():
    rating = rate(body_of(table()), head, [Query((1, 2), (Target(1, (2,)),))], 1.0)
    assert rating.logprobs.tolist() == [0.0]
    assert rating.entropies.tolist() == [0.0]


def test_logits_of_few_bits_are_rated_in_float32():
    logits = table().bfloat16()
    query = Query((1, 2, 4), (Target(1), Target(2, (3, 4, 5))))
    rating = rate(body_of(logits), head, [query], 0.7)
    assert rating.logprobs.dtype == rating.entropies.dtype == rating.legal_logprobs.dtype == torch.float32
    expected = [by_brute_force(logits, query, target, 0.7) for target in query.targets]
    assert rating.logprobs.tolist() == pytest.approx([logprob for logprob, _, _ in expected], abs=2e-5)
    assert rating.entropies.tolist() == pytest.approx([entropy for _, entropy, _ in expected], abs=2e-5)


MIXED = [
    Query((1, 2, 4), (Target(1, (0, 2, 3, 5)), Target(2))),
    Query((1, 3), (Target(1, (2, 3)),)),
    Query((2, 6), (Target(1, (1, 4, 6)),)),
    Query((1, 2, 4, 5, 0), (Target(2), Target(4))),
]


def spoken(rating):
    """A loss to which every answer adds something."""
    chances = torch.where(rating.legal_logprobs == -torch.inf, 0.0, rating.legal_logprobs.exp())
    return rating.logprobs.sum() + rating.entropies.sum() + chances.square().sum()


@pytest.mark.parametrize("extreme", [0.0, 80.0, 1e4])
@pytest.mark.parametrize("chunk", [1, 2, 64])
def test_gradients_are_numbers_and_those_of_the_definition(extreme, chunk):
    logits = table(1)
    logits[1, 0, 3] -= extreme  # a word all but impossible
    given_logits = logits.clone().requires_grad_()
    spoken(rate(body_of(given_logits), head, MIXED, 2.0, chunk)).backward()
    assert torch.isfinite(given_logits.grad).all()

    plain = logits.double().requires_grad_()
    total = 0.0
    for query in MIXED:
        for target in query.targets:
            row = plain[query.tokens[target.at - 1], target.at - 1] / 2.0
            legal = list(target.legal) or list(range(VOCABULARY))
            logprobs = row[legal].log_softmax(dim=0)
            total = total + logprobs[legal.index(query.tokens[target.at])] - (logprobs.exp() * logprobs).sum()
            if target.legal:
                total = total + logprobs.exp().square().sum()
    total.backward()
    torch.testing.assert_close(given_logits.grad.double(), plain.grad, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("answers", ["logprobs", "entropies"])
def test_one_answer_alone_has_its_own_gradient(answers):
    free = [Query((1, 2, 4), (Target(1), Target(2)))]
    logits = table(2).requires_grad_()
    getattr(rate(body_of(logits), head, free, 1.0), answers).sum().backward()
    plain = table(2).double().requires_grad_()
    rows = [plain[1, 0].log_softmax(dim=0), plain[2, 1].log_softmax(dim=0)]
    if answers == "logprobs":
        (rows[0][2] + rows[1][4]).backward()
    else:
        sum(-(row.exp() * row).sum() for row in rows).backward()
    torch.testing.assert_close(logits.grad.double(), plain.grad, atol=1e-5, rtol=1e-5)


@settings(deadline=None, max_examples=40)
@given(queries(), st.sampled_from([1, 2, 3]))
def test_chunks_do_not_change_the_gradient_and_bound_the_logits(made, chunk):
    if not any(query.targets for query in made):
        return
    gradients, largest = [], []
    for size in (chunk, 64):
        weights = torch.eye(VOCABULARY).requires_grad_()
        logits = table(3).requires_grad_()
        sizes = []

        def linear(hidden, weights=weights, sizes=sizes):
            sizes.append(len(hidden))
            return hidden @ weights.t()

        spoken(rate(body_of(logits), linear, made, 0.8, size)).backward()
        gradients.append((logits.grad, weights.grad))
        largest.append(max(sizes))
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)
    assert largest[0] <= chunk


def test_the_dropout_of_a_head_is_the_same_when_its_logits_are_made_again():
    """A gradient ends where the pass that was rated had dropped a number, whatever is drawn since."""
    dropped = []

    def dropping(hidden):
        kept = torch.bernoulli(torch.full_like(hidden, 0.5))
        dropped.append(kept == 0)
        return hidden * kept

    logits = table(4).requires_grad_()
    query = Query((1, 2, 3, 4, 5), tuple(map(Target, (1, 2, 3, 4))))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        rating = rate(body_of(logits), dropping, [query], 1.0, 2)
        first = torch.cat(dropped)
        rating.logprobs.sum().backward()
    gradient = torch.stack([logits.grad[token, place] for place, token in enumerate((1, 2, 3, 4))])
    assert torch.equal(gradient == 0, first)
