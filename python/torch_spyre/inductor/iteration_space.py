"""The loops of one body, such that every index is an offset plus a stride for each loop.

Reshapes leave indices like 8*(x // 4) + x % 4. They are affine in the digits of x: a loop is split wherever an index
divides by a part of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import sympy
from torch._inductor.virtualized import V
from torch.utils._sympy.functions import FloorDiv, Mod, ModularIndexing, PythonMod

_DIVISIONS = (FloorDiv, ModularIndexing, Mod, PythonMod)

Window = tuple[sympy.Expr, tuple[sympy.Expr, ...]]  # offset, strides


class NotAffineError(Exception):
    """An index that no splitting of loops makes affine."""


@dataclass(frozen=True)
class Loop:
    """A loop of the body as Inductor has it."""

    symbol: sympy.Symbol
    size: sympy.Expr
    reduces: bool


@dataclass(frozen=True)
class Digit:
    """A part of a loop: the loop's symbol is the sum of symbol * place over its digits."""

    symbol: sympy.Symbol
    size: sympy.Expr
    place: sympy.Expr


class IterationSpace:
    """Digits of all loops, in order; the dimensions of every operation of the body."""

    def __init__(self, loops: Sequence[Loop], indices: Iterable[sympy.Expr]) -> None:
        self._ranges = {loop.symbol: loop.size for loop in loops}
        divisions = [d for index in indices for d in self._simplified(index).atoms(*_DIVISIONS)]
        self._digits = {loop.symbol: _split(loop, divisions) for loop in loops}
        self._dims = [digit for loop in loops for digit in self._digits[loop.symbol]]
        self.sizes = tuple(digit.size for digit in self._dims)
        reducing = [loop.reduces for loop in loops for _ in self._digits[loop.symbol]]
        self.reduced = tuple(dim for dim, reduces in enumerate(reducing) if reduces)
        self.kept = tuple(dim for dim, reduces in enumerate(reducing) if not reduces)
        self._windows: dict[sympy.Expr, Window] = {}  # by index: bodies repeat them

    def window(self, index: sympy.Expr) -> Window:
        """Offset and strides of an index in the loops' symbols. Raises NotAffineError."""
        if index not in self._windows:
            self._windows[index] = self._found(index)
        return self._windows[index]

    def _found(self, index: sympy.Expr) -> Window:
        rest = sympy.expand(self._in_digits(self._simplified(index)))
        strides = []
        for dim in self._dims:
            stride = rest.coeff(dim.symbol) if dim.symbol in rest.free_symbols else sympy.S.Zero
            strides.append(stride)
            if stride != 0:
                rest = sympy.expand(rest - stride * dim.symbol)
        symbols = {dim.symbol for dim in self._dims}
        if any(expression.free_symbols & symbols for expression in (rest, *strides)):
            raise NotAffineError(str(index))
        return rest, tuple(strides)

    def dense(self) -> tuple[sympy.Expr, ...]:
        """Row-major strides over the space."""
        return _row_major(self.sizes, range(len(self.sizes)))

    def dense_kept(self) -> tuple[sympy.Expr, ...]:
        """Row-major strides over the dimensions that no reduction removes, 0 over the others."""
        return _row_major(self.sizes, self.kept)

    def _simplified(self, index: sympy.Expr) -> sympy.Expr:
        return V.graph.sizevars.simplify_with_ranges(sympy.sympify(index), self._ranges)

    def _in_digits(self, index: sympy.Expr) -> sympy.Expr:
        parts = {d: self._part(d) for d in index.atoms(*_DIVISIONS)}
        whole = {symbol: sum(d.symbol * d.place for d in digits) for symbol, digits in self._digits.items()}
        return index.xreplace(parts).xreplace(whole)

    def _part(self, division: sympy.Expr) -> sympy.Expr:
        """The digits that a division or a remainder keeps."""
        symbol, low, high = _range_of(division)
        if symbol not in self._digits:
            return division
        digits = self._digits[symbol]
        places = [*(digit.place for digit in digits), self._ranges[symbol]]
        if any(place is not None and _find(places, place) is None for place in (low, high)):
            raise NotAffineError(str(division))
        kept = [d for d in digits if _holds(d.place, low) and (high is None or not _holds(d.place, high))]
        return sympy.Add(*(d.symbol * FloorDiv(d.place, low) for d in kept))


def _row_major(sizes: Sequence[sympy.Expr], dims: Sequence[int]) -> tuple[sympy.Expr, ...]:
    strides: list[sympy.Expr] = [sympy.S.Zero] * len(sizes)
    step = sympy.S.One
    for dim in reversed(dims):
        strides[dim] = step
        step = step * sizes[dim]
    return tuple(strides)


def _range_of(division: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr, sympy.Expr | None]:
    """What is divided, the place of the lowest digit that stays, and the place above the highest."""
    if isinstance(division, FloorDiv):
        base, divisor = division.args
        return base, divisor, None
    if isinstance(division, ModularIndexing):
        base, divisor, modulus = division.args
        return base, divisor, divisor * modulus
    base, modulus = division.args
    return base, sympy.S.One, modulus


def _find(places: Iterable[sympy.Expr], wanted: sympy.Expr) -> sympy.Expr | None:
    return next((place for place in places if sympy.expand(place - wanted) == 0), None)


def _holds(place: sympy.Expr, low: sympy.Expr) -> bool:
    """Whether a digit's place is `low` or above: places divide each other."""
    return bool(V.graph.sizevars.statically_known_multiple_of(place, low))


def _split(loop: Loop, divisions: Iterable[sympy.Expr]) -> list[Digit]:
    """Digits, the highest first. Places must divide each other; those that do not are left to NotAffineError."""
    sizevars = V.graph.sizevars
    places = {sympy.S.One}
    for division in divisions:
        symbol, low, high = _range_of(division)
        if symbol == loop.symbol:
            places |= {low} if high is None else {low, high}
    ordered = sorted(places, key=lambda place: sizevars.optimization_hint(place, fallback=1))
    kept = [ordered[0]]
    for place in ordered[1:]:
        if sizevars.statically_known_multiple_of(place, kept[-1]) and sizevars.statically_known_multiple_of(
            loop.size, place
        ):
            kept.append(place)
    tops = [*kept[1:], loop.size]
    digits = []
    for level, (place, top) in enumerate(zip(kept, tops, strict=True)):
        size = FloorDiv(top, place)
        if size != 1 or len(kept) == 1:
            digits.append(Digit(sympy.Symbol(f"{loop.symbol}_{level}", integer=True, nonnegative=True), size, place))
    return digits[::-1]
