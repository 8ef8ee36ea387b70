"""The Python around compiled kernels: allocations, calls of operators, calls of kernels."""

from __future__ import annotations

import functools
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
            from torch_spyre.inductor.kernel_spec import (
                ConstantArg, HostArg, HostOp, IotaArg, KernelSpec, OpSpec, SizeArg, TensorArg, Temporary
            )
            from torch_spyre.inductor.prepared import prepare_kernel
            """,
            strip=True,
        )
        # After PyTorch's own names: the check of the same name is theirs, but quick.
        self.header.splice(
            """
            from torch_spyre._C import assert_size_stride, empty_strided as empty_strided_spyre
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

    def write_assert_size_stride(self, name: str, size: str, stride: str, op_name: str) -> None:
        """Not of inputs with mode="reduce-overhead"; results of operators are asked for in any mode."""
        if op_name != "input" or not config.triton.cudagraphs:
            super().write_assert_size_stride(name, size, stride, op_name)

    def generate_fallback_kernel(self, node: Any) -> None:
        if (called := _quick_form(node.op_overload)) is not None:
            node.python_kernel_name = self.alias(called)
        super().generate_fallback_kernel(node)

    def alias(self, called: str) -> str:
        """The module's own name for PyTorch's binding of an operator."""
        alias = f"aten_{called}"
        if alias not in self._aliases:
            self._aliases.add(alias)
            self.header.writeline(f"{alias} = torch.{_home_of(called)}.{called}")
        return alias

    @functools.cached_property
    def _aliases(self) -> set[str]:
        """What the module's head has named so far."""
        return set()

    def memory_plan_reuse(self) -> None:
        with config.patch(allow_buffer_reuse=False):
            super().memory_plan_reuse()  # type: ignore[no-untyped-call]


def _quick_form(target: Any) -> str | None:
    """PyTorch's own binding of an operator, if there is one that takes what the schema says: it reads its arguments in
    half the time that a call through torch.ops takes."""
    if not isinstance(target, torch._ops.OpOverload) or target.namespace != "aten":
        return None
    arguments = target._schema.arguments
    if any(str(argument.type) == "List[Optional[Tensor]]" for argument in arguments):
        return None  # an index of x[:, i] is None, which only torch.ops takes
    makes_tensors = any(argument.name == "layout" for argument in arguments)
    name: str = target._schema.name.removeprefix("aten::")
    of_two = target._overloadname == "Tensor" and not any(
        isinstance(argument.type, torch.ListType) for argument in arguments
    )
    plain = (target._overloadname == "default" or of_two) and not makes_tensors
    return name if plain and _home_of(name) is not None else None


def _home_of(name: str) -> str | None:
    """Where in torch the binding of an operator is; those that write into their first argument are methods."""
    if hasattr(torch._C._VariableFunctions, name):
        return "_C._VariableFunctions"
    return "_C.TensorBase" if name.endswith("_") and hasattr(torch._C.TensorBase, name) else None


class SpyreSubgraphCodegen(SubgraphPythonWrapperCodegen, SpyrePythonWrapperCodegen):
    """The same for a part of a graph, in the same module."""

    def alias(self, called: str) -> str:
        return self.parent_wrapper.alias(called)  # type: ignore[attr-defined]
