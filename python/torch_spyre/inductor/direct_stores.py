"""What computes a value for an argument writes it there, not into a temporary that is copied later, and as the type
that is wanted.

A graph's writes to its inputs stand at its end: every state of an optimizer would go through a temporary, which lives
as long as the kernel. A mean's division is in float64, and rounds once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from .buffer_uses import BufferUses
from .kernel_spec import Arg, OpSpec, TensorArg


def with_direct_stores(ops: Iterable[OpSpec], own: Sequence[int]) -> list[OpSpec]:
    """The operations without copies of temporaries (of `own`) into buffers that nobody uses between the operation that
    computes the value and the copy; and without conversions of what nobody else reads."""
    return _Stores([*ops], own).direct()


class _Stores(BufferUses):
    """Confined to one kernel."""

    def direct(self) -> list[OpSpec]:
        for step in range(len(self._ops)):
            if (writer := self._writer_for(step)) is not None:
                self._store_at(writer, step)
        return [op for op in self._ops if op is not None]

    def _writer_for(self, step: int) -> int | None:
        """The operation that may write what this step copies to where it copies it."""
        copy = self._ops[step]
        if copy is None or not _converts(copy):
            return None
        source = copy.args[0]
        assert isinstance(source, TensorArg)
        writers = self._writers[source.buffer]
        alone = len(writers) == len(self._writers[copy.output.buffer]) == 1
        if source.buffer not in self._own or not alone or writers[0] >= step:
            return None
        return writers[0] if self._makes(writers[0], copy, source) and self._is_free(writers[0], step) else None

    def _makes(self, writer: int, copy: OpSpec, source: TensorArg) -> bool:
        """Whether the operation gives all that the copy reads, and everybody else reads just that: point by point, if
        the elements lie otherwise in the copy's target."""
        op = self._ops[writer]
        if op is None or op.reduced or op.may_fault or op.output != source:
            return False
        if op.iteration_space != copy.iteration_space:
            return False
        if not is_copy(copy) and (not _rounds_once(op, copy) or len(self._readers[source.buffer]) > 1):
            return False
        alike = source.strides == copy.output.strides
        return all(
            self._reads_only(reader, source) and (alike or self._is_over(reader, op.iteration_space))
            for reader in self._readers[source.buffer]
        )

    def _is_over(self, step: int, space: tuple[int | str, ...]) -> bool:
        op = self._ops[step]
        return op is None or op.iteration_space == space

    def _is_free(self, writer: int, step: int) -> bool:
        """Whether nobody misses what stood in the copy's target if it goes as early as the operation; which may read
        each element before it writes it."""
        copy = self._ops[step]
        assert copy is not None
        between = any(writer < reader < step for reader in self._readers[copy.output.buffer])
        return not between and self._reads_only(writer, copy.output)

    def _reads_only(self, step: int, window: TensorArg) -> bool:
        """Whether a step reads this window of its buffer, and no other."""
        op = self._ops[step]
        return op is None or all(arg == window for arg in op.args if _reads(arg, window.buffer))

    def _store_at(self, writer: int, step: int) -> None:
        copy, computes = self._ops[step], self._ops[writer]
        assert copy is not None
        assert computes is not None
        source, target = copy.args[0], copy.output
        assert isinstance(source, TensorArg)
        self._ops[writer] = dataclasses.replace(computes, result=copy.result, output=target)
        self._ops[step] = None
        self._writers[target.buffer] = [writer]
        readers = [reader for reader in self._readers.pop(source.buffer) if reader != step]
        for reader in readers:
            op = self._ops[reader]
            assert op is not None
            self._ops[reader] = dataclasses.replace(
                op, args=tuple(target if _reads(arg, source.buffer) else arg for arg in op.args)
            )
        self._readers[target.buffer] = sorted({*self._readers[target.buffer], *readers})


def is_copy(op: OpSpec) -> bool:
    """Whether it changes nothing of what it reads."""
    return _converts(op) and op.compute == op.result


def _converts(op: OpSpec) -> bool:
    """Whether it gives each element that it reads as another type, or the same."""
    if op.op != "cast" or op.reduced or op.may_fault or not isinstance(op.args[0], TensorArg):
        return False
    return op.args[0].dtype == op.compute and op.result == op.output.dtype


def _rounds_once(op: OpSpec, conversion: OpSpec) -> bool:
    """Whether the operation's result is all that it computes, so that it is the same to convert one or the other."""
    wide = op.compute == op.result and op.result in ("float32", "float64")
    return wide and conversion.result in ("float16", "bfloat16", "float32", "float64")


def _reads(arg: Arg, buffer: int) -> bool:
    return isinstance(arg, TensorArg) and arg.buffer == buffer
