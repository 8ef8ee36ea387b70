"""Which operators of a graph stay calls of themselves: all that are no loops over the op table.

They are recorded by the eager engine, as library operations or on the host, between the kernels of the same trace.
The choice is positive: an operator that nobody listed stays a call, which eager code has shown to work.
"""

from __future__ import annotations

import functools
import hashlib
import pathlib

import torch
from torch._inductor.custom_graph_pass import CustomGraphModulePass

from .decompositions import WHOLE
from .dump import dump_graph
from .host_numbers import is_view, kept_on_host, tensors
from .input_layouts import InputLayouts
from .nested_scatters import write_once
from .op_names import NATIVE_TYPES, aten_overloads
from .recomposed import put_together

# Operators that Inductor turns into loops without a row in the op table.
_REDUCTIONS = ["all", "all.dim", "all.dims", "amax", "amin", "any", "any.dim", "any.dims", "argmax", "argmin"]
_TOTALS = ["max", "mean", "mean.dim", "min", "prod", "prod.dim_int", "sum", "sum.dim_IntList"]
_FILLS = ["fill.Scalar", "full", "full_like", "new_full", "new_ones", "new_zeros", "ones", "ones_like", "scalar_tensor"]
_EMPTY = ["empty.memory_format", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "zeros", "zeros_like"]
_POSITIONS = ["arange", "tril", "triu", "where.Scalar", "where.ScalarOther", "where.ScalarSelf"]
_COPIES = ["_to_copy", "clone", "copy", "copy_", "detach", "expand_as", "lift_fresh_copy"]
_LOOPS = frozenset(_REDUCTIONS + _TOTALS + _FILLS + _EMPTY + _POSITIONS + _COPIES)
# Of Inductor's own operators, those that read where data says.
_GATHERS = frozenset(["_low_memory_max_pool_with_offsets", "_low_memory_max_pool_offsets_to_indices"])


class LibrarySteps(CustomGraphModulePass):
    """Marks nodes for Inductor's own fallback, just before lowering, and says which graphs are alike."""

    def __init__(self) -> None:
        self._layouts = InputLayouts()

    def __call__(self, gm: torch.fx.GraphModule) -> None:
        self._layouts.note(gm)
        put_together(gm)
        write_once(gm)
        stays = [node for node in gm.graph.nodes if node.op == "call_function" and stays_a_call(node)]
        stays += kept_on_host(gm)
        for node in stays:
            node.meta["should_fallback"] = True
        dump_graph(gm, stays)

    def uuid(self) -> str:
        """Compiled graphs on disk are of this choice, and for inputs that lie as those at hand."""
        return hashlib.sha256((_source() + self._layouts.text()).encode()).hexdigest()


@functools.cache
def _source() -> str:
    """All that makes modules out of graphs."""
    here = pathlib.Path(__file__).parent
    return "".join(path.read_text() for path in sorted(here.rglob("*.py")))


def stays_a_call(node: torch.fx.Node) -> bool:
    """Whether an operator on the device is none that becomes loops. One without a result checks its arguments."""
    target, results = node.target, tensors(node.meta.get("val"))
    inputs = [tensor for argument in node.all_input_nodes for tensor in tensors(argument.meta.get("val"))]
    concerned = results or inputs
    if not isinstance(target, torch._ops.OpOverload) or not concerned or not all(map(is_on_device, concerned)):
        return False
    if target.namespace != "aten":
        return target.namespace == "prims" and _name(target) in _GATHERS
    if is_view(target) or target._schema.name.startswith("aten::_foreach_"):
        return False
    return not _has_loops(target, results, inputs)


def _has_loops(target: torch._ops.OpOverload, results: list[torch.Tensor], inputs: list[torch.Tensor]) -> bool:
    """Whether an operator becomes loops with these inputs."""
    if any(not is_on_device(tensor) and tensor.dim() > 0 for tensor in inputs):
        return target in (torch.ops.aten.copy_.default, torch.ops.aten._to_copy.default)
    native = all(tensor.dtype in NATIVE_TYPES for tensor in (*results, *inputs))
    return native and target not in WHOLE and _name(target) in _loops()


def is_on_device(tensor: torch.Tensor) -> bool:
    return tensor.device.type == "spyre"


@functools.cache
def _loops() -> frozenset[str]:
    return _LOOPS | aten_overloads()


def _name(target: torch._ops.OpOverload) -> str:
    """As the op table writes it: no overload name where it is "default"."""
    name = target._schema.name.partition("::")[2]
    return name if target._overloadname == "default" else f"{name}.{target._overloadname}"
