"""What came out of a call: tensors or an error; and what is wrong with the device's outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_leaves
from torch_spyre.testing import ulps_apart

# dtype: relative and absolute tolerance. Exactness is law 3's business; here a value has to be right at all.
TOLERANCES = {
    torch.float16: (4e-2, 2e-2),
    torch.bfloat16: (4e-2, 5e-2),
    torch.complex32: (4e-2, 2e-2),
    torch.float32: (2e-3, 3e-4),
    torch.complex64: (2e-3, 3e-4),
    torch.float64: (1e-6, 1e-7),
    torch.complex128: (1e-6, 1e-7),
}
SHORT = (torch.float16, torch.bfloat16, torch.complex32)


@dataclass(frozen=True)
class Refusal:
    """An error as an outcome."""

    kind: type
    text: str


Outcome = Any  # a tree of tensors, or a Refusal


def tensors_in(tree: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def numbers_in(tree: Any) -> list[str]:
    """As text, so that NaN is NaN; rounded as a float32 result may be."""
    numbers = [leaf for leaf in tree_leaves(tree) if isinstance(leaf, (bool, int, float, complex))]
    return [f"{n:.3g}" if isinstance(n, (float, complex)) else str(n) for n in numbers]


def outcome(call: Callable[[], Any]) -> Outcome:
    try:
        result = call()
        torch.spyre.synchronize()
    except Exception as error:
        return Refusal(type(error), str(error).splitlines()[0] if str(error) else "")
    return result


def difference(found: Outcome, expected: Outcome, drawn: bool = False, strides: bool = True) -> str | None:
    """What is wrong with the device's outcome, in a line."""
    if isinstance(expected, Refusal) or isinstance(found, Refusal):
        return difference_of_refusals(found, expected)
    ours, theirs = tensors_in(found), tensors_in(expected)
    if len(ours) != len(theirs):
        return f"{len(ours)} tensors, expected {len(theirs)}"
    if not drawn and numbers_in(found) != numbers_in(expected):
        return f"{numbers_in(found)}, expected {numbers_in(expected)}"
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
    if expected.dtype in TOLERANCES and expected.numel() > 0:
        # The terms of a sum that cancels are as large as its neighbours. In short types, CPU may round each of them.
        largest = float(expected.detach().abs().nan_to_num(0, 0, 0).max())
        atol = max(atol, largest / 100 if expected.dtype in SHORT else largest * rtol / 100)
    try:
        torch.testing.assert_close(found.detach().cpu(), expected.detach(), rtol=rtol, atol=atol, equal_nan=True)
    except AssertionError as error:
        return " ".join(str(error).split())
    return None


def ulps_between(found: Outcome, expected: Outcome) -> float:
    """The largest distance of agreeing outcomes."""
    if isinstance(expected, Refusal):
        return 0
    pairs = zip(tensors_in(found), tensors_in(expected), strict=True)
    return max((ulps_between_tensors(a, b) for a, b in pairs), default=0)


def ulps_between_tensors(found: torch.Tensor, expected: torch.Tensor) -> float:
    if found.layout != torch.strided or found.numel() == 0:
        return 0
    ours, theirs = found.detach().cpu(), expected.detach()
    if theirs.is_complex():
        ours, theirs = (torch.view_as_real(t.resolve_conj().resolve_neg()) for t in (ours, theirs))
    if theirs.dtype not in TOLERANCES:
        return 0
    return ulps_apart(ours, theirs)


#: How much further from the truth than CPU's a result may be, where CPU's is far from it, too.
SLACK = 10


def as_right_as(expected: Outcome, found: Outcome, in_float64: Callable[[], Outcome]) -> bool:
    """Where terms cancel, CPU's result is mostly rounding: what it should be is asked of float64. A result in float64
    of shorter arguments (weights of `cov`) is such a one, too; of arguments in float64, the truth is CPU's result."""
    if any(isinstance(o, Refusal) for o in (expected, found)):
        return False
    if not all(t.dtype in TOLERANCES for t in tensors_in([expected, found])):
        return False
    truth = in_float64()
    if isinstance(truth, Refusal):
        return False
    ours, theirs = errors_of(found, truth), errors_of(expected, truth)
    return all(a <= SLACK * b for a, b in zip(ours, theirs, strict=True))


def errors_of(result: Outcome, truth: Outcome) -> list[float]:
    """The largest absolute error of each tensor."""
    pairs = zip(tensors_in(result), tensors_in(truth), strict=True)
    return [float((t.detach().cpu().to(x.dtype) - x).abs().max()) if x.numel() else 0 for t, x in pairs]
