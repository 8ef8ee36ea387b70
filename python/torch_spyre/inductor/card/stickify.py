"""Stickify: layouts go from arguments to temporaries, and what an operation wants otherwise is restickified before it.

The card computes stick by stick: the operands of one operation have the same loop in their sticks, or none at all (they
repeat along it); a product has k in the sticks of its left operand, n in those of its right one. An argument lies as it
lies; a temporary lies as its writer likes it best.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from .program import PRODUCT, RESTICKIFY, Access, Buffer, CardOp, CardProgram, FixedTiledLayout


def stickify(program: CardProgram) -> None:
    """Gives temporaries their layouts and places restickifies, the fewest elements in all for each operation."""
    written: set[int] = set()
    ops: list[CardOp] = []
    for op in program.ops:
        wanted, left = _wanted(program, op, written)
        op.inputs = [
            _fitted(program, op, arg, loop, ops) if isinstance(arg, Access) and loop is not None else arg
            for arg, loop in zip(op.inputs, wanted, strict=True)
        ]
        after = [] if left is None else _lay_output(program, op, left, written)
        written.add(op.output.buffer)
        ops += [op, *after]
    program.ops = ops


def _wanted(program: CardProgram, op: CardOp, written: set[int]) -> tuple[list[int | None], int | None]:
    """The loop that each input shall have in its sticks, and the one that the operation leaves there."""
    if op.name == PRODUCT:
        _, _, columns, inner = range(len(op.loops))
        return [inner, columns], columns
    loop = _stick_loop(program, op, written)
    return [loop] * len(op.inputs), loop


def _walks(access: Access, loop: int) -> bool:
    return access.strides[loop] != 0


def _stick_loop(program: CardProgram, op: CardOp, written: set[int]) -> int | None:
    """The loop whose operands need the fewest elements moved; the innermost one among equals."""
    fixed = [a for a in op.accesses() if a is not op.output or _is_fixed(program, a, written)]
    candidates = {loop for a in fixed if (loop := program.stick_loop(a)) is not None}
    if not candidates:
        return None
    return min(candidates, key=lambda loop: (_moved(program, fixed, loop), -loop))


def _is_fixed(program: CardProgram, access: Access, written: set[int]) -> bool:
    return not program.buffers[access.buffer].temporary or access.buffer in written


def _moved(program: CardProgram, accesses: Iterable[Access], loop: int) -> int:
    return sum(math.prod(program.layout(a).size) for a in accesses if not _fits(program, a, loop))


def _fits(program: CardProgram, access: Access, loop: int) -> bool:
    return not _walks(access, loop) or program.stick_loop(access) in (None, loop)


def _fitted(program: CardProgram, op: CardOp, access: Access, loop: int, ops: list[CardOp]) -> Access:
    """The access, or one of a restickified copy, which joins `ops`."""
    if _fits(program, access, loop):
        return access
    layout = program.layout(access)
    dim = next((d for d, stride in enumerate(layout.stride) if stride == access.strides[loop]), None)
    if dim is None:
        program.notes.append(f"{op.name}: {program.buffers[access.buffer].name} has no dimension for loop {loop}")
        return access
    source = program.buffers[access.buffer]
    place = _new_buffer(program, f"{source.name}.sticks{dim}", layout.with_stick(dim))
    whole = Access(access.buffer, 0, layout.stride)
    target = Access(place, 0, layout.stride)
    ops.append(CardOp(RESTICKIFY, layout.dtype, layout.size, (), [whole], target, (1,) * len(layout.size)))
    return Access(place, access.offset, access.strides)


def _lay_output(program: CardProgram, op: CardOp, loop: int, written: set[int]) -> list[CardOp]:
    """A temporary that is written for the first time lies as the operation leaves it; for all others, a restickify
    comes after it."""
    layout = program.layout(op.output)
    if loop in op.reduced:
        left = layout.with_stick(None)
    elif not _walks(op.output, loop) or op.output.strides[loop] not in layout.stride:
        return []
    else:
        left = layout.with_stick(layout.stride.index(op.output.strides[loop]))
    buffer = program.buffers[op.output.buffer]
    if buffer.temporary and op.output.buffer not in written:
        buffer.layout = left
        return []
    if program.stick_loop(op.output) == loop or math.prod(layout.size) == 1:
        return []
    target, kept = op.output, [d for d in range(len(op.loops)) if d not in op.reduced]
    op.output = Access(_new_buffer(program, f"{buffer.name}.left", left), target.offset, target.strides)
    source, target = (replace(a, strides=tuple(a.strides[d] for d in kept)) for a in (op.output, target))
    loops = tuple(op.loops[d] for d in kept)
    return [CardOp(RESTICKIFY, layout.dtype, loops, (), [source], target, (1,) * len(loops))]


def _new_buffer(program: CardProgram, name: str, layout: FixedTiledLayout) -> int:
    program.buffers.append(Buffer(name, layout, True))
    return len(program.buffers) - 1
