"""What reads an argument reads it there, not a copy of it, while nobody writes to it.

A loop that writes to what it reads copies it first (loop_program.py): another point's store could come before the load.
In most loops every point writes what it alone has read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from .buffer_uses import BufferUses
from .direct_stores import is_copy
from .kernel_spec import OpSpec, TensorArg


def with_direct_loads(ops: Iterable[OpSpec], own: Sequence[int]) -> list[OpSpec]:
    """The operations without copies into temporaries (of `own`) whose readers find the same in the copied buffer."""
    return _Loads([*ops], own).direct()


class _Loads(BufferUses):
    """Confined to one kernel."""

    def direct(self) -> list[OpSpec]:
        for step, copy in enumerate(self._ops):
            if copy is not None and is_copy(copy) and self._writers[copy.output.buffer] == [step]:
                self._leave_out(step, copy)
        return [op for op in self._ops if op is not None]

    def _leave_out(self, step: int, copy: OpSpec) -> None:
        source, readers = copy.args[0], self._readers[copy.output.buffer]
        assert isinstance(source, TensorArg)
        if copy.output.buffer not in self._own or not all(self._finds(step, copy, source, at) for at in readers):
            return
        self._ops[step] = None
        self._readers[source.buffer] = sorted({*self._readers[source.buffer], *readers} - {step})
        for reader in readers:
            op = self._ops[reader]
            assert op is not None
            args = tuple(source if arg == copy.output else arg for arg in op.args)
            self._ops[reader] = dataclasses.replace(op, args=args)

    def _finds(self, step: int, copy: OpSpec, source: TensorArg, reader: int) -> bool:
        """Whether a reader of the copy reads it point by point as it was written, before the source changes, or writes
        to each point just where it reads."""
        op = self._ops[reader]
        assert op is not None
        read = [arg for arg in op.args if isinstance(arg, TensorArg) and arg.buffer == copy.output.buffer]
        alike = op.iteration_space == copy.iteration_space and all(arg == copy.output for arg in read)
        changed = any(step < writer < reader for writer in self._writers[source.buffer])
        in_place = op.output == source and not op.reduced and 0 not in source.strides
        return alike and step < reader and not changed and (op.output.buffer != source.buffer or in_place)
