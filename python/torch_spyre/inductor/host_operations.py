"""Operations on numbers alone give numbers: a call computes them on the host, and nothing of them is recorded.

An optimizer's corrections follow from its count of steps. As operations of a loop they would be computed for each
parameter anew, where eager code has Python compute them.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Sequence

from .kernel_spec import Arg, ConstantArg, HostArg, HostOp, OpSpec, SizeArg, TensorArg, parts_of

_TYPES = frozenset(["float32", "float64", "int64", "bool"])
_LIMIT = 64  # operations of one number: shared ones are counted as often as they are used


def with_host_operations(ops: Iterable[OpSpec], own: Sequence[int]) -> list[OpSpec]:
    """The operations without those that compute numbers from numbers, into temporaries (of `own`): what reads one has
    the number instead."""
    steps = [*ops]
    writers = Counter(op.output.buffer for op in steps)
    once = {buffer for buffer in own if writers[buffer] == 1}
    while True:
        changed, numbers = _replaced(steps, once)
        wrong = {arg.buffer for op in changed for arg in op.args
                 if isinstance(arg, TensorArg) and arg.buffer in numbers}  # fmt: skip
        if not wrong:
            return changed
        once -= wrong  # somebody needs it in memory


def _replaced(steps: Iterable[OpSpec], buffers: set[int]) -> tuple[list[OpSpec], dict[int, HostOp]]:
    """What is left if `buffers` may become numbers, and those that have."""
    numbers: dict[int, HostOp] = {}
    kept = []
    for step in steps:
        op = dataclasses.replace(step, args=tuple(_number(arg, step, numbers) for arg in step.args))
        if op.output.buffer in buffers and (number := _as_number(op)) is not None:
            numbers[op.output.buffer] = number
        else:
            kept.append(op)
    return kept, numbers


def _number(arg: Arg, reader: OpSpec, numbers: dict[int, HostOp]) -> Arg:
    """The number in the place of its buffer, if the reader takes numbers, and takes it as the type that it has."""
    if not isinstance(arg, TensorArg) or arg.buffer not in numbers or reader.op.startswith("reduce."):
        return arg
    number = numbers[arg.buffer]
    return number if arg.dtype == number.result == reader.compute else arg


def _as_number(op: OpSpec) -> HostOp | None:
    """An operation on numbers, some of which change from call to call, as the number that it gives."""
    if op.may_fault or op.op.startswith("reduce.") or not {op.compute, op.result} <= _TYPES:
        return None
    if op.output.dtype != op.result or not all(
        isinstance(arg, ConstantArg | SizeArg | HostArg | HostOp) for arg in op.args
    ):
        return None
    number = HostOp(op.op, op.compute, op.result, op.args)
    parts = [*parts_of(number)]
    changes = any(isinstance(part, SizeArg | HostArg) for part in parts)
    return number if changes and sum(isinstance(part, HostOp) for part in parts) <= _LIMIT else None
