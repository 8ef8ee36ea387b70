"""The passes over a kernel's description, in order; each can be switched off and leaves its result in SPYRE_DUMP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ... import _C
from .core_division import core_division
from .program import Access, Buffer, CardOp, CardProgram, Number
from .scratchpad import scratchpad
from .stickify import stickify


@dataclass(frozen=True)
class Pass:
    """`run` changes the program in place; without it, the program stays as it is."""

    name: str
    run: Callable[[CardProgram], None]


PASSES = (Pass("stickify", stickify), Pass("core_division", core_division), Pass("scratchpad", scratchpad))


def is_on(name: str) -> bool:
    """Whether a pass runs: SPYRE_COMPILE_PASSES names those that do not, LX_PLANNING=0 leaves scratchpads out."""
    listed = [item for item in _C.environment_value("SPYRE_COMPILE_PASSES").split(",") if item]
    unknown = [item for item in listed if item.removeprefix("-") not in {p.name for p in PASSES} or item[0] != "-"]
    if unknown:
        known = ", ".join(f"-{p.name}" for p in PASSES)
        raise ValueError(f"SPYRE_COMPILE_PASSES: no pass to switch off with {unknown[0]!r}; expected some of {known}")
    return f"-{name}" not in listed and (name != "scratchpad" or bool(_C.environment_value("LX_PLANNING")))


def run_passes(program: CardProgram, dump: Callable[[str, str], object] = lambda _name, _text: None) -> None:
    """All that are on; `dump(pass name, text)` gets the program after each one."""
    for step in PASSES:
        if is_on(step.name):
            step.run(program)
            dump(step.name, text_of(program))


def text_of(program: CardProgram) -> str:
    """A line for every buffer, then one for every operation."""
    lines = [f"kernel {program.name}" + "".join(f", {symbol} = {value}" for symbol, value in program.symbols.items())]
    lines += [_buffer_text(buffer) for buffer in program.buffers]
    lines += [f"  {_op_text(program, op)}" for op in program.ops]
    lines += [f"  # {note}" for note in program.notes]
    if program.lx_used:
        lines.append(f"  # {program.lx_used} bytes of every scratchpad")
    return "\n".join(lines) + "\n"


def _buffer_text(buffer: Buffer) -> str:
    layout, device = buffer.layout, buffer.layout.device_layout
    tiles = f"device {device.device_size} by {device.stride_map}" if device is not None else "no form on the card"
    place = "" if buffer.lx is None else f", lx +{buffer.lx}"
    return f"  {buffer.name}: {layout.dtype}{list(layout.size)} by {list(layout.stride)}, {tiles}{place}"


def _op_text(program: CardProgram, op: CardOp) -> str:
    def operand(arg: Access | Number) -> str:
        return str(arg.value) if isinstance(arg, Number) else program.buffers[arg.buffer].name

    loops = ", ".join(f"{extent}" + (f"/{split}" if split > 1 else "") + ("+" if loop in op.reduced else "")
                      for loop, (extent, split) in enumerate(zip(op.loops, op.splits, strict=True)))  # fmt: skip
    inputs = ", ".join(map(operand, op.inputs))
    return f"{operand(op.output)} = {op.name}.{op.dtype}({inputs}) over [{loops}] on {op.cores} cores"
