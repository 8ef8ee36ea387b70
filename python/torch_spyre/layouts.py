"""How tensors lie in the card's memory and how their elements are stored; none of this needs the device.

`python -m torch_spyre.layouts 512 240` prints the layout of a tensor of that size; `--help` tells the rest.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import torch

from ._hooks import (
    DataFormats,
    ElementArrangement,
    SpyreTensorLayout,
    conversions,
    convert,
    device_coordinates,
    device_to_device,
    device_to_host,
    encode_constant,
    get_device_dtype,
    get_elem_in_stick,
    get_host_dtype,
    host_to_device,
    is_convertible,
)

__all__ = [
    "DataFormats",
    "ElementArrangement",
    "SpyreTensorLayout",
    "conversions",
    "convert",
    "describe",
    "device_coordinates",
    "device_to_device",
    "device_to_host",
    "encode_constant",
    "get_device_dtype",
    "get_elem_in_stick",
    "get_host_dtype",
    "host_to_device",
    "is_convertible",
]


def _dense_strides(size: Sequence[int]) -> list[int]:
    strides = [1] * len(size)
    for dim in range(len(size) - 1, 0, -1):
        strides[dim - 1] = strides[dim] * size[dim]
    return strides


def describe(size: Sequence[int], dtype: torch.dtype = torch.float16, order: Sequence[int] | None = None) -> str:
    """A tensor's layout, where its elements lie, what padding costs, and the copy that brings it there, as text."""
    strides = _dense_strides(size)
    layout = SpyreTensorLayout(size, dtype) if order is None else SpyreTensorLayout(size, strides, dtype, list(order))
    numel = torch.Size(size).numel()
    lines = [
        f"host size        {list(size)}, {str(dtype).removeprefix('torch.')}"
        + (f", order {list(order)}" if order else ""),
        f"device size      {layout.device_size}",
        f"stride map       {layout.stride_map}",
        f"device strides   {layout.device_strides()}",
        f"format           {layout.device_dtype.name}, {layout.elems_per_stick()} elements in a stick",
        f"bytes            {layout.nbytes}, {layout.padding(numel)} of them padding",
        f"element i is at  [{', '.join(device_coordinates(layout, size, strides))}]",
    ]
    lines += [
        f"copy to device   size {nest['size']}, host strides {nest['stride_src']} from {nest['offset_src']},"
        f" device strides {nest['stride_dst']} from {nest['offset_dst']}"
        for nest in host_to_device(layout, size, strides)
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m torch_spyre.layouts", description="How a tensor lies on the card.")
    parser.add_argument("size", type=int, nargs="*", help="extents of the tensor")
    parser.add_argument("--dtype", default="float16", help="a torch dtype (float16)")
    parser.add_argument("--order", help="order of the dimensions, the stick last: 1,0 or 0,1,-1 (sparse)")
    given = parser.parse_args(arguments)
    order = [int(dim) for dim in given.order.split(",")] if given.order else None
    try:
        print(describe(given.size, getattr(torch, given.dtype), order))
    except (AttributeError, RuntimeError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
