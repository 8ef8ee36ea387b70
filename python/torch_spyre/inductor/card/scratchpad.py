"""Scratchpad planning: which temporaries stay in every core's LX, and where (not with LX_PLANNING=0).

The planner is the one of launch plans (spyre/lazy/scratchpad_plan.h). A temporary may stay if its writer and its
readers give every core the same part of it: cores do not see each other's scratchpads.
"""

from __future__ import annotations

import math

from ... import _C
from .program import Access, CardOp, CardProgram, torch_type


def scratchpad(program: CardProgram) -> None:
    """Places temporaries; those without a place stay in device memory."""
    uses = _uses(program)
    staying = [b for b, steps in uses.items() if len({_part(program, op, a) for _, op, a in steps}) == 1]
    program.notes += [f"{program.buffers[b].name}: core_div_mismatch" for b in uses if b not in staying]
    staying.sort(key=lambda buffer: uses[buffer][0][0])
    tenants = [_tenant(program, buffer, uses) for buffer in staying]
    offsets, program.lx_used = _C.plan_scratchpad(tenants)
    for buffer, offset in zip(staying, offsets, strict=True):
        program.buffers[buffer].lx = offset


Use = tuple[int, CardOp, Access]


def _uses(program: CardProgram) -> dict[int, list[Use]]:
    """By temporary, in order of steps."""
    uses: dict[int, list[Use]] = {}
    for step, op in enumerate(program.ops):
        for access in (op.output, *(a for a in op.inputs if isinstance(a, Access))):
            if program.buffers[access.buffer].temporary:
                uses.setdefault(access.buffer, []).append((step, op, access))
    return uses


def _part(program: CardProgram, op: CardOp, access: Access) -> tuple[int, ...]:
    """Into how many parts each dimension of the buffer goes; whole loops that do not walk it add copies."""
    layout = program.layout(access)
    loops = [program.loop_of(access, dim) for dim in range(len(layout.size))]
    walked = {loop for loop in loops if loop is not None}
    copies = math.prod(split for loop, split in enumerate(op.splits) if loop not in walked)
    return (*(1 if loop is None else op.splits[loop] for loop in loops), copies)


def _tenant(program: CardProgram, buffer: int, uses: dict[int, list[Use]]) -> tuple[int, int, int, bool]:
    first, op, access = uses[buffer][0]
    layout = program.layout(access)
    whole = math.prod(layout.size) * torch_type(layout.dtype).itemsize
    if layout.device_layout is not None:
        whole = layout.device_layout.nbytes
    divided = math.prod(_part(program, op, access)[:-1])
    return -(-whole // divided), first, uses[buffer][-1][0], _works_in_place(program, op)


def _works_in_place(program: CardProgram, op: CardOp) -> bool:
    """Whether an operation may write over any temporary that it reads: point by point, in elements of the same size."""
    read = [a for a in op.inputs if isinstance(a, Access) and program.buffers[a.buffer].temporary]
    same = all(
        a.strides == op.output.strides and program.layout(a).dtype == program.layout(op.output).dtype for a in read
    )
    return same and not op.reduced
