"""The layers of Llama-like models in few operations: the weights and the arithmetic of transformers' modules, with
norms, rotations and gates in fewer passes over the activations, and without what a module does around each call.

    x + O attend(rotated Q h, rotated K h, V h)        h = norm x
    x + D (silu(G h) * U h)                            h = norm x

When a small model samples one token for each of a few replies, a third of the time is spent between the products.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import rms_norm, silu

from redqueen.players.transformer.attention import Attend
from redqueen.players.transformer.compiled import between
from redqueen.players.transformer.compiled.library import in_step
from redqueen.players.transformer.products import Products

SubLayer = tuple[int, str]  # the number of a layer, and which part of it
Begun = tuple[int, Tensor]  # a number of layers, and the states [n, H] after them
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


def linears(decoder: Any) -> Iterator[tuple[Any, ...]]:
    """The linear modules of the layers, those with the same input together."""
    for layer in decoder.layers[: decoder.config.num_hidden_layers]:
        attention, gates = layer.self_attn, layer.mlp
        yield attention.q_proj, attention.k_proj, attention.v_proj
        yield (attention.o_proj,)
        yield gates.gate_proj, gates.up_proj
        yield (gates.down_proj,)


def hidden(
    decoder: Any,
    tokens: Tensor,
    depths: Tensor,
    attend: Attend,
    products: Products,
    left_out: frozenset[SubLayer] = NOTHING,
    begun: Begun | None = None,
) -> Tensor:
    """[n, H] the hidden states after the last layer, of tokens [n] at depths [n]; of those that are `begun` only the
    layers that are left are computed. A layer that is to be computed again in the backward pass (gradient
    checkpointing) is. Sub-layers that are `left_out` add nothing, and `attend` numbers the attentions that are left."""
    first, states = begun or (0, decoder.embed_tokens(tokens))
    left = range(first, decoder.config.num_hidden_layers)
    return _normed(through(decoder, states, depths, attend, products, left, left_out), decoder.norm)


def through(
    decoder: Any,
    states: Tensor,
    depths: Tensor,
    attend: Attend,
    products: Products,
    numbers: range,
    left_out: frozenset[SubLayer] = NOTHING,
) -> Tensor:
    """[n, H] the states after the layers with these numbers, of states [n, H] before them."""
    cosines, sines = angles(decoder, states, depths)
    attentions = sum((number, ATTENTION) not in left_out for number in range(numbers.start))
    for number in numbers:
        layer = decoder.layers[number]
        parts = frozenset(part for place, part in left_out if place == number)
        compute = partial(_layer, layer, attentions, attend, products, cosines, sines, parts)
        attentions += ATTENTION not in parts
        if layer.gradient_checkpointing and layer.training:
            states = layer._gradient_checkpointing_func(compute, states)
        else:
            states = compute(states)
    return states


def angles(decoder: Any, states: Tensor, depths: Tensor) -> tuple[Tensor, Tensor]:
    """[n, 1, d] the cosines and sines that turn heads at depths [n], the sines negative in their first half."""
    cosines, sines = (each[0, :, None] for each in decoder.rotary_emb(states[None], depths[None]))
    first, second = sines.chunk(2, dim=-1)
    return cosines, torch.cat([-first, second], dim=-1)


def window(layer: Any) -> int | None:
    """How many tokens back a layer looks, itself among them; None for all."""
    attention = layer.self_attn
    if type(layer).__name__ == "MistralDecoderLayer":
        return getattr(attention.config, "sliding_window", None)
    return getattr(attention, "sliding_window", None)


def _layer(
    layer: Any,
    number: int,
    attend: Attend,
    products: Products,
    cosines: Tensor,
    sines: Tensor,
    left_out: frozenset[str],
    states: Tensor,
) -> Tensor:
    if ATTENTION not in left_out:
        states = states + _attention(layer, number, attend, products, cosines, sines, states)
    if GATES in left_out:
        return states
    gates = layer.mlp
    given = _normed(states, layer.post_attention_layernorm)
    gate, up = products.together((gates.gate_proj, gates.up_proj), given)
    opened = between.gated(gate, up)
    return states + products(gates.down_proj, silu(gate) * up if opened is None else opened)


def _attention(
    layer: Any, number: int, attend: Attend, products: Products, cosines: Tensor, sines: Tensor, states: Tensor
) -> Tensor:
    attention = layer.self_attn
    rows = states.shape[0]  # not `len`, which a tensor answers in Python
    shape = (rows, -1, attention.head_dim)
    given = _normed(states, layer.input_layernorm)
    read = products.together((attention.q_proj, attention.k_proj, attention.v_proj), given)
    query, key, value = (each.view(shape) for each in read)
    if hasattr(attention, "q_norm"):
        query, key = _normed(query, attention.q_norm), _normed(key, attention.k_norm)
    query, key = _rotated(query, cosines, sines), _rotated(key, cosines, sines)
    found = attend(number, query, key, value, attention.scaling, window(layer))
    return products(attention.o_proj, found.reshape(rows, -1))


def _normed(states: Tensor, norm: Any) -> Tensor:
    """Divided by the root of the mean square, in float32, and weighted."""
    found = between.normed(states, norm.weight, norm.variance_epsilon)
    if found is not None:
        return found
    if states.is_cuda and in_step():
        return rms_norm(states, norm.weight.shape, norm.weight, norm.variance_epsilon)
    wide = states.float()
    shrink = torch.rsqrt(torch.linalg.vecdot(wide, wide) / states.shape[-1] + norm.variance_epsilon)
    normed: Tensor = (wide * shrink[..., None]).to(states.dtype) * norm.weight
    return normed


def _rotated(heads: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """[n, heads, d], whose two halves are the two coordinates of d / 2 points, each turned by its angle."""
    found = between.rotated(heads, cosines, sines)
    if found is not None:
        return found
    return torch.addcmul(heads * cosines, heads.roll(heads.shape[-1] // 2, dims=-1), sines)
