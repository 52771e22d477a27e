"""Decoding steps on CUDA as one recording, a CUDA graph: a step of a small model is a thousand operations, each shorter
than the time in which Python asks for it.

    step 1, 2    one operation after the other
    step 3       recorded, and run as recorded
    step 4 ..    run as recorded: new tokens and depths are put where the recording reads them

A recording holds the sizes and the places of all that it reads. So it is made anew where rows leave or need more room:
a finished row stays, and computes what nobody reads, until half of the rows have finished, and room doubles. Linear
modules with the same input are multiplied as one, with their LoRA adapters, in copies that live as long as the
recording; larger models' modules one by one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from redqueen.players.transformer.forward import Forward
from redqueen.players.transformer.products import Products, linears_of

COPIED = (
    1 << 30
)  # bytes of weights that are copied, side by side; with more, a product takes so long that one saves little
FIRST = 3  # the step that is recorded: a reply that is still growing is likely to go on


class Recorded:
    """The steps of rows that grow together, `looking`, on CUDA."""

    def __init__(self, forward: Forward, looking: Any) -> None:
        self._forward, self._looking = forward, looking
        self._given = torch.zeros(2, 0, dtype=torch.int64)  # tokens and depths, [2, rows]
        self._found = torch.zeros(0)  # [rows, H]
        self._again: Callable[[], None] | None = None  # runs what was recorded
        self._made_at = -1  # of the looking's changes
        self._steps = 0
        self._products: Products | None = None

    def hidden(self, tokens: Sequence[int], depths: Sequence[int]) -> Tensor:
        """[n, H] the hidden states after the last layer, of one more token of each row that has not finished."""
        looking, living = self._looking, self._looking.living
        looking.begin()
        given = torch.zeros(2, looking.rows, dtype=torch.int64)
        given[:, living] = torch.tensor([tokens, depths])
        self._steps += 1
        if self._made_at != looking.changes:
            self._again = None
        if self._again is None and self._steps >= FIRST and _can_record:
            self._record(given)
        if self._again is None:
            given = given.to(self._forward.device)
            found = self._forward.hidden(given[0], given[1], looking)
        else:
            self._given.copy_(given)
            self._again()
            found = self._found
        return found if len(living) == looking.rows else found[living]

    def _record(self, given: Tensor) -> None:
        """Records a step of as many rows as are `given`, without running it."""
        if self._products is None:
            self._products = Together(self._forward.linears())
        self._given = given.to(self._forward.device)
        looking, products = self._looking, self._products
        found: list[Tensor] = []

        def run() -> None:
            found.append(self._forward.hidden(self._given[0], self._given[1], looking, products))

        try:
            self._again = record(run)
        except RuntimeError as error:
            _cannot(error)
            looking.begin_again()
            return
        (self._found,) = found
        self._made_at = looking.changes


_can_record = True  # in this process


def _cannot(error: RuntimeError) -> None:
    """Says once that steps cannot be recorded here."""
    global _can_record
    _can_record = False
    reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
    warnings.warn(
        f"a step of this model cannot be recorded as a CUDA graph ({reason:.120}): sampling asks for each operation by "
        "itself, which takes several times as long",
        stacklevel=2,
    )


def record(run: Callable[[], None]) -> Callable[[], None]:
    """Records what `run` asks of the GPU, without doing it; returns what does it. Raises RuntimeError for what cannot
    be recorded, as where the processor waits for a result."""
    graph = torch.cuda.CUDAGraph()
    stream: Any = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        graph.capture_begin(capture_error_mode="thread_local")
        try:
            run()
        finally:
            graph.capture_end()
    torch.cuda.current_stream().wait_stream(stream)
    replay: Callable[[], None] = graph.replay
    return replay


class Together(Products):
    """Linear modules with the same input as one product, with the adapters that they have now."""

    def __init__(self, groups: Iterable[tuple[Any, ...]]) -> None:
        super().__init__()
        groups = list(groups)
        size = sum(module.weight.nbytes for group in groups for module in linears_of(group))
        self._groups = {group: _Joined(group, copied=size <= COPIED) for group in groups if linears_of(group)}

    def together(self, modules: tuple[Any, ...], given: Tensor) -> Sequence[Tensor]:
        joined = self._groups.get(modules)
        return super().together(modules, given) if joined is None else joined(given)


class _Joined:
    """Linear modules with the same input, and their adapters: W x + B A x, rounded to the precision of W."""

    def __init__(self, modules: tuple[Any, ...], copied: bool) -> None:
        bases = linears_of(modules)
        self._sizes = [base.out_features for base in bases]
        self._weights: list[Tensor] = [base.weight for base in bases]
        self._biases: list[Tensor | None] = [base.bias for base in bases]
        if copied and len(bases) > 1:
            self._weights = [torch.cat(self._weights)]
            if any(bias is not None for bias in self._biases):
                self._biases = [torch.cat([_bias(base) for base in bases])]
            else:
                self._biases = [None]
        dtype = bases[0].weight.dtype
        downs: list[Tensor] = []
        ups: list[tuple[int, Tensor]] = []  # where its rows begin
        begin = 0
        for module, base in zip(modules, bases, strict=True):
            for name in () if module is base else [name for name in module.active_adapters if name in module.lora_A]:
                downs.append(module.lora_A[name].weight)
                ups.append((begin, module.lora_B[name].weight * module.scaling[name]))
            begin += base.out_features
        self._down = torch.cat(downs).to(dtype) if downs else None  # [all ranks, in]
        if downs:
            self._up = bases[0].weight.new_zeros(sum(map(len, downs)), begin)  # [all ranks, all out]
            place = 0
            for start, up in ups:
                self._up[place : place + up.shape[1], start : start + len(up)] = up.T
                place += up.shape[1]

    def __call__(self, given: Tensor) -> Sequence[Tensor]:
        parts = [linear(given, weight, bias) for weight, bias in zip(self._weights, self._biases, strict=True)]
        if self._down is not None:
            found = parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)
            parts = [found.addmm_(linear(given, self._down), self._up)]
        return parts[0].split_with_sizes(self._sizes, 1) if len(parts) < len(self._sizes) else parts


def _bias(base: torch.nn.Linear) -> Tensor:
    return base.weight.new_zeros(base.out_features) if base.bias is None else base.bias
