"""From a KernelSpec to what generated code calls: prepared once, launched at every call."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch

from .._engine import engine
from .kernel_spec import (
    Arg,
    ConstantArg,
    Extent,
    HostArg,
    HostOp,
    IotaArg,
    KernelSpec,
    OpSpec,
    SizeArg,
    TensorArg,
    parts_of,
)

__all__ = ["prepare_kernel"]


def prepare_kernel(spec: KernelSpec) -> Callable[..., None]:
    """The call of a kernel: launch(*tensors, *symbols)."""
    program = _Program(spec)
    kernel = engine().prepare_kernel(program.text())
    kernel.spec = spec  # for torch_spyre.plans, which writes it down
    return _with_numbers(kernel, spec.symbols, program.given()) if spec.symbols else kernel


def _with_numbers(launch: Callable[..., None], symbols: tuple[str, ...], expressions: list[str]) -> Callable[..., None]:
    """A call with the graph's symbols, as one with the numbers that the program wants. Both are text of our making."""
    text = f"lambda {', '.join(symbols)}: ({''.join(f'{expression}, ' for expression in expressions)})"
    numbers: Callable[..., tuple[float, ...]] = eval(text, {"math": math, "torch": torch})
    count = len(symbols)

    def launch_with_numbers(*arguments: Any) -> None:
        launch(*arguments[:-count], *numbers(*arguments[-count:]))

    return launch_with_numbers


def _extents(spec: KernelSpec) -> Iterator[Extent]:
    """All integers of a kernel, in order of appearance."""
    for temporary in spec.temporaries:
        yield from temporary.sizes
    for op in spec.ops:
        yield from op.iteration_space
        for arg in (*op.args, op.output):
            if isinstance(arg, (TensorArg, IotaArg)):
                yield arg.offset
                yield from arg.strides


class _Program:
    """A kernel as bind_compiled.cpp reads it: fields in order, integers by their places in a table."""

    def __init__(self, spec: KernelSpec) -> None:
        self._spec = spec
        extents = dict.fromkeys(_extents(spec))
        self._expressions = [extent for extent in extents if isinstance(extent, str)]
        self._constants = [extent for extent in extents if isinstance(extent, int)]
        self._places = {extent: place for place, extent in enumerate((*self._expressions, *self._constants))}
        args = list(dict.fromkeys(arg for op in spec.ops for arg in op.args))
        parts = dict.fromkeys(part for arg in args for part in parts_of(arg))
        self._numbers = list(dict.fromkeys(part.expression for part in parts if isinstance(part, SizeArg)))
        computed = [arg for arg in args if isinstance(arg, HostOp)]
        self._computed = {number: place for place, number in enumerate(computed)}

    def given(self) -> list[str]:
        """What comes with each call, as expressions in the symbols."""
        return [*self._expressions, *self._numbers]

    def text(self) -> tuple[Any, ...]:
        """All of it."""
        spec = self._spec
        table = [0] * len(self._expressions) + self._constants
        temporaries = [(t.dtype, [self._places[size] for size in t.sizes]) for t in spec.temporaries]
        formulas, steps = [*map(self._formula, self._computed)], [*map(self._step, spec.ops)]
        counts = len(self._expressions), len(self._numbers)
        return spec.name, list(spec.on_device), table, *counts, formulas, temporaries, steps

    def _step(self, op: OpSpec) -> tuple[Any, ...]:
        sizes = [self._places[size] for size in op.iteration_space]
        mask = sum(1 << dim for dim in op.reduced)
        inputs = [*map(self._input, op.args)]
        return op.op, op.compute, op.result, op.may_fault, sizes, mask, inputs, self._view(op.output)

    def _view(self, arg: TensorArg) -> tuple[Any, ...]:
        return arg.buffer, arg.dtype, self._places[arg.offset], [self._places[stride] for stride in arg.strides]

    def _input(self, arg: Arg) -> tuple[Any, ...]:
        if isinstance(arg, TensorArg):
            return ("view", *self._view(arg))
        if isinstance(arg, IotaArg):
            return "iota", self._places[arg.offset], [self._places[stride] for stride in arg.strides]
        if isinstance(arg, HostArg):
            return "host", arg.buffer
        if isinstance(arg, SizeArg):
            return "call", self._numbers.index(arg.expression)
        if isinstance(arg, HostOp):
            return "formula", self._computed[arg]
        assert isinstance(arg, ConstantArg)
        return "number", arg.value

    def _formula(self, number: HostOp) -> tuple[list[Any], list[Any]]:
        """Leaves and steps. A leaf has the type that its reader computes in."""
        operations = list(dict.fromkeys(part for part in parts_of(number) if isinstance(part, HostOp)))
        readings = [(arg, op.compute) for op in operations for arg in op.args if not isinstance(arg, HostOp)]
        leaves = list(dict.fromkeys(readings))

        def place(arg: Arg, dtype: str) -> int:
            return len(leaves) + operations.index(arg) if isinstance(arg, HostOp) else leaves.index((arg, dtype))

        steps = [(op.op, op.compute, op.result, [place(arg, op.compute) for arg in op.args]) for op in operations]
        return [(*self._input(arg), dtype) for arg, dtype in leaves], steps
