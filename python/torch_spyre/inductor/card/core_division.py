"""Core division: over how many of the card's cores (SENCORES) each loop of each operation is divided.

The planners are the card's (spyre/device_sim/work_division.h), which divide the products of launch plans, too. A
product is divided by its cost; everything else first as much as each tensor's span per core demands, then the output's
loops from the longest, then one reduction.
"""

from __future__ import annotations

from ... import _C
from .program import PRODUCT, Access, CardOp, CardProgram, torch_type


def core_division(program: CardProgram) -> None:
    """Sets the splits of all operations. Raises NotImplementedError if a tensor cannot be divided enough."""
    for op in program.ops:
        if op.name == PRODUCT:
            shared = isinstance(right := op.inputs[1], Access) and right.strides[0] == 0
            batch, rows, columns, inner = op.loops
            op.splits = tuple(_C.divide_product(batch, rows, columns, inner, shared))
        elif op.loops:
            loops = [(_units(program, op, loop), loop in op.reduced, False) for loop in range(len(op.loops))]
            op.splits = tuple(_C.divide_loops(loops, [_walk(program, a) for a in op.accesses()]))


def _units(program: CardProgram, op: CardOp, loop: int) -> int:
    """A loop that is some tensor's stick counts in sticks, of the most elements."""
    lanes = [layout.elems_per_stick() for a in op.accesses()
             if program.stick_loop(a) == loop and (layout := program.layout(a).device_layout)]  # fmt: skip
    return -(-op.loops[loop] // max(lanes, default=1))


def _walk(program: CardProgram, access: Access) -> list[tuple[int, int]]:
    """For each device dimension, the outermost first: which loop walks it, and how many bytes a step goes."""
    layout = program.layout(access)
    device = layout.device_layout
    if device is None:
        bytes_of = torch_type(layout.dtype).itemsize
        by_stride = sorted(enumerate(access.strides), key=lambda walk: -walk[1])
        return [(loop, stride * bytes_of) for loop, stride in by_stride if stride > 0]
    element = 128 // device.elems_per_stick()
    walk = []
    for stride, step in list(zip(device.stride_map, device.device_strides(), strict=True))[:-1]:
        loop = _loop_with(program, access, stride)
        if loop is not None:
            walk.append((loop, step * element))
    return walk


def _loop_with(program: CardProgram, access: Access, stride: int) -> int | None:
    """The loop of a host stride; a stride of one whole stick is the stick loop's."""
    if stride in access.strides and stride > 0:
        return access.strides.index(stride)
    device, loop = program.layout(access).device_layout, program.stick_loop(access)
    if device is None or loop is None:
        return None
    return loop if stride == access.strides[loop] * device.elems_per_stick() else None
