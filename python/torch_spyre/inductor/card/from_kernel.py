"""A KernelSpec with its sizes filled in: where the passes begin. Inputs lie as given, all else as the card chooses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch

from ..._hooks import SpyreTensorLayout
from ..kernel_spec import Arg, ConstantArg, Extent, HostArg, HostOp, IotaArg, KernelSpec, OpSpec, SizeArg, TensorArg
from ..kernel_text import argument_text
from .program import Access, Buffer, CardOp, CardProgram, FixedTiledLayout, Number

#: Size and strides of an argument.
Shape = tuple[Sequence[int], Sequence[int]]
#: Of arguments that have a chosen one.
Layouts = Mapping[str, SpyreTensorLayout]


def card_program(
    spec: KernelSpec, symbols: Mapping[str, int], shapes: Mapping[str, Shape], layouts: Layouts | None = None
) -> CardProgram:
    """`symbols`: what the kernel's symbols stand for; `shapes`: of its arguments that are on the device."""
    names = {**symbols, "math": math, "torch": torch}

    def number(extent: Extent) -> int:
        return extent if isinstance(extent, int) else int(eval(extent, dict(names)))

    def access(arg: TensorArg) -> Access:
        return Access(arg.buffer, number(arg.offset), tuple(map(number, arg.strides)))

    def operand(arg: Arg) -> Access | Number:
        if isinstance(arg, TensorArg):
            return access(arg)
        if isinstance(arg, ConstantArg):
            return Number(arg.value)
        if isinstance(arg, SizeArg):
            return Number(arg.expression)
        if isinstance(arg, HostArg):
            return Number(spec.arguments[arg.buffer])
        if isinstance(arg, HostOp):
            return Number(argument_text(spec, arg))
        assert isinstance(arg, IotaArg)
        return Number("iota")

    def card_op(op: OpSpec) -> CardOp:
        loops = tuple(map(number, op.iteration_space))
        inputs = [operand(arg) for arg in op.args]
        return CardOp(op.op, op.compute, loops, op.reduced, inputs, access(op.output), (1,) * len(loops))

    ops = [card_op(op) for op in spec.ops]
    buffers = [_argument(spec, place, shapes, layouts or {}) for place in range(len(spec.arguments))]
    for temporary in spec.temporaries:
        size = [number(extent) for extent in temporary.sizes]
        place = len(buffers)
        shape = _as_first_written(place, ops, size)
        buffers.append(
            Buffer(f"%{place - len(spec.arguments)}", FixedTiledLayout.own_choice(temporary.dtype, *shape), True)
        )
    return CardProgram(spec.name, dict(symbols), buffers, ops)


def _argument(spec: KernelSpec, place: int, shapes: Mapping[str, Shape], layouts: Layouts) -> Buffer:
    name = spec.arguments[place]
    dtypes = [arg.dtype for op in spec.ops for arg in (*op.args, op.output)
              if isinstance(arg, TensorArg) and arg.buffer == place]  # fmt: skip
    size, stride = shapes.get(name, ((), ()))
    dtype = dtypes[0] if dtypes else "float32"
    return Buffer(name, FixedTiledLayout.of_input(dtype, size, stride, layouts.get(name)), False)


def _as_first_written(place: int, ops: Sequence[CardOp], size: Sequence[int]) -> Shape:
    """A temporary's dimensions are the loops of the operation that writes it first, as far as they walk it."""
    op = next((op for op in ops if op.output.buffer == place), None)
    if op is None:
        return size, _dense(size)
    dims = sorted(((stride, extent) for extent, stride in zip(op.loops, op.output.strides, strict=True)
                   if stride != 0), reverse=True)  # fmt: skip
    whole = math.prod(extent for _, extent in dims) == math.prod(size)
    return ([e for _, e in dims], [s for s, _ in dims]) if whole else (size, _dense(size))


def _dense(size: Sequence[int]) -> list[int]:
    strides = [1] * len(size)
    for dim in range(len(size) - 1, 0, -1):
        strides[dim - 1] = strides[dim] * size[dim]
    return strides
