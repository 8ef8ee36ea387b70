"""Inductor's scheduler calls this with loops, in order; what lies between two calls of operators becomes one kernel.

No fusion is decided here: a kernel is recorded operation by operation into the stream's trace, where the passes that
serve eager code fuse across kernels and calls alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy
import torch
from torch._inductor.dependencies import MemoryDep
from torch._inductor.ir import ComputedBuffer
from torch._inductor.scheduler import BaseSchedulerNode, BaseScheduling, SchedulerNode
from torch._inductor.utils import get_fused_kernel_name, sympy_product
from torch._inductor.virtualized import V
from torch.utils._ordered_set import OrderedSet

from .dump import dump_kernel
from .errors import unsupported
from .iteration_space import IterationSpace, NotAffineError
from .kernel_builder import KernelBuilder, real_name
from .kernel_spec import KernelSpec
from .loop_program import LoopProgram, NoProgramError
from .reduction_order import loops_of


class SpyreScheduling(BaseScheduling):
    """Collects loops until the scheduler flushes. Confined to one compilation."""

    def __init__(self, scheduler: Any) -> None:
        super().__init__(scheduler)
        self._nodes: list[SchedulerNode] = []

    def group_fn(self, sizes: Sequence[Sequence[sympy.Expr]]) -> tuple[sympy.Expr, ...]:
        return tuple(V.graph.sizevars.simplify(sympy_product(size)) for size in sizes)

    def can_fuse_vertical(self, node1: BaseSchedulerNode, node2: BaseSchedulerNode) -> bool:
        return False

    def can_fuse_horizontal(self, node1: BaseSchedulerNode, node2: BaseSchedulerNode) -> bool:
        return False

    def codegen_node(self, node: Any) -> None:
        for part in node.get_nodes():
            self._nodes.append(part)
            part.mark_run()

    def codegen_sync(self) -> None:
        """A kernel is recorded: there is nothing to wait for."""

    def flush(self) -> None:
        if not self._nodes:
            return
        nodes, self._nodes = self._nodes, []
        wrapper = V.graph.wrapper_code
        name = f"spyre_{get_fused_kernel_name(nodes, 'original_aten')}_{wrapper.next_kernel_suffix()}"
        spec = kernel_spec(name, nodes)
        dump_kernel(spec, nodes)
        wrapper.define_kernel(name, f"prepare_kernel({spec.source()})", gpu=False)
        self.codegen_comment(nodes, name)
        wrapper.writeline(f"{name}({', '.join((*spec.arguments, *spec.symbols))})")


def kernel_spec(name: str, nodes: Sequence[SchedulerNode]) -> KernelSpec:
    """The loops of all nodes as one kernel. Raises UnsupportedError."""
    local = _local_buffers(nodes)
    V.graph.removed_buffers |= local
    used = OrderedSet(
        real_name(dep.name)
        for node in nodes
        for dep in (*node.read_writes.reads, *node.read_writes.writes)
        if isinstance(dep, MemoryDep)
    )
    builder = KernelBuilder([buffer for buffer in used if buffer not in local], local)
    for node in nodes:
        try:
            _add_loops(builder, node)
        except (NoProgramError, NotAffineError) as cause:
            what = "an index that is not affine: " if isinstance(cause, NotAffineError) else ""
            raise unsupported(f"there are no operations for {what}{cause}", node) from None
    return builder.finish(name)


def _add_loops(builder: KernelBuilder, node: SchedulerNode) -> None:
    """One node's operations, in its own loops: Inductor's merged and reordered ones would add in another order."""
    buffer = node.node
    assert isinstance(buffer, ComputedBuffer)
    sizes, body, variables = buffer.get_default_sizes_body()
    space = IterationSpace(loops_of(buffer, sizes, variables), body.indexing_exprs.values())
    written = {real_name(name) for name in node.get_buffer_names()}
    with V.set_ops_handler(LoopProgram(builder, space, written)):
        body(*(variables if node.is_reduction() else variables[:1]), allow_same_symbol_in_index=True)


def _local_buffers(nodes: Sequence[SchedulerNode]) -> OrderedSet[str]:
    """Buffers that only these nodes see."""
    scheduler = V.graph.scheduler
    names = OrderedSet(node.get_name() for node in nodes)
    return OrderedSet(
        buffer
        for node in nodes
        for buffer in node.get_buffer_names()
        if scheduler.can_buffer_be_removed_through_fusion(buffer, names)
        and isinstance(V.graph.get_buffer(buffer).get_dtype(), torch.dtype)
    )
