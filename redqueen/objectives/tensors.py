"""Shapes of tensors in files, for `protocols.shaped`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from redqueen.protocols import AMOUNT, COUNT, Row, Value, shaped
from redqueen.types import Damaged


def tensor(dtype: torch.dtype | None, *sizes: int | None, finite: bool = True) -> Value:
    """The shape of a tensor of one `dtype`, None for numbers of any precision, and of these `sizes`, None for any;
    `finite` refuses NaN and infinities."""
    kind = str(dtype).removeprefix("torch.") if dtype else "real numbers"
    shown = ", ".join("any" if size is None else str(size) for size in sizes)

    def holds(value: Any) -> bool:
        return (
            isinstance(value, Tensor)
            and (value.dtype == dtype if dtype else value.is_floating_point())
            and len(value.shape) == len(sizes)
            and all(size in (None, real) for size, real in zip(sizes, value.shape, strict=True))
            and (not finite or bool(torch.isfinite(value).all()))
        )

    return Value(f"an array of {'finite ' * finite}{kind} [{shown}]", holds)


def alike(tensors: Mapping[str, Tensor]) -> dict[str, Value]:
    """The shape of tensors of real numbers under the same names and of the same sizes, all finite."""
    return {name: tensor(None, *each.shape) for name, each in tensors.items()}


def check_adamw(state: Mapping[str, Any], optimizer: torch.optim.Optimizer, place: str) -> None:
    """Raises Damaged, with the place, unless `state` is one of AdamW over the weights of `optimizer`: moments of their
    sizes, one number of steps, and its settings, but for the learning rate, which changes over a run."""
    (group,) = optimizer.state_dict()["param_groups"]
    weights = optimizer.param_groups[0]["params"]
    shaped(state, {"state": dict, "param_groups": Row({"lr": AMOUNT, "params": Row(*[COUNT] * len(weights))})}, place)
    (found,) = state["param_groups"]
    for name in (set(group) | set(found)) - {"lr"}:
        if name not in group or name not in found or _as_list(found[name]) != _as_list(group[name]):
            raise Damaged(
                f"{place}.param_groups[0].{name} must be {group.get(name)!r:.60}, not {found.get(name)!r:.60}"
            )
    moments = state["state"]
    if list(moments) != list(range(len(weights)) if moments else ()):
        raise Damaged(f"{place}.state must be of the weights 0 to {len(weights) - 1}, or empty")
    for number, weight in enumerate(weights if moments else ()):
        size = tensor(torch.float32, *weight.shape)
        shape = {"step": tensor(torch.float32), "exp_avg": size, "exp_avg_sq": size}
        each = shaped(moments[number], shape, f"{place}.state[{number}]")
        if float(each["step"]) < 0 or float(each["step"]) % 1.0 or bool((each["exp_avg_sq"] < 0).any()):
            raise Damaged(f"{place}.state[{number}] must have a step and squares of at least 0")


def _as_list(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
