"""PyTorch's own description of its operators (op_db): their samples, run on CPU and on the device.

A way of calling is a function of (operator, sample, device) that returns what came out; errors are outcomes too.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves, tree_map_only

from .compare import to_spyre

# dtype: relative and absolute tolerance. Exactness is law 3's business; here a value has to be right at all.
TOLERANCES = {
    torch.float16: (4e-2, 2e-2),
    torch.bfloat16: (4e-2, 5e-2),
    torch.float32: (2e-3, 3e-4),
    torch.complex64: (2e-3, 3e-4),
    torch.float64: (1e-6, 1e-7),
    torch.complex128: (1e-6, 1e-7),
}
SHORT = (torch.float16, torch.bfloat16)
# What they give is drawn, or memory as it was: only types and shapes can agree.
DRAWING = {
    *("bernoulli", "cauchy", "exponential", "geometric", "log_normal", "multinomial", "normal", "uniform"),
    *("rand", "rand_like", "randint", "randint_like", "randn", "randn_like"),
    *("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"),
    *("nn.functional.rrelu", "nn.functional.gumbel_softmax", "svd_lowrank", "pca_lowrank"),
    *("nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d"),
}


def full_name(op: Any) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


OPERATORS = {full_name(op): op for op in op_db}


@dataclass(frozen=True)
class Refusal:
    """An error as an outcome."""

    kind: type
    text: str


Outcome = Any  # a tree of tensors, or a Refusal
Way = Callable[[Any, torch.dtype, int], Iterator[str | None]]  # differences over so many samples of an operator


def draws(op: Any, sample: Any) -> bool:
    """Whether the outcome is drawn at random."""
    if op.name == "nn.functional.multi_head_attention_forward" and sample.args[9] > 0:  # dropout_p
        return True
    return op.name in DRAWING or "dropout" in op.name or sample.kwargs.get("dropout_p", 0) > 0


def tensors_in(tree: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def moved(tree: Any, device: str) -> Any:
    """The same arguments on `device`, strides and all, in memory of their own."""

    def move(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.layout != torch.strided or tensor.is_conj() or tensor.is_neg():
            return tensor.detach().clone().to(device).requires_grad_(tensor.requires_grad)
        if device == "spyre":
            return to_spyre(tensor)
        storage = tensor.detach().as_strided((tensor.untyped_storage().nbytes() // tensor.element_size(),), (1,), 0)
        copy = storage.clone().as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
        return copy.requires_grad_(tensor.requires_grad)

    tree = tree_map_only(torch.Tensor, move, tree)
    return tree_map_only(torch.device, lambda _: torch.device(device), tree)


def arguments(sample: Any, device: str) -> tuple[list[Any], dict[str, Any]]:
    keywords = moved(dict(sample.kwargs), device)
    if "device" in keywords:
        keywords["device"] = device
    return [moved(sample.input, device), *moved(list(sample.args), device)], keywords


def outcome(call: Callable[[], Any]) -> Outcome:
    try:
        result = call()
        torch.spyre.synchronize()
    except Exception as error:
        return Refusal(type(error), str(error).splitlines()[0] if str(error) else "")
    return result


def forward(op: Any, sample: Any, device: str) -> Outcome:
    positional, keywords = arguments(sample, device)
    return outcome(lambda: op(*positional, **keywords))


def in_place(op: Any, sample: Any, device: str) -> Outcome:
    positional, keywords = arguments(sample, device)
    return outcome(lambda: [op.get_inplace()(*positional, **keywords), positional[0]])


def gradient(op: Any, sample: Any, device: str) -> Outcome:
    positional, keywords = arguments(sample, device)

    def call() -> list[torch.Tensor]:
        result = op(*positional, **keywords)
        if sample.output_process_fn_grad is not None:
            result = sample.output_process_fn_grad(result)
        ends = [t for t in tensors_in(result) if t.requires_grad]
        starts = [t for t in tensors_in([positional, keywords]) if t.requires_grad]
        if not ends or not starts:
            return []
        seeds = [torch.linspace(0.1, 1, t.numel()).reshape(t.shape).to(t.dtype).to(t.device) for t in ends]
        return [g for g in torch.autograd.grad(ends, starts, seeds, allow_unused=True) if g is not None]

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
    positional, keywords = arguments(sample, device)
    targets = moved(tree_map_only(torch.Tensor, DESTINATIONS[destination], result), device)
    targets = tuple(targets) if isinstance(targets, list) else targets

    def call() -> Any:
        op(*positional, out=targets, **keywords)
        return targets

    return outcome(call)


def difference(found: Outcome, expected: Outcome, drawn: bool = False, strides: bool = True) -> str | None:
    """What is wrong with the device's outcome, in a line."""
    if isinstance(expected, Refusal) or isinstance(found, Refusal):
        return difference_of_refusals(found, expected)
    ours, theirs = tensors_in(found), tensors_in(expected)
    if len(ours) != len(theirs):
        return f"{len(ours)} tensors, expected {len(theirs)}"
    return next(
        filter(None, (difference_of_tensors(a, b, drawn, strides) for a, b in zip(ours, theirs, strict=True))), None
    )


def difference_of_refusals(found: Outcome, expected: Outcome) -> str | None:
    if isinstance(expected, Refusal) and isinstance(found, Refusal):
        agree = issubclass(found.kind, expected.kind)
        return None if agree else f"raised {found}, expected {expected}"
    return f"raised {found}" if isinstance(found, Refusal) else f"did not raise {expected}"


def difference_of_tensors(found: torch.Tensor, expected: torch.Tensor, drawn: bool, strides: bool) -> str | None:
    if (found.dtype, found.shape, found.layout) != (expected.dtype, expected.shape, expected.layout):
        return f"{found.dtype} {tuple(found.shape)}, expected {expected.dtype} {tuple(expected.shape)}"
    if found.layout != torch.strided or drawn:
        return None
    if strides and found.numel() > 0 and found.stride() != expected.stride():
        return f"strides {found.stride()}, expected {expected.stride()} for {tuple(found.shape)}"
    rtol, atol = TOLERANCES.get(expected.dtype, (0, 0))
    if expected.dtype in SHORT and expected.numel() > 0:  # CPU may round every term of a sum
        atol = max(atol, float(expected.detach().nan_to_num(0, 0, 0).abs().max()) / 100)
    try:
        torch.testing.assert_close(found.detach().cpu(), expected.detach(), rtol=rtol, atol=atol, equal_nan=True)
    except AssertionError as error:
        return " ".join(str(error).split())
    return None


def samples_of(op: Any, dtype: torch.dtype, count: int, grad: bool = False) -> Iterator[Any]:
    torch.manual_seed(0)
    # op.sample_inputs() would look through the stack for the name of the test, each time.
    return itertools.islice(op.sample_inputs_func(op, "cpu", dtype, grad), count)


def seeded(way: Callable[..., Outcome], *rest: Any) -> Outcome:
    torch.manual_seed(0)
    return way(*rest)


def same_outcomes(run: Callable[..., Outcome], grad: bool = False) -> Way:
    """What differs between the devices, sample by sample."""

    def differs(op: Any, dtype: torch.dtype, count: int) -> Iterator[str | None]:
        for sample in samples_of(op, dtype, count, grad):
            found, expected = (seeded(run, op, sample, device) for device in ("spyre", "cpu"))
            # PyTorch promises no strides for gradients.
            yield difference(found, expected, drawn=draws(op, sample), strides=not grad)

    return differs


def same_destinations(op: Any, dtype: torch.dtype, count: int) -> Iterator[str | None]:
    """out= tensors of every look."""
    for sample in samples_of(op, dtype, count):
        result = seeded(forward, op, sample, "cpu")
        if isinstance(result, Refusal):
            continue
        for destination in DESTINATIONS:
            differs = difference_into(op, sample, result, destination)
            yield f"out= {destination}: {differs}" if differs else None


def difference_into(op: Any, sample: Any, result: Outcome, destination: str) -> str | None:
    found = seeded(into, op, sample, "spyre", result, destination)
    right = difference(found, result, drawn=draws(op, sample), strides=False)
    if destination == ONLY_ON_SPYRE:
        return None if isinstance(found, Refusal) else right
    expected = seeded(into, op, sample, "cpu", result, destination)
    differs = difference(found, expected, drawn=draws(op, sample))
    # Some CPU kernels write a strided tensor as if it were contiguous: what it should hold is right, too.
    return differs and right and differs


def same_refusals(op: Any, _dtype: torch.dtype, count: int) -> Iterator[str | None]:
    torch.manual_seed(0)
    for case in itertools.islice(op.error_inputs_func(op, "cpu"), count):
        given = case.sample_input
        if any(t.is_meta for t in tensors_in([given.input, given.args, given.kwargs])):
            continue  # there is nothing to move
        found, expected = (forward(op, given, device) for device in ("spyre", "cpu"))
        if isinstance(expected, Refusal):
            yield difference(found, expected)


WAYS: dict[str, Way] = {
    "forward": same_outcomes(forward),
    "in place": same_outcomes(in_place),
    "out": same_destinations,
    "gradient": same_outcomes(gradient, grad=True),
    "errors": same_refusals,
}


def applies(way: str, op: Any, dtype: torch.dtype) -> bool:
    if dtype not in op.supported_dtypes("cpu"):
        return False
    if way == "in place":
        return op.get_inplace() is not None
    if way == "out":
        return op.supports_out
    if way == "gradient":
        return op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
    return way != "errors" or op.error_inputs_func is not None


def differences(way: str, name: str, dtype: torch.dtype, count: int) -> list[str]:
    return [d for d in WAYS[way](OPERATORS[name], dtype, count) if d is not None]
