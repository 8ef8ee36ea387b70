"""A KernelSpec for readers: one line an operation."""

from __future__ import annotations

from .kernel_spec import Arg, ConstantArg, HostArg, HostOp, IotaArg, KernelSpec, OpSpec, SizeArg, TensorArg

__all__ = ["argument_text", "kernel_text"]


def kernel_text(spec: KernelSpec) -> str:
    """`%0 = mul.float32(x[8, 1], 2.0) over [4, 8]`, and so on."""
    lines = [f"kernel {spec.name}({', '.join((*spec.arguments, *spec.symbols))})"]
    for op in spec.ops:
        args = ", ".join(argument_text(spec, arg) for arg in op.args)
        reduced = f" reducing {list(op.reduced)}" if op.reduced else ""
        space = ", ".join(map(str, op.iteration_space))
        lines.append(f"  {argument_text(spec, op.output)} = {_called(op)}({args}) over [{space}]{reduced}")
    return "\n".join(lines) + "\n"


def argument_text(spec: KernelSpec, arg: Arg) -> str:
    """One argument of an operation."""
    if isinstance(arg, ConstantArg):
        return repr(arg.value)
    if isinstance(arg, SizeArg):
        return arg.expression
    if isinstance(arg, HostArg):
        return f"{_buffer(spec, arg.buffer)}.item()"
    if isinstance(arg, HostOp):
        return f"{_called(arg)}({', '.join(argument_text(spec, part) for part in arg.args)})"
    strides = ", ".join(map(str, arg.strides))
    offset = f"{arg.offset} + " if arg.offset != 0 else ""
    if isinstance(arg, IotaArg):
        return f"iota({offset}[{strides}])"
    assert isinstance(arg, TensorArg)
    return f"{_buffer(spec, arg.buffer)}[{offset}{strides}]"


def _called(op: OpSpec | HostOp) -> str:
    types = op.compute if op.compute == op.result else f"{op.compute}->{op.result}"
    return f"{op.op}.{types}"


def _buffer(spec: KernelSpec, buffer: int) -> str:
    count = len(spec.arguments)
    return spec.arguments[buffer] if buffer < count else f"%{buffer - count}"
