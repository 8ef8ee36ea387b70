"""Lowerings of the device's own: where Inductor's would give other bits than eager code, or no loops over the op table.

Graphs of other devices keep theirs: for them these give None, upon which Inductor goes on with its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._inductor import config, ir, lowering
from torch._inductor.utils import sympy_product
from torch._inductor.virtualized import V, ops
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from . import one_operation

aten = torch.ops.aten
prims = torch.ops.prims

# Made from views that are written to, after LibrarySteps has run. As loops they would read outside of their source.
_SCATTERS = (
    aten.as_strided_scatter.default,
    aten.diagonal_scatter.default,
    aten.select_scatter.default,
    aten.slice_scatter.default,
)
# Kept whole: a short one unrolled would round at each step, a long one in two layers after the first.
_REDUCTIONS = (
    aten.amax.default,
    aten.amin.default,
    aten.any.default,
    aten.any.dim,
    aten.any.dims,
    aten.argmax.default,
    aten.argmin.default,
    aten.prod.default,
    aten.prod.dim_int,
)
_SUMS = (aten.sum.default, aten.sum.dim_IntList)

_own: dict[Any, Callable[..., Any]] = {}


_is_gpu = lowering.is_gpu


def _says_where(device: str | None) -> bool:
    """Which input of a loop says where it runs: one on the device, not a number of the host that comes first."""
    return device == "spyre" or _is_gpu(device)


def register_lowerings() -> None:
    """Offers all of them to Inductor; a lowering that a user registered stays."""
    lowering.is_gpu = _says_where  # PyTorch has a closed list of devices for this
    for op in _SCATTERS:
        _offer(op, lowering.fallback_handler(op, add_to_fallback_set=False))
    for op in _REDUCTIONS:
        _offer(op, _whole(lowering.lowerings[op]))
    for op in _SUMS:
        _offer(op, _from_zero(_whole(lowering.lowerings[op])))
    _offer(aten.clone.default, _realized(lowering.lowerings[aten.clone.default]))
    for op in (aten.reshape.default, aten.view.default):
        _offer(op, _copied_if_apart)
    for op in (aten.div.Tensor, aten.mean.default, aten.mean.dim):
        _offer(op, _own[op])
    ones = one_operation.lowerings()
    single = {**ones, aten.div.Tensor: _own[aten.div.Tensor]}
    for op, lower in ones.items():
        _offer(op, lower)
    for op, each in one_operation.LISTS.items():
        _offer(op, one_operation.for_each(each, single[each]))


def _offer(op: torch._ops.OpOverload, function: Callable[..., Any]) -> None:
    def lower(x: Any, *args: Any, **kwargs: Any) -> Any:
        return function(x, *args, **kwargs) if _is_on_spyre(x) else None

    lowering.user_lowerings.setdefault(op, lower)
    writing = lowering.inplaceable_foreach_ops.get(op)
    if writing is not None:
        lowering.user_lowerings.setdefault(writing, _written(lower))


def _is_on_spyre(x: Any) -> bool:
    """Whether a tensor, or the first of a list, is on the device."""
    first = x[0] if isinstance(x, (list, tuple)) else x
    return isinstance(first, ir.TensorBox) and first.get_device_or_error().type == "spyre"


def _written(function: Callable[..., Any]) -> Callable[..., Any]:
    """The form that writes into its first list."""

    def lower(first: Any, *args: Any, **kwargs: Any) -> Any:
        results = function(first, *args, **kwargs)
        if results is None:
            return None
        pairs = zip(first, results, strict=True)
        return [lowering.mutate_to(into, result, unsafe_alias=True) for into, result in pairs]

    return lower


def _whole(function: Callable[..., Any]) -> Callable[..., Any]:
    def lower(*args: Any, **kwargs: Any) -> Any:
        with config.patch(unroll_reductions_threshold=1, split_reductions=False):
            return function(*args, **kwargs)

    return lower


def _from_zero(function: Callable[..., Any]) -> Callable[..., Any]:
    """A sum of one element begins with zero, too, which no negative zero survives; Inductor takes the element."""

    def lower(x: Any, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        result = function(x, axis, *args, **kwargs)
        sizes = [x.get_size()[dim] for dim in lowering._validate_reduction_axis(x, axis)]
        if result.get_dtype().is_floating_point and V.graph.sizevars.statically_known_equals(sympy_product(sizes), 1):
            return lowering.lowerings[aten.add.Tensor](result, 0.0)
        return result

    return lower


def _realized(function: Callable[..., Any]) -> Callable[..., Any]:
    """A copy stays one: reshapes upon reshapes of something strided would leave indices that are not affine."""

    def lower(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        result.realize()
        return result

    return lower


def _copied_if_apart(x: Any, sizes: Any) -> Any:
    """A view of dimensions that lie apart is one of a copy, as in eager code; PyTorch's passes may have dropped that.
    Gives None where elements can stay. Of symbolic sizes the first ones decide: a copy is right for all of them."""
    if not ir.is_storage_and_layout(x):
        return None
    if any(map(free_unbacked_symbols, (*x.get_size(), *x.get_stride(), *sizes))):
        return None
    before, strides, after = (
        [V.graph.sizevars.optimization_hint(number) for number in numbers]
        for numbers in (x.get_size(), x.get_stride(), sizes)
    )
    seen = torch.empty_strided(before, strides, device="meta")
    try:
        seen.view(after)
    except (RuntimeError, ValueError):
        return lowering.lowerings[aten.view.default](_realized(lowering.clone)(x), sizes)
    return None


@lowering.register_lowering(
    [aten.div.Tensor],
    broadcast=True,
    type_promotion_kind=ELEMENTWISE_TYPE_PROMOTION_KIND.INT_TO_FLOAT,
    lowering_dict=_own,
)
def _divide(x: Any, y: Any) -> Any:
    """A division, also by a constant: the product with its reciprocal is another number."""
    return lowering.make_pointwise(ops.truediv)(x, y)


@lowering.register_lowering([aten.mean.default, aten.mean.dim], lowering_dict=_own)
def _mean(x: Any, dim: Any = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> Any:
    """Divides the sum before it is rounded, as eager code does."""
    sizes = x.get_size()
    result = dtype or x.get_dtype()
    summed = _from_zero(_whole(lowering.make_reduction("sum", override_return_dtype=torch.float64)))
    total = summed(lowering.to_dtype(x, result), dim, keepdim)
    reduced = lowering._validate_reduction_axis(x, dim)
    number = ir.IndexingConstant(
        index=sympy_product(sizes[d] for d in reduced), dtype=torch.float64, device=x.get_device()
    )
    count = ir.ExpandView.create(number, list(total.get_size()))
    return lowering.to_dtype(lowering.make_pointwise(ops.truediv)(total, count), result)
