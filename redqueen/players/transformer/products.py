"""Products of a model's weights with few rows, on a CPU.

When one token is sampled for each of n replies, every weight is read once and multiplied with n rows. Products made for
large matrices read the weights at half of the memory's speed then, or order them anew each time. So, without gradients:

    up to 2 rows     the product made for vectors
    more             that of weights which were packed before, once for all steps, in the order in which it reads them

Packing takes the time of about two steps, and the memory of the weights once more. So it is done when sampling has
lasted for some steps, and undone when the sampler's caches are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

FEW = 2  # rows that are multiplied as vectors
PACKED_FOR = 128  # rows that the order of packed weights is chosen for; it serves any number
MOST = 1 << 32  # bytes of weights that are packed
TRIED = (3, 40)  # rows with which a packed weight is tried

Product = Callable[[Tensor], Tensor]  # [n, in] -> [n, out], without the bias


@dataclass(frozen=True)
class _Packed:
    """A weight in the order in which products read it."""

    weight: Tensor  # the weight that was packed, and how often it had been changed by then
    version: int
    product: Product


class Products:
    """Computes the linear modules of a model; `pack` is called where many products with few rows follow."""

    def __init__(self) -> None:
        self._packed: dict[nn.Linear, _Packed] = {}

    def __call__(self, module: Any, given: Tensor) -> Tensor:
        """[n, out], what the module gives for [n, in]."""
        if not self._packed or torch.is_grad_enabled() or len(given) <= FEW:
            return module(given)  # type: ignore[no-any-return]
        if type(module) is nn.Linear:
            return self._linear(module, given)
        if adapters := _plain_adapters(module):
            found = self._linear(module.base_layer, given)
            for down, up, scale in adapters:
                found = found + up(down(given)) * scale
            return found
        return module(given)  # type: ignore[no-any-return]

    def _linear(self, module: nn.Linear, given: Tensor) -> Tensor:
        held = self._packed.get(module)
        if held is None or held.weight is not module.weight or held.version != module.weight._version:
            return module(given)  # type: ignore[no-any-return]
        found = held.product(given)
        return found if module.bias is None else found + module.bias

    def pack(self, modules: Iterable[nn.Linear]) -> None:
        """Packs the weights that these modules have now; those that are packed already stay."""
        modules = [module for module in modules if module.weight.device.type == "cpu"]
        if sum(module.weight.nbytes for module in modules) > MOST:
            return
        for module in modules:
            weight, held = module.weight, self._packed.get(module)
            if held is not None and held.weight is weight and held.version == weight._version:
                continue
            product = packed(weight)
            if product is None:
                return
            self._packed[module] = _Packed(weight, weight._version, product)

    def unpack(self) -> None:
        """Frees what was packed."""
        self._packed.clear()


def _plain_adapters(module: Any) -> list[tuple[nn.Module, nn.Module, float]]:
    """The matrices and scales of the LoRA adapters that a module of peft adds to its linear layer; none where it does
    anything else."""
    if type(getattr(module, "base_layer", None)) is not nn.Linear or not hasattr(module, "lora_A"):
        return []
    if module.disable_adapters or module.merged or getattr(module, "lora_variant", None):
        return []
    names = [name for name in module.active_adapters if name in module.lora_A]
    return [(module.lora_A[name], module.lora_B[name], module.scaling[name]) for name in names]


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
            kinds = [_by_onednn]
        _KINDS[dtype] = next((kind for kind in kinds if _holds(kind, dtype)), None)
    return _KINDS[dtype]


def _by_mkl(weight: Tensor) -> Product:
    order = torch.ops.mkl._mkl_reorder_linear_weight(weight, PACKED_FOR)
    return lambda given: torch.ops.mkl._mkl_linear(given, order, weight, None, len(given))


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
