import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redqueen.players.transformer import forward as module
from redqueen.players.transformer.forward import Forward
from redqueen.players.transformer.trie import merge
from redqueen.types import RedQueenError

ANY_ROWS = st.lists(st.lists(st.integers(1, 3), min_size=2, max_size=6).map(tuple), min_size=1, max_size=6)
FEW = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
SIZES = {
    "vocab_size": 60,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "bos_token_id": None,
    "eos_token_id": 0,
    "pad_token_id": 0,
}
LONG = [tuple(range(1, 30)), (*range(1, 20), *range(40, 55)), (*range(1, 20), 7, 7), (5, 4)]


def built(config, by=0.2):
    from transformers import AutoModelForCausalLM

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_config(config).eval()
        with torch.no_grad():
            for value in model.parameters():
                value += by * torch.randn_like(value)
    return model


def words_of(logits, row):
    return logits.log_softmax(dim=1).gather(1, torch.tensor(row[1:])[:, None])[:, 0]


def packed(forward, rows):
    """[rows] log-probabilities [T - 1] of each next token, from one pass over the trie."""
    states = forward.over(rows, [range(len(row) - 1) for row in rows])
    logits = forward.logits(states.hidden)[states.numbers].split([len(row) - 1 for row in rows])
    return [words_of(part, row) for part, row in zip(logits, rows, strict=True)]


def padded(model, rows):
    """The same from rows padded on the right."""
    width = max(len(row) for row in rows)
    tokens = torch.tensor([list(row) + [0] * (width - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
    logits = model(input_ids=tokens, attention_mask=mask, use_cache=False).logits
    return [words_of(logits[number, : len(row) - 1], row) for number, row in enumerate(rows)]


def gradients(model, logprobs):
    """Of a loss in which every word counts differently."""
    words = torch.cat(logprobs)
    trained = [value for value in model.parameters() if value.requires_grad]
    return torch.autograd.grad((words * torch.linspace(-1.0, 2.0, len(words))).sum() / len(words), trained)


@FEW
@given(rows=ANY_ROWS)
def test_packed_words_and_gradients_equal_the_padded_ones(any_model, rows):
    model = any_model.model
    forward = Forward(model)
    ours, theirs = forward.wearing(None, lambda: packed(forward, rows)), padded(model, rows)
    torch.testing.assert_close(torch.cat(ours), torch.cat(theirs), atol=1e-5, rtol=1e-5)
    for one, other in zip(gradients(model, ours), gradients(model, theirs), strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("family", ["qwen2", "qwen3", "mistral", "gemma3"])
def test_packed_words_and_gradients_equal_the_padded_ones_under_other_adapters(made, family):
    model = made(family, rank=4).model
    rows = [row[:20] for row in LONG]
    ours, theirs = packed(Forward(model), rows), padded(model, rows)
    torch.testing.assert_close(torch.cat(ours), torch.cat(theirs), atol=1e-5, rtol=1e-5)
    for one, other in zip(gradients(model, ours), gradients(model, theirs), strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


@FEW
@given(rows=ANY_ROWS, data=st.data())
def test_states_are_those_of_the_wanted_places(any_model, rows, data):
    forward = Forward(any_model.model)
    wanted = [sorted(data.draw(st.sets(st.integers(0, len(row) - 1)))) for row in rows]
    with torch.no_grad():
        states = forward.over(rows, wanted)
        plain = [
            any_model.model(input_ids=torch.tensor([row]), output_hidden_states=True).hidden_states[-1][0, places]
            for row, places in zip(rows, wanted, strict=True)
        ]
    torch.testing.assert_close(states.hidden[states.numbers], torch.cat(plain), atol=2e-5, rtol=1e-5)
    places = {row[: place + 1] for row, chosen in zip(rows, wanted, strict=True) for place in chosen}
    assert len(states.hidden) == len(places)  # each once


def test_a_pass_reads_each_beginning_once(made, counted):
    forward = Forward(made().model)
    sizes = counted(forward)
    forward.over(LONG, [()] * len(LONG))
    assert sizes == [29 + 15 + 2 + 2]


def test_rows_longer_than_a_sliding_window_equal_the_padded_ones(made):
    model = made("mistral").model
    assert model.config.sliding_window == 8
    torch.testing.assert_close(
        torch.cat(packed(Forward(model), LONG)), torch.cat(padded(model, LONG)), atol=1e-5, rtol=1e-5
    )
    narrow = torch.cat(padded(model, LONG))
    model.config.sliding_window = None
    assert (torch.cat(padded(model, LONG)) - narrow).abs().max() > 1e-3  # so the window is felt


def of_gemma2():
    from transformers import Gemma2Config

    capped = {"attn_logit_softcapping": None, "final_logit_softcapping": 2.0, "sliding_window": 8}
    return Gemma2Config(**SIZES, head_dim=8, query_pre_attn_scalar=8, **capped)


def of_gemma3():
    from transformers import Gemma3TextConfig

    return Gemma3TextConfig(**SIZES, head_dim=8, query_pre_attn_scalar=8, final_logit_softcapping=2.0, sliding_window=8)


def of_cohere():
    from transformers import CohereConfig

    return CohereConfig(**SIZES, logit_scale=0.3)


def of_granite():
    from transformers import GraniteConfig

    return GraniteConfig(**SIZES, logits_scaling=3.0, embedding_multiplier=2.0, attention_multiplier=0.5)


@pytest.mark.parametrize("config", [of_gemma2, of_gemma3, of_cohere, of_granite])
def test_scaled_and_capped_logits_are_the_model_s_own(config):
    model = built(config())
    forward = Forward(model)
    with torch.no_grad():
        states = forward.over([LONG[0]], [range(29)])
        ours, theirs = forward.logits(states.hidden), model(input_ids=torch.tensor([LONG[0]])).logits[0]
        bare = model.get_output_embeddings()(states.hidden)
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)
    assert (bare - theirs).abs().max() > 0.1  # so the head alone would not do
    torch.testing.assert_close(torch.cat(packed(forward, LONG)), torch.cat(padded(model, LONG)), atol=1e-5, rtol=1e-5)


def test_rounding_to_bfloat16_is_not_taken_for_another_model():
    from transformers import LlamaConfig

    model = built(LlamaConfig(**{**SIZES, "num_hidden_layers": 30}), by=1.0).bfloat16()
    forward = Forward(model)
    with torch.no_grad():
        states = forward.over([(1, 2, 3)], [range(3)])
        ours, theirs = forward.logits(states.hidden), model(input_ids=torch.tensor([[1, 2, 3]])).logits[0]
    assert (ours - theirs).abs().max() > 0.05 * theirs.abs().max()  # what was allowed, and what rounding alone exceeds
    assert forward.known_layers == 30
    assert all(weight.dtype == torch.bfloat16 for weight in model.parameters())


def test_layers_that_give_no_number_are_not_computed_in_fewer_operations(monkeypatch):
    from transformers import LlamaConfig

    usual = module.layers.hidden
    assert Forward(built(LlamaConfig(**SIZES))).known_layers == SIZES["num_hidden_layers"]
    monkeypatch.setattr(module.layers, "hidden", lambda *given: usual(*given) * torch.nan)
    assert Forward(built(LlamaConfig(**SIZES))).known_layers is None


def test_capped_attention_is_refused():
    config = of_gemma2()
    config.attn_logit_softcapping = 50.0
    with pytest.raises(RedQueenError, match="Gemma2Attention has a softcap") as error:
        Forward(built(config))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_logits_made_in_an_unknown_way_are_refused(made, dtype):
    from transformers import LlamaForCausalLM

    class Doubled(LlamaForCausalLM):
        def forward(self, **inputs):
            found = super().forward(**inputs)
            found.logits = 2.0 * found.logits
            return found

    config = made().model.config
    config._attn_implementation = "sdpa"
    with pytest.raises(RedQueenError, match="Doubled computes its logits in a way that is not known here"):
        Forward(Doubled(config).eval().to(dtype))


def test_a_model_in_which_rows_would_see_each_other_is_refused(made):
    model = made().model

    def mix(layer, inputs, output):  # as a recurrent layer or a convolution does
        return output + torch.nn.functional.pad(output, (0, 0, 1, -1))

    model.model.layers[0].register_forward_hook(mix)
    with pytest.raises(RedQueenError, match="whose tokens meet in its attention only"):
        Forward(model)


@pytest.mark.parametrize("rank", [0, 4])
def test_other_weights_are_worn_and_taken_off(made, rank):
    loaded, other = made(rank=rank), made(rank=rank, seed=0)
    with torch.no_grad():
        for value in other.model.parameters():
            if value.requires_grad:
                value += 0.1 * torch.randn(value.shape, generator=torch.Generator().manual_seed(1))
    forward = Forward(loaded.model)
    weights = {name: value.detach() for name, value in other.model.named_parameters() if value.requires_grad}
    rows = [(1, 2, 3), (1, 2, 4, 5)]
    before = {name: value.detach().clone() for name, value in loaded.model.named_parameters()}
    with torch.no_grad():
        worn = torch.cat(forward.wearing(weights, lambda: packed(forward, rows)))
        own = torch.cat(forward.wearing(None, lambda: packed(forward, rows)))
        torch.testing.assert_close(worn, torch.cat(padded(other.model, rows)), atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(own, torch.cat(padded(loaded.model, rows)), atol=1e-5, rtol=1e-5)
    assert (worn - own).abs().max() > 0.01

    def fail():
        raise KeyError("in the middle")

    with pytest.raises(KeyError, match="in the middle"):
        forward.wearing(weights, fail)
    after = dict(loaded.model.named_parameters())
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_a_node_takes_the_bytes_of_its_keys_and_values(made):
    # keys and values, two layers, two key heads of width 8, four bytes
    assert Forward(made("llama").model).node_bytes == 2 * 2 * 2 * 8 * 4
    assert Forward(made("gpt2").model).node_bytes == 2 * 2 * 4 * 8 * 4
    assert Forward(made("qwen3").model.bfloat16()).node_bytes == 2 * 2 * 2 * 8 * 2


def test_a_pass_may_be_under_bfloat16(made):
    model = made(scale=0.5).model
    rows = [(1, 2, 3, 4), (1, 2, 5)]
    with torch.no_grad():
        full = torch.cat(padded(model, rows))
        half = torch.cat(packed(Forward(model.bfloat16()), rows))
    assert half.dtype == torch.bfloat16
    assert (half.float() - full).abs().max() < 0.1


def precision():
    backend = getattr(torch.backends.mkldnn, "matmul", None)  # since torch 2.9
    return None if backend is None else backend.fp32_precision


def test_the_setting_of_products_is_as_before_afterwards(monkeypatch):
    before = precision()
    with module._fastest_products(), module._fastest_products():
        pass
    assert precision() == before
    with pytest.raises(KeyError), module._fastest_products():
        raise KeyError
    assert precision() == before
    module._onednn_keeps_float32.__wrapped__()  # the trial itself
    assert precision() == before
    monkeypatch.setattr(module, "_onednn_keeps_float32", lambda: False)
    with module._fastest_products():  # where precision would be lost nothing is set
        assert precision() == before


@pytest.mark.parametrize("shape", [(64, 512, 64), (1, 2048, 300), (300, 64, 1000)])
def test_the_fastest_products_are_those_of_float32(shape):
    rows, terms, columns = shape
    generator = torch.Generator().manual_seed(0)
    left, right = torch.randn(rows, terms, generator=generator), torch.randn(columns, terms, generator=generator)
    with module._fastest_products():
        ours = torch.nn.functional.linear(left, right)
    torch.testing.assert_close(ours.double(), left.double() @ right.double().t(), atol=1e-3, rtol=1e-3)


def test_hidden_states_follow_depths_and_not_the_order_of_nodes(made):
    model = made().model
    forward = Forward(model)
    trie, _ = merge([(1, 2, 3), (1, 4)])
    with torch.no_grad():
        one = forward.over([(1, 2, 3), (1, 4)], [(2,), (1,)])
        other = forward.over([(1, 4), (1, 2, 3)], [(1,), (2,)])
    assert trie.depths == [0, 1, 2, 1]
    torch.testing.assert_close(one.hidden[one.numbers], other.hidden[other.numbers].flip(0), atol=1e-6, rtol=1e-6)
