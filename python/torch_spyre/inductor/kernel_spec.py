"""KernelSpec: one compiled kernel as data. Its source text, in generated wrappers, is its repr.

Extents, strides and offsets are integers, or expressions in the graph's symbols as Python text ("8*s0").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

Extent = int | str


@dataclass(frozen=True)
class TensorArg:
    """A strided window of a buffer. Arguments are numbered first, then temporaries."""

    buffer: int
    dtype: str
    offset: Extent
    strides: tuple[Extent, ...]


@dataclass(frozen=True, eq=False)
class ConstantArg:
    """A number. Equal to another one of the same text: 0.0 is not -0.0, and NaN is itself."""

    value: float | int | bool

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConstantArg) and repr(self.value) == repr(other.value)

    def __hash__(self) -> int:
        return hash(repr(self.value))


@dataclass(frozen=True)
class SizeArg:
    """A number that the graph's symbols give: (s0 - 1) / s0."""

    expression: str


@dataclass(frozen=True)
class HostArg:
    """The value of an argument that is a number on the host."""

    buffer: int


@dataclass(frozen=True)
class IotaArg:
    """An int64 for each point of the iteration space: offset + sum of coordinate * stride."""

    offset: Extent
    strides: tuple[Extent, ...]


@dataclass(frozen=True)
class HostOp:
    """A number that each call computes on the host: an operation of the op table on numbers."""

    op: str
    compute: str
    result: str
    args: tuple[Arg, ...]


Arg = TensorArg | ConstantArg | SizeArg | HostArg | IotaArg | HostOp


def parts_of(arg: Arg) -> Iterator[Arg]:
    """An argument, after what it is computed from."""
    if isinstance(arg, HostOp):
        for part in arg.args:
            yield from parts_of(part)
    yield arg


@dataclass(frozen=True)
class OpSpec:
    """One operation of the op table, or a reduction ("reduce.sum"), over an iteration space."""

    op: str
    compute: str
    result: str
    iteration_space: tuple[Extent, ...]
    args: tuple[Arg, ...]
    output: TensorArg
    reduced: tuple[int, ...] = ()  # dimensions of the iteration space
    may_fault: bool = False


@dataclass(frozen=True)
class Temporary:
    """What one operation leaves for later ones of the same kernel."""

    dtype: str
    sizes: tuple[Extent, ...]


@dataclass(frozen=True)
class KernelSpec:
    """A kernel: which buffers it is called with, and what it does with them, in order."""

    name: str
    arguments: tuple[str, ...]  # names in the wrapper
    on_device: tuple[bool, ...]  # by argument; the others are numbers on the host
    symbols: tuple[str, ...]  # of the graph, in the order in which a call gives them
    temporaries: tuple[Temporary, ...]
    ops: tuple[OpSpec, ...] = field(default=())

    def source(self) -> str:
        """The expression that generated code contains."""
        ops = "".join(f"        {op!r},\n" for op in self.ops)
        return (
            f"KernelSpec(\n    name={self.name!r},\n    arguments={self.arguments!r},\n"
            f"    on_device={self.on_device!r},\n    symbols={self.symbols!r},\n"
            f"    temporaries={self.temporaries!r},\n    ops=(\n{ops}    ),\n)"
        )
