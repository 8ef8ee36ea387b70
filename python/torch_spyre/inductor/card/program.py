"""What the passes over a kernel's description work on: operations over buffers of known size, on the card."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch

from ..._hooks import SpyreTensorLayout

RESTICKIFY = "ReStickifyOpHBM"
PRODUCT = "batchmatmul"  # loops: batch, m, n, k
_TYPES = {str(dtype).removeprefix("torch."): dtype for dtype in (torch.bool, torch.uint8, torch.int8, torch.int16)} | {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64)
}


def torch_type(name: str) -> torch.dtype:
    """By the op table's name."""
    return _TYPES[name]


@dataclass(frozen=True)
class FixedTiledLayout:
    """A buffer's strides on the host and how it lies on the card, if the card has a form for its type and rank."""

    dtype: str
    size: tuple[int, ...]
    stride: tuple[int, ...]
    device_layout: SpyreTensorLayout | None

    @staticmethod
    def own_choice(dtype: str, size: Sequence[int], stride: Sequence[int]) -> FixedTiledLayout:
        """As the card chooses: the last dimension lies in the sticks."""
        return FixedTiledLayout.in_order(dtype, size, stride, range(len(size)))

    @staticmethod
    def of_input(
        dtype: str, size: Sequence[int], stride: Sequence[int], chosen: SpyreTensorLayout | None
    ) -> FixedTiledLayout:
        """As its owner chose, if he did; the tensor may be a view of the memory that lies so."""
        if chosen is None:
            return FixedTiledLayout.own_choice(dtype, size, stride)
        return FixedTiledLayout(dtype, tuple(size), tuple(stride), chosen)

    @staticmethod
    def in_order(dtype: str, size: Sequence[int], stride: Sequence[int], order: Sequence[int]) -> FixedTiledLayout:
        """Derived from an order of dimensions, the last of which lies in the sticks."""
        try:
            layout = SpyreTensorLayout(size, stride, torch_type(dtype), order)
        except NotImplementedError:
            layout = None
        return FixedTiledLayout(dtype, tuple(size), tuple(stride), layout)

    def stick_dim(self) -> int | None:
        """The dimension that lies in the sticks."""
        if self.device_layout is None:
            return None
        step = self.device_layout.stride_map[-1]
        found = [d for d, (extent, stride) in enumerate(zip(self.size, self.stride, strict=True))
                 if stride == step and extent != 1]  # fmt: skip
        return found[0] if found else None

    def with_stick(self, dim: int | None) -> FixedTiledLayout:
        """The same tensor with another dimension in its sticks; None: one element in each, as reductions leave them."""
        order = [*(d for d in range(len(self.size)) if d != dim), -1 if dim is None else dim]
        return FixedTiledLayout.in_order(self.dtype, self.size, self.stride, order)


@dataclass
class Buffer:
    """An argument or a temporary of the kernel. `lx`: its offset in every core's scratchpad; None: device memory."""

    name: str
    layout: FixedTiledLayout
    temporary: bool
    lx: int | None = None


@dataclass(frozen=True)
class Access:
    """A window of a buffer, by the loops of an operation; strides in elements of the host's layout."""

    buffer: int
    offset: int
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Number:
    """A constant, or the text of a number that comes with a call."""

    value: float | str


@dataclass
class CardOp:
    """One operation: its loops, what it reads and writes, and over how many cores each loop is divided."""

    name: str
    dtype: str
    loops: tuple[int, ...]
    reduced: tuple[int, ...]
    inputs: list[Access | Number]
    output: Access
    splits: tuple[int, ...] = ()

    def accesses(self) -> Iterator[Access]:
        """Inputs first."""
        yield from (arg for arg in self.inputs if isinstance(arg, Access))
        yield self.output

    @property
    def cores(self) -> int:
        used = 1
        for split in self.splits:
            used *= split
        return used


@dataclass
class CardProgram:
    """A kernel for the passes: they change it in place. `symbols`: sizes that it stands for, of those that change."""

    name: str
    symbols: dict[str, int]
    buffers: list[Buffer]
    ops: list[CardOp]
    lx_used: int = 0
    notes: list[str] = field(default_factory=list)

    def layout(self, access: Access) -> FixedTiledLayout:
        return self.buffers[access.buffer].layout

    def loop_of(self, access: Access, dim: int | None) -> int | None:
        """The loop of an operation that walks a dimension of the buffer, element by element."""
        if dim is None:
            return None
        stride = self.layout(access).stride[dim]
        return access.strides.index(stride) if stride in access.strides else None

    def stick_loop(self, access: Access) -> int | None:
        """The loop that walks the stick dimension."""
        return self.loop_of(access, self.layout(access).stick_dim())
