"""The calls by which PyTorch learns of the device."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from ._hooks import SpyreTensorLayout


def device_tensor_layout(self: torch.Tensor) -> SpyreTensorLayout | None:
    """How the tensor lies in the card's memory; None if it is not there."""
    if self.device.type != "spyre":
        return None
    from .layouts import layout_of

    return layout_of(self)


@functools.cache
def register() -> None:
    """Names the backend, hangs torch.spyre, and gives tensors and modules their .spyre() methods. Once."""
    from . import _hooks  # noqa: F401  (loading it registers hooks, guard and allocator)
    from .printing import register_printing
    from .sharing import register_sharing

    torch.utils.rename_privateuse1_backend("spyre")
    from . import device

    torch._register_device_module("spyre", device)
    register_sharing()
    register_printing()
    torch.utils.generate_methods_for_privateuse1_backend(for_tensor=True, for_module=True, for_storage=True)
    torch.Tensor.device_tensor_layout = device_tensor_layout  # type: ignore[attr-defined]
