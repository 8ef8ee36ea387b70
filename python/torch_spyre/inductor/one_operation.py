"""Operators that are one operation of the op table, where Inductor has several ops that round between them.

An optimizer's x + alpha * y is one operation and one rounding in eager code, and so it is in a loop. In Inductor's
loops it is an `inline_asm_elementwise`, its way to write an instruction of the device: here, the name of a row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._inductor import ir, lowering
from torch._inductor.virtualized import ops
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND

from .op_names import NATIVE_TYPES, op_rows

aten = torch.ops.aten

#: PyTorch decomposes these, unless they are on the device (decompositions.py).
ACTIVATIONS = (
    aten.elu.default,
    aten.elu_backward.default,
    aten.gelu.default,
    aten.gelu_backward.default,
    aten.mish.default,
    aten.mish_backward.default,
    aten.silu.default,
    aten.silu_backward.default,
    aten.softplus.default,
    aten.softplus_backward.default,
)
#: The same, but cheap enough that every reader may compute them again.
PIECEWISE = (
    aten.hardsigmoid.default,
    aten.hardsigmoid_backward.default,
    aten.hardswish.default,
    aten.hardswish_backward.default,
    aten.hardtanh.default,
    aten.hardtanh_backward.default,
    aten.leaky_relu.default,
    aten.leaky_relu_backward.default,
    aten.sigmoid_backward.default,
    aten.tanh_backward.default,
    aten.threshold.default,
    aten.threshold_backward.default,
)
INTERPOLATIONS = (aten.lerp.Scalar, aten.lerp.Tensor)
LISTS_OF_INTERPOLATIONS = (aten._foreach_lerp.Scalar, aten._foreach_lerp.ScalarList, aten._foreach_lerp.List)
COMBINATIONS = (aten.addcmul.default, aten.addcdiv.default)
_SUMS = (aten.add.Tensor, aten.sub.Tensor, *COMBINATIONS)

Lower = Callable[..., Any]


def lowerings() -> dict[torch._ops.OpOverload, Lower]:
    """For operators on one tensor. They give None where Inductor's own lowering means the same."""
    made: dict[torch._ops.OpOverload, Lower] = {}
    for op in (*_SUMS, *INTERPOLATIONS, *PIECEWISE):
        made[op] = _lowering_of(op)
    for op in ACTIVATIONS:
        made[op] = _computed_once(_lowering_of(op))
    return made


def _lowering_of(op: torch._ops.OpOverload) -> Lower:
    promotion = ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT
    table: dict[Any, Lower] = {}

    @lowering.register_lowering([op], broadcast=True, type_promotion_kind=promotion, lowering_dict=table)
    def lower(*args: Any, **kwargs: Any) -> Any:
        given = _arguments(op, args, kwargs)
        row = _row_of(op, given)
        dtype = next(value for value in given.values() if isinstance(value, ir.IRNode)).get_dtype()
        if NATIVE_TYPES.get(dtype) not in row["computes"] or not dtype.is_floating_point or len(given) < row["arity"]:
            return None

        def operation(*values: Any) -> Any:
            return ops.inline_asm_elementwise(*values, asm=row["name"], dtype=dtype)

        return lowering.make_pointwise(operation)(*given.values())

    return lambda *args, **kwargs: None if _is_plain_sum(op, kwargs) else table[op](*args, **kwargs)


def _is_plain_sum(op: torch._ops.OpOverload, kwargs: dict[str, Any]) -> bool:
    """An addition with nothing to multiply: that has an op of Inductor's."""
    return op in (aten.add.Tensor, aten.sub.Tensor) and kwargs.get("alpha", 1) == 1


def _arguments(op: torch._ops.OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Every argument of the schema, by name: what was given, or what holds if nothing is."""
    schema = op._schema.arguments
    given = dict(zip((argument.name for argument in schema), args, strict=False)) | kwargs
    return {argument.name: given.get(argument.name, argument.default_value) for argument in schema}


def _row_of(op: torch._ops.OpOverload, given: dict[str, Any]) -> dict[str, Any]:
    """The row that eager code would record; takes arguments that choose it out of `given`."""
    name = op._schema.name.partition("::")[2]
    full = name if op._overloadname == "default" else f"{name}.{op._overloadname}"
    rows = [row for row in op_rows().values() if full in row["aten"].split(";")]
    for row in rows:
        key, _, value = row["select"].partition("=")
        if value and str(given[key]) == value:
            del given[key]
            return row
    return next(row for row in rows if not row["select"])


def _computed_once(lower: Lower) -> Lower:
    """Who reads the result reads memory: every reader would compute it again."""

    def lower_and_keep(*args: Any, **kwargs: Any) -> Any:
        result = lower(*args, **kwargs)
        if result is not None:
            result.realize()
        return result

    return lower_and_keep


#: Operators on lists by what they do to each tensor, and those of them that write into the first list.
LISTS: dict[torch._ops.OpOverload, torch._ops.OpOverload] = {
    aten._foreach_add.List: aten.add.Tensor,
    aten._foreach_add.Tensor: aten.add.Tensor,
    aten._foreach_sub.List: aten.sub.Tensor,
    aten._foreach_addcmul.Scalar: aten.addcmul.default,
    aten._foreach_addcmul.ScalarList: aten.addcmul.default,
    aten._foreach_addcdiv.Scalar: aten.addcdiv.default,
    aten._foreach_addcdiv.ScalarList: aten.addcdiv.default,
    aten._foreach_lerp.Scalar: aten.lerp.Scalar,
    aten._foreach_lerp.ScalarList: aten.lerp.Scalar,
    aten._foreach_lerp.List: aten.lerp.Tensor,
    aten._foreach_div.List: aten.div.Tensor,
    aten._foreach_div.Scalar: aten.div.Tensor,
    aten._foreach_div.ScalarList: aten.div.Tensor,
    aten._foreach_div.Tensor: aten.div.Tensor,
}


def for_each(op: torch._ops.OpOverload, own: Lower) -> Lower:
    """The lowering of an operator on lists: `own`, or Inductor's lowering of `op`, for each tensor."""
    # Scalars stand last on lists; on one tensor, these want them by name. Graphs call everything else by place.
    by_name = op in COMBINATIONS

    def lower(first: Any, *rest: Any, **named: Any) -> list[Any]:
        tensors, scalars = (rest[:2], rest[2:]) if by_name else (rest, ())
        if scalars:
            (named["value"],) = scalars
        return [_lowered(op, own, place, (first, *tensors), named) for place in range(len(first))]

    return lower


def _lowered(op: torch._ops.OpOverload, own: Lower, place: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    def of(value: Any) -> Any:
        return value[place] if isinstance(value, (list, tuple)) else value

    one, named = [of(value) for value in args], {key: of(value) for key, value in kwargs.items()}
    result = own(*one, **named)
    return lowering.lowerings[op](*one, **named) if result is None else result
