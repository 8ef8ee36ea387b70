"""What holds in every kernel of a plan: extents are numbers, and no operation leaves what it reads and writes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..inductor.kernel_spec import ConstantArg, IotaArg, KernelSpec, OpSpec, TensorArg
from ..inductor.op_names import NATIVE_TYPES, op_rows
from .bounds import check_extents, check_places, check_reach, check_strides, dtype_named, numbers, reach
from .errors import PlanError

__all__ = ["check_kernel"]

_NATIVE = tuple(NATIVE_TYPES.values())
_REDUCTIONS = frozenset(f"reduce.{name}" for name in ("sum", "prod", "max", "min", "argmax", "argmin", "any", "all"))
_NEED_ELEMENTS = frozenset(["reduce.max", "reduce.min", "reduce.argmax", "reduce.argmin"])
_GIVE_POSITIONS = frozenset(["reduce.argmax", "reduce.argmin"])


def check_kernel(kernel: KernelSpec, where: str) -> None:
    """Raises PlanError naming the field."""
    _KernelCheck(kernel, where).run()


class _KernelCheck:
    """One kernel: extents are numbers, and every operation stays within what it reads and writes."""

    def __init__(self, kernel: KernelSpec, where: str) -> None:
        self._kernel = kernel
        self._where = where

    def run(self) -> None:
        """Raises PlanError."""
        kernel, where = self._kernel, self._where
        if kernel.symbols:
            raise PlanError.at(f"{where}.symbols", "none", list(kernel.symbols))
        if len(kernel.on_device) != len(kernel.arguments) or not all(kernel.on_device):
            raise PlanError.at(f"{where}.on_device", "true for each argument", list(kernel.on_device))
        for place, temporary in enumerate(kernel.temporaries):
            here = f"{where}.temporaries[{place}]"
            check_extents(numbers(temporary.sizes, f"{here}.sizes"), f"{here}.sizes")
            dtype_named(temporary.dtype, f"{here}.dtype")
        for place, op in enumerate(kernel.ops):
            self._check_op(op, f"{where}.ops[{place}]")

    def _check_op(self, op: OpSpec, where: str) -> None:
        space = numbers(op.iteration_space, f"{where}.iteration_space")
        check_extents(space, f"{where}.iteration_space")
        if list(op.reduced) != sorted(set(op.reduced)):
            raise PlanError.at(f"{where}.reduced", "dimensions in order", list(op.reduced))
        check_places(op.reduced, len(space), f"{where}.reduced")
        for field in ("compute", "result"):
            if getattr(op, field) not in _NATIVE:
                raise PlanError.at(f"{where}.{field}", f"one of {', '.join(_NATIVE)}", getattr(op, field))
        self._check_name(op, where)
        if op.op in _NEED_ELEMENTS and any(space[dim] == 0 for dim in op.reduced):
            raise PlanError.at(f"{where}.iteration_space", f"no extent of 0, which {op.op} cannot reduce", space)
        for place, arg in enumerate(op.args):
            here = f"{where}.args[{place}]"
            if isinstance(arg, TensorArg):
                self._check_tensor(arg, space, here)
            elif isinstance(arg, IotaArg):
                self._offset_and_strides(arg, space, here)
            elif not isinstance(arg, ConstantArg):
                raise PlanError.at(f"{here}.kind", "a tensor, a counter or a constant", type(arg).__name__)
        self._check_output(op, space, f"{where}.output")

    def _check_name(self, op: OpSpec, where: str) -> None:
        if op.op in _REDUCTIONS:
            fits = len(op.reduced) == 1 if op.op in _GIVE_POSITIONS else True
            if not fits or len(op.args) != 1 or not isinstance(op.args[0], TensorArg):
                raise PlanError(
                    f"{where}: {op.op} does not reduce {len(op.reduced)} dimensions of {len(op.args)} inputs"
                )
            return
        row = op_rows().get(op.op)
        if row is None or op.reduced:
            raise PlanError.at(f"{where}.op", "a name of the op table, or a reduction", op.op)
        if op.compute not in row["computes"]:
            raise PlanError.at(f"{where}.compute", f"one of {', '.join(row['computes'])}, for {op.op}", op.compute)

    def _offset_and_strides(self, arg: TensorArg | IotaArg, space: Sequence[int], where: str) -> tuple[int, list[int]]:
        strides = numbers(arg.strides, f"{where}.strides")
        check_strides(strides, len(space), f"{where}.strides")
        return numbers([arg.offset], f"{where}.offset")[0], strides

    def _check_tensor(self, arg: TensorArg, space: Sequence[int], where: str) -> None:
        offset, strides = self._offset_and_strides(arg, space, where)
        dtype = dtype_named(arg.dtype, f"{where}.dtype")
        arguments, temporaries = len(self._kernel.arguments), self._kernel.temporaries
        check_places([arg.buffer], arguments + len(temporaries), f"{where}.buffer")
        if arg.buffer < arguments:
            return
        temporary = temporaries[arg.buffer - arguments]
        elements = math.prod(int(size) for size in temporary.sizes) * dtype_named(temporary.dtype).itemsize
        check_reach(reach(offset, space, strides), elements // dtype.itemsize, where)

    def _check_output(self, op: OpSpec, space: Sequence[int], where: str) -> None:
        self._check_tensor(op.output, space, where)
        for dim, (size, stride) in enumerate(zip(space, op.output.strides, strict=True)):
            if dim in op.reduced and stride != 0:
                raise PlanError.at(f"{where}.strides[{dim}]", "0, for a reduced dimension", stride)
            if dim not in op.reduced and stride == 0 and size > 1:
                raise PlanError.at(f"{where}.strides[{dim}]", "another stride than 0, for a kept dimension", stride)
        end = 1
        for stride, size in sorted((int(s), size) for s, size in zip(op.output.strides, space, strict=True) if s != 0):
            if size > 1 and stride < end:
                raise PlanError.at(
                    f"{where}.strides", "strides that lead to each element once", list(op.output.strides)
                )
            end = max(end, (size - 1) * stride + end)
