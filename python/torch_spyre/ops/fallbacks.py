"""Operators that run on the host: the warning, and which did.

`SPYRE_FALLBACK=warn` or `torch.spyre.config(fallback="warn")` warns once for each operator, `error` forbids it.
"""

from __future__ import annotations

import sys

__all__ = ["FallbackWarning", "fallback_ops"]


class FallbackWarning(UserWarning):
    """An operator has no kernel on the device, and runs on the host."""


def fallback_ops() -> dict[str, int]:
    """Operators that have run on the host since torch.spyre.reset_stats(), and how often. Starts nothing."""
    if "torch_spyre._C" not in sys.modules:
        return {}
    from ..stats import stats

    return dict(stats()["fallbacks"])
