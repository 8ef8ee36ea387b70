"""Calls of op_db that do not do on the device what they do on CPU, and why they cannot."""

from __future__ import annotations

from typing import NamedTuple

DERIVATIVES = ("gradient", "second gradient")


class Exclusion(NamedTuple):
    """Held to: an excluded call that works fails the test."""

    operator: str
    ways: tuple[str, ...]
    why: str
    types: tuple[str, ...] | None = None  # None: whatever the type


NO_LAYOUT = "compressed sparse tensors are not on the device"
LOST = "PyTorch loses results on their way to a tensor that is not contiguous"
EXCLUSIONS = [
    Exclusion("sparse.sampled_addmm", ("forward", "out", *DERIVATIVES), NO_LAYOUT),
    Exclusion("sparse.mm.reduce", ("forward", "gradient"), NO_LAYOUT),
    Exclusion(
        "nn.functional.scaled_dot_product_attention",
        ("second gradient",),
        "CPU's fused kernel has no second derivative; on the device there is one",
    ),
    Exclusion("fft.ihfft2", ("out",), LOST),
    Exclusion("fft.ihfftn", ("out",), LOST),
]
EXCLUDED = {(e.operator, way): e for e in EXCLUSIONS for way in e.ways}


def exclusion(way: str, name: str, dtype: str) -> Exclusion | None:
    found = EXCLUDED.get((name, way))
    return found if found and (found.types is None or dtype in found.types) else None
