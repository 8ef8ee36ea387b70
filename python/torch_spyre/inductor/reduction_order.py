"""The loops of a body in the order in which eager code has the dimensions.

Inductor puts the loops that reduce last. The order in which a sum adds depends on where its dimensions stand: to get
eager's bits, they go back to where the operator has them.
"""

from __future__ import annotations

from typing import Any

import sympy
import torch

from .iteration_space import Loop

_REDUCTIONS = frozenset(["sum", "mean", "amax", "amin", "argmax", "argmin", "any", "prod"])


def loops_of(buffer: Any, sizes: Any, variables: Any) -> list[Loop]:
    """Loops of a ComputedBuffer's default body."""
    outer, inner = (
        [Loop(variable, size, reduces) for variable, size in zip(names, extents, strict=True)]
        for names, extents, reduces in zip(variables, sizes, (False, True), strict=True)
    )
    return _as_operator(buffer, outer, inner) or [*outer, *inner]


def _as_operator(buffer: Any, outer: list[Loop], inner: list[Loop]) -> list[Loop] | None:
    """The loops by the dimensions of the operator's input, if some operator that reduces has those."""
    orders = (_by_dimension(node, outer, inner) for node in buffer.get_origins() if inner and _reduces(node))
    return next((order for order in orders if order is not None), None)


def _reduces(node: Any) -> bool:
    return isinstance(node.target, torch._ops.OpOverload) and _name(node.target) in _REDUCTIONS


def _name(op: torch._ops.OpOverload) -> str:
    return op._schema.name.removeprefix("aten::")


def _by_dimension(node: Any, outer: list[Loop], inner: list[Loop]) -> list[Loop] | None:
    shape = node.args[0].meta["val"].shape
    dims = node.args[1] if len(node.args) > 1 else None
    dims = [dims] if isinstance(dims, int) else dims
    reduced = {dim % len(shape) for dim in dims} if dims and len(shape) else set(range(len(shape)))
    left = {True: list(inner), False: list(outer)}
    loops = []
    for dim, size in enumerate(shape):
        if isinstance(size, int) and size == 1:
            continue
        candidates = left[dim in reduced]
        if not candidates or not _same(candidates[0].size, size):
            return None
        loops.append(candidates.pop(0))
    return loops if not left[True] and not left[False] else None


def _same(size: sympy.Expr, extent: int | torch.SymInt) -> bool:
    expression = extent.node.expr if isinstance(extent, torch.SymInt) else sympy.Integer(extent)
    return bool(sympy.expand(size - expression) == 0)
