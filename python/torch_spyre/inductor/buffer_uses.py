"""A kernel's operations, and which of them write and read each buffer: what passes that leave copies out ask."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from .kernel_spec import OpSpec, TensorArg


class BufferUses:
    """Operations that a pass leaves out become None, so that the others keep their steps. Confined to one kernel.

    `own`: buffers that nobody but the kernel has."""

    def __init__(self, ops: list[OpSpec], own: Sequence[int]) -> None:
        self._ops: list[OpSpec | None] = [*ops]
        self._own = frozenset(own)
        self._writers: defaultdict[int, list[int]] = defaultdict(list)  # by buffer, steps in ascending order
        self._readers: defaultdict[int, list[int]] = defaultdict(list)
        for step, op in enumerate(ops):
            self._writers[op.output.buffer].append(step)
            for buffer in {arg.buffer for arg in op.args if isinstance(arg, TensorArg)}:
                self._readers[buffer].append(step)
