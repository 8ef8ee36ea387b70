"""The Python around compiled kernels: allocations, calls of operators, calls of kernels."""

from __future__ import annotations

from typing import Any

import torch
from torch._inductor import config
from torch._inductor.codegen.wrapper import PythonWrapperCodegen, SubgraphPythonWrapperCodegen


class SpyrePythonWrapperCodegen(PythonWrapperCodegen):
    """Inductor's wrapper, with the device's own allocations and without reuse of buffers: plans do that."""

    @staticmethod
    def create(
        is_subgraph: bool,
        subgraph_name: str | None,
        parent_wrapper: PythonWrapperCodegen | None,
        partition_signatures: Any = None,
    ) -> PythonWrapperCodegen:
        if is_subgraph:
            assert subgraph_name is not None
            assert parent_wrapper is not None
            return SpyreSubgraphCodegen(subgraph_name, parent_wrapper, partition_signatures)
        wrapper: PythonWrapperCodegen = SpyrePythonWrapperCodegen()  # type: ignore[no-untyped-call]
        return wrapper

    def write_header(self) -> None:
        super().write_header()
        self.imports.splice(
            """
            from torch_spyre._C import empty_strided as empty_strided_spyre
            from torch_spyre.inductor.kernel_spec import (
                ConstantArg, HostArg, IotaArg, KernelSpec, OpSpec, SizeArg, TensorArg, Temporary
            )
            from torch_spyre.inductor.prepared import prepare_kernel
            """,
            strip=True,
        )

    def make_allocation(
        self,
        name: str,
        device: torch.device,
        dtype: torch.dtype,
        shape: Any,
        stride: Any,
        allocation_shape: Any = None,
        is_pinned: bool = False,
    ) -> str:
        if device.type != "spyre" or allocation_shape not in (None, shape):
            rest = shape, stride, allocation_shape, is_pinned
            return str(super().make_allocation(name, device, dtype, *rest))  # type: ignore[no-untyped-call]
        sizes, strides = map(self.codegen_python_shape_tuple, (shape, stride))
        return f"{name} = empty_strided_spyre({sizes}, {strides}, {dtype}, {device.index or 0})"

    def memory_plan_reuse(self) -> None:
        with config.patch(allow_buffer_reuse=False):
            super().memory_plan_reuse()  # type: ignore[no-untyped-call]


class SpyreSubgraphCodegen(SubgraphPythonWrapperCodegen, SpyrePythonWrapperCodegen):
    """The same for a part of a graph."""
