"""Which operators a plan may call: those of PyTorch that run on the card and take nothing but values."""

from __future__ import annotations

import functools
import re

import torch

from .._engine import engine
from .errors import PlanError

__all__ = ["name_of", "operator_named"]

_NAME = re.compile(r"aten::(\w+)(?:\.(\w+))?")
# They change what a tensor is, not what it holds.
_OWNERS = frozenset(["set_", "resize_", "record_stream", "_resize_output_", "resize_as_"])
_KERNELS = ("PrivateUse1", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")
_FOREIGN = ("Storage", "Stream", "Generator", "AnyEnumType", "__torch__", "Future", "Any")


def name_of(op: torch._ops.OpOverload) -> str:
    """As plans write it: "aten::mm", "aten::mm.out"."""
    return op._schema.name + (f".{op._schema.overload_name}" if op._schema.overload_name else "")


@functools.cache
def operator_named(name: str, where: str = "op") -> torch._ops.OpOverload:
    """The operator. Raises PlanError for one that no plan calls."""
    engine()  # registers the kernels that are asked for here
    match = _NAME.fullmatch(name)
    op = None
    if match is not None and match[1] not in _OWNERS:
        packet = getattr(torch.ops.aten, match[1], None)
        op = getattr(packet, match[2] or "default", None)
    if not isinstance(op, torch._ops.OpOverload) or not _runs_on_card(op):
        raise PlanError.at(where, "an operator of PyTorch that runs on the card", name)
    return op


def _runs_on_card(op: torch._ops.OpOverload) -> bool:
    """Not what falls back to the host, what a plan needs no step for (views), or what takes more than values."""
    schema = op._schema
    views = any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns)
    values = not any(name in str(arg.type) for arg in schema.arguments for name in _FOREIGN if arg.name != "generator")
    files = any("file" in arg.name for arg in schema.arguments)
    kernels = any(torch._C._dispatch_has_kernel_for_dispatch_key(name_of(op), key) for key in _KERNELS)
    return values and not views and not files and kernels
