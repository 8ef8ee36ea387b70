"""Watches one run of a compiled function: which memory its steps use, and how."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from ..inductor.kernel_spec import KernelSpec, TensorArg
from .bounds import reach
from .errors import PlanError
from .model import Buffer, CallStep, Items, KernelStep, Option, Program, Step, TheCard, TorchName, Use, Value, Window
from .operators import name_of, operator_named

__all__ = ["Recorder"]


class Recorder(TorchDispatchMode):
    """Collects the steps of what runs while it is active. Confined to one capture."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.kernels: list[KernelSpec] = []
        self.constants: list[tuple[str, int, torch.Tensor]] = []  # name, window, what it holds
        self._buffers: list[Buffer] = []
        self._windows: dict[Window, int] = {}
        self._steps: list[Step] = []
        self._places: dict[int, int] = {}  # storage -> buffer
        self._alive: list[torch.UntypedStorage] = []  # or a later one would be taken for it

    def __torch_dispatch__(
        self, func: Any, types: Iterable[type], args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Records an operator's call, unless it makes a view of known memory."""
        before = [self._is_known(leaf) for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        options = kwargs or {}
        given = tuple(self._value(arg) for arg in args)
        named = tuple(Option(name, self._value(value)) for name, value in options.items() if value is not None)
        results = func(*args, **options)
        leaves = pytree.tree_leaves(results)
        is_view = not func._schema.is_mutable and before and all(map(self._is_known, leaves))
        if not is_view:
            places = tuple(None if self._is_known(leaf) else self.window(leaf) for leaf in leaves)
            operator_named(name_of(func))
            self._steps.append(CallStep(name_of(func), given, named, places))
        return results

    def watched(self, spec: KernelSpec, launch: Callable[..., None]) -> Callable[..., None]:
        """A kernel's call that is recorded, too."""

        def launch_and_record(*tensors: torch.Tensor) -> None:
            places = tuple(
                self.window(tensor) if place in _only_written(spec) else self._read(tensor)
                for place, tensor in enumerate(tensors)
            )
            if spec not in self.kernels:
                self.kernels.append(spec)
            self._steps.append(KernelStep(self.kernels.index(spec), places))
            launch(*tensors)

        return launch_and_record

    def add_constant(self, tensor: torch.Tensor, name: str) -> None:
        """Memory that the plan brings along, with what it holds now."""
        if self._is_known(tensor):
            return
        self.window(tensor)
        elements = tensor.untyped_storage().nbytes() // tensor.itemsize
        whole = tensor.detach().as_strided((elements,), (1,), 0)
        spans = tensor.storage_offset() == 0 and reach(0, tensor.shape, tensor.stride())[1] == elements
        self.constants.append((name, self.window(tensor if spans else whole), whole.clone()))

    def window(self, tensor: torch.Tensor) -> int:
        """Number of the view that a tensor is; its memory is known from now on."""
        if tensor.device.type != "spyre":
            raise PlanError(f"a plan runs on the card; this function uses a tensor on {tensor.device}")
        storage = tensor.untyped_storage()
        dtype = str(tensor.dtype).removeprefix("torch.")
        if storage._cdata not in self._places:
            self._places[storage._cdata] = len(self._buffers)
            self._buffers.append(Buffer(dtype, storage.nbytes() // tensor.itemsize))
            self._alive.append(storage)
        place = self._places[storage._cdata]
        sizes, strides = tuple(tensor.shape), tuple(tensor.stride())
        window = Window(place, dtype, int(tensor.storage_offset()), sizes, strides)
        return self._windows.setdefault(window, len(self._windows))

    def program(self, outputs: Sequence[torch.Tensor], single: bool) -> Program:
        """All that was recorded."""
        given = tuple(self.window(output) for output in outputs)
        return Program(tuple(self._buffers), tuple(self._windows), tuple(self._steps), given, single)

    def _is_known(self, leaf: Any) -> bool:
        return not isinstance(leaf, torch.Tensor) or leaf.untyped_storage()._cdata in self._places

    def _read(self, tensor: torch.Tensor) -> int:
        if tensor.device.type == "spyre" and not self._is_known(tensor):
            raise PlanError("a plan reads what its steps have written, and its arguments; this function reads more")
        return self.window(tensor)

    def _value(self, value: Any) -> Value:
        if isinstance(value, torch.Tensor):
            return Use(self._read(value))
        if isinstance(value, (list, tuple)):
            return Items(tuple(self._value(item) for item in value))
        if isinstance(value, (torch.dtype, torch.memory_format, torch.layout)):
            return TorchName(str(value).removeprefix("torch."))
        if isinstance(value, torch.device):
            return TheCard()
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        raise PlanError(f"a plan holds no {type(value).__name__}")


def _only_written(spec: KernelSpec) -> set[int]:
    """Arguments that the kernel writes before it reads them."""
    read: set[int] = set()
    written: set[int] = set()
    for op in spec.ops:
        read |= {arg.buffer for arg in op.args if isinstance(arg, TensorArg)} - written
        written.add(op.output.buffer)
    return written - read
