"""How tensors lie in the card's memory and how their elements are stored; layouts and formats need no device.

Loading this module, without which nobody has a layout, lets `torch.empty` and `Tensor.to` take `device_layout=`, and
`nn.Module.to` take `device_layouts=`.
`python -m torch_spyre.layouts 512 240` prints the layout of a tensor of that size; `--help` tells the rest.
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Sequence
from typing import Any

import torch
import torch.utils._device

from ._engine import device_index, engine
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
from ._layout_use import layouts_are_named

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
    "is_ea_compatible",
    "layout_of",
    "weight_layout",
]


def _dense_strides(size: Sequence[int]) -> list[int]:
    strides = [1] * len(size)
    for dim in range(len(size) - 1, 0, -1):
        strides[dim - 1] = strides[dim] * size[dim]
    return strides


def layout_of(tensor: torch.Tensor) -> SpyreTensorLayout | None:
    """The layout that was chosen for the tensor's memory, or the card's own choice for its base; None off the card."""
    if tensor.device.type != "spyre" or isinstance(tensor, torch._subclasses.FakeTensor):
        return None
    kept: SpyreTensorLayout | None = engine().kept_layout(tensor)
    if kept is not None:
        return kept
    base = tensor if tensor._base is None else tensor._base
    return SpyreTensorLayout(base.size(), base.stride(), base.dtype, list(range(base.dim())))


def _empty(plain_empty: Any) -> Any:
    @functools.wraps(plain_empty)
    def empty(*args: Any, device_layout: SpyreTensorLayout | None = None, **kwargs: Any) -> torch.Tensor:
        if device_layout is None:
            return plain_empty(*args, **kwargs)
        device = device_index(kwargs.get("device"))
        meant = plain_empty(*args, **{**kwargs, "device": "meta"})
        tensor: torch.Tensor = engine().empty_with_layout(meant.size(), meant.dtype, device_layout, device)
        return tensor.requires_grad_(meant.requires_grad)

    return empty


def _to(plain_to: Any) -> Any:
    @functools.wraps(plain_to)
    def to(
        self: torch.Tensor,
        *args: Any,
        device_layout: SpyreTensorLayout | None = None,
        copy: bool = False,
        **kwargs: Any,
    ) -> torch.Tensor:
        if device_layout is None:
            return plain_to(self, *args, copy=copy, **kwargs) if copy else plain_to(self, *args, **kwargs)
        device, dtype, non_blocking, _ = torch._C._nn._parse_to(*args, **kwargs)
        dtype = dtype or self.dtype
        index = device_index(device or self.device)
        stays = self.device.type == "spyre" and self.device.index == index and self.dtype == dtype and not copy
        if stays and layout_of(self) == device_layout:
            return self
        tensor: torch.Tensor = engine().empty_with_layout(self.size(), dtype, device_layout, index)
        return tensor.copy_(self, non_blocking=non_blocking)

    return to


def weight_layout(module: torch.nn.Module, name: str) -> SpyreTensorLayout | None:
    """What upstream gives a module's parameter of that name on the card; None: the card's own choice."""
    weight = getattr(module, name)
    if name != "weight" or weight.dim() != 2:
        return None
    rows, columns = weight.shape
    if isinstance(module, torch.nn.Linear):
        return SpyreTensorLayout(weight.size(), [columns, 1], weight.dtype, [1, 0])
    lanes = get_elem_in_stick(weight.dtype)
    if isinstance(module, torch.nn.Embedding) and columns % lanes == 0:
        sticks = [rows, columns // lanes, lanes]
        return SpyreTensorLayout(sticks, [columns, lanes, 1], get_device_dtype(weight.dtype))
    return None


def _module_to(plain_to: Any) -> Any:
    @functools.wraps(plain_to)
    def to(self: torch.nn.Module, *args: Any, device_layouts: bool = False, **kwargs: Any) -> torch.nn.Module:
        moved: torch.nn.Module = plain_to(self, *args, **kwargs)
        for module in moved.modules() if device_layouts else ():
            for name, parameter in module.named_parameters(recurse=False):
                layout = weight_layout(module, name)
                if layout is not None:
                    parameter.data = parameter.data.to(parameter.device, device_layout=layout)  # type: ignore[call-overload]
        return moved

    return to


@functools.cache
def _take_layouts() -> None:
    """Wraps the three, once: they parse their arguments before any hook of PyTorch's sees them.

    What is wrapped stays known to those who list PyTorch's functions: default devices and Dynamo.
    """
    torch.utils._device._device_constructors()  # remembers what it lists
    torch.Tensor._to_without_layout = torch.Tensor.to  # type: ignore[attr-defined]
    torch.empty = _empty(torch.empty)
    torch.Tensor.to = _to(torch.Tensor.to)  # type: ignore[method-assign]
    torch.nn.Module.to = _module_to(torch.nn.Module.to)  # type: ignore[method-assign]
    layouts_are_named()


_take_layouts()


def is_ea_compatible(
    arrangements: Sequence[ElementArrangement | SpyreTensorLayout], broadcast: Sequence[bool] | None = None
) -> bool:
    """Whether one pointwise kernel can take operands of these element arrangements, or of layouts that have them.

    Either all have the same one, or one that is not STANDARD (and not EXX2) meets STANDARD operands that are all
    broadcast along the stick, which `broadcast` tells of each operand.
    """
    kinds = [a.element_arrangement if isinstance(a, SpyreTensorLayout) else a for a in arrangements]
    flags = [False] * len(kinds) if broadcast is None else list(broadcast)
    if len(flags) != len(kinds):
        raise ValueError(f"is_ea_compatible: {len(kinds)} operands, and {len(flags)} words on broadcasting")
    if len(set(kinds)) <= 1:
        return True
    special = set(kinds) - {ElementArrangement.STANDARD}
    if len(special) != 1 or ElementArrangement.EXX2 in special:
        return False
    return all(flag for kind, flag in zip(kinds, flags, strict=True) if kind == ElementArrangement.STANDARD)


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
