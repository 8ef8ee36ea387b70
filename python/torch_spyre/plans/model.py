"""A launch plan as data: what it is launched with, the memory it uses, and its steps in order."""

from __future__ import annotations

from dataclasses import dataclass

from ..inductor.kernel_spec import KernelSpec

__all__ = [
    "Argument",
    "Buffer",
    "CallStep",
    "Items",
    "KernelStep",
    "LaunchSpec",
    "Option",
    "PlanSpec",
    "Program",
    "Step",
    "TheCard",
    "TorchName",
    "Use",
    "Value",
    "Window",
]

VERSION = 1


@dataclass(frozen=True)
class DeviceLayout:
    """How an argument would lie in a card's memory."""

    device_size: tuple[int, ...]
    stride_map: tuple[int, ...]
    device_dtype: str


@dataclass(frozen=True)
class Argument:
    """A tensor that a launch takes (input), that comes with the plan (parameter), or that it gives (output)."""

    arg_index: int
    role: str
    name: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    layout: DeviceLayout | None  # None: the card has no form of its type
    window: int  # in Program.windows


@dataclass(frozen=True)
class LaunchSpec:
    """launch_spec.json: who launches the plan needs no more."""

    version: int
    kernel_name: str
    pool_size: int  # bytes of all buffers that are no arguments
    bundle_symbolic_args: bool  # addresses are filled in at launch: always
    symbol_kinds: tuple[str, ...]  # of symbolic sizes: there are none
    args: tuple[Argument, ...]


@dataclass(frozen=True)
class Buffer:
    """Memory. The first ones belong to inputs and parameters, in their order."""

    dtype: str
    elements: int


@dataclass(frozen=True)
class Window:
    """A strided view of a buffer; offset and strides in elements."""

    buffer: int
    dtype: str
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Use:
    """A tensor among the arguments of a call."""

    window: int


@dataclass(frozen=True)
class Items:
    """A list among the arguments of a call."""

    items: tuple[Value, ...]


@dataclass(frozen=True)
class TorchName:
    """torch.<name>: a type, a memory format or a layout."""

    name: str


@dataclass(frozen=True)
class TheCard:
    """The device on which the plan is launched."""


Value = Use | Items | TorchName | TheCard | bool | int | float | str | None


@dataclass(frozen=True)
class Option:
    """An argument given by name."""

    name: str
    value: Value


@dataclass(frozen=True)
class KernelStep:
    """A kernel of the plan, with windows as its arguments."""

    kernel: int
    args: tuple[int, ...]


@dataclass(frozen=True)
class CallStep:
    """An operator of PyTorch that runs on the card. A result that is no new memory, or is not used, is None."""

    op: str  # "aten::addmm.out"
    args: tuple[Value, ...]
    options: tuple[Option, ...]
    results: tuple[int | None, ...]


Step = KernelStep | CallStep


@dataclass(frozen=True)
class Program:
    """plan.json: memory and steps."""

    buffers: tuple[Buffer, ...]
    windows: tuple[Window, ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]  # windows
    single: bool  # gives its only output itself, not a tuple


@dataclass(frozen=True)
class PlanSpec:
    """All of a plan but the bytes of its parameters."""

    launch_spec: LaunchSpec
    program: Program
    kernels: tuple[KernelSpec, ...]

    @property
    def inputs(self) -> tuple[Argument, ...]:
        """What a launch takes."""
        return tuple(arg for arg in self.launch_spec.args if arg.role == "input")

    @property
    def parameters(self) -> tuple[Argument, ...]:
        """What comes with the plan."""
        return tuple(arg for arg in self.launch_spec.args if arg.role == "parameter")

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """What a launch gives."""
        return tuple(arg for arg in self.launch_spec.args if arg.role == "output")
