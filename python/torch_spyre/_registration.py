"""The calls by which PyTorch learns of the device."""

from __future__ import annotations

import functools

import torch


@functools.cache
def register() -> None:
    """Names the backend, hangs torch.spyre, and gives tensors and modules their .spyre() methods. Once."""
    from . import _hooks  # noqa: F401  (loading it registers hooks, guard and allocator)

    torch.utils.rename_privateuse1_backend("spyre")
    from . import device

    torch._register_device_module("spyre", device)
    torch.utils.generate_methods_for_privateuse1_backend(for_tensor=True, for_module=True, for_storage=True)
