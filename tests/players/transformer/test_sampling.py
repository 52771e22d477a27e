import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redqueen.chance import derive, uniform
from redqueen.players.transformer import sampling
from redqueen.players.transformer.forward import Forward
from redqueen.players.transformer.key_values import KeyValueStore
from redqueen.players.transformer.sampling import BIN, Choir, Looking, Manner, Saying, draw, sample

PROMPTS = [(1, 2, 3, 4, 5), (7,), (1, 2, 3, 4, 5), (9, 8), (1, 2, 3), (7,)]
SEEDS = [derive(4, n) for n in range(len(PROMPTS))]
LAST = 1.0 - 2.0**-53  # the largest draw
PLENTY = 10_000


def sampled(model, prompts=PROMPTS, seeds=SEEDS, stops=frozenset({0}), limit=12, temperature=1.0, budget=PLENTY):
    forward = Forward(model)
    return sample(forward, KeyValueStore(forward, budget), prompts, seeds, Manner(stops, limit, temperature))


STOPS = frozenset(range(60))  # words likely enough that replies of several lengths end in them


def rated(model, prompt, said, temperature=1.0):
    """The log-probabilities of the words by one plain pass."""
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([[*prompt, *said.tokens]])).logits[0, len(prompt) - 1 : -1]
    return (logits / temperature).log_softmax(dim=1)[range(len(said.tokens)), list(said.tokens)].tolist()


def test_recorded_words_are_rated_as_by_a_plain_forward_pass(any_model):
    model = any_model.model
    for temperature in (1.0, 0.7):
        said = sampled(model, stops=STOPS, temperature=temperature)
        assert len({len(each.tokens) for each in said}) > 2
        for prompt, each in zip(PROMPTS, said, strict=True):
            assert each.logprobs == pytest.approx(rated(model, prompt, each, temperature), abs=2e-5)


@pytest.mark.parametrize("family", ["llama", "gpt2", "mistral"])
def test_long_replies_are_rated_as_by_a_plain_forward_pass(made, family):
    # beyond the room that rows are given at first, and beyond mistral's window of 8
    model = made(family).model
    for prompts in ([*PROMPTS, tuple(range(1, 21))], [(1, 2), tuple(range(1, 13))], [(3, 1)]):
        said = sampled(model, prompts, range(len(prompts)), frozenset({0, 1, 2}), limit=70)
        assert max(len(each.tokens) for each in said) > sampling.ROOM + 8
        for prompt, each in zip(prompts, said, strict=True):
            assert each.logprobs == pytest.approx(rated(model, prompt, each), abs=5e-5)


def test_a_reply_is_the_same_alone_and_in_company(any_model):
    together = sampled(any_model.model, stops=STOPS)
    for number, (prompt, seed) in enumerate(zip(PROMPTS, SEEDS, strict=True)):
        (alone,) = sampled(any_model.model, [prompt], [seed], STOPS)
        assert alone.tokens == together[number].tokens
        assert alone.logprobs == pytest.approx(together[number].logprobs, abs=1e-5)
    again = sampled(any_model.model, list(reversed(PROMPTS)), list(reversed(SEEDS)), STOPS)
    assert [each.tokens for each in reversed(again)] == [each.tokens for each in together]


@pytest.mark.parametrize("budget", [1, 20, 40])
def test_replies_are_the_same_where_room_is_for_few_at_once(made, budget):
    model = made().model
    plenty, waves = sampled(model, stops=STOPS), sampled(model, stops=STOPS, budget=budget)
    for one, other in zip(plenty, waves, strict=True):
        assert one.tokens == other.tokens
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-5)


@pytest.mark.parametrize(
    ("budget", "numbers"),
    [
        (1, [[0], [1], [2], [3], [4], [5]]),
        (40, [[0, 1], [2, 3], [4, 5]]),  # 17 + 13 + 12 would be 42
        (42, [[0, 1, 2], [3, 4, 5]]),  # the third shares its prompt with the first
        (1000, [[0, 1, 2, 3, 4, 5]]),
    ],
)
def test_a_wave_is_as_many_replies_of_twelve_words_as_there_is_room_for(budget, numbers):
    manner = Manner(STOPS, 12, 1.0)
    sayings = [Saying(prompt, seed, manner) for prompt, seed in zip(PROMPTS, SEEDS, strict=True)]
    waves = list(sampling._waves(sayings, budget))
    assert [[sayings.index(each) for each in wave] for wave in waves] == numbers


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
    for each in sampled(made().model, stops=STOPS, limit=30):
        assert not set(each.tokens[:-1]) & STOPS
        assert each.truncated == (each.tokens[-1] not in STOPS)


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


def test_equal_prompts_are_read_once_and_finished_rows_leave(made, counted):
    model = made().model
    forward = Forward(model)
    sizes = counted(forward)
    said = sample(forward, KeyValueStore(forward, PLENTY), PROMPTS, SEEDS, Manner(STOPS, 12, 1.0))
    lengths = [len(each.tokens) for each in said]
    assert sizes[0] == 5 + 1 + 2  # (1, 2, 3) begins (1, 2, 3, 4, 5)
    assert sizes[1:] == [sum(length > step for length in lengths) for step in range(1, max(lengths))]


def test_what_was_said_is_in_the_store(any_model, counted):
    model = any_model.model
    forward = Forward(model)
    store = KeyValueStore(forward, PLENTY)
    said = sample(forward, store, PROMPTS, SEEDS, Manner(STOPS, 12, 1.0))
    rows = [(*prompt, *each.tokens, 11) for prompt, each in zip(PROMPTS, said, strict=True)]
    sizes = counted(forward)
    with torch.inference_mode():
        states = store.read(rows, [[len(row) - 1] for row in rows])
        for row, number in zip(rows, states.numbers, strict=True):
            plain = model(input_ids=torch.tensor([row]), output_hidden_states=True).hidden_states[-1][0, -1]
            torch.testing.assert_close(states.hidden[number], plain, atol=5e-5, rtol=1e-4)
    # only the word that ended a reply, which nobody had read, and what follows it
    assert sum(sizes) == len({row[:-1] for row in rows}) + len(set(rows))


def test_a_second_turn_reads_only_what_is_new(made, counted):
    forward = Forward(made().model)
    store = KeyValueStore(forward, PLENTY)
    manner = Manner(STOPS, 12, 1.0)
    (first,) = sample(forward, store, [(1, 2, 3)], [5], manner)
    assert len(first.tokens) > 2
    sizes = counted(forward)
    sample(forward, store, [(1, 2, 3, *first.tokens, 70, 71)], [6], manner)
    assert sizes[0] == 3  # its last word, and two that followed


@pytest.mark.parametrize("family", ["llama", "qwen3", "gpt2", "mistral"])
@pytest.mark.parametrize("budget", [1, PLENTY])
def test_sayings_that_join_say_what_they_say_alone(made, family, budget):
    model = made(family).model
    manner = Manner(STOPS, 12, 0.9)
    forward = Forward(model)
    sayings = [Saying(prompt, seed, manner) for prompt, seed in zip(PROMPTS, SEEDS, strict=True)]
    with torch.inference_mode():
        choir = Choir(forward, KeyValueStore(forward, budget), sayings[:2])
        left = []
        for later in (sayings[2:5], sayings[5:]):
            left += choir.step()
            choir.join(later)
        assert any(each.prompt == PROMPTS[5] for each in choir.sayings)
        while choir.sayings:
            left += choir.step()
    assert all(each.finished for each in sayings)
    for each, prompt, seed in zip(sayings, PROMPTS, SEEDS, strict=True):
        (alone,) = sampled(model, [prompt], [seed], STOPS, temperature=0.9)
        said = each.sample
        assert (said.tokens, said.truncated) == (alone.tokens, alone.truncated)
        assert said.logprobs == pytest.approx(alone.logprobs, abs=1e-5)


def test_joining_reads_each_word_once(made, counted):
    forward = Forward(made().model)
    sizes = counted(forward)
    manner = Manner(frozenset(), 6, 1.0)
    with torch.inference_mode():
        choir = Choir(forward, KeyValueStore(forward, PLENTY), [Saying((1, 2, 3), 1, manner)])
        choir.step()
        choir.join([Saying((1, 2, 4, 5), 2, manner)])
        while choir.sayings:
            choir.step()
    # the prompt; a word; the next word and what is new of the other prompt; words, one or two at a time
    assert sizes == [3, 1, 1 + 2, 2, 2, 2, 1, 1]


def test_those_that_are_finished_leave_and_are_named(made):
    forward = Forward(made().model)
    manner = Manner(STOPS, 12, 1.0)
    sayings = [Saying(prompt, seed, manner) for prompt, seed in zip(PROMPTS, SEEDS, strict=True)]
    with torch.inference_mode():
        choir = Choir(forward, KeyValueStore(forward, PLENTY), sayings)
        while choir.sayings:
            before = list(choir.sayings)
            left = choir.step()
            assert all(each.finished for each in left)
            assert [each for each in before if each not in left] == choir.sayings
            assert not any(each.finished for each in choir.sayings)


@st.composite
def gatherings(draw):
    """Prompts, which of them each row looks at, and which rows stay after each step."""
    prompts = draw(st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=12).map(tuple), min_size=1, max_size=4))
    prompts = list(dict.fromkeys(prompts))
    groups = list(range(len(prompts)))
    if draw(st.booleans()):
        groups += draw(st.lists(st.integers(0, len(prompts) - 1), min_size=1, max_size=5))
        groups = draw(st.permutations(groups))
    steps, left = [], len(groups)
    for _ in range(draw(st.integers(1, 7))):
        staying = sorted(draw(st.sets(st.integers(0, left - 1), min_size=1)))
        steps.append(staying)
        left = len(staying)
    return prompts, groups, steps


@pytest.mark.parametrize("family", ["llama", "gpt2", "mistral"])
def test_growing_rows_look_as_in_plain_passes(made, monkeypatch, family):
    model = made(family).model
    forward = Forward(model)
    monkeypatch.setattr(sampling, "ROOM", 2)

    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.differing_executors])
    @given(gathering=gatherings())
    @torch.inference_mode()
    def looks(gathering):
        prompts, groups, steps = gathering
        store = KeyValueStore(forward, PLENTY)
        store.read(prompts, [()] * len(prompts))
        looking = Looking(store, [store.path(prompt) for prompt in prompts], groups)
        rows = [prompts[group] for group in groups]
        for step, staying in enumerate(steps):
            rows = [(*row, 10 + step + number) for number, row in enumerate(rows)]
            hidden = forward.hidden([row[-1] for row in rows], [len(row) - 1 for row in rows], looking)
            for row, state in zip(rows, hidden, strict=True):
                plain = model(input_ids=torch.tensor([row]), output_hidden_states=True).hidden_states[-1][0, -1]
                torch.testing.assert_close(state, plain, atol=2e-5, rtol=1e-4)
            keys, values = looking.own([len(rows) - 1, 0])
            assert {tuple(part.shape[:2]) for part in (*keys, *values)} == {(2, step + 1)}
            if len(staying) < len(rows):
                looking.keep(staying)
                rows = [rows[number] for number in staying]

    looks()


# Drawing


def logits_of(chances):
    return torch.tensor(chances, dtype=torch.float64).log().float()


def test_a_draw_falls_where_the_cumulated_probability_passes_it():
    logits = logits_of([0.5, 0.25, 0.0, 0.25])
    draws = torch.tensor([0.0, 0.4999, 0.5001, 0.7499, 0.7501, LAST], dtype=torch.float64)
    tokens, logprobs = draw(logits.expand(6, -1), draws, 1.0)
    assert tokens.tolist() == [0, 0, 1, 1, 3, 3]
    assert logprobs.tolist() == pytest.approx(np.log([0.5, 0.5, 0.25, 0.25, 0.25, 0.25]), abs=1e-6)
    # p^2 / sum: 2/3, 1/6, 0, 1/6
    tokens, logprobs = draw(logits.expand(3, -1), torch.tensor([0.66, 0.67, 0.84], dtype=torch.float64), 0.5)
    assert tokens.tolist() == [0, 1, 3]
    assert logprobs.tolist() == pytest.approx(np.log([2 / 3, 1 / 6, 1 / 6]), abs=1e-6)


@pytest.mark.parametrize("size", [1, 2, 7, BIN - 1, BIN, BIN + 1, 2 * BIN, 3 * BIN + 5, 2000])
@pytest.mark.parametrize("temperature", [1.0, 0.5, 3.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_words_and_log_probabilities_are_those_of_the_distribution(size, temperature, dtype):
    generator = torch.Generator().manual_seed(size)
    logits = (3.0 * torch.randn(400, size, generator=generator)).to(dtype)
    logits[:, ::3] -= 4.0
    if size > 2:
        logits[:200, -2:] = -torch.inf
    draws = torch.rand(400, dtype=torch.float64, generator=generator)
    draws[:3] = draws[200:203] = torch.tensor([0.0, LAST, 0.5], dtype=torch.float64)
    given_logits = logits.clone()
    tokens, logprobs = draw(logits, draws, temperature)
    assert torch.equal(logits, given_logits)
    chances = (logits.double() / temperature).softmax(dim=1)
    own = chances.gather(1, tokens[:, None])[:, 0]
    assert (own > 0).all()
    torch.testing.assert_close(logprobs.double(), own.log(), atol=2e-6, rtol=1e-6)
    reached = chances.cumsum(dim=1).gather(1, tokens[:, None])[:, 0]
    assert (draws <= reached + 1e-6).all()
    assert (draws >= reached - own - 1e-6).all()


@pytest.mark.parametrize("size", [BIN, BIN + 1, 3 * BIN, 3 * BIN + 40])
@pytest.mark.parametrize("drawn", [0.0, 0.3, LAST])
def test_a_word_that_cannot_be_said_is_never_drawn(size, drawn):
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(500, size, generator=generator)
    possible = torch.rand(500, size, generator=generator) < torch.linspace(0.001, 0.5, 500)[:, None]
    possible[range(500), torch.randint(size, (500,), generator=generator)] = True
    possible[:100, size // 2 :] = False  # whole bins at the end
    possible[100:200, : size // 2] = False  # and at the beginning
    possible[:200, size // 2 - 1 : size // 2 + 1] = True
    logits = logits.masked_fill(~possible, -torch.inf)
    tokens, logprobs = draw(logits, torch.full((500,), drawn, dtype=torch.float64), 0.8)
    assert possible[range(500), tokens].all()
    assert torch.isfinite(logprobs).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_draws_have_the_model_s_distribution(dtype):
    count, size = 20_000, 2 * BIN + 9
    logits = torch.full((size,), -9.0)
    words = [3, BIN - 1, BIN, BIN + 1, size - 1]  # in three bins, and at their edges
    logits[words] = torch.tensor([1.0, 0.5, 0.0, -0.5, 1.5])
    logits = logits.to(dtype)
    draws = torch.tensor([uniform(derive(9, n)) for n in range(count)], dtype=torch.float64)
    tokens, _ = draw(logits.expand(count, -1), draws, 0.7)
    expected = (logits.double() / 0.7).softmax(dim=0).numpy()
    found = np.bincount(tokens.numpy(), minlength=size)
    shares = np.array([*expected[words], 1.0 - expected[words].sum()]) * count
    counts = np.array([*found[words], count - found[words].sum()])
    assert (((counts - shares) ** 2) / shares).sum() < 20.5  # five degrees of freedom: once in a thousand


def test_temperature_zero_draws_the_likeliest_word_for_sure():
    logits = torch.tensor([[0.0, 2.0, 1.0], [-5.0, -6.0, -torch.inf]])
    tokens, logprobs = draw(logits, torch.tensor([0.9, 0.9], dtype=torch.float64), 0.0)
    assert (tokens.tolist(), logprobs.tolist()) == ([1, 0], [0.0, 0.0])
