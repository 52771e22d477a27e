"""The layers of Llama-like models in few operations: the weights and the arithmetic of transformers' modules, with
norms, rotations and gates in fewer passes over the activations, and without what a module does around each call.

    x + O attend(rotated Q h, rotated K h, V h)        h = norm x
    x + D (silu(G h) * U h)                            h = norm x

When a small model samples one token for each of a few replies, a third of the time is spent between the products.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import silu

from redqueen.players.transformer.attention import Attend

Product = Callable[[Any, Tensor], Tensor]  # a linear module and its input, [n, in] -> [n, out]
SubLayer = tuple[int, str]  # the number of a layer, and which part of it
ATTENTION, GATES = "attention", "gates"
NOTHING = frozenset[SubLayer]()
# the layers of transformers that are built so, some with biases, or with norms of queries and keys
KINDS = ("LlamaDecoderLayer", "MistralDecoderLayer", "Qwen2DecoderLayer", "Qwen3DecoderLayer")


def known(decoder: Any) -> bool:
    """Whether `hidden` can stand for the decoder's own forward pass."""
    layers = getattr(decoder, "layers", ())
    return len(layers) > 0 and all(
        type(layer).__name__ in KINDS and type(layer.mlp.act_fn).__name__ in ("SiLUActivation", "SiLU")
        for layer in layers
    )


def hidden(
    decoder: Any,
    tokens: Tensor,
    depths: Tensor,
    attend: Attend,
    product: Product,
    left_out: frozenset[SubLayer] = NOTHING,
) -> Tensor:
    """[n, H] the hidden states after the last layer, of tokens [n] at depths [n]. A layer that is to be computed again
    in the backward pass (gradient checkpointing) is. Sub-layers that are `left_out` add nothing, and `attend` numbers
    the attentions that are left."""
    states = decoder.embed_tokens(tokens)
    cosines, sines = (each[0, :, None] for each in decoder.rotary_emb(states[None], depths[None]))  # [n, 1, d]
    first, second = sines.chunk(2, dim=-1)
    sines = torch.cat([-first, second], dim=-1)
    attentions = 0
    for number, layer in enumerate(decoder.layers[: decoder.config.num_hidden_layers]):
        parts = frozenset(part for place, part in left_out if place == number)
        compute = partial(_layer, layer, attentions, attend, product, cosines, sines, parts)
        attentions += ATTENTION not in parts
        if layer.gradient_checkpointing and layer.training:
            states = layer._gradient_checkpointing_func(compute, states)
        else:
            states = compute(states)
    return _normed(states, decoder.norm)


def _layer(
    layer: Any,
    number: int,
    attend: Attend,
    product: Product,
    cosines: Tensor,
    sines: Tensor,
    left_out: frozenset[str],
    states: Tensor,
) -> Tensor:
    if ATTENTION not in left_out:
        states = states + _attention(layer, number, attend, product, cosines, sines, states)
    if GATES in left_out:
        return states
    gates = layer.mlp
    given = _normed(states, layer.post_attention_layernorm)
    return states + product(gates.down_proj, silu(product(gates.gate_proj, given)) * product(gates.up_proj, given))


def _attention(
    layer: Any, number: int, attend: Attend, product: Product, cosines: Tensor, sines: Tensor, states: Tensor
) -> Tensor:
    attention = layer.self_attn
    shape = (len(states), -1, attention.head_dim)
    given = _normed(states, layer.input_layernorm)
    query, key = product(attention.q_proj, given).view(shape), product(attention.k_proj, given).view(shape)
    value = product(attention.v_proj, given).view(shape)
    if hasattr(attention, "q_norm"):
        query, key = _normed(query, attention.q_norm), _normed(key, attention.k_norm)
    query, key = _rotated(query, cosines, sines), _rotated(key, cosines, sines)
    found = attend(number, query, key, value, attention.scaling, _window(layer))
    return product(attention.o_proj, found.reshape(len(states), -1))


def _window(layer: Any) -> int | None:
    """How many tokens back a layer looks, itself among them; None for all."""
    attention = layer.self_attn
    if type(layer).__name__ == "MistralDecoderLayer":
        return getattr(attention.config, "sliding_window", None)
    return getattr(attention, "sliding_window", None)


def _normed(states: Tensor, norm: Any) -> Tensor:
    """Divided by the root of the mean square, in float32, and weighted."""
    wide = states.float()
    shrink = torch.rsqrt(torch.linalg.vecdot(wide, wide) / states.shape[-1] + norm.variance_epsilon)
    normed: Tensor = (wide * shrink[..., None]).to(states.dtype) * norm.weight
    return normed


def _rotated(heads: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """[n, heads, d], whose two halves are the two coordinates of d / 2 points, each turned by its angle."""
    return torch.addcmul(heads * cosines, heads.roll(heads.shape[-1] // 2, dims=-1), sines)
