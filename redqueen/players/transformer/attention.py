"""Attention over the nodes of a trie, through transformers' attention interface.

The nodes to be computed are split into blocks of neighbours, and each block attends only to the paths
that lead to it. A prompt of 6 tokens with three replies of 2, in blocks of at most 4:

    nodes    p p p p | p p a a | b b c c          blocks    queries      keys
              0 1 2 3   4 5 6 7   8 9 .. 11                 0 1 2 3      0 1 2 3
                                                            4 5 6 7      0 1 2 3 4 5 6 7
                                                            8 9 10 11    0 1 2 3 4 5 8 9 10 11

So a group of replies costs its prompt's length for each reply, not the square of the total length.
Keys are gathered by node number, from the nodes themselves (training) or from a store of earlier
passes (sampling). Query heads that share a key head are stacked as more queries of it, so keys and
values are never copied for them. What blocks gather of long rows is many times what there is: where that is much, it
is not kept for the gradient, but gathered again.

On a GPU, in bfloat16, each run is a row of flash attention, its path gathered once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.checkpoint import checkpoint

from redqueen.players.transformer.compiled.slopes import attended_back, who_looks
from redqueen.players.transformer.products import without_onednn
from redqueen.players.transformer.trie import Run
from redqueen.types import RedQueenError

NAME = "redqueen"
BLOCK = 64  # queries: smaller products are inefficient, larger blocks compute attention that is masked out
MOST_KEPT = 2.0  # times the keys and values of a pass; where blocks gather more, they gather again for the gradient
FEW = 1 << 20  # gathered numbers of a layer that are kept all the same
KINDS = {"full_attention", "sliding_attention", "attention"}  # of layers, as transformers calls them


class Attend(Protocol):
    """Replaces a model's attention: queries [n, Hq, d] and the keys and values [n, Hkv, d] of the
    same nodes -> [n, Hq, d]."""

    def __call__(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float, window: int | None
    ) -> Tensor: ...


@dataclass(frozen=True)
class Blocks:
    """b blocks of at most m queries that attend to at most w keys."""

    queries: Tensor  # [b, m] int, indices of the n queries; padding of shorter blocks is arbitrary
    keys: Tensor  # [b, w] int
    distances: Tensor  # [b, m, w] int16 or int32, how far back the key is on the query's path; -1 if it is not on it


@dataclass(frozen=True)
class Sight:
    """Who looks at whom in some blocks, the same in all layers."""

    bias: Tensor  # [b, 1, shared * m, w], 0 where a query looks at a key and the lowest number elsewhere

    @cached_property
    def looks(self) -> Tensor:
        """[b, W, M] uint8, keys by queries (`compiled/slopes.py`)."""
        return who_looks(self.bias)


@dataclass(frozen=True)
class Lines:
    """The runs as flash attention reads them, which looks from a run's last query to the end of its path."""

    paths: Tensor  # [sum of paths] int, the nodes of the path of each run, one path after the other
    queries: Tensor  # [runs + 1] int32, where the queries of each run begin
    keys: Tensor  # [runs + 1] int32, where its path begins
    most_queries: int
    most_keys: int


@dataclass(frozen=True)
class Pattern:
    """The attention pattern of the n new nodes of some runs, one run after the other."""

    runs: Sequence[Run]
    device: torch.device
    # equal in all layers: by query heads per key head, window and precision
    _sights: dict[tuple[int, int | None, torch.dtype], list[Sight]] = field(default_factory=dict)

    def attend(self, query: Tensor, keys: Tensor, values: Tensor, scale: float, window: int | None) -> Tensor:
        """[n, Hq, d], the attention of `query` [n, Hq, d] to `keys` and `values` [N, Hkv, d] of all N nodes."""
        if query.is_cuda and flashes(query.dtype, query.shape[2], query.device):
            lines = self.lines
            return flashed(query, _take(keys, lines.paths), _take(values, lines.paths), lines, scale, window)
        blocks, places = self.blocks
        shared = query.shape[1] // keys.shape[1]
        sights = self._sights.get((shared, window, query.dtype))
        if sights is None:
            sights = [Sight(_bias(part.distances, shared, window, query.dtype)) for part in blocks]
            self._sights[shared, window, query.dtype] = sights
        gathered = sum(part.keys.numel() for part in blocks)
        many = gathered > MOST_KEPT * len(keys) and 2 * gathered * keys[0].numel() > FEW
        anew = many and torch.is_grad_enabled() and query.requires_grad
        answers = []
        for part, sight in zip(blocks, sights, strict=True):
            if anew:
                given = (query, keys, values, part, sight, scale)
                answers.append(checkpoint(_answer, *given, use_reentrant=False, preserve_rng_state=False))
            else:
                answers.append(_answer(query, keys, values, part, sight, scale))
        return _take(torch.cat(answers), places)

    @cached_property
    def blocks(self) -> tuple[tuple[Blocks, ...], Tensor]:
        """The blocks, and the index of each query's output among those of all of them, [n] int."""
        return _in_blocks(self.runs, self.device)

    @cached_property
    def lines(self) -> Lines:
        sizes = [run.end - run.start for run in self.runs]
        lengths = [run.end for run in self.runs]
        return Lines(
            _on(np.concatenate([run.path[: run.end] for run in self.runs]), self.device),
            _on(np.cumsum([0, *sizes], dtype=np.int32), self.device),
            _on(np.cumsum([0, *lengths], dtype=np.int32), self.device),
            max(sizes),
            max(lengths),
        )


@cache
def flashes(dtype: torch.dtype, width: int, device: torch.device) -> bool:
    """Whether a GPU has flash attention for heads of this width: those since Ampere, in half precision."""
    return (
        dtype in (torch.bfloat16, torch.float16)
        and width % 8 == 0
        and width <= 256
        and torch.backends.cuda.is_flash_attention_available()
        and torch.cuda.get_device_capability(device) >= (8, 0)
    )


def flashed(query: Tensor, keys: Tensor, values: Tensor, lines: Lines, scale: float, window: int | None) -> Tensor:
    """[n, Hq, d], the attention of `query` [n, Hq, d], each run's to the keys and values of its own path up to itself,
    [sum of paths, Hkv, d]: flash attention over rows of different lengths (Dao, 2023, arXiv:2307.08691)."""
    found = torch.ops.aten._flash_attention_forward(
        query.contiguous(),
        keys,
        values,
        lines.queries,
        lines.keys,
        lines.most_queries,
        lines.most_keys,
        0.0,
        True,
        False,
        scale=scale,
        window_size_left=None if window is None else window - 1,
        window_size_right=None if window is None else 0,
    )
    return in_one_order(found[0])


def _answer(query: Tensor, keys: Tensor, values: Tensor, part: Blocks, sight: Sight, scale: float) -> Tensor:
    """[b * m, Hq, d], the attention of the queries of some blocks, block by block."""
    (count, size), (heads, width), key_heads = part.queries.shape, query.shape[1:], keys.shape[1]
    shared = heads // key_heads
    asked = _take(query, part.queries).view(count, size, key_heads, shared, width)
    asked = asked.permute(0, 2, 3, 1, 4).reshape(count, key_heads, shared * size, width)
    told, said = _take(keys, part.keys).transpose(1, 2), _take(values, part.keys).transpose(1, 2)
    if query.device.type == "cpu":
        answer: Tensor = _Attention.apply(asked, told, said, sight, scale)  # type: ignore[no-untyped-call]
    else:
        answer = by_memory(asked, told, said, sight.bias, scale)
    answer = answer.view(count, key_heads, shared, size, width).permute(0, 3, 1, 2, 4)
    return answer.reshape(count * size, heads, width)


class _Attention(torch.autograd.Function):
    """torch's attention on a CPU, by torch's own products: its many small ones take twice as long by oneDNN, which the
    products with weights are left to. Its gradient is compiled where the processor has tiles."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, keys: Tensor, values: Tensor, sight: Sight, scale: float) -> Tensor:
        with without_onednn():
            answer, sums = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
                query, keys, values, attn_mask=sight.bias, scale=scale
            )
        ctx.sight, ctx.scale = sight, scale
        ctx.save_for_backward(query, keys, values, sight.bias, answer, sums)
        found: Tensor = answer
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        query, keys, values, bias, answer, sums = ctx.saved_tensors
        slopes = attended_back(slope, query, keys, values, lambda: ctx.sight.looks, answer, sums, ctx.scale)
        if slopes is None:
            with without_onednn():
                slopes = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(
                    slope, query, keys, values, answer, sums, 0.0, False, attn_mask=bias, scale=ctx.scale
                )
        return (*slopes, None, None)


def by_memory(query: Tensor, keys: Tensor, values: Tensor, bias: Tensor, scale: float) -> Tensor:
    """Attention under a mask on a GPU. Not by cuDNN, which plans anew for every size and adds up in any order."""
    with sdpa_kernel([SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]):
        return in_one_order(scaled_dot_product_attention(query, keys, values, attn_mask=bias, scale=scale))


def in_one_order(answer: Tensor) -> Tensor:
    """The answer itself, whose gradient is added up in one order where sums are to be repeatable: torch's attentions do
    so only where nothing else is allowed, which other operations need not be able to do."""
    node = answer.grad_fn
    asked = torch.are_deterministic_algorithms_enabled() and torch.is_deterministic_algorithms_warn_only_enabled()
    if node is not None and asked:
        node.register_prehook(lambda slopes: torch.use_deterministic_algorithms(True))
        node.register_hook(lambda inward, outward: torch.use_deterministic_algorithms(True, warn_only=True))
    return answer


def _take(rows: Tensor, numbers: Tensor) -> Tensor:
    """rows[numbers] by `index_select`, whose gradient on a CPU is some twenty times as fast as that of indexing."""
    return rows.index_select(0, numbers.flatten()).view(*numbers.shape, *rows.shape[1:])


def _bias(distances: Tensor, shared: int, window: int | None, dtype: torch.dtype) -> Tensor:
    """[b, 1, shared * m, w], 0 where a query attends to a key and the lowest number elsewhere."""
    count, size, width = distances.shape
    sees = distances >= 0
    if window is not None:
        sees &= distances < window
    bias = torch.zeros(count, 1, size, width, dtype=dtype, device=distances.device)
    bias.masked_fill_(~sees[:, None], torch.finfo(dtype).min)
    return bias.expand(count, shared, size, width).reshape(count, 1, shared * size, width)


def pattern(runs: Sequence[Run], device: torch.device) -> Pattern:
    """The attention pattern whose queries are the new nodes of `runs`, one run after the other."""
    return Pattern([run for run in runs if run.start < run.end], device)


def _in_blocks(runs: Sequence[Run], device: torch.device) -> tuple[tuple[Blocks, ...], Tensor]:
    first = 0
    pieces = []
    for run in runs:
        for start in range(run.start, run.end, BLOCK):
            end = min(start + BLOCK, run.end)
            pieces.append(_Piece(first, run.path[:end], start))
            first += end - start
    blocks = _grouped(pieces)
    parts, places = [], np.zeros(first, dtype=np.int64)
    done = 0
    for bucket in _alike(blocks):
        size, width = max(block.size for block in bucket), max(len(block.keys) for block in bucket)
        queries = np.zeros((len(bucket), size), dtype=np.int64)
        keys = np.zeros((len(bucket), width), dtype=np.int64)
        longest = max(len(piece.path) for block in bucket for piece in block.pieces)
        distances = np.full((len(bucket), size, width), -1, dtype=np.int16 if longest < 1 << 15 else np.int32)
        distances[:, :, 0] = 0  # padding queries attend to one key, so that their softmax is not empty
        for number, block in enumerate(bucket):
            keys[number, : len(block.keys)] = block.keys
            queries[number, : block.size] = block.queries
            distances[number, : block.size, : len(block.keys)] = block.distances()
            distances[number, : block.size, len(block.keys) :] = -1
            places[block.queries] = done + number * size + np.arange(block.size)
        done += len(bucket) * size
        parts.append(Blocks(_on(queries, device), _on(keys, device), _on(distances, device)))
    return tuple(parts), _on(places, device)


def _on(array: np.ndarray, device: torch.device) -> Tensor:
    return torch.from_numpy(array).to(device)


@dataclass(frozen=True)
class _Piece:
    """At most BLOCK neighbours on one path, numbered from `first` among the queries."""

    first: int
    path: np.ndarray  # [end] int
    start: int

    @property
    def size(self) -> int:
        return len(self.path) - self.start


@dataclass(frozen=True)
class _Block:
    pieces: tuple[_Piece, ...]
    keys: np.ndarray  # sorted

    @property
    def size(self) -> int:
        return sum(piece.size for piece in self.pieces)

    @property
    def queries(self) -> np.ndarray:
        return np.concatenate([np.arange(piece.first, piece.first + piece.size) for piece in self.pieces])

    def distances(self) -> np.ndarray:
        """[size, keys]"""
        rows = []
        for piece in self.pieces:
            depths = np.full(len(self.keys), len(piece.path) + 1)
            depths[np.searchsorted(self.keys, piece.path)] = np.arange(len(piece.path))
            rows.append(np.arange(piece.start, len(piece.path))[:, None] - depths)
        distances: np.ndarray = np.maximum(np.concatenate(rows), -1)
        return distances


def _grouped(pieces: Sequence[_Piece]) -> list[_Block]:
    """Blocks of neighbouring pieces that fit together and attend to nearly the same keys."""
    blocks: list[_Block] = []
    for piece in pieces:
        keys = np.sort(piece.path)
        if blocks and blocks[-1].size + piece.size <= BLOCK:
            union = np.union1d(blocks[-1].keys, keys)
            if len(union) <= BLOCK // 2 + 1.25 * max(len(blocks[-1].keys), len(keys)):
                blocks[-1] = _Block((*blocks[-1].pieces, piece), union)
                continue
        blocks.append(_Block((piece,), keys))
    return blocks


def _alike(blocks: Sequence[_Block]) -> list[list[_Block]]:
    """Blocks grouped by similar size, so that there is little padding."""
    buckets: list[list[_Block]] = []
    for block in sorted(blocks, key=lambda block: (len(block.keys), block.size)):
        if buckets and len(block.keys) <= BLOCK + 1.25 * len(buckets[-1][0].keys):
            buckets[-1].append(block)
        else:
            buckets.append([block])
    return buckets


@dataclass(frozen=True)
class Within:
    """Attention of a pass over a whole trie: keys and values are those of the pass itself."""

    pattern: Pattern

    def __call__(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float, window: int | None
    ) -> Tensor:
        return self.pattern.attend(query, key, value, scale, window)


def install(model: Any) -> None:
    """Makes a transformers model use `Attend` when one is passed, and its usual attention otherwise.
    Raises RedQueenError for a model that does not use the attention interface in every layer."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    AttentionInterface.register(NAME, _attention)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    if not model._can_set_attn_implementation():  # transformers would only warn
        raise RedQueenError(
            f"the model {type(model).__name__} does not let its attention be chosen: use one that does, "
            "such as Llama, Qwen, Mistral, Gemma 3, Phi or GPT-2"
        )
    kinds = set(getattr(model.config.get_text_config(), "layer_types", None) or ()) - KINDS
    if kinds:  # a recurrent state would carry one reply over into the next
        raise RedQueenError(
            f"the model {type(model).__name__} has layers of the kind {', '.join(sorted(kinds))}: use one in which "
            "every layer attends to all tokens before it, or to a window of them"
        )
    model.set_attn_implementation(NAME)


def _attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    attend: Attend | None = None,
    **rest: Any,
) -> tuple[Tensor, None]:
    """The function that transformers calls in every layer, with [1, H, n, d] and back [1, n, H, d]."""
    if attend is None:
        from transformers.integrations.sdpa_attention import sdpa_attention_forward

        return sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **rest
        )
    for name in ("softcap", "s_aux", "position_bias"):
        if rest.get(name) is not None:
            raise RedQueenError(f"the attention of {type(module).__name__} has a {name}, which is not supported here")
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    answer = attend(
        module.layer_idx,
        query[0].transpose(0, 1),
        key[0].transpose(0, 1),
        value[0].transpose(0, 1),
        scale,
        rest.get("sliding_window"),
    )
    return answer[None], None
