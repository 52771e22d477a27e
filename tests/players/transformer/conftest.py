"""Two-layer models with random weights, made from a config, and a count of what they are asked to read."""

import pytest
import torch

from redqueen.players.transformer.loading import LoadedModel, add_lora, tiny_tokenizer

TOKENIZER = tiny_tokenizer()
SIZES = {
    "vocab_size": len(TOKENIZER),
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "bos_token_id": None,
    "eos_token_id": TOKENIZER.eos_token_id,
    "pad_token_id": TOKENIZER.eos_token_id,
}


def _config(family):
    from transformers import Gemma3TextConfig, GPT2Config, LlamaConfig, MistralConfig, Qwen2Config, Qwen3Config

    if family == "gpt2":
        end = TOKENIZER.eos_token_id
        return GPT2Config(
            vocab_size=len(TOKENIZER),
            n_embd=32,
            n_layer=2,
            n_head=4,
            n_positions=512,
            bos_token_id=None,
            eos_token_id=end,
        )
    if family == "mistral":
        return MistralConfig(**SIZES, sliding_window=8)
    if family == "gemma3":  # one head of keys for all, every second layer looks at the last eight tokens only
        kinds = {"sliding_window": 8, "layer_types": ["sliding_attention", "full_attention"]}
        return Gemma3TextConfig(**{**SIZES, "num_key_value_heads": 1}, head_dim=8, query_pre_attn_scalar=8, **kinds)
    if family == "qwen3":
        return Qwen3Config(**SIZES, head_dim=8)
    return {"llama": LlamaConfig, "qwen2": Qwen2Config}[family](**SIZES)


def _shake(model, by):
    """Away from the start, where logits are all but flat and an adapter does nothing."""
    with torch.no_grad():
        for value in model.parameters():
            if value.requires_grad:
                value += by * torch.randn_like(value)


@pytest.fixture(scope="session")
def made():
    """A function that gives a fresh model of a family; with a rank, under a LoRA adapter that is not the identity."""
    from transformers import AutoModelForCausalLM

    def make(family="llama", rank=0, seed=0, scale=1.0):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = AutoModelForCausalLM.from_config(_config(family)).eval()
            loaded = LoadedModel(family, model, TOKENIZER)
            _shake(model, 0.1 * scale)
            if rank:
                loaded = add_lora(loaded, rank, seed)
                _shake(loaded.model, 0.1 * scale)
        return loaded

    return make


@pytest.fixture(params=["llama", "llama with an adapter", "qwen2", "qwen3", "gemma3", "gpt2", "gpt2 with an adapter"])
def any_model(request, made):
    family, *adapter = request.param.split(" with ")
    return made(family, rank=4 if adapter else 0)


@pytest.fixture
def counted(monkeypatch):
    """A function that gives the list to which every pass of a `Forward` will add its number of tokens."""

    def count(forward):
        sizes = []
        hidden = forward.hidden

        def counting(tokens, depths, attend, **begun):
            sizes.append(len(tokens))
            return hidden(tokens, depths, attend, **begun)

        monkeypatch.setattr(forward, "hidden", counting)
        return sizes

    return count
