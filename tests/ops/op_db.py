"""PyTorch's own description of its operators (op_db): their samples, run on CPU and on the device.

A way of calling is a function of (operator, sample, device) that returns what came out; errors are outcomes too. A way
of comparing is a generator of trials, one for each sample.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.autograd.forward_ad as fwAD
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_map_only
from torch_spyre.testing import to_device

from .op_outcomes import Outcome, Refusal, as_right_as, difference, outcome, tensors_in, ulps_between
from .op_tier import NOTHING, Ran, watched

# What they give is drawn, or memory as it was: only types and shapes can agree.
DRAWING = {
    *("bernoulli", "cauchy", "exponential", "geometric", "log_normal", "multinomial", "normal", "uniform"),
    *("rand", "rand_like", "randint", "randint_like", "randn", "randn_like"),
    *("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"),
    *("nn.functional.rrelu", "nn.functional.gumbel_softmax", "svd_lowrank", "pca_lowrank"),
    *("nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d"),
}
# Which parts there are is read on the host: as on CUDA, that argument is a CPU tensor.
READS_ARGUMENTS_ON_HOST = {"tensor_split"}


def full_name(op: Any) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


OPERATORS = {full_name(op): op for op in op_db}


@dataclass(frozen=True)
class Trial:
    """One sample, called one way on both devices."""

    difference: str | None  # what is wrong with the device's outcome, in a line
    ulps: float = 0
    ran: Ran = NOTHING


Way = Callable[[Any, torch.dtype, range], Iterator[Trial]]  # for these samples of an operator


def draws(op: Any, sample: Any) -> bool:
    """Whether the outcome is drawn at random."""
    if op.name == "nn.functional.multi_head_attention_forward" and sample.args[9] > 0:  # dropout_p
        return True
    return op.name in DRAWING or "dropout" in op.name or sample.kwargs.get("dropout_p", 0) > 0


def moved(tree: Any, device: str) -> Any:
    """The same arguments on `device`, strides and all, in memory of their own."""

    def move(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.layout != torch.strided or tensor.is_conj() or tensor.is_neg():
            return tensor.detach().clone().to(device).requires_grad_(tensor.requires_grad)
        if device == "spyre":
            return to_device(tensor)
        storage = tensor.detach().as_strided((tensor.untyped_storage().nbytes() // tensor.element_size(),), (1,), 0)
        copy = storage.clone().as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
        return copy.requires_grad_(tensor.requires_grad)

    tree = tree_map_only(torch.Tensor, move, tree)
    return tree_map_only(torch.device, lambda _: torch.device(device), tree)


def arguments(op: Any, sample: Any, device: str) -> tuple[list[Any], dict[str, Any]]:
    keywords = moved(dict(sample.kwargs), device)
    if "device" in keywords:
        keywords["device"] = device
    positional = list(sample.args) if op.name in READS_ARGUMENTS_ON_HOST else moved(list(sample.args), device)
    return [moved(sample.input, device), *positional], keywords


def forward(op: Any, sample: Any, device: str) -> Outcome:
    positional, keywords = arguments(op, sample, device)
    return outcome(lambda: op(*positional, **keywords))


def in_place(op: Any, sample: Any, device: str) -> Outcome:
    positional, keywords = arguments(op, sample, device)
    return outcome(lambda: [op.get_inplace()(*positional, **keywords), positional[0]])


def method(op: Any, sample: Any, device: str) -> Outcome:
    positional, keywords = arguments(op, sample, device)
    return outcome(lambda: op.get_method()(*positional, **keywords))


def differentiable(op: Any, sample: Any, positional: list[Any], keywords: dict[str, Any]) -> tuple[Any, Any]:
    """The tensors that depend on the tensors that require a gradient, and those."""
    result = op(*positional, **keywords)
    if sample.output_process_fn_grad is not None:
        result = sample.output_process_fn_grad(result)
    starts = [t for t in tensors_in([positional, keywords]) if t.requires_grad]
    return [t for t in tensors_in(result) if t.requires_grad], starts


def gradients_of(ends: list[torch.Tensor], starts: list[torch.Tensor], again: bool = False) -> list[torch.Tensor]:
    if not ends or not starts:
        return []
    seeds = [torch.linspace(0.1, 1, t.numel()).reshape(t.shape).to(t.dtype).to(t.device) for t in ends]
    gradients = torch.autograd.grad(ends, starts, seeds, allow_unused=True, create_graph=again)
    return [g for g in gradients if g is not None]


def gradient(op: Any, sample: Any, device: str) -> Outcome:
    positional, keywords = arguments(op, sample, device)
    return outcome(lambda: gradients_of(*differentiable(op, sample, positional, keywords)))


def second_gradient(op: Any, sample: Any, device: str) -> Outcome:
    positional, keywords = arguments(op, sample, device)

    def call() -> list[torch.Tensor]:
        ends, starts = differentiable(op, sample, positional, keywords)
        first = [g for g in gradients_of(ends, starts, again=True) if g.requires_grad]
        return gradients_of(first, starts)

    return outcome(call)


def tangent(op: Any, sample: Any, device: str) -> Outcome:
    """Forward-mode derivative along ones."""
    positional, keywords = arguments(op, sample, device)

    def call() -> list[torch.Tensor]:
        with fwAD.dual_level():
            dual = tree_map_only(
                torch.Tensor,
                lambda t: fwAD.make_dual(t, torch.ones_like(t)) if t.requires_grad else t,
                [positional, keywords],
            )
            result = op(*dual[0], **dual[1])
            if sample.output_process_fn_grad is not None:
                result = sample.output_process_fn_grad(result)
            tangents = [fwAD.unpack_dual(t).tangent for t in tensors_in(result)]
            return [t for t in tangents if t is not None]

    return outcome(call)


def with_gaps(t: torch.Tensor) -> torch.Tensor:
    """Every second element of each dimension of a column-major tensor."""
    whole = torch.zeros([2 * n for n in reversed(t.shape)], dtype=t.dtype)
    return whole.permute(tuple(reversed(range(t.dim()))))[(slice(None, None, 2),) * t.dim()]


# How a tensor to write to may look.
DESTINATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "right": torch.zeros_like,
    "empty": lambda t: torch.zeros(0, dtype=t.dtype),
    "strided": with_gaps,
    "integer": lambda t: torch.zeros(t.shape, dtype=torch.int64 if t.dtype == torch.int32 else torch.int32),
    "overlapping": lambda t: torch.zeros((), dtype=t.dtype).expand(t.shape),
}
# CPU kernels that write past the end of an overlapping tensor would take the test down with them.
ONLY_ON_SPYRE = "overlapping"


def into(op: Any, sample: Any, device: str, result: Any, destination: str) -> Outcome:
    positional, keywords = arguments(op, sample, device)
    targets = moved(tree_map_only(torch.Tensor, DESTINATIONS[destination], result), device)
    targets = tuple(targets) if isinstance(targets, list) else targets

    def call() -> Any:
        op(*positional, out=targets, **keywords)
        return targets

    return outcome(call)


def samples_of(op: Any, dtype: torch.dtype, which: range, grad: bool = False) -> list[Any]:
    torch.manual_seed(0)
    # op.sample_inputs() would look through the stack for the name of the test, each time.
    return list(itertools.islice(op.sample_inputs_func(op, "cpu", dtype, grad), which.start, which.stop))


def seeded(way: Callable[..., Outcome], *rest: Any) -> Outcome:
    torch.manual_seed(0)
    return way(*rest)


def in_float64(run: Callable[..., Outcome], op: Any, sample: Any) -> Outcome:
    def widen(t: torch.Tensor) -> torch.Tensor:
        wide = torch.complex128 if t.is_complex() else torch.float64
        exact = not (t.is_complex() or t.dtype.is_floating_point)
        return t if exact else t.detach().to(wide).requires_grad_(t.requires_grad)

    return seeded(run, op, sample.transform(lambda t: widen(t) if isinstance(t, torch.Tensor) else t), "cpu")


def same_outcomes(run: Callable[..., Outcome], grad: bool = False) -> Way:
    def trials(op: Any, dtype: torch.dtype, which: range) -> Iterator[Trial]:
        for sample in samples_of(op, dtype, which, grad):
            drawn = draws(op, sample)
            found, ran = watched(lambda sample=sample: seeded(run, op, sample, "spyre"))
            expected = seeded(run, op, sample, "cpu")
            if isinstance(expected, Refusal):
                ran = NOTHING  # the host has the say where CPU refuses
            # PyTorch promises no strides for gradients.
            text = difference(found, expected, drawn=drawn, strides=not grad)
            if text and as_right_as(expected, found, lambda sample=sample: in_float64(run, op, sample)):
                text = None
            yield Trial(text, 0 if drawn or text else ulps_between(found, expected), ran)

    return trials


def same_destinations(op: Any, dtype: torch.dtype, which: range) -> Iterator[Trial]:
    """out= tensors of every look."""
    for sample in samples_of(op, dtype, which):
        result = seeded(forward, op, sample, "cpu")
        if isinstance(result, Refusal):
            continue
        for destination in DESTINATIONS:
            differs = difference_into(op, sample, result, destination)
            yield Trial(f"out= {destination}: {differs}" if differs else None)


def difference_into(op: Any, sample: Any, result: Outcome, destination: str) -> str | None:
    found = seeded(into, op, sample, "spyre", result, destination)
    right = difference(found, result, drawn=draws(op, sample), strides=False)
    if destination == ONLY_ON_SPYRE:
        return None if isinstance(found, Refusal) else right
    expected = seeded(into, op, sample, "cpu", result, destination)
    differs = difference(found, expected, drawn=draws(op, sample))
    # Some CPU kernels write a strided tensor as if it were contiguous: what it should hold is right, too.
    return differs and right and differs


def same_refusals(op: Any, _dtype: torch.dtype, which: range) -> Iterator[Trial]:
    torch.manual_seed(0)
    for case in itertools.islice(op.error_inputs_func(op, "cpu"), which.start, which.stop):
        given = case.sample_input
        if any(t.is_meta for t in tensors_in([given.input, given.args, given.kwargs])):
            continue  # there is nothing to move
        found, expected = (forward(op, given, device) for device in ("spyre", "cpu"))
        if isinstance(expected, Refusal):
            yield Trial(difference(found, expected))


WAYS: dict[str, Way] = {
    "forward": same_outcomes(forward),
    "method": same_outcomes(method),
    "in place": same_outcomes(in_place),
    "out": same_destinations,
    "gradient": same_outcomes(gradient, grad=True),
    "second gradient": same_outcomes(second_gradient, grad=True),
    "tangent": same_outcomes(tangent, grad=True),
    "errors": same_refusals,
}


def applies(way: str, op: Any, dtype: torch.dtype) -> bool:
    if dtype not in op.supported_dtypes("cpu"):
        return False
    if way == "method":
        return op.get_method() is not None
    if way == "in place":
        return op.get_inplace() is not None
    if way == "out":
        return op.supports_out
    if way in ("gradient", "second gradient", "tangent"):
        return supports_derivative(way, op) and dtype in op.supported_backward_dtypes("cpu")
    return way != "errors" or op.error_inputs_func is not None


def supports_derivative(way: str, op: Any) -> bool:
    if way == "tangent":
        return op.supports_forward_ad
    return op.supports_autograd and (way == "gradient" or op.supports_gradgrad)


def trials(way: str, name: str, dtype: torch.dtype, which: range) -> Iterator[Trial]:
    return WAYS[way](OPERATORS[name], dtype, which)


def differences(way: str, name: str, dtype: torch.dtype, count: int) -> list[str]:
    return [t.difference for t in trials(way, name, dtype, range(count)) if t.difference is not None]
