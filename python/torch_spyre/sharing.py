"""Tensors sent to another process: cards are not shared between processes, so the numbers travel through the host."""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch
from torch.multiprocessing.reductions import reduce_storage

__all__ = ["register_sharing"]

Reduced = tuple[Callable[..., Any], tuple[Any, ...]]


def _to_card(host: torch.UntypedStorage, device: str) -> torch.UntypedStorage:
    return torch.UntypedStorage(host.nbytes(), device=device).copy_(host)


def _reduce(storage: torch.UntypedStorage) -> Reduced:
    """A copy in the memory that processes share, and how the other one puts it on its card."""
    if storage.device.type == "spyre":
        return _to_card, (storage.cpu(), str(storage.device))
    reduced: Reduced = reduce_storage(storage)
    return reduced


def register_sharing() -> None:
    """Teaches torch.multiprocessing's pickler the device's storages; all others go PyTorch's way."""
    ForkingPickler.register(torch.UntypedStorage, _reduce)
