"""SPYRE_DUMP: what each step made of a compiled kernel, as text and as descriptors."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch._functorch._aot_autograd.logging_utils import get_aot_graph_name
from torch._inductor.virtualized import V

from .._engine import engine
from .input_layouts import chosen_layout
from .kernel_spec import KernelSpec
from .kernel_text import kernel_text

if TYPE_CHECKING:
    from .card.from_kernel import Layouts
    from .card.program import CardProgram


class Dump:
    """Files of one kernel or graph, in the folder that SPYRE_DUMP names; without one, nothing is written."""

    def __init__(self, name: str) -> None:
        self._folder = engine().settings()["dump"]
        self.name = name

    @property
    def is_wanted(self) -> bool:
        return bool(self._folder)

    def write(self, step: str, text: str, kind: str = "txt") -> None:
        """`<name>.<process>.<step>.<kind>`."""
        path = pathlib.Path(self._folder)
        path.mkdir(parents=True, exist_ok=True)
        (path / f"{self.name}.{os.getpid()}.{step}.{kind}").write_text(text)


def dump_graph(gm: torch.fx.GraphModule, stays: Iterable[torch.fx.Node]) -> None:
    """The operators after all decompositions, and which of them stay calls."""
    dump = Dump(get_aot_graph_name())
    if not dump.is_wanted:
        return
    calls = "".join(f"# stays a call: {node.name} = {node.target}\n" for node in stays)
    dump.write("decompositions", gm.print_readable(print_output=False) + calls, "py")
    from .card.products import product_program

    for node in stays:
        if (program := product_program(node)) is not None:
            _describe(Dump(f"{dump.name}.{node.name}"), program)


def dump_kernel(spec: KernelSpec, nodes: Sequence[Any]) -> None:
    """The loops, the kernel, its description after each pass, and its descriptors."""
    dump = Dump(spec.name)
    if not dump.is_wanted:
        return
    dump.write("lowering", "\n\n".join(node.debug_str() for node in nodes))
    dump.write("kernel", kernel_text(spec))
    from .card.from_kernel import card_program

    _describe(dump, card_program(spec, _symbols(spec), _shapes(spec), _layouts()))


def _describe(dump: Dump, program: CardProgram) -> None:
    """The description after each pass, and the descriptors, an operation on every line."""
    from .card.passes import run_passes
    from .card.schema import check
    from .card.superdsc import superdsc

    run_passes(program, dump.write)
    descriptors = superdsc(program)
    check(descriptors)
    lines = (f"{json.dumps(name)}: {json.dumps(descriptor)}" for name, descriptor in descriptors.items())
    dump.write("superdsc", "{\n" + ",\n".join(lines) + "\n}\n", "json")


def _symbols(spec: KernelSpec) -> Mapping[str, int]:
    """What the graph was traced with stands for sizes that change."""
    hints = {str(symbol): value for symbol, value in V.graph.sizevars.backed_var_to_val.items()}
    return {name: int(hints[name]) for name in spec.symbols if name in hints}


def _layouts() -> Layouts:
    """Of the graph's inputs."""
    inputs = V.graph.orig_gm.graph.find_nodes(op="placeholder")
    return {node.name: layout for node in inputs if (layout := chosen_layout(node)) is not None}


def _shapes(spec: KernelSpec) -> Mapping[str, tuple[list[int], list[int]]]:
    return {
        name: (_hints(layout.size), _hints(layout.stride))
        for name, on_device in zip(spec.arguments, spec.on_device, strict=True)
        if on_device and (layout := _layout(name)) is not None
    }


def _layout(name: str) -> Any:
    buffer = V.graph.try_get_buffer(name)
    return None if buffer is None else buffer.get_layout()


def _hints(extents: Iterable[Any]) -> list[int]:
    return [int(V.graph.sizevars.optimization_hint(extent, fallback=1)) for extent in extents]
