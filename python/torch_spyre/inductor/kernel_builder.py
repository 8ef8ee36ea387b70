"""A kernel while it grows: its buffers, its temporaries, its operations."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import sympy
import torch
from torch._inductor.codegen.wrapper import pexpr
from torch._inductor.virtualized import V

from .common_operations import without_repetitions
from .direct_loads import with_direct_loads
from .direct_stores import with_direct_stores
from .host_operations import with_host_operations
from .kernel_spec import Arg, Extent, HostArg, KernelSpec, OpSpec, SizeArg, Temporary, TensorArg
from .op_names import NATIVE_TYPES


def real_name(name: str) -> str:
    """The buffer that a name's writes end in: a mutation's own buffer is what it mutates."""
    return str(V.graph.scheduler.mutation_real_name.get(name, name))


class KernelBuilder:
    """Collects operations over buffers. Names in `local` are written and read by this kernel alone: temporaries."""

    def __init__(self, arguments: Sequence[str], local: Iterable[str]) -> None:
        self._arguments = {name: place for place, name in enumerate(arguments)}
        self._local: dict[str, int] = dict.fromkeys(local, -1)
        self._temporaries: list[Temporary | None] = []
        self._symbols: dict[str, None] = {}
        self.ops: list[OpSpec] = []

    def extent(self, expression: sympy.Expr | int) -> Extent:
        """As a KernelSpec has it; notes the symbols."""
        if isinstance(expression, (int, sympy.Integer)):  # nearly all of them
            return int(expression)
        simple = V.graph.sizevars.simplify(expression)
        if simple.is_Integer:
            return int(simple)
        self._note(simple)
        return str(pexpr(simple))

    def _note(self, expression: sympy.Expr) -> None:
        self._symbols |= dict.fromkeys(sorted(str(symbol) for symbol in expression.free_symbols))

    def size_arg(self, expression: sympy.Expr) -> SizeArg:
        """A number that is no extent; notes the symbols."""
        simple = V.graph.sizevars.simplify(expression)
        self._note(simple)
        return SizeArg(str(pexpr(simple)))

    def extents(self, expressions: Iterable[sympy.Expr | int]) -> tuple[Extent, ...]:
        return tuple(self.extent(expression) for expression in expressions)

    def buffer(self, name: str) -> int:
        """Number of a named buffer of the graph."""
        if name not in self._local:
            return self._arguments[name]
        if self._local[name] < 0:
            layout = V.graph.get_buffer(name).get_layout()
            self._local[name] = self.temporary(layout.dtype, [layout.storage_size()])
        return self._local[name]

    def temporary(self, dtype: torch.dtype, sizes: Iterable[sympy.Expr | int]) -> int:
        """Number of a new temporary."""
        self._temporaries.append(Temporary(NATIVE_TYPES[dtype], self.extents(sizes)))
        return len(self._arguments) + len(self._temporaries) - 1

    def redirect(self, step: int, output: TensorArg) -> None:
        """Lets a step write elsewhere; who reads what it wrote reads there."""
        before = self.ops[step].output
        self.ops[step] = dataclasses.replace(self.ops[step], output=output)
        for later in range(step + 1, len(self.ops)):
            args = tuple(output if arg == before else arg for arg in self.ops[later].args)
            self.ops[later] = dataclasses.replace(self.ops[later], args=args)
        self._temporaries[before.buffer - len(self._arguments)] = None

    def is_temporary(self, arg: TensorArg) -> bool:
        """Whether a window is of a step's own temporary, not of a buffer with a name."""
        return arg.buffer >= len(self._arguments) and arg.buffer not in self._local.values()

    def finish(self, name: str) -> KernelSpec:
        """The kernel, without repeated operations and copies, and without temporaries that nothing uses any more."""
        count = len(self._arguments)
        own = range(count, count + len(self._temporaries))
        steps = with_host_operations(without_repetitions(self.ops, own), own)
        steps = with_direct_loads(with_direct_stores(steps, own), own)
        used = {arg.buffer for op in steps for arg in (*op.args, op.output) if isinstance(arg, TensorArg)}
        kept = [place for place in range(len(self._temporaries)) if count + place in used]
        numbers = {count + place: count + number for number, place in enumerate(kept)}

        def renumbered(arg: Arg) -> Arg:
            if isinstance(arg, (TensorArg, HostArg)):
                return dataclasses.replace(arg, buffer=numbers.get(arg.buffer, arg.buffer))
            return arg

        ops = []
        for op in steps:
            output = renumbered(op.output)
            assert isinstance(output, TensorArg)
            ops.append(dataclasses.replace(op, args=tuple(map(renumbered, op.args)), output=output))
        return KernelSpec(
            name=name,
            arguments=tuple(self._arguments),
            on_device=tuple(is_on_device(argument) for argument in self._arguments),
            symbols=tuple(self._symbols),
            temporaries=tuple(t for place in kept if (t := self._temporaries[place]) is not None),
            ops=tuple(ops),
        )


def is_on_device(name: str) -> bool:
    """Whether a buffer is on a card; otherwise it is on the host."""
    buffer = V.graph.try_get_buffer(name)
    device = buffer.get_device() if buffer is not None else V.graph.constants[name].device
    return device is not None and device.type == "spyre"
