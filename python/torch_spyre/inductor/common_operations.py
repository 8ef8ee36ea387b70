"""Operations that a kernel does twice are done once.

Inductor repeats what is cheap, such as the division of a mean, in every loop that reads it; numbers are launch
parameters, so that nobody after this can see that two of them are equal.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

from .kernel_spec import Arg, OpSpec, TensorArg


def without_repetitions(ops: Iterable[OpSpec], own: Sequence[int]) -> list[OpSpec]:
    """The operations without those that compute again what an earlier one has left where nobody overwrites it, into a
    temporary (one of `own`) that nothing else writes."""
    return _Repetitions([*ops], own).removed()


class _Repetitions:
    """Confined to one kernel."""

    def __init__(self, ops: list[OpSpec], own: Sequence[int]) -> None:
        self._ops = ops
        writers = Counter(op.output.buffer for op in ops)
        self._once = {buffer for buffer, count in writers.items() if count == 1}
        self._own = self._once & {*own}
        self._writes: Counter[int] = Counter()  # so far, by buffer
        self._known: dict[Hashable, int] = {}  # what was done -> the buffer that has it to the end
        self._instead: dict[int, int] = {}  # buffer -> the one that has the same

    def removed(self) -> list[OpSpec]:
        return [kept for op in self._ops if (kept := self._kept(op)) is not None]

    def _kept(self, op: OpSpec) -> OpSpec | None:
        op = dataclasses.replace(op, args=tuple(map(self._reading, op.args)))
        versions = tuple(self._writes[arg.buffer] for arg in op.args if isinstance(arg, TensorArg))
        what = (dataclasses.replace(op, output=dataclasses.replace(op.output, buffer=-1)), versions)
        buffer = op.output.buffer
        if what in self._known and buffer in self._own:
            self._instead[buffer] = self._known[what]
            return None
        self._writes[buffer] += 1
        if buffer in self._once:
            self._known.setdefault(what, buffer)
        return op

    def _reading(self, arg: Arg) -> Arg:
        if isinstance(arg, TensorArg) and arg.buffer in self._instead:
            return dataclasses.replace(arg, buffer=self._instead[arg.buffer])
        return arg
