"""Integers of the loops that are not affine, such as (x + 3) % 4, by operations."""

from __future__ import annotations

import functools
from typing import Any

import sympy
import torch
from torch.utils._sympy.functions import FloorDiv, Max, Min, Mod, ModularIndexing, PythonMod

# sympy's operator -> Inductor's op. Divisors are positive.
_OPS: dict[Any, str] = {
    sympy.Add: "add",
    sympy.Mul: "mul",
    FloorDiv: "floordiv",
    Mod: "remainder",
    PythonMod: "remainder",
    Min: "minimum",
    Max: "maximum",
}


class IndexArithmetic:
    """Evaluates index expressions through the ops of a handler. Confined to one expression."""

    def __init__(self, handler: Any) -> None:
        self._handler = handler

    def evaluate(self, expr: sympy.Expr) -> Any:
        """A value of type int64."""
        if isinstance(expr, (sympy.Symbol, sympy.Integer)):
            return self._handler.index_expr(expr, torch.int64)
        if isinstance(expr, ModularIndexing):
            base, divisor, modulus = map(self.evaluate, expr.args)
            return self._handler.remainder(self._handler.floordiv(base, divisor), modulus)
        if isinstance(expr, sympy.Abs):
            return self._handler.abs(self.evaluate(expr.args[0]))
        for kind, name in _OPS.items():
            if isinstance(expr, kind):
                return functools.reduce(getattr(self._handler, name), map(self.evaluate, expr.args))
        raise NotImplementedError(f"the index expression {expr}")
