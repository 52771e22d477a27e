"""Products of a model's weights with few rows, on a CPU: those of its head, and of layers that `compiled.steps`
does not compute.

When one token is sampled for each of n replies, every weight is read once and multiplied with n rows. Products made for
large matrices read the weights at half of the memory's speed then, or order them anew each time. So, without gradients:

    up to 2 rows of float32     the product made for vectors
    others                      that of weights which were packed before, once for all steps, in the order in which it
                                reads them: our own for bfloat16 (`compiled.packing`), else MKL's or oneDNN's

What has the same input, queries, keys and values, or both gates, is packed as one weight: threads wait for each other
after every product.

Packing takes the time of about two steps, and the memory of the weights once more. So it is done when sampling has
lasted for some steps, and undone when the sampler's caches are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from redqueen.players.transformer.compiled import packing

FEW = 2  # rows of float32 that are multiplied as vectors
PACKED_FOR = 128  # rows that the order of packed weights is chosen for; it serves any number
MOST = 1 << 32  # bytes of weights that are packed
TRIED = (3, 40)  # rows with which a packed weight is tried

Product = Callable[[Tensor], Tensor]  # [n, in] -> [n, out], without the bias


@dataclass(frozen=True)
class _Packed:
    """Weights in the order in which products read them, one below the other."""

    weights: tuple[Tensor, ...]  # that were packed, and how often each had been changed by then
    versions: tuple[int, ...]
    sizes: tuple[int, ...]  # how many rows each has
    product: Product

    def holds(self, modules: Sequence[nn.Linear]) -> bool:
        """Whether these are still what the modules compute with."""
        for module, weight, version in zip(modules, self.weights, self.versions, strict=True):
            # not `module.weight`, which takes as long as a small product
            if module._parameters["weight"] is not weight or weight._version != version:
                return False
        return True

    def __call__(self, given: Tensor) -> Sequence[Tensor]:
        """[n, out] for each of the weights."""
        found = self.product(given)
        return found.split_with_sizes(self.sizes, 1) if len(self.sizes) > 1 else (found,)


class Products:
    """Computes the linear modules of a model; `pack` is called where many products with few rows follow."""

    def __init__(self) -> None:
        self._packed: dict[tuple[nn.Linear, ...], _Packed] = {}

    def __call__(self, module: Any, given: Tensor) -> Tensor:
        """[n, out], what the module gives for [n, in]."""
        (found,) = self.together((module,), given)
        return found

    def together(self, modules: tuple[Any, ...], given: Tensor) -> Sequence[Tensor]:
        """[n, out] for each of the modules, what it gives for [n, in]."""
        if self._packed and not torch.is_grad_enabled() and not as_vectors(given.shape[0], given.dtype):
            linears = modules if modules in self._packed else linears_of(modules)
            held = self._packed.get(linears)
            if held is not None and held.holds(linears):
                return [_finished(module, part, given) for module, part in zip(modules, held(given), strict=True)]
        return [mixed(module, given) if given.is_cuda else module(given) for module in modules]

    def pack(self, groups: Iterable[tuple[nn.Linear, ...]]) -> None:
        """Packs the weights that these modules have now, a group as one; those packed already stay."""
        groups = [group for group in groups if group[0].weight.device.type == "cpu"]
        if sum(module.weight.nbytes for group in groups for module in group) > MOST:
            return
        for group in groups:
            held = self._packed.get(group)
            if held is not None and held.holds(group):
                continue
            weights = tuple(module.weight for module in group)
            product = packed(torch.cat([each.detach() for each in weights]) if len(weights) > 1 else weights[0])
            if product is None:
                return
            versions, sizes = tuple(each._version for each in weights), tuple(len(each) for each in weights)
            self._packed[group] = _Packed(weights, versions, sizes, product)

    def unpack(self) -> None:
        """Frees what was packed."""
        self._packed.clear()


def as_vectors(rows: int, dtype: torch.dtype) -> bool:
    """Whether so many rows are multiplied as vectors, for which no weight need be packed."""
    return rows <= FEW and dtype == torch.float32


def linears_of(modules: Iterable[Any]) -> tuple[nn.Linear, ...]:
    """The linear modules that these are, or to which adapters of peft add; none where one is or does anything else."""
    found = [_linear_of(module) for module in modules]
    return tuple(each for each in found if each is not None) if None not in found else ()


def base_of(module: Any) -> nn.Linear | None:
    """The linear module that this is, or to which LoRA adapters of peft add."""
    if type(module) is nn.Linear:
        return module
    base = getattr(module, "base_layer", None)
    return base if type(base) is nn.Linear and hasattr(module, "lora_A") else None


def _linear_of(module: Any) -> nn.Linear | None:
    base = base_of(module)
    if base is None or base is module:
        return base
    if module.disable_adapters or module.merged or getattr(module, "lora_variant", None):
        return None
    return base


def _finished(module: Any, found: Tensor, given: Tensor) -> Tensor:
    """What a module gives, [n, out], from the product with its weight: with its bias, and what LoRA adapters add."""
    plain = type(module) is nn.Linear
    bias = (module if plain else module.base_layer)._parameters["bias"]
    if bias is not None:
        found = found + bias
    for name in () if plain else [name for name in module.active_adapters if name in module.lora_A]:
        down, up = module.lora_A[name], module.lora_B[name]  # of float32, it may be, beside a weight of bfloat16
        found = found + (up(down(given.to(down.weight.dtype))) * module.scaling[name]).to(found.dtype)
    return found


def mixed(module: Any, given: Tensor) -> Tensor:
    """What a module gives for [n, in]: with adapters of float32 beside a weight of bfloat16 all products in bfloat16,
    as in training in mixed precision. A GPU takes those of float32 many times as long."""
    base = base_of(module)
    if base is None or base is module or _linear_of(module) is None or base.weight.dtype == torch.float32:
        found: Tensor = module(given)
        return found
    found = linear(given, base.weight, base.bias)
    for name in [name for name in module.active_adapters if name in module.lora_A]:
        down, up = module.lora_A[name].weight.to(given.dtype), module.lora_B[name].weight * module.scaling[name]
        found = found + linear(linear(module.lora_dropout[name](given), down), up.to(given.dtype))
    return found


def packed(weight: Tensor) -> Product | None:
    """The product with a weight, [out, in], that is packed; None where this machine has no such product."""
    kind = _kind(weight.dtype)
    return kind(weight.detach()) if kind else None


_Kind = Callable[[Tensor], Product]
_KINDS: dict[torch.dtype, _Kind | None] = {}  # of this process


def _kind(dtype: torch.dtype) -> _Kind | None:
    """How weights of a precision are packed here. What a machine takes is settled by its processor and not by a clock,
    so that a run that goes on computes the same."""
    if dtype not in _KINDS:
        kinds: list[_Kind] = []
        if dtype == torch.float32:
            kinds = [_by_mkl, _by_onednn] if _made_by_intel() else [_by_onednn]
        elif dtype == torch.bfloat16:
            kinds = [_by_ours, _by_onednn]
        _KINDS[dtype] = next((kind for kind in kinds if _holds(kind, dtype)), None)
    return _KINDS[dtype]


def _by_ours(weight: Tensor) -> Product:
    if packing.functions(weight.dtype) is None:
        raise RuntimeError("there are no compiled functions")
    return packing.product(weight)


def _by_mkl(weight: Tensor) -> Product:
    order = torch.ops.mkl._mkl_reorder_linear_weight(weight, PACKED_FOR)
    sizes = weight.new_empty(()).expand(weight.shape)  # all that is asked of the weight itself
    return lambda given: torch.ops.mkl._mkl_linear(given, order, sizes, None, len(given))


def _by_onednn(weight: Tensor) -> Product:
    order = torch.ops.mkldnn._reorder_linear_weight(weight, PACKED_FOR)
    return lambda given: torch.ops.mkldnn._linear_pointwise(given, order, None, "none", [], "")


def _holds(kind: _Kind, dtype: torch.dtype) -> bool:
    """Whether torch has this product here, and it is right for other numbers of rows than it was packed for."""
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(96, 64, generator=generator).to(dtype)
    try:
        product = kind(weight)
        for count in TRIED:
            given = torch.randn(count, 64, generator=generator).to(dtype)
            torch.testing.assert_close(product(given), linear(given, weight))
    except (AttributeError, RuntimeError, AssertionError):  # not built in, or not for this processor
        return False
    return True


def _made_by_intel() -> bool:
    """MKL's products are the fastest on Intel's processors, oneDNN's elsewhere."""
    try:
        return "GenuineIntel" in Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return False


@contextmanager
def without_onednn() -> Iterator[None]:
    """Products of float32 by torch's own choice, which is the fastest for one or two rows and within attention, whose
    many products are small."""
    matmul: Any = getattr(torch.backends.mkldnn, "matmul", None)
    if matmul is None:
        yield
        return
    before = matmul.fp32_precision
    matmul.fp32_precision = "ieee"
    try:
        yield
    finally:
        matmul.fp32_precision = before


def with_rows(count: int) -> Any:
    """A context for products with `count` rows."""
    return without_onednn() if count <= FEW and not torch.is_grad_enabled() else nullcontext()
