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
    extents = dict.fromkeys(_extents(spec))
    expressions = [extent for extent in extents if isinstance(extent, str)]
    constants = [extent for extent in extents if isinstance(extent, int)]
    table: list[Extent] = [*expressions, *constants]
    places = {extent: place for place, extent in enumerate(table)}
    temporaries = [(t.dtype, [places[size] for size in t.sizes]) for t in spec.temporaries]
    parts = [part for op in spec.ops for arg in op.args for part in parts_of(arg)]
    numbers = list(dict.fromkeys(part.expression for part in parts if isinstance(part, SizeArg)))
    used = dict.fromkeys(arg for op in spec.ops for arg in op.args if isinstance(arg, HostOp))
    computed = {number: place for place, number in enumerate(used)}
    steps = [_step(op, places, numbers, computed) for op in spec.ops]
    formulas = [_formula(number, numbers) for number in computed]
    integers = [0] * len(expressions) + constants
    text = (spec.name, list(spec.on_device), integers, len(expressions), len(numbers), formulas, temporaries, steps)
    kernel = engine().prepare_kernel(text)
    kernel.spec = spec  # for torch_spyre.plans, which writes it down
    return _with_numbers(kernel, spec.symbols, [*expressions, *numbers]) if spec.symbols else kernel


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


def _step(op: OpSpec, places: dict[Extent, int], numbers: list[str], computed: dict[HostOp, int]) -> tuple[Any, ...]:
    """The fields in the order in which bind_compiled.cpp reads them."""
    sizes = [places[size] for size in op.iteration_space]
    inputs = [
        ("formula", computed[arg]) if isinstance(arg, HostOp) else _input(arg, places, numbers) for arg in op.args
    ]
    mask = sum(1 << dim for dim in op.reduced)
    return op.op, op.compute, op.result, op.may_fault, sizes, mask, inputs, _view(op.output, places)


def _view(arg: TensorArg, places: dict[Extent, int]) -> tuple[Any, ...]:
    return arg.buffer, arg.dtype, places[arg.offset], [places[stride] for stride in arg.strides]


def _input(arg: Arg, places: dict[Extent, int], numbers: list[str]) -> tuple[Any, ...]:
    if isinstance(arg, TensorArg):
        return ("view", *_view(arg, places))
    if isinstance(arg, IotaArg):
        return "iota", places[arg.offset], [places[stride] for stride in arg.strides]
    if isinstance(arg, HostArg):
        return "host", arg.buffer
    if isinstance(arg, SizeArg):
        return "call", numbers.index(arg.expression)
    assert isinstance(arg, ConstantArg)
    return "number", arg.value


def _formula(number: HostOp, numbers: list[str]) -> tuple[list[Any], list[Any]]:
    """Leaves and steps. A leaf has the type that its reader computes in."""
    operations = list(dict.fromkeys(part for part in parts_of(number) if isinstance(part, HostOp)))
    leaves = list(dict.fromkeys((arg, op.compute) for op in operations for arg in op.args if not isinstance(arg, HostOp)))

    def place(arg: Arg, dtype: str) -> int:
        return len(leaves) + operations.index(arg) if isinstance(arg, HostOp) else leaves.index((arg, dtype))

    steps = [(op.op, op.compute, op.result, [place(arg, op.compute) for arg in op.args]) for op in operations]
    return [(*_input(arg, {}, numbers), dtype) for arg, dtype in leaves], steps
