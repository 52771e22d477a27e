"""A decoding step of a Llama-like model in one compiled call; where torch attends, in one between two attentions.

    from what attention found      x + O a;  x + D (silu(G h) * U h);  Q h, K h, V h of the next layer, turned

The weights are packed once, in the order in which they are read: a step of few rows reads each of them once, at the
memory's speed. LoRA adapters are packed beside them, and anew when they have changed; several that take turns are kept.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from redqueen.players.transformer import layers
from redqueen.players.transformer.attention import Attend
from redqueen.players.transformer.compiled.between import LANES, MOST_HEADS, WIDEST, normed
from redqueen.players.transformer.compiled.library import COUNT, NUMBER, POINTER, serves
from redqueen.players.transformer.compiled.packing import SIDE, Functions, filled, functions, packed
from redqueen.players.transformer.products import MOST, base_of

MOST_WORN = 4  # adapters that are kept packed
MODULES = ("query", "key", "value", "output", "gate", "up", "shrink")


class _Linear(ctypes.Structure):
    _fields_ = [
        *((name, POINTER) for name in ("weight", "bias", "down", "up")),
        *((name, COUNT) for name in ("out", "within", "rank")),
    ]


class _Cache(ctypes.Structure):
    _fields_ = [(name, POINTER) for name in ("keys", "values", "path_keys", "path_values")]


class _Layer(ctypes.Structure):
    _fields_ = [
        *((name, POINTER) for name in ("before", "after", "of_queries", "of_keys")),
        *((name, _Linear) for name in MODULES),
        *((name, COUNT) for name in ("width", "window")),
        *((f"{name}_epsilon", NUMBER) for name in ("before", "after", "queries", "keys")),
        ("scale", NUMBER),
    ]


@dataclass(frozen=True)
class _Adapter:
    """What may be added to a linear module: the tensors are looked up anew, since another policy's may be worn."""

    module: Any
    name: str
    down: nn.Linear
    up: nn.Linear

    def stands(self) -> bool:
        """Whether it is the one that is added."""
        return not self.module.merged_adapters and _names(self.module) == (self.name,)

    def worn(self) -> tuple[Tensor, Tensor] | None:
        if self.module._disable_adapters:
            return None
        return self.down._parameters["weight"], self.up._parameters["weight"]  # type: ignore[return-value]


@dataclass(frozen=True)
class Places:
    """Where the keys and values of r rows are. A row looks at its first `lengths`, [r] int, of the `start` places
    before its own, and at its own, from `start` to `length`, of which the step writes the last. Where rows share paths
    `start` is 0 and the first places are those of the path of its group, `groups` [r] int."""

    own: tuple[Sequence[Tensor], Sequence[Tensor]]  # [layers] of [r, Hkv, room, d], keys and values
    paths: tuple[Sequence[Tensor], Sequence[Tensor]] | None  # [layers] of [G, Hkv, P, d]
    groups: Tensor
    lengths: Tensor
    start: int
    length: int

    def held(self) -> ctypes.Array[Any]:
        """For each layer where its keys and values are."""
        (keys, values), paths = self.own, self.paths
        rows = zip(keys, values, *paths, strict=True) if paths else zip(keys, values, strict=True)
        return (_Cache * len(keys))(*(_Cache(*(each.data_ptr() for each in row)) for row in rows))


@runtime_checkable
class Growing(Attend, Protocol):
    """The attention of rows that grow by one place a step."""

    def places(self) -> Places | None:
        """Makes room for the newest places; None where the attention is to be called for each layer."""


Worn = tuple[tuple[Tensor, int], ...]  # tensors of adapters, and how often each had been changed


class Steps:
    """The layers of a model as they were when this was made; `hidden` computes with them while they stand."""

    def __init__(self, decoder: Any) -> None:
        """Packs the weights: see `packable`."""
        self._decoder, self._dtype = decoder, decoder.norm.weight.dtype
        self._blocks = list(decoder.layers[: decoder.config.num_hidden_layers])
        self._kept: list[tuple[nn.Module, str, Tensor, int]] = []  # whose tensors are read, and how often each changed
        self._packed: list[Tensor] = []
        self._adapters: list[tuple[int, str, _Adapter]] = []
        self._layers = (_Layer * len(self._blocks))()
        for number, block in enumerate(self._blocks):
            self._fill_norms(number, block)
        for place, module in enumerate(chain(*layers.linears(decoder))):
            self._fill_linear(place // len(MODULES), MODULES[place % len(MODULES)], module)
        self._worn: list[tuple[Worn, Any, list[Tensor]]] = []  # the last used first
        attention = self._blocks[0].self_attn
        first = self._layers[0]
        self._sizes = first.query.out, first.key.out, attention.head_dim
        self._attends = attention.head_dim % LANES == 0 and first.query.out <= MOST_HEADS * first.key.out

    def hidden(self, tokens: Tensor, depths: Tensor, attend: Attend) -> Tensor | None:
        """[n, H] the hidden states after the last layer, of tokens [n] at depths [n]; None where the weights are others
        now, or another function is to be used."""
        states = self._decoder.embed_tokens(tokens)
        made = functions(states.dtype)
        standing = self._standing() if made is not None and serves(states) and states.is_contiguous() else None
        if made is None or standing is None:
            return None
        cosines, sines = layers.angles(self._decoder, states, depths)
        places = attend.places() if self._attends and isinstance(attend, Growing) else None
        if places is None:
            self._by_layers(made, standing, states, cosines, sines, attend)
        else:
            size = places.paths[0][0].shape[2] if places.paths else 0
            given = [each.data_ptr() for each in (cosines, sines, places.groups, places.lengths, states)]
            counts = len(self._blocks), len(tokens), places.own[0][0].shape[2], size, places.start, places.length
            made.step(standing, places.held(), *given, *counts)
        norm = self._decoder.norm
        return normed(states, norm.weight, norm.variance_epsilon)

    def _by_layers(
        self, made: Functions, standing: Any, states: Tensor, cosines: Tensor, sines: Tensor, attend: Attend
    ) -> None:
        """The same where torch attends."""
        (queries, keys, width), rows = self._sizes, len(states)
        query, key, value = (torch.empty(rows, size, dtype=states.dtype) for size in (queries, keys, keys))
        asked, shown, told = (each.view(rows, -1, width) for each in (query, key, value))
        given = [each.data_ptr() for each in (cosines, sines, states, query, key, value)]
        leaving, found = None, None
        for number, block in enumerate(self._blocks):
            entering = ctypes.addressof(standing[number])
            made.cross(leaving, entering, found.data_ptr() if found is not None else None, *given, rows)
            scale, window = block.self_attn.scaling, layers.window(block)
            found = attend(number, asked, shown, told, scale, window).reshape(rows, -1)
            leaving = entering
        assert found is not None
        made.cross(leaving, None, found.data_ptr(), *given, rows)

    def _fill_norms(self, number: int, block: Any) -> None:
        layer, attention = self._layers[number], block.self_attn
        norms = {"before": block.input_layernorm, "after": block.post_attention_layernorm}
        for name, norm in norms.items():
            self._fill_norm(layer, name, name, norm)
        if hasattr(attention, "q_norm"):
            self._fill_norm(layer, "of_queries", "queries", attention.q_norm)
            self._fill_norm(layer, "of_keys", "keys", attention.k_norm)
        layer.width, layer.window, layer.scale = attention.head_dim, layers.window(block) or 0, attention.scaling

    def _fill_norm(self, layer: _Layer, name: str, short: str, norm: Any) -> None:
        setattr(layer, name, self._read(norm, "weight").data_ptr())
        setattr(layer, f"{short}_epsilon", norm.variance_epsilon)

    def _fill_linear(self, number: int, name: str, module: Any) -> None:
        linear, base = getattr(self._layers[number], name), base_of(module)
        assert base is not None, "see `packable`"
        weight = packed(self._read(base, "weight").detach())
        self._packed.append(weight)
        linear.weight, linear.out, linear.within = weight.data_ptr(), base.out_features, base.in_features
        if base.bias is not None:
            linear.bias = self._read(base, "bias").data_ptr()
        if base is not module:
            (adapter,) = _names(module)
            added = _Adapter(module, adapter, module.lora_A[adapter], module.lora_B[adapter])
            self._adapters.append((number, name, added))

    def _read(self, module: nn.Module, name: str) -> Tensor:
        tensor = module._parameters[name]
        assert tensor is not None
        self._kept.append((module, name, tensor, tensor._version))
        return tensor

    @property
    def stand(self) -> bool:
        """Whether the model has the weights that were packed."""
        # not `module.weight`, which takes as long as a small product
        return all(
            module._parameters[name] is tensor and tensor._version == version
            for module, name, tensor, version in self._kept
        )

    def _standing(self) -> Any:
        """The layers with what is worn now; None if anything else changed."""
        if not self.stand:
            return None
        tensors: list[Tensor] = []
        numbers: list[int] = []
        for place, (_, _, adapter) in enumerate(self._adapters):
            if not adapter.stands():
                return None
            if (pair := adapter.worn()) is not None:
                tensors += pair
                numbers.append(place)
        if not tensors:
            return self._layers
        worn = tuple((tensor, tensor._version) for tensor in tensors)
        for place, (known, kept, _) in enumerate(self._worn):
            if len(known) == len(worn) and all(
                one is other and first == second for (one, first), (other, second) in zip(known, worn, strict=True)
            ):
                if place:
                    self._worn.insert(0, self._worn.pop(place))
                return kept
        if not all(tensor.is_cpu for tensor in tensors):
            return None
        dressed, pairs = self._wearing(numbers, tensors)
        self._worn = [(worn, dressed, pairs), *self._worn[: MOST_WORN - 1]]
        return dressed

    def _wearing(self, numbers: Sequence[int], tensors: Sequence[Tensor]) -> tuple[Any, list[Tensor]]:
        """The layers with these adapters, whose downs and ups take turns among the tensors. Beside weights of bfloat16
        peft keeps them in float32: they are rounded here."""
        found = type(self._layers).from_buffer_copy(self._layers)
        kept: list[Tensor] = []
        for place, down, up in zip(numbers, tensors[::2], tensors[1::2], strict=True):
            number, name, adapter = self._adapters[place]
            pair = packed(down.to(self._dtype)), packed(up.to(self._dtype), adapter.module.scaling[adapter.name])
            linear = getattr(found[number], name)
            linear.down, linear.up, linear.rank = pair[0].data_ptr(), pair[1].data_ptr(), filled(len(down))
            kept += pair
        return found, kept


def packable(decoder: Any) -> bool:
    """Whether `Steps` computes here what these layers do, which are of a kind that `layers.known` knows."""
    modules, width = list(chain(*layers.linears(decoder))), decoder.layers[0].self_attn.head_dim
    kinds = {(value.dtype, value.device.type) for name, value in decoder.named_parameters() if ".lora_" not in name}
    return (
        len(kinds) == 1
        and decoder.norm.weight.is_cpu
        and functions(decoder.norm.weight.dtype) is not None
        and width % 2 == 0
        and width <= WIDEST
        and all(map(_module_packable, modules))
        and sum(module.weight.nbytes for module in modules) <= MOST
    )


def _module_packable(module: Any) -> bool:
    base = base_of(module)
    if base is None or base.in_features % SIDE or base.out_features % SIDE:
        return False
    if base is module:
        return True
    names = _names(module)
    return len(names) == 1 and not getattr(module, "lora_variant", None) and module.lora_B[names[0]].bias is None


def _names(module: Any) -> tuple[str, ...]:
    """The adapters that a module of peft adds. Not `active_adapters`, which takes longer."""
    active = module._active_adapter
    return tuple(name for name in ([active] if isinstance(active, str) else active) if name in module.lora_A)
