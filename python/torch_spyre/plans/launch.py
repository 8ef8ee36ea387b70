"""A plan that is ready: its kernels prepared, its parameters on the card. Launching records its steps."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .._engine import DeviceLike, device_index, engine
from ..inductor.kernel_spec import KernelSpec
from ..inductor.prepared import prepare_kernel
from .bounds import dtype_named, reach
from .check import used_windows
from .errors import PlanError
from .folder import read_parameters, read_plan
from .model import CallStep, Items, KernelStep, PlanSpec, Program, Step, TheCard, TorchName, Use, Value, Window
from .operators import operator_named

__all__ = ["Plan", "bind", "load"]


class Plan:
    """plan(*inputs): the outputs, of which each launch makes new ones. Confined to a thread."""

    def __init__(self, text: PlanSpec, parameters: Sequence[torch.Tensor], device: DeviceLike = None) -> None:
        """Prepares the kernels and uploads the parameters, once for all launches."""
        self.text = text
        self._device = torch.device("spyre", device_index(device))
        self._parameters = [tensor.to(self._device) for tensor in parameters]
        kernels = [_prepared(kernel) for kernel in text.kernels]
        self._steps = _ready_steps(text.program, kernels, self._device)

    @property
    def name(self) -> str:
        """Of the function that it was made from."""
        return self.text.launch_spec.kernel_name

    @torch.no_grad()
    def __call__(self, *inputs: torch.Tensor) -> Any:
        """Records all steps on the current stream. Raises PlanError for inputs that do not fit."""
        bind(self.text, inputs, self._device)
        memory = _Memory(self.text.program, (*inputs, *self._parameters), self._device)
        for step in self._steps:
            step.run(memory)
            memory.forget(step.windows, step.buffers)
        outputs = tuple(memory[window] for window in self.text.program.outputs)
        return outputs[0] if self.text.program.single else outputs


def load(folder: str | os.PathLike[str], device: DeviceLike = None) -> Plan:
    """A plan from its folder, checked and ready. Raises PlanError naming what is wrong with the folder."""
    text = read_plan(folder)
    return Plan(text, read_parameters(folder, text), device)


def bind(text: PlanSpec, inputs: Sequence[torch.Tensor], device: torch.device | None = None) -> None:
    """Raises PlanError unless the inputs are what the plan takes (on the device, if one is given)."""
    if len(inputs) != len(text.inputs):
        raise PlanError.at(text.launch_spec.kernel_name, f"{len(text.inputs)} inputs", len(inputs))
    for arg, tensor in zip(text.inputs, inputs, strict=True):
        expected_fields = arg.dtype, arg.shape, arg.strides
        found = str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape), tuple(tensor.stride())
        for field, expected, got in zip(("dtype", "shape", "strides"), expected_fields, found, strict=True):
            if expected != got:
                raise PlanError.at(f"{text.launch_spec.kernel_name}: {arg.name}: {field}", str(expected), got)
        if device is not None and tensor.device != device:
            raise PlanError.at(f"{text.launch_spec.kernel_name}: {arg.name}: device", str(device), str(tensor.device))


def _prepared(kernel: KernelSpec) -> Callable[..., None]:
    try:
        return prepare_kernel(kernel)
    except (ValueError, RuntimeError) as error:
        raise PlanError(f"{kernel.name}: {error}") from None


class _Memory:
    """The tensors of one launch: one for each window, made when a step first needs it. Confined to it."""

    def __init__(self, program: Program, owned: Sequence[torch.Tensor], device: torch.device) -> None:
        self._program = program
        self._index = device.index
        # Of each buffer: a tensor in it, and where the buffer begins in that tensor's storage.
        self._bases: dict[int, tuple[torch.Tensor, int]] = {
            place: (tensor, int(tensor.storage_offset())) for place, tensor in enumerate(owned)
        }
        self._views: dict[int, torch.Tensor] = {}

    def __getitem__(self, place: int) -> torch.Tensor:
        view = self._views.get(place)
        if view is None:
            view = self._views[place] = self._made(self._program.windows[place])
        return view

    def _made(self, window: Window) -> torch.Tensor:
        buffer = self._program.buffers[window.buffer]
        dtype = dtype_named(window.dtype)
        if window.buffer not in self._bases:
            whole = window.offset == 0 and reach(0, window.sizes, window.strides) == (0, buffer.elements)
            sizes, strides = (window.sizes, window.strides) if whole else ((buffer.elements,), (1,))
            base = engine().empty_strided(sizes, strides, dtype, self._index)
            self._bases[window.buffer] = base, 0
            if whole:
                return base
        base, begin = self._bases[window.buffer]
        typed = base if base.dtype == dtype else base.view(dtype)
        return typed.as_strided(window.sizes, window.strides, begin + window.offset)

    def put(self, place: int, result: torch.Tensor) -> None:
        """What a call gave is the memory of a buffer. Raises PlanError if it is not as the plan knows it."""
        window = self._program.windows[place]
        elements = self._program.buffers[window.buffer].elements
        expected = dtype_named(window.dtype), window.sizes, window.strides
        begin = int(result.storage_offset()) - window.offset
        fits = begin >= 0 and (begin + elements) * result.itemsize <= result.untyped_storage().nbytes()
        if (result.dtype, tuple(result.shape), tuple(result.stride())) != expected or not fits:
            raise PlanError(f"plan.json.windows[{place}]: a call gave {tuple(result.shape)} of {result.dtype} instead")
        self._bases[window.buffer] = result, begin
        self._views[place] = result

    def forget(self, windows: Sequence[int], buffers: Sequence[int]) -> None:
        """What no later step uses."""
        for place in windows:
            self._views.pop(place, None)
        for buffer in buffers:
            self._bases.pop(buffer, None)


@dataclass(frozen=True)
class _Ready:
    """One step: what it does, and which windows and buffers nobody needs afterwards."""

    run: Callable[[_Memory], None]
    windows: tuple[int, ...]
    buffers: tuple[int, ...]


def _ready_steps(program: Program, kernels: Sequence[Callable[..., None]], device: torch.device) -> list[_Ready]:
    """The steps, with what each is the last to use."""
    windows, buffers = set(program.outputs), {program.windows[place].buffer for place in program.outputs}
    steps = []
    for step in reversed(program.steps):
        used = dict.fromkeys(_windows_of(step))
        memory = dict.fromkeys(program.windows[place].buffer for place in used)
        last = tuple(place for place in used if place not in windows), tuple(b for b in memory if b not in buffers)
        windows |= used.keys()
        buffers |= memory.keys()
        run = _kernel(kernels, step) if isinstance(step, KernelStep) else _call(step, device)
        steps.append(_Ready(run, *last))
    return steps[::-1]


def _windows_of(step: Step) -> Iterator[int]:
    if isinstance(step, KernelStep):
        yield from step.args
        return
    for value in (*step.args, *(option.value for option in step.options)):
        yield from used_windows(value)
    yield from (place for place in step.results if place is not None)


def _kernel(kernels: Sequence[Callable[..., None]], step: KernelStep) -> Callable[[_Memory], None]:
    launch = kernels[step.kernel]
    return lambda memory: launch(*[memory[place] for place in step.args])


def _call(step: CallStep, device: torch.device) -> Callable[[_Memory], None]:
    op = operator_named(step.op)

    def run(memory: _Memory) -> None:
        args = [_value(value, memory, device) for value in step.args]
        results = op(*args, **{option.name: _value(option.value, memory, device) for option in step.options})
        leaves = pytree.tree_leaves(results)
        if len(leaves) != len(step.results):
            raise PlanError.at(step.op, f"{len(step.results)} results", len(leaves))
        for place, leaf in zip(step.results, leaves, strict=True):
            if place is not None:
                memory.put(place, leaf)

    return run


def _value(value: Value, memory: _Memory, device: torch.device) -> Any:
    if isinstance(value, Use):
        return memory[value.window]
    if isinstance(value, Items):
        return [_value(item, memory, device) for item in value.items]
    if isinstance(value, TorchName):
        return getattr(torch, value.name)
    return device if isinstance(value, TheCard) else value
