"""PyTorch on a simulated IBM Spyre card: after `import torch`, device="spyre" works."""

from __future__ import annotations

from types import ModuleType


def _autoload() -> None:
    """Entry point of the group torch.backends: makes the device known, starts nothing."""
    from ._registration import register

    register()


def __getattr__(name: str) -> ModuleType:
    """The heavy module, loaded when it is first named."""
    if name == "_C":
        import importlib

        return importlib.import_module("torch_spyre._C")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# `import torch` calls _autoload() itself, also while this module is only half imported: it is defined above.
import torch  # noqa: E402, F401

_autoload()

from .config import config  # noqa: E402
from .stats import device_spec, op_table, reset_stats, stats  # noqa: E402

__all__ = ["config", "device_spec", "op_table", "reset_stats", "stats"]
