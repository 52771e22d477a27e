import numpy as np
import pytest
import torch

from redqueen.chance import derive
from redqueen.players.transformer.sampling import sample

PROMPTS = [(1, 2, 3, 4, 5), (7,), (1, 2, 3, 4, 5), (9, 8), (1, 2, 3), (7,)]
SEEDS = [derive(4, n) for n in range(len(PROMPTS))]


def sampled(model, prompts=PROMPTS, seeds=SEEDS, stops=frozenset({0}), limit=12, temperature=1.0, run=None):
    return sample(run or model, prompts, seeds, stops, limit, temperature, "cpu")


def stops_of(model, count=60):
    """Words likely enough that replies of several lengths end in them."""
    return frozenset(range(count))


def test_recorded_words_are_rated_as_by_a_plain_forward_pass(any_model):
    model = any_model.model
    for temperature in (1.0, 0.7):
        said = sampled(model, stops=stops_of(model), temperature=temperature)
        assert len({len(each.tokens) for each in said}) > 2
        for prompt, each in zip(PROMPTS, said, strict=True):
            with torch.no_grad():
                logits = model(input_ids=torch.tensor([[*prompt, *each.tokens]])).logits[0, len(prompt) - 1 : -1]
            plain = (logits / temperature).log_softmax(dim=1)[range(len(each.tokens)), list(each.tokens)]
            assert each.logprobs == pytest.approx(plain.tolist(), abs=2e-5)


def test_a_reply_is_the_same_alone_and_in_company(any_model):
    stops = stops_of(any_model.model)
    together = sampled(any_model.model, stops=stops)
    for number, (prompt, seed) in enumerate(zip(PROMPTS, SEEDS, strict=True)):
        (alone,) = sampled(any_model.model, [prompt], [seed], stops)
        assert alone.tokens == together[number].tokens
        assert alone.logprobs == pytest.approx(together[number].logprobs, abs=1e-5)
    again = sampled(any_model.model, list(reversed(PROMPTS)), list(reversed(SEEDS)), stops)
    assert [each.tokens for each in reversed(again)] == [each.tokens for each in together]


def test_another_seed_says_something_else(made):
    model = made().model
    said = sampled(model, [(1, 2)] * 8, range(8))
    assert len({each.tokens for each in said}) == 8
    assert len({each.tokens for each in sampled(model, [(1, 2)] * 3, [5] * 3)}) == 1


def test_first_and_second_words_have_the_model_s_distribution(made):
    model = made(scale=0.5).model
    with torch.no_grad():
        model.lm_head.weight[6:] = 0.0  # all but six words equally unlikely
        model.lm_head.weight[:6] *= 3.0

    def chances(prompt):
        with torch.no_grad():
            return (model(input_ids=torch.tensor([prompt])).logits[0, -1] / 0.8).softmax(dim=0).double().numpy()

    count = 4000
    said = sampled(model, [(3, 1)] * count, range(count), limit=2, temperature=0.8, stops=frozenset())
    first = chances([3, 1])
    likeliest = int(first.argmax())
    after = chances([3, 1, likeliest])
    for expected, words in (
        (first, [each.tokens[0] for each in said]),
        (after, [each.tokens[1] for each in said if each.tokens[0] == likeliest]),
    ):
        assert chi_square(expected, words) < 20.5 + 1e-9  # at most five degrees of freedom: once in a thousand


def chi_square(expected, words):
    """Over the five likeliest words and all the others together."""
    top = np.argsort(expected)[-5:]
    counts = np.array([*(words.count(word) for word in top.tolist()), 0.0])
    counts[-1] = len(words) - counts.sum()
    shares = np.array([*expected[top], 1.0 - expected[top].sum()]) * len(words)
    return (((counts - shares) ** 2) / shares).sum()


def test_a_reply_without_an_end_is_truncated_at_the_limit(made):
    model = made().model
    for limit in (1, 5):
        said = sampled(model, limit=limit, stops=frozenset())
        assert [(len(each.tokens), each.truncated) for each in said] == [(limit, True)] * len(PROMPTS)
    everything = frozenset(range(1000))
    assert [(len(each.tokens), each.truncated) for each in sampled(model, stops=everything)] == [(1, False)] * len(
        PROMPTS
    )


def test_an_end_stands_last_and_only_once(made):
    stops = stops_of(None)
    for each in sampled(made().model, stops=stops, limit=30):
        assert not set(each.tokens[:-1]) & stops
        assert each.truncated == (each.tokens[-1] not in stops)


def test_temperature_zero_takes_the_likeliest_word(made):
    model = made().model
    said = sampled(model, temperature=0.0, limit=4, stops=frozenset())
    for prompt, each in zip(PROMPTS, said, strict=True):
        words = list(prompt)
        for _ in range(4):
            with torch.no_grad():
                words.append(int(model(input_ids=torch.tensor([words])).logits[0, -1].argmax()))
        assert list(each.tokens) == words[len(prompt) :]
        assert each.logprobs == (0.0,) * 4


def test_equal_prompts_are_read_once_and_finished_rows_leave(made):
    model = made().model
    read = []

    def run(**inputs):
        read.append(tuple(inputs["input_ids"].shape))
        return model(**inputs)

    said = sampled(model, run=run, stops=stops_of(model))
    lengths = [len(each.tokens) for each in said]
    assert read[0] == (4, 5)  # four different prompts, the longest of five words
    assert read[1:] == [(sum(length > step for length in lengths), 1) for step in range(1, max(lengths))]
