"""Upstream's helpers of torch_spyre._C for tensors and their layouts, in terms of what torch has.

A layout belongs to the memory of a tensor, and all its views share it.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ._engine import device_index, engine
from .layouts import SpyreTensorLayout, layout_of

__all__ = [
    "as_strided_with_layout",
    "copy_tensor",
    "fill_tensor",
    "get_spyre_tensor_layout",
    "reinterpret_tensor",
    "reinterpret_tensor_with_layout",
    "set_spyre_tensor_layout",
    "spyre_empty_with_layout",
]


def get_spyre_tensor_layout(tensor: torch.Tensor) -> SpyreTensorLayout:
    """The layout of the tensor's memory."""
    layout = layout_of(tensor)
    if layout is None:
        raise ValueError(f"get_spyre_tensor_layout: a tensor on {tensor.device} has no device layout")
    return layout


def set_spyre_tensor_layout(tensor: torch.Tensor, layout: SpyreTensorLayout) -> None:
    """Keeps the tensor in that layout from here on: its elements are copied over, and views made before stay apart."""
    if tensor.device.type != "spyre":
        raise ValueError(f"set_spyre_tensor_layout: a tensor on {tensor.device} has no device layout")
    if layout != layout_of(tensor):
        tensor.data = tensor.data.to(tensor.device, device_layout=layout)  # type: ignore[call-overload]


def spyre_empty_with_layout(
    size: Sequence[int], stride: Sequence[int], dtype: torch.dtype, layout: SpyreTensorLayout
) -> torch.Tensor:
    """A new tensor of the current card in that layout; `stride` is that of a contiguous one."""
    meant = torch.empty_strided(size, stride, dtype=dtype, device="meta")
    if not meant.is_contiguous():
        raise ValueError(
            f"spyre_empty_with_layout: strides {list(stride)}; a tensor in a layout is contiguous to torch"
        )
    tensor: torch.Tensor = engine().empty_with_layout(meant.size(), dtype, layout, device_index(None))
    return tensor


def reinterpret_tensor(
    tensor: torch.Tensor, size: Sequence[int], stride: Sequence[int], offset_increment: int = 0
) -> torch.Tensor:
    """A view of the tensor's memory for code that differentiates nothing."""
    return tensor.detach().as_strided(size, stride, tensor.storage_offset() + offset_increment)


def reinterpret_tensor_with_layout(
    tensor: torch.Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    offset_increment: int,
    layout: SpyreTensorLayout,
) -> torch.Tensor:
    """The same, for a caller who says in which layout the memory is; ValueError if it is in another one."""
    return _known_by(layout, tensor, reinterpret_tensor(tensor, size, stride, offset_increment))


def as_strided_with_layout(
    tensor: torch.Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None,
    layout: SpyreTensorLayout,
) -> torch.Tensor:
    """`Tensor.as_strided`, for a caller who says in which layout the memory is; ValueError if it is in another one."""
    return _known_by(layout, tensor, tensor.as_strided(size, stride, storage_offset))


def _known_by(layout: SpyreTensorLayout, tensor: torch.Tensor, view: torch.Tensor) -> torch.Tensor:
    kept = layout_of(tensor)
    if layout != kept:
        raise ValueError(
            f"a view has the layout of its memory, {kept}; got {layout}; copy to another one with"
            " tensor.to(device_layout=...)"
        )
    return view


def copy_tensor(source: torch.Tensor, target: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    """Copies all of `source` to `target`, wherever they are; the target."""
    return target.copy_(source, non_blocking)


def fill_tensor(tensor: torch.Tensor, value: float) -> torch.Tensor:
    """Sets the elements of the tensor, and none beside them; the tensor."""
    return tensor.fill_(value)
