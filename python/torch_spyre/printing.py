"""What print() shows of a tensor is read at once: one flush and one copy, not one for each element.

PyTorch's printer reads elements one by one, and does arithmetic on them to choose a width. It gets a tensor on the
CPU instead, which holds at least what it will look at.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

import torch
from torch import _tensor_str

EIGHT_BITS = {torch.float8_e5m2, torch.float8_e5m2fnuz, torch.float8_e4m3fn, torch.float8_e4m3fnuz}
LARGEST = 1 << 32  # bytes of address space that a stand-in may take; only its edges take memory


def edges(size: int, count: int) -> list[tuple[slice, slice]]:
    """Where the printed elements of a dimension are: in the tensor, and in its summary()."""
    if size <= 2 * count:
        return [(slice(None), slice(None))]
    return [(slice(0, count), slice(0, count)), (slice(size - count, size), slice(count, 2 * count))]


def summary(tensor: torch.Tensor, count: int) -> torch.Tensor:
    """The first and last elements of each dimension that is cut."""
    for dim, size in enumerate(tensor.shape):
        if size > 2 * count:
            tensor = torch.cat((tensor.narrow(dim, 0, count), tensor.narrow(dim, size - count, count)), dim)
    return tensor


def on_host(tensor: torch.Tensor) -> torch.Tensor:
    """A CPU tensor that is printed as this one is. Waits for the device."""
    options = _tensor_str.PRINT_OPTS
    if tensor.dtype in EIGHT_BITS:
        tensor = tensor.half()  # as the printer does
    if tensor.numel() <= options.threshold:
        return tensor.cpu()
    if tensor.numel() * tensor.element_size() > LARGEST:
        return tensor
    try:
        whole = torch.empty(tensor.shape, dtype=tensor.dtype, device="cpu")
    except RuntimeError:  # no room for it
        return tensor
    seen = summary(tensor.resolve_conj().resolve_neg(), options.edgeitems).cpu()
    for places in itertools.product(*(edges(size, options.edgeitems) for size in tensor.shape)):
        whole[tuple(there for there, _ in places)] = seen[tuple(here for _, here in places)]
    return whole


def read_at_once(show: Callable[[torch.Tensor, int], str]) -> Callable[[torch.Tensor, int], str]:
    """PyTorch's printer of a tensor's elements, which gets those of the device on the host."""

    @functools.wraps(show)
    def shown(tensor: torch.Tensor, indent: int) -> str:
        return show(on_host(tensor) if tensor.device.type == "spyre" and tensor.numel() else tensor, indent)

    return shown


def register_printing() -> None:
    """Once."""
    _tensor_str._tensor_str = read_at_once(_tensor_str._tensor_str)
