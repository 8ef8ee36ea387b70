"""A KernelSpec for readers: one line an operation."""

from __future__ import annotations

from .kernel_spec import Arg, ConstantArg, HostArg, IotaArg, KernelSpec, SizeArg, TensorArg

__all__ = ["kernel_text"]


def kernel_text(spec: KernelSpec) -> str:
    """`%0 = mul.float32(x[8, 1], 2.0) over [4, 8]`, and so on."""
    lines = [f"kernel {spec.name}({', '.join((*spec.arguments, *spec.symbols))})"]
    for op in spec.ops:
        args = ", ".join(_arg(spec, arg) for arg in op.args)
        types = op.compute if op.compute == op.result else f"{op.compute}->{op.result}"
        reduced = f" reducing {list(op.reduced)}" if op.reduced else ""
        space = ", ".join(map(str, op.iteration_space))
        lines.append(f"  {_arg(spec, op.output)} = {op.op}.{types}({args}) over [{space}]{reduced}")
    return "\n".join(lines) + "\n"


def _arg(spec: KernelSpec, arg: Arg) -> str:
    if isinstance(arg, ConstantArg):
        return repr(arg.value)
    if isinstance(arg, SizeArg):
        return arg.expression
    if isinstance(arg, HostArg):
        return f"{_buffer(spec, arg.buffer)}.item()"
    strides = ", ".join(map(str, arg.strides))
    offset = f"{arg.offset} + " if arg.offset != 0 else ""
    if isinstance(arg, IotaArg):
        return f"iota({offset}[{strides}])"
    assert isinstance(arg, TensorArg)
    return f"{_buffer(spec, arg.buffer)}[{offset}{strides}]"


def _buffer(spec: KernelSpec, buffer: int) -> str:
    count = len(spec.arguments)
    return spec.arguments[buffer] if buffer < count else f"%{buffer - count}"
