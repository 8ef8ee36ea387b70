"""A function and example inputs to a plan: compiled as torch.compile does, run once, and written down."""

from __future__ import annotations

import os
import types
from collections.abc import Callable, Sequence
from typing import Any

import torch

from .._hooks import SpyreTensorLayout
from ..inductor.kernel_spec import KernelSpec
from .bounds import dtype_named
from .errors import PlanError
from .folder import write_plan
from .model import VERSION, Argument, DeviceLayout, LaunchSpec, PlanSpec, Program
from .recorder import Recorder

__all__ = ["save"]


def save(
    folder: str | os.PathLike[str], function: Callable[..., Any], *inputs: torch.Tensor, name: str | None = None
) -> PlanSpec:
    """Writes the plan of function(*inputs), which gives a tensor or some, to a new folder.

    The function is compiled for the inputs' sizes and run once on copies of them, without gradients. Tensors that it
    uses besides (a module's parameters, constants) come along with the plan. Raises PlanError for what no plan holds,
    and torch.compile's errors.
    """
    recorder = Recorder()
    copies = [_alone(tensor) for tensor in inputs]
    for tensor in copies:
        recorder.window(tensor)
    compiled = torch.compile(function, backend=_backend(recorder, _names(function)), fullgraph=True, dynamic=False)
    with torch.no_grad():
        results = compiled(*copies)
    single = isinstance(results, torch.Tensor)
    outputs = [results] if single else list(results)
    if not all(isinstance(output, torch.Tensor) for output in outputs):
        raise PlanError("a plan gives tensors: a function returns one, or a tuple of them")
    program = recorder.program(outputs, single)
    plan = _plan(name or _name_of(function), program, recorder, len(inputs))
    write_plan(folder, plan, [tensor for _, _, tensor in recorder.constants])
    return plan


def _alone(tensor: torch.Tensor) -> torch.Tensor:
    """The same values and strides, in memory of its own that begins with the first element."""
    copy = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device)
    return copy.copy_(tensor.detach())


def _name_of(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _names(function: Callable[..., Any]) -> dict[int, str]:
    """What a module calls its tensors, by storage."""
    if not isinstance(function, torch.nn.Module):
        return {}
    named = [*function.named_parameters(), *function.named_buffers()]
    return {tensor.untyped_storage()._cdata: name for name, tensor in named}


def _backend(recorder: Recorder, names: dict[int, str]) -> Callable[..., Any]:
    """Inductor, with its calls of kernels and operators watched."""
    from torch._inductor import config
    from torch._inductor.compile_fx import compile_fx, compile_fx_inner

    def compile_watched(graph: torch.fx.GraphModule, inputs: Sequence[Any], **options: Any) -> Any:
        compiled: Any = compile_fx_inner(graph, inputs, **options)
        compiled.current_callable = _watched_module(recorder, compiled).call
        return compiled

    def backend(graph: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Callable[..., Any]:
        with config.patch(force_disable_caches=True):
            compiled: Any = compile_fx(graph, inputs, inner_compile=compile_watched)

        placeholders = graph.graph.find_nodes(op="placeholder")

        def run(*arguments: Any) -> Any:
            for node, argument in zip(placeholders, arguments, strict=True):
                if isinstance(argument, torch.Tensor):
                    name = names.get(argument.untyped_storage()._cdata, node.name)
                    recorder.add_constant(argument, name)
            with recorder:
                return compiled(*arguments)

        return run

    return backend


def _watched_module(recorder: Recorder, compiled: Any) -> types.ModuleType:
    """The module that Inductor wrote, once more: its kernels report to the recorder."""
    module = types.ModuleType("captured")
    for name, constant in (compiled.constants or {}).items():
        setattr(module, name, constant)
        if isinstance(constant, torch.Tensor):
            recorder.add_constant(constant, name)
    exec(compile(compiled.source_code, "<captured>", "exec"), vars(module))
    for name, value in list(vars(module).items()):
        spec = getattr(value, "spec", None)
        if isinstance(spec, KernelSpec):
            setattr(module, name, recorder.watched(spec, value))
    return module


def _plan(name: str, program: Program, recorder: Recorder, inputs: int) -> PlanSpec:
    """The plan with the description of its arguments: inputs, parameters, outputs."""
    given = [("input", f"input_{place}", place) for place in range(inputs)]
    given += [("parameter", constant, window) for constant, window, _ in recorder.constants]
    owned = len(given)
    given += [("output", f"output_{place}", window) for place, window in enumerate(program.outputs)]
    args = tuple(_argument(program, place, *entry) for place, entry in enumerate(given))
    pool = sum(buffer.elements * dtype_named(buffer.dtype).itemsize for buffer in program.buffers[owned:])
    spec = LaunchSpec(VERSION, name, pool, True, (), args)
    return PlanSpec(spec, program, tuple(recorder.kernels))


def _argument(program: Program, index: int, role: str, name: str, place: int) -> Argument:
    window = program.windows[place]
    dtype = dtype_named(window.dtype)
    try:
        stl = SpyreTensorLayout(list(window.sizes), list(window.strides), dtype, list(range(len(window.sizes))))
        layout = DeviceLayout(tuple(stl.device_size), tuple(stl.stride_map), stl.device_dtype.name)
    except (RuntimeError, ValueError, NotImplementedError, TypeError):
        layout = None
    return Argument(index, role, name, window.dtype, window.sizes, window.strides, layout, place)
