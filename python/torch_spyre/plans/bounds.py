"""Types, extents and reaches: the checks that plans and kernels share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import torch

from .errors import PlanError

_INTEGERS = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128)
DTYPES = {str(dtype).removeprefix("torch."): dtype for dtype in (*_INTEGERS, *_FLOATS)}
_MAX_RANK = 12
_MAX_BYTES = 1 << 48  # beyond any card: sums of products of checked extents stay in int64


def dtype_named(name: str, where: str = "dtype") -> torch.dtype:
    """torch.<name>. Raises PlanError."""
    if name not in DTYPES:
        raise PlanError.at(where, f"one of {', '.join(DTYPES)}", name)
    return DTYPES[name]


def reach(offset: int, sizes: Sequence[int], strides: Sequence[int]) -> tuple[int, int]:
    """The first element that a window touches, and the one after the last; equal if it touches none."""
    if 0 in sizes:
        return offset, offset
    steps = [(size - 1) * stride for size, stride in zip(sizes, strides, strict=True)]
    return offset + sum(min(step, 0) for step in steps), offset + sum(max(step, 0) for step in steps) + 1


def check_bytes(size: int, where: str) -> None:
    """Memory that a card might have."""
    if not 0 <= size <= _MAX_BYTES:
        raise PlanError.at(where, f"memory of 0 to {_MAX_BYTES} bytes", size)


def check_extents(sizes: Sequence[int], where: str) -> None:
    """Of a tensor: not too many, not negative, not too large."""
    if len(sizes) > _MAX_RANK:
        raise PlanError.at(where, f"at most {_MAX_RANK} dimensions", len(sizes))
    if any(size < 0 for size in sizes) or math.prod(size for size in sizes if size) > _MAX_BYTES:
        raise PlanError.at(where, "extents of a tensor", list(sizes))


def check_strides(strides: Sequence[int], rank: int, where: str) -> None:
    """One for each dimension, none so long that a product with an extent leaves int64."""
    if len(strides) != rank or any(abs(stride) > _MAX_BYTES for stride in strides):
        raise PlanError.at(where, f"{rank} strides", list(strides))


def check_reach(touched: tuple[int, int], elements: int, where: str) -> None:
    """What reach() gives, within memory of so many elements."""
    first, end = touched
    if first < 0 or end > elements:
        raise PlanError(f"{where}: reaches elements {first} to {end} of {elements}")


def check_places(places: Iterable[int], count: int, where: str) -> None:
    """Positions in a table."""
    for place in places:
        if not 0 <= place < count:
            raise PlanError.at(where, f"numbers of {count} there are", place)


def numbers(extents: Sequence[int | str], where: str) -> list[int]:
    """Extents of a kernel as the numbers that they are in a plan."""
    for extent in extents:
        if not isinstance(extent, int):
            raise PlanError.at(where, "numbers", extent)
    return [int(extent) for extent in extents]
