"""Inductor's names for ops, where the op table has others, and the types they give."""

from __future__ import annotations

import functools
from typing import Any

import torch

from .._engine import engine

# Names that differ. Where Inductor rounds like C, so does the op here.
_RENAMED = {
    "and_": "bitwise_and",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "div_rn": "div",
    "floordiv": "floor_divide",
    "fma": "affine",
    "lshift": "left_shift",
    "mod": "fmod",
    "mul_rn": "mul",
    "or_": "bitwise_or",
    "rshift": "right_shift",
    "truediv": "div",
    "truncdiv": "div_trunc",
    "xor": "bitwise_xor",
}
# Where one name means two rows: by whether the compute type is of the given kind.
_INTEGER_ROWS = {"pow": "int_pow"}
_BOOL_ROWS = {"bitwise_not": "bool_not"}

_COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]
_LOGIC = ["logical_not", "logical_and", "logical_or", "logical_xor", "isnan", "isinf", "isfinite", "signbit"]
_TRUTHS = frozenset(_COMPARISONS + _LOGIC)
_INTEGER_DIVISIONS = frozenset(["floor_divide", "div_trunc", "remainder", "fmod"])

NATIVE_TYPES = {
    torch.bool: "bool",
    torch.uint8: "uint8",
    torch.int8: "int8",
    torch.int16: "int16",
    torch.int32: "int32",
    torch.int64: "int64",
    torch.float16: "float16",
    torch.bfloat16: "bfloat16",
    torch.float32: "float32",
    torch.float64: "float64",
}


@functools.cache
def op_rows() -> dict[str, dict[str, Any]]:
    """The op table by name."""
    return {row["name"]: row for row in engine().op_table()}


def row_for(name: str, compute: torch.dtype) -> dict[str, Any] | None:
    """The row that implements Inductor's op in that type, if there is one."""
    name = _RENAMED.get(name, name)
    if compute == torch.bool:
        name = _BOOL_ROWS.get(name, name)
    elif not compute.is_floating_point:
        name = _INTEGER_ROWS.get(name, name)
    row = op_rows().get(name)
    return row if row is not None and NATIVE_TYPES.get(compute) in row["computes"] else None


def gives_truth(row: dict[str, Any]) -> bool:
    """Whether the op's result is a bool."""
    return row["name"] in _TRUTHS


def divides_integers(row: dict[str, Any], compute: torch.dtype) -> bool:
    """Whether the op faults on a zero divisor."""
    return row["name"] in _INTEGER_DIVISIONS and not compute.is_floating_point


def aten_overloads() -> set[str]:
    """Overloads with a row in the op table: "add.Tensor", "exp"."""
    return {name for row in op_rows().values() for name in row["aten"].split(";") if name}
