"""What holds in every plan that is launched: no step reaches beyond its memory, and every name means something."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from ..inductor.kernel_spec import OpSpec, TensorArg
from .bounds import (
    DTYPES,
    check_bytes,
    check_extents,
    check_places,
    check_reach,
    check_strides,
    dtype_named,
    numbers,
    reach,
)
from .check_kernel import check_kernel
from .errors import PlanError
from .model import VERSION, Argument, CallStep, Items, KernelStep, PlanSpec, Program, TorchName, Use, Value, Window
from .operators import operator_named

__all__ = ["check", "used_windows"]

_ROLES = ("input", "parameter", "output")


def check(plan: PlanSpec) -> None:
    """Raises PlanError naming the field."""
    program = plan.program
    for place, buffer in enumerate(program.buffers):
        where = f"plan.json.buffers[{place}]"
        check_bytes(buffer.elements * dtype_named(buffer.dtype, f"{where}.dtype").itemsize, f"{where}.elements")
    for place, window in enumerate(program.windows):
        _check_window(program, window, f"plan.json.windows[{place}]")
    _check_launch_spec(plan)
    for place, kernel in enumerate(plan.kernels):
        check_kernel(kernel, f"kernel_{place}.json")
    for place, step in enumerate(program.steps):
        where = f"plan.json.steps[{place}]"
        if isinstance(step, KernelStep):
            _check_kernel_step(plan, step, where)
        else:
            _check_call(program, step, where)
    check_places(program.outputs, len(program.windows), "plan.json.outputs")
    if program.single and len(program.outputs) != 1:
        raise PlanError.at("plan.json.outputs", "one, since single is set", len(program.outputs))
    _check_order(plan)


def _check_window(program: Program, window: Window, where: str) -> None:
    check_places([window.buffer], len(program.buffers), f"{where}.buffer")
    buffer = program.buffers[window.buffer]
    dtype = dtype_named(window.dtype, f"{where}.dtype")
    check_extents(window.sizes, f"{where}.sizes")
    check_strides(window.strides, len(window.sizes), f"{where}.strides")
    if any(stride < 0 for stride in window.strides):
        raise PlanError.at(f"{where}.strides", "no negative stride", list(window.strides))
    if dtype.itemsize != DTYPES[buffer.dtype].itemsize:
        raise PlanError.at(f"{where}.dtype", f"a type as wide as its buffer's, {buffer.dtype}", window.dtype)
    check_reach(reach(window.offset, window.sizes, window.strides), buffer.elements, where)


def _check_launch_spec(plan: PlanSpec) -> None:
    spec = plan.launch_spec
    if spec.version != VERSION:
        raise PlanError.at("launch_spec.json.version", str(VERSION), spec.version)
    if spec.symbol_kinds or not spec.bundle_symbolic_args:
        raise PlanError("launch_spec.json: plans have symbolic addresses (bundle_symbolic_args), and no symbolic sizes")
    roles = [arg.role for arg in spec.args]
    for place, arg in enumerate(spec.args):
        where = f"launch_spec.json.args[{place}]"
        if arg.role not in _ROLES:
            raise PlanError.at(f"{where}.role", f"one of {', '.join(_ROLES)}", arg.role)
        if arg.arg_index != place:
            raise PlanError.at(f"{where}.arg_index", str(place), arg.arg_index)
        _check_argument(plan, arg, where)
    if roles != sorted(roles, key=_ROLES.index):
        raise PlanError.at("launch_spec.json.args", "inputs, then parameters, then outputs", roles)
    if [arg.window for arg in plan.outputs] != list(plan.program.outputs):
        raise PlanError.at("plan.json.outputs", "the windows of the arguments with this role", plan.program.outputs)


def _check_argument(plan: PlanSpec, arg: Argument, where: str) -> None:
    check_places([arg.window], len(plan.program.windows), f"{where}.window")
    window = plan.program.windows[arg.window]
    for field, given, known in (
        ("dtype", arg.dtype, window.dtype),
        ("shape", arg.shape, window.sizes),
        ("strides", arg.strides, window.strides),
    ):
        if given != known:
            raise PlanError.at(f"{where}.{field}", f"{known}, as plan.json.windows[{arg.window}] has it", given)
    if arg.role == "output":
        return
    elements = plan.program.buffers[window.buffer].elements
    if window.offset != 0 or reach(0, window.sizes, window.strides)[1] != elements:
        raise PlanError.at(f"plan.json.buffers[{window.buffer}].elements", f"what {where} spans", elements)
    if window.buffer != arg.arg_index:
        raise PlanError.at(f"plan.json.windows[{arg.window}].buffer", f"{arg.arg_index}, the argument's", window.buffer)


def _check_kernel_step(plan: PlanSpec, step: KernelStep, where: str) -> None:
    check_places([step.kernel], len(plan.kernels), f"{where}.kernel")
    check_places(step.args, len(plan.program.windows), f"{where}.args")
    kernel = plan.kernels[step.kernel]
    if len(step.args) != len(kernel.arguments):
        raise PlanError.at(f"{where}.args", f"{len(kernel.arguments)} of {kernel.name}", len(step.args))
    for op in kernel.ops:
        for arg in (*op.args, op.output):
            if isinstance(arg, TensorArg) and arg.buffer < len(step.args):
                _check_kernel_argument(plan.program, step.args[arg.buffer], op, arg, f"{where}.args[{arg.buffer}]")


def _check_kernel_argument(program: Program, place: int, op: OpSpec, arg: TensorArg, where: str) -> None:
    window = program.windows[place]
    if arg.dtype != window.dtype:
        raise PlanError.at(where, f"a window of {arg.dtype}, as its kernel has it", window.dtype)
    space, strides, offset = (numbers(extents, where) for extents in (op.iteration_space, arg.strides, [arg.offset]))
    touched = reach(window.offset + offset[0], space, strides)
    check_reach(touched, program.buffers[window.buffer].elements, where)


def _check_call(program: Program, step: CallStep, where: str) -> None:
    operator_named(step.op, f"{where}.op")
    for value in (*step.args, *(option.value for option in step.options)):
        for window in used_windows(value):
            check_places([window], len(program.windows), f"{where}.args")
        for name in (leaf.name for leaf in _leaves(value) if isinstance(leaf, TorchName)):
            if not isinstance(getattr(torch, name, None), (torch.dtype, torch.memory_format, torch.layout)):
                raise PlanError.at(f"{where}.args", "a name of torch", name)
    check_places((place for place in step.results if place is not None), len(program.windows), f"{where}.results")


def used_windows(value: Value) -> Iterator[int]:
    """The windows in an argument of a call."""
    return (leaf.window for leaf in _leaves(value) if isinstance(leaf, Use))


def _leaves(value: Value) -> Iterator[Value]:
    if isinstance(value, Items):
        for item in value.items:
            yield from _leaves(item)
    else:
        yield value


def _check_order(plan: PlanSpec) -> None:
    """A call's result is new memory: nothing used it before, and it is no argument."""
    program = plan.program
    used = {program.windows[arg.window].buffer for arg in (*plan.inputs, *plan.parameters)}
    for place, step in enumerate(program.steps):
        windows = step.args if isinstance(step, KernelStep) else ()
        if isinstance(step, CallStep):
            values = (*step.args, *(option.value for option in step.options))
            windows = tuple(window for value in values for window in used_windows(value))
        used |= {program.windows[window].buffer for window in windows}
        for window in step.results if isinstance(step, CallStep) else ():
            if window is None:
                continue
            buffer = program.windows[window].buffer
            if buffer in used:
                raise PlanError.at(f"plan.json.steps[{place}].results", "a buffer that nothing used before", buffer)
            used.add(buffer)
