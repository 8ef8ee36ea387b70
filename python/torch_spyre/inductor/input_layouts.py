"""Device layouts of a graph's inputs: they are read while it compiles, and then part of its key and of its guards.

Descriptors say where data is restickified, which follows from how inputs lie: a graph is compiled for layouts as it is
for dtypes. As in Dynamo itself, reading is what makes a guard. A process that has named no layout has none to read: its
graphs depend on just that, without a check at each call, and are dropped when the first layout is named.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch._dynamo.guards import install_guard
from torch._dynamo.symbolic_convert import InstructionTranslator
from torch._functorch._aot_autograd.descriptors import PlainAOTInput, SyntheticBaseAOTInput, ViewBaseAOTInput
from torch._guards import Guard, TracingContext

from .._engine import engine
from .._hooks import SpyreTensorLayout
from .._layout_use import no_layout_yet

__all__ = ["InputLayouts", "chosen_layout"]

#: Layouts that were chosen, by place among the arguments of Dynamo's graph.
Layouts = Mapping[int, SpyreTensorLayout]
_KEY = "spyre_device_layout"


class InputLayouts:
    """What each compilation has read, for a function's forward and backward graph. Guarded by the compiler's lock."""

    def __init__(self) -> None:
        self._read: WeakKeyDictionary[TracingContext, Layouts] = WeakKeyDictionary()

    def text(self) -> str:
        """For keys of caches; empty where nobody chose a layout."""
        return "".join(f"{place}: {layout}\n" for place, layout in self._of_this_graph().items())

    def note(self, gm: torch.fx.GraphModule) -> None:
        """Writes layouts to the inputs of a graph that came out of Dynamo's: see chosen_layout."""
        layouts = self._of_this_graph()
        for node in gm.graph.find_nodes(op="placeholder") if layouts else ():
            if (layout := layouts.get(_place(node.meta.get("desc")))) is not None:
                node.meta[_KEY] = layout

    def _of_this_graph(self) -> Layouts:
        context = TracingContext.try_get()
        if context is None:
            return {}
        if context not in self._read:
            self._read[context] = _read_inputs()
        return self._read[context]


def chosen_layout(node: Any) -> SpyreTensorLayout | None:
    """Of an input of the graph; None: the card's own choice, or no input."""
    return node.meta.get(_KEY) if isinstance(node, torch.fx.Node) else None


def _place(description: Any) -> int:
    """Of an input of AOTAutograd's graphs, in Dynamo's."""
    while isinstance(description, (SyntheticBaseAOTInput, ViewBaseAOTInput)):
        description = description.base_of
    return description.idx if isinstance(description, PlainAOTInput) else -1


def _read_inputs() -> Layouts:
    """Of the graph that Dynamo is about to have compiled; guards what it reads."""
    arguments = {place: argument for place, argument in enumerate(_arguments()) if _is_on_card(argument.example)}
    layouts = {place: engine().kept_layout(argument.example) for place, argument in arguments.items()}
    for place, layout in layouts.items():
        install_guard(arguments[place].source.make_guard(functools.partial(_device_layout, layout=layout)))
    return {place: layout for place, layout in layouts.items() if layout is not None}


def _arguments() -> list[Any]:
    with contextlib.suppress(AttributeError):  # where nobody traces
        return InstructionTranslator.current_tx().output.graphargs
    return []


def _is_on_card(value: Any) -> bool:
    real = isinstance(value, torch.Tensor) and not isinstance(value, torch._subclasses.FakeTensor)
    return real and value.device.type == "spyre"


def _device_layout(builder: Any, guard: Guard, layout: SpyreTensorLayout | None) -> None:
    """A check at each call, in C; none as long as no tensor can have a layout."""
    if layout is None and (state := no_layout_yet()) is not None:
        builder.id_ref(state, "the time before the first device layout")
        return
    wanted = "the card's own choice" if layout is None else str(layout)
    text = [f"{guard.name} has the device layout: {wanted}"]
    builder.get_guard_manager(guard).add_lambda_guard(engine().layout_guard(layout), text, guard.user_stack)
