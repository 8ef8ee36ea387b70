"""One body of Inductor's loop IR as operations: the handler that its ops call."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy
import torch
from torch._inductor.ops_handler import DefaultHandler
from torch._inductor.virtualized import V

from .index_arithmetic import IndexArithmetic
from .iteration_space import IterationSpace, NotAffineError
from .kernel_builder import KernelBuilder, is_on_device, real_name
from .kernel_spec import Arg, ConstantArg, Extent, HostArg, IotaArg, OpSpec, SizeArg, TensorArg
from .op_names import NATIVE_TYPES, divides_integers, gives_truth, row_for

Types = tuple[torch.dtype, torch.dtype]  # of the computation, of its result

_REDUCTIONS = frozenset(["sum", "prod", "max", "min", "argmax", "argmin", "any"])


class NoProgramError(Exception):
    """An op of the loop IR for which there are no operations."""


@dataclass
class Value:
    """What an op of the body gives, as operand of later ones."""

    dtype: torch.dtype
    arg: Arg
    step: int | None = None  # the operation that writes it, while it may still be sent elsewhere
    reduced: bool = False  # has no reduced dimensions any more


class LoopProgram(DefaultHandler):
    """Turns the ops of one body into operations over one iteration space, in the body's order.

    Every op rounds to its type, as it does in eager code.
    """

    def __init__(self, builder: KernelBuilder, space: IterationSpace, written: set[str]) -> None:
        self._builder = builder
        self._space = space
        self._written = written

    # Memory.

    def load(self, name: str, index: sympy.Expr) -> Value:
        dtype = V.graph.get_dtype(name)
        real = real_name(name)
        if not is_on_device(real):
            return Value(dtype, HostArg(self._builder.buffer(real)))
        value = Value(dtype, self._window(real, dtype, index))
        # A later store of this body must not change what is read here.
        return self._emit("cast", (dtype, dtype), [value]) if real in self._written else value

    def store(self, name: str, index: sympy.Expr, value: Value, mode: str | None = None) -> None:
        if mode is not None:
            raise NoProgramError(f"a store with mode {mode!r}")
        dtype = V.graph.get_dtype(name)
        window = self._window(real_name(name), dtype, index)
        if value.step is not None and value.dtype == dtype:
            self._builder.redirect(value.step, self._fitted(value.step, window))
            value.arg, value.step = window, None
        else:
            self._append("cast", (value.dtype, dtype), [value], window)

    def reduction(self, dtype: torch.dtype, src_dtype: torch.dtype, reduction_type: str, value: Value) -> Value:
        if reduction_type not in _REDUCTIONS:
            raise NoProgramError(f"a reduction of kind {reduction_type!r}")
        space = self._space
        one = reduction_type.startswith("arg") and len(space.reduced) > 1
        if one:  # a position counts through all reduced dimensions: in a dense copy they are one
            value = self._emit("cast", (value.dtype, value.dtype), [value])
        source = self._in_memory(value)
        output = self._builder.temporary(dtype, [space.sizes[dim] for dim in space.kept])
        window = TensorArg(output, NATIVE_TYPES[dtype], 0, self._builder.extents(space.dense_kept()))
        compute = torch.bool if reduction_type == "any" else src_dtype
        sizes = self._builder.extents(space.sizes)
        types = NATIVE_TYPES[compute], NATIVE_TYPES[dtype]
        step = OpSpec(f"reduce.{reduction_type}", *types, sizes, (source,), window, space.reduced)
        self._builder.ops.append(self._with_reduced_as_one(step) if one else step)
        return Value(dtype, window, len(self._builder.ops) - 1, reduced=True)

    def store_reduction(self, name: str, index: sympy.Expr, value: Value) -> None:
        self.store(name, index, value)

    # Values that are no memory.

    def constant(self, value: Any, dtype: torch.dtype) -> Value:
        if isinstance(value, sympy.Expr):
            return self.index_expr(value, dtype)
        return Value(dtype, ConstantArg(_python_number(value, dtype)))

    def index_expr(self, expr: sympy.Expr, dtype: torch.dtype) -> Value:
        expr = sympy.sympify(expr)
        try:
            offset, strides = self._space.window(expr)
        except NotAffineError:
            return self.to_dtype(IndexArithmetic(self).evaluate(expr), dtype)
        if all(stride == 0 for stride in strides):
            number = offset.is_number
            return Value(
                dtype, ConstantArg(_python_number(offset, dtype)) if number else self._builder.size_arg(offset)
            )
        return Value(dtype, IotaArg(self._builder.extent(offset), self._builder.extents(strides)))

    value_expr = index_expr

    def load_seed(self, name: str, offset: Any) -> Value:
        return self.load(name, sympy.sympify(offset))

    def rand(self, seed: Value, offset: Value) -> Value:
        return self._random("random_unit_float32", torch.float32, seed, offset)

    def randn(self, seed: Value, offset: Value) -> Value:
        return self._random("random_normal_float32", torch.float32, seed, offset)

    def randint64(self, seed: Value, offset: Value, low: Value, high: Value) -> Value:
        return self._random("random_integer", torch.int64, seed, offset, low, self._difference(high, low))

    # Conversions.

    def to_dtype(self, x: Value, dtype: torch.dtype, src_dtype: Any = None, use_compute_types: bool = True) -> Value:
        if dtype == x.dtype:
            return x
        if isinstance(x.arg, ConstantArg):
            return Value(dtype, ConstantArg(_python_number(x.arg.value, dtype)))
        if isinstance(x.arg, SizeArg):
            return Value(dtype, x.arg)
        return self._emit("cast", (x.dtype, dtype), [x])

    def to_dtype_bitcast(self, x: Value, dtype: torch.dtype, src_dtype: torch.dtype) -> Value:
        if x.dtype.itemsize != dtype.itemsize:
            raise NoProgramError(f"{x.dtype} seen as {dtype}")
        return Value(dtype, dataclasses.replace(self._in_memory(x), dtype=NATIVE_TYPES[dtype]))

    def trunc_to_int(self, x: Value, dtype: torch.dtype) -> Value:
        return self.to_dtype(self._default("trunc", (x,), {}), dtype)

    def ceil_to_int(self, x: Value, dtype: torch.dtype) -> Value:
        return self.to_dtype(self._default("ceil", (x,), {}), dtype)

    def floor_to_int(self, x: Value, dtype: torch.dtype) -> Value:
        return self.to_dtype(self._default("floor", (x,), {}), dtype)

    def round_to_int(self, x: Value, dtype: torch.dtype) -> Value:
        return self.to_dtype(self._default("round", (x,), {}), dtype)

    def identity(self, x: Value) -> Value:
        return x

    def int_truediv(self, x: Value, y: Value) -> Value:
        result = torch.get_default_dtype()
        return self._emit("div", (result, result), [x, y])

    def where(self, condition: Value, x: Value, y: Value) -> Value:
        compute = _common_type([x, y])
        return self._emit("where", (compute, compute), [condition, x, y])

    def inline_asm_elementwise(self, *inputs: Value, asm: str, **_: Any) -> Value:
        """The device's own instructions are the rows of the op table (one_operation.py)."""
        return self._default(asm, inputs, {})

    def output(self, *args: Any) -> None:
        """End of the body."""

    def check_bounds(self, expr: sympy.Expr, size: sympy.Expr, lower: bool, upper: bool) -> None:
        """Indices of affine loads are in range by construction."""

    # All other ops: one operation each.

    def _default(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Value:
        if kwargs or not args or not all(isinstance(arg, Value) for arg in args):
            raise NoProgramError(f"the op {name!r}")
        compute = _common_type(args)
        row = row_for(name, compute)
        if row is None or row["arity"] != len(args):
            raise NoProgramError(f"the op {name!r} of {compute}")
        result = torch.bool if gives_truth(row) else compute
        faults = divides_integers(row, compute) and not isinstance(args[1].arg, ConstantArg)
        return self._emit(row["name"], (compute, result), args, faults)

    def _random(self, op: str, result: torch.dtype, seed: Value, *rest: Value) -> Value:
        position, *extra = rest
        stream = Value(torch.int64, ConstantArg(0))
        return self._emit(op, (torch.int64, result), [position, seed, stream, *extra])

    def _difference(self, x: Value, y: Value) -> Value:
        if isinstance(x.arg, ConstantArg) and isinstance(y.arg, ConstantArg):
            return Value(x.dtype, ConstantArg(x.arg.value - y.arg.value))
        return self._default("sub", (x, y), {})

    def _emit(self, op: str, types: Types, args: Sequence[Value], may_fault: bool = False) -> Value:
        """A value of its own, in a temporary over the whole space, or over what a reduction left of it."""
        space, reduced = self._space, any(arg.reduced for arg in args)
        dims = space.kept if reduced else range(len(space.sizes))
        result = types[1]
        buffer = self._builder.temporary(result, [space.sizes[dim] for dim in dims])
        strides = self._builder.extents(space.dense_kept() if reduced else space.dense())
        window = TensorArg(buffer, NATIVE_TYPES[result], 0, strides)
        self._append(op, types, args, window)
        if may_fault:
            self._builder.ops[-1] = dataclasses.replace(self._builder.ops[-1], may_fault=True)
        return Value(result, window, len(self._builder.ops) - 1, reduced)

    def _append(self, op: str, types: Types, args: Sequence[Value], output: TensorArg) -> None:
        sizes = self._builder.extents(self._space.sizes)
        compute, result = (NATIVE_TYPES[dtype] for dtype in types)
        step = OpSpec(op, compute, result, sizes, tuple(arg.arg for arg in args), output)
        self._builder.ops.append(self._over_kept(step) if any(arg.reduced for arg in args) else step)

    def _window(self, name: str, dtype: torch.dtype, index: sympy.Expr) -> TensorArg:
        offset, strides = self._space.window(index)
        builder = self._builder
        return TensorArg(builder.buffer(name), NATIVE_TYPES[dtype], builder.extent(offset), builder.extents(strides))

    def _in_memory(self, value: Value) -> TensorArg:
        if not isinstance(value.arg, TensorArg):
            value = self._emit("cast", (value.dtype, value.dtype), [value])
        assert isinstance(value.arg, TensorArg)
        return value.arg

    # Steps over other dimensions than the space's.

    def _over_kept(self, step: OpSpec) -> OpSpec:
        """A step on values that a reduction left: over the dimensions that it kept."""
        return _over(step, lambda values: tuple(values[dim] for dim in self._space.kept))

    def _with_reduced_as_one(self, step: OpSpec) -> OpSpec:
        """A reduction of a dense source whose reduced dimensions, which lie together, are one."""
        first, *others = self._space.reduced
        if others != list(range(first + 1, first + 1 + len(others))):
            raise NoProgramError(f"{step.op} over dimensions that lie apart")
        sizes = self._space.sizes
        whole = functools.reduce(lambda x, y: x * y, (sizes[dim] for dim in self._space.reduced))
        last = others[-1]
        merged = _over(step, lambda values: tuple(values[d] for d in range(len(values)) if not first <= d < last))
        space = (*merged.iteration_space[:first], self._builder.extent(whole), *merged.iteration_space[first + 1 :])
        return dataclasses.replace(merged, iteration_space=space, reduced=(first,))

    def _fitted(self, step: int, window: TensorArg) -> TensorArg:
        """A window over the whole space, for a step over fewer dimensions."""
        spec = self._builder.ops[step]
        if len(spec.iteration_space) == len(window.strides):
            return window
        if not spec.reduced:
            return _strides_of(window, lambda values: tuple(values[dim] for dim in self._space.kept))
        first, last = self._space.reduced[0], self._space.reduced[-1]
        return _strides_of(window, lambda v: tuple(v[d] for d in range(len(v)) if not first <= d < last))


def _over(step: OpSpec, choose: Any) -> OpSpec:
    """A step over the dimensions that `choose` takes from a tuple with an entry for each."""
    args = tuple(_strides_of(arg, choose) if isinstance(arg, (TensorArg, IotaArg)) else arg for arg in step.args)
    sizes: tuple[Extent, ...] = choose(step.iteration_space)
    return dataclasses.replace(step, iteration_space=sizes, args=args, output=_strides_of(step.output, choose))


def _strides_of(arg: Any, choose: Any) -> Any:
    return dataclasses.replace(arg, strides=choose(arg.strides))


def _common_type(values: Sequence[Value]) -> torch.dtype:
    """The type of the values that are no constants; those take it."""
    types = [v.dtype for v in values if not isinstance(v.arg, (ConstantArg, SizeArg))] or [v.dtype for v in values]
    return functools.reduce(torch.promote_types, types)


def _python_number(value: Any, dtype: torch.dtype) -> float | int | bool:
    if dtype == torch.bool:
        return bool(value)
    return float(value) if dtype.is_floating_point else int(value)
