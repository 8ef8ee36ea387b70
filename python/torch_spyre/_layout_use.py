"""Whether this process has named a device layout yet.

Before, no tensor can have one, and compiled code needs no guards on layouts; what was compiled until then ends with it.
"""

from __future__ import annotations

__all__ = ["UPSTREAM_TENSORS", "NoLayoutYet", "layouts_are_named", "no_layout_yet"]

# Names of torch_spyre.layout_tensors that `_C` has, too, as upstream's: to be known without importing that module.
UPSTREAM_TENSORS = frozenset(
    {
        "as_strided_with_layout",
        "copy_tensor",
        "fill_tensor",
        "get_spyre_tensor_layout",
        "reinterpret_tensor",
        "reinterpret_tensor_with_layout",
        "set_spyre_tensor_layout",
        "spyre_empty_with_layout",
    }
)


class NoLayoutYet:
    """Lives until the first layout is named; whoever depends on that keeps a weak reference. Immutable."""


_alive = [NoLayoutYet()]


def no_layout_yet() -> NoLayoutYet | None:
    """None: there may be tensors with a layout of their own."""
    return _alive[0] if _alive else None


def layouts_are_named() -> None:
    """Called by torch_spyre.layouts, without which nobody has a layout to give."""
    _alive.clear()
