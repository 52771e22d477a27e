"""Running a causal language model over chosen tokens: hidden states at nodes, and logits from them.

Body and head run separately, so that logits are computed only where they are needed. All computation uses
the model's own modules; only the attention (`Attend`) is replaced.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map
from torch.utils.checkpoint import checkpoint

from redqueen.players.transformer import layers
from redqueen.players.transformer.attention import Attend, Within, install, pattern
from redqueen.players.transformer.compiled.library import in_step
from redqueen.players.transformer.compiled.steps import Steps, packable
from redqueen.players.transformer.products import Products, as_vectors, linears_of, with_rows
from redqueen.players.transformer.trie import Run, Trie, merge
from redqueen.types import RedQueenError

Found = TypeVar("Found")
MOST_ROWS = 1024  # up to which reading the weights takes a good part of the time


@dataclass(frozen=True)
class States:
    """Last hidden states at the wanted positions of some rows; positions with equal prefixes share one."""

    hidden: Tensor  # [n, H]
    numbers: list[int]  # for each wanted position, row by row, the index of its state among the n


@dataclass(frozen=True)
class _Lower:
    """The states [n, H] at the nodes of the trie of some rows after some layers."""

    after: int  # of them
    rows: Sequence[tuple[int, ...]]
    trie: Trie
    states: Tensor

    def of(self, rows: Sequence[tuple[int, ...]], runs: Sequence[Run]) -> layers.Begun:
        """Those of the new nodes of some rows, which are in the trie."""
        paths = [self.trie.add(row).path[run.start : run.end] for row, run in zip(rows, runs, strict=True)]
        return self.after, self.states[torch.from_numpy(np.concatenate(paths)).to(self.states.device)]


class Forward:
    """A causal model of transformers, under LoRA or not, as two functions over n nodes."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.device: torch.device = model.device  # asking the model takes as long as a recorded step
        if self.device.type == "cuda":  # read where the first product is computed: see `_repeatable`
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        causal = model.get_base_model() if _under_adapter(model) else model
        install(causal)
        config = causal.config.get_text_config()
        self.vocabulary = int(config.vocab_size)
        self.width = int(config.hidden_size)
        self.longest: int | None = getattr(config, "max_position_embeddings", None)  # tokens of a text
        self.node_bytes = _node_bytes(config, causal.dtype)
        self._decoder = causal.get_decoder()
        self._head = causal.get_output_embeddings()
        self._softcap = _number(config, "final_logit_softcapping")
        self._factor = (_number(config, "logit_scale") or 1.0) / (_number(config, "logits_scaling") or 1.0)
        self._wearer = _Wearer(model)
        modules = model.named_modules() if _under_adapter(model) else ()
        self._dropouts = [each for name, each in modules if isinstance(each, nn.Dropout) and "lora_dropout" in name]
        self._short = layers.known(self._decoder)  # whether its layers are computed in fewer operations
        self._left_out = layers.NOTHING
        self._lower: _Lower | None = None  # the lower layers of the rows that were last begun
        self._begins: _Lower | None = None  # what `over` begins with
        self._products = Products()
        self._steps: Steps | None = None  # its layers, packed
        self._check(causal)

    @property
    def dtype(self) -> torch.dtype:
        return self._model.dtype  # type: ignore[no-any-return]

    def hidden(
        self,
        tokens: Sequence[int] | Tensor,
        depths: Sequence[int] | Tensor,
        attend: Attend,
        products: Products | None = None,
        begun: layers.Begun | None = None,
    ) -> Tensor:
        """[n, H] the hidden states after the last layer, by `products` of its linear modules where its layers are
        known; then they may be `begun`."""
        device = self.device
        tokens, depths = torch.as_tensor(tokens, device=device), torch.as_tensor(depths, device=device)
        with with_rows(len(tokens)):
            if self._steps is not None and in_step() and len(tokens) <= MOST_ROWS and not (self._left_out or begun):
                states = self._steps.hidden(tokens, depths, attend)
                if states is not None:
                    return states
            if self._short:
                by = products or self._products
                return layers.hidden(self._decoder, tokens, depths, attend, by, self._left_out, begun)
            output = self._decoder(
                input_ids=tokens[None],
                position_ids=depths[None],
                # of four axes, so transformers makes none of its own; `attend` knows who looks at whom
                attention_mask=torch.zeros(1, 1, 1, 1, dtype=self.dtype, device=device),
                use_cache=False,
                attend=attend,
            )
        return output.last_hidden_state[0]  # type: ignore[no-any-return]

    def linears(self) -> Iterator[tuple[Any, ...]]:
        """The linear modules of its layers, those with the same input together; none where its layers are not known."""
        return layers.linears(self._decoder) if self._short else iter(())

    @property
    def known_layers(self) -> int | None:
        """How many layers it has, if their parts can be left out."""
        return int(self._decoder.config.num_hidden_layers) if self._short else None

    @contextmanager
    def leaving_out(self, parts: frozenset[layers.SubLayer]) -> Iterator[None]:
        """Computes without some sub-layers meanwhile."""
        assert self._short, "only known layers have parts that can be left out"
        self._left_out = parts
        try:
            yield
        finally:
            self._left_out = layers.NOTHING

    def over(self, rows: Sequence[tuple[int, ...]], wanted: Sequence[Sequence[int]]) -> States:
        """The states at the wanted positions of each row, from one pass over the trie of the rows."""
        trie, runs = merge(rows)
        nodes = np.concatenate([run.path[list(places)] for run, places in zip(runs, wanted, strict=True)])
        distinct, numbers = np.unique(nodes, return_inverse=True)
        begun = None if self._begins is None else self._begins.of(rows, runs)
        hidden = self.hidden(trie.tokens, trie.depths, Within(pattern(runs, self.device)), begun=begun)
        return States(hidden[torch.from_numpy(distinct).to(self.device)], numbers.tolist())

    @contextmanager
    def beginning(self, rows: Sequence[tuple[int, ...]], trained: Iterable[str]) -> Iterator[None]:
        """Passes `over` these rows, or beginnings of them, compute meanwhile only the layers from the first one on of
        which a weight is `trained`; what is below is computed once, without gradients, and kept for the next time."""
        first = _first_layer(trained) if self._short and not self._left_out else 0
        if first and (self._lower is None or (self._lower.after, self._lower.rows) != (first, rows)):
            trie, runs = merge(rows)
            tokens, depths = (torch.as_tensor(each, device=self.device) for each in (trie.tokens, trie.depths))
            with torch.no_grad(), with_rows(len(tokens)), _fastest_products():
                states = self._decoder.embed_tokens(tokens)
                attend = Within(pattern(runs, self.device))
                below = layers.through(self._decoder, states, depths, attend, self._products, range(first))
            self._lower = _Lower(first, rows, trie, below)
        self._begins = self._lower if first else None
        try:
            yield
        finally:
            self._begins = None

    def logits(self, hidden: Tensor) -> Tensor:
        """[n, V] from hidden states [n, H]."""
        with with_rows(len(hidden)):
            logits = self._products(self._head, hidden)
        if self._factor != 1.0:
            logits = logits * self._factor
        if self._softcap:
            logits = self._softcap * torch.tanh(logits / self._softcap)
        return logits

    def pack(self, rows: int) -> None:
        """Makes the products with the weights that the model has now faster, in as much memory again, until
        `unpack`: where many steps with so many rows are to come. On a CPU alone."""
        if not self._short or self.device.type != "cpu":
            return
        if self._steps is None or not self._steps.stand:
            self._steps = None  # frees its weights first
            self._steps = Steps(self._decoder) if packable(self._decoder) else None
        if not as_vectors(rows, self.dtype):
            groups = [] if self._steps else list(layers.linears(self._decoder))
            self._products.pack(group for group in map(linears_of, (*groups, (self._head,))) if group)

    def unpack(self) -> None:
        self._steps = None
        self._products.unpack()

    def wearing(self, weights: Mapping[str, Tensor] | None, run: Callable[[], Found]) -> Found:
        """What `run` returns with `weights` in place of the model's own."""
        with _fastest_products():
            if weights is None:
                return run()
            worn = {f"model.{name}": value for name, value in weights.items()}
            return torch.func.functional_call(self._wearer, worn, (run,))  # type: ignore[no-any-return]

    @contextmanager
    def learning(self, recompute: bool, seed: int) -> Iterator[None]:
        """Runs updates: with the dropout of LoRA adapters, where they have one, drawn from `seed`; with `recompute` the
        layers keep only their inputs and are run again in the backward pass, which must be inside too."""
        again = self._layers() if recompute else []
        for layer in again:
            layer.gradient_checkpointing = layer.training = True
            layer._gradient_checkpointing_func = partial(
                checkpoint, use_reentrant=False, preserve_rng_state=bool(self._dropouts)
            )
        for dropout in self._dropouts:
            dropout.train()
        try:
            with _repeatable(self.device):
                if self._dropouts:
                    with torch.random.fork_rng(devices=[self.device] if self.device.type == "cuda" else []):
                        torch.manual_seed(seed & 0x7FFF_FFFF)
                        yield
                else:
                    yield
        finally:
            for module in (*again, *self._dropouts):
                module.training = False
            for layer in again:
                layer.gradient_checkpointing = False

    def _layers(self) -> list[Any]:
        """The layers that can be run again. Raises RedQueenError if the model has none."""
        from transformers.modeling_layers import GradientCheckpointingLayer

        found: list[Any] = [each for each in self._model.modules() if isinstance(each, GradientCheckpointingLayer)]
        if not found:
            raise RedQueenError(
                f"the layers of {type(self._model).__name__} cannot be run again: leave out --gradient-checkpointing"
            )
        return found

    @torch.no_grad()
    def _check(self, causal: Any) -> None:
        """Raises RedQueenError unless body and head together equal the whole model and rows do not affect each
        other, by float32, whatever the precision of the weights: what rounding to bfloat16 alone changes after thirty
        layers can be as large as a logit."""
        rows = [(1, 2, 3), (1, 4, 3)]

        def computed() -> Tensor:
            with _Float32():
                states = self.over(rows, [(0, 1, 2)] * len(rows))
                return self.logits(states.hidden[states.numbers])

        ours = computed()
        with _Float32():
            theirs = causal(input_ids=torch.tensor(rows, device=self.device), use_cache=False).logits.flatten(0, 1)
        allowed = 1e-3 * (float(theirs.abs().max()) + 1e-6)
        if self._short and not float((ours - theirs).abs().max()) <= allowed:  # nor no number
            self._short = False
            ours = computed()
        if float((ours - theirs).abs().max()) > allowed:
            raise RedQueenError(
                f"{type(causal).__name__} computes its logits in a way that is not known here: use a model whose "
                "logits are a linear layer on the last hidden state, at most scaled and soft-capped, and whose tokens "
                "meet in its attention only"
            )


@contextmanager
def _repeatable(device: torch.device) -> Iterator[None]:
    """Lets a GPU add up in one order: else two runs of one seed differ, and one that goes on from its checkpoint."""
    if device.type == "cpu":
        yield
        return
    fills: Any = torch.utils.deterministic
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    filled = fills.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True, warn_only=True)
    fills.fill_uninitialized_memory = False
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
        fills.fill_uninitialized_memory = filled


class _Float32(TorchFunctionMode):
    """Every operation takes its numbers in float32: a weight of less precision is converted for the operation alone."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        def wide(value: Any) -> Any:
            if isinstance(value, Tensor) and value.dtype in (torch.bfloat16, torch.float16):
                return value.detach().to(torch.float32)
            return value

        return func(*tree_map(wide, args), **tree_map(wide, kwargs or {}))


class _Wearer(nn.Module):
    """Runs a function while `functional_call` has put other weights on the model."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, run: Callable[[], Found]) -> Found:
        return run()


@contextmanager
def _fastest_products() -> Iterator[None]:
    """Lets torch use oneDNN for float32 products on a CPU, which on some processors is twice as fast. torch uses it
    only if lower precision is allowed; this is allowed here if oneDNN keeps float32 nevertheless."""
    if not _onednn_keeps_float32():
        yield
        return
    matmul = torch.backends.mkldnn.matmul  # type: ignore[attr-defined]
    before = matmul.fp32_precision
    matmul.fp32_precision = "bf16"
    try:
        yield
    finally:
        matmul.fp32_precision = before


@cache
def _onednn_keeps_float32() -> bool:
    """Whether oneDNN keeps float32, by trial: errors of products of 512 terms are near 1e-5, in bfloat16 near 1e-1."""
    backend = getattr(torch.backends.mkldnn, "matmul", None)  # since torch 2.9
    if backend is None or not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return False
    generator = torch.Generator().manual_seed(0)
    left, right = (torch.randn(64, 512, generator=generator) for _ in range(2))
    before = backend.fp32_precision
    backend.fp32_precision = "bf16"
    try:
        error = (left @ right.t()).double() - left.double() @ right.double().t()
    finally:
        backend.fp32_precision = before
    return float(error.abs().max()) < 1e-3


def _first_layer(trained: Iterable[str]) -> int:
    """The number of the first layer that has one of these weights; 0 where one is in none of the layers."""
    found = [re.search(r"\.layers\.(\d+)\.", name) for name in trained]
    return min((int(each[1]) if each else 0 for each in found), default=0)


def _under_adapter(model: Any) -> bool:
    from peft import PeftModel

    return isinstance(model, PeftModel)


def _node_bytes(config: Any, dtype: torch.dtype) -> int:
    """The bytes of the keys and values of one token."""
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return int(2 * config.num_hidden_layers * heads * width * dtype.itemsize)


def _number(config: Any, name: str) -> float | None:
    value = getattr(config, name, None)
    return None if value is None else float(value)
