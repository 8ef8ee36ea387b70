"""Python numbers at the edges of a tensor's type: the same value or the same refusal as on CPU."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

Call = Callable[[torch.Tensor, float], torch.Tensor]


def set_first(x: torch.Tensor, number: float) -> torch.Tensor:
    x[0] = number
    return x


def mask(x: torch.Tensor) -> torch.Tensor:
    return torch.tensor([True, False], device=x.device)


def first(x: torch.Tensor) -> torch.Tensor:
    return torch.tensor([0], device=x.device)


CALLS: dict[str, Call] = {
    "add": lambda x, n: x + n,
    "mul_": lambda x, n: x.mul_(n),
    "floor_divide": lambda x, n: x // n,
    "lt": lambda x, n: x < n,
    "and": lambda x, n: x & n,
    "left_shift": lambda x, n: x << n,
    "clamp": lambda x, n: x.clamp(max=n),
    "hardtanh": lambda x, n: torch.nn.functional.hardtanh(x, -1, n),
    "threshold": lambda x, n: torch.nn.functional.threshold(x, n, 2),
    "where": lambda x, n: torch.where(mask(x), x, n),
    "masked_fill": lambda x, n: x.masked_fill(mask(x), n),
    "alpha": lambda x, n: torch.add(x, x, alpha=n),
    "fill_": lambda x, n: x.fill_(n),
    "full": lambda x, n: torch.full((2,), n, dtype=x.dtype, device=x.device),
    "new_tensor": lambda x, n: x.new_tensor([n]),
    "setitem": set_first,
    "index_fill": lambda x, n: x.index_fill(0, first(x), n),
    "scatter": lambda x, n: x.scatter(0, first(x), n),
}
NUMBERS: dict[torch.dtype, list[float]] = {
    torch.float16: [65504, 65504.1, 65519.9, 65520, -70000, 1e30, float("inf"), float("nan"), 1e-8],
    torch.bfloat16: [3.3e38, 3.4e38, 1e39, -1e300, float("inf"), 1e-45],
    torch.float32: [3.4e38, 3.5e38, 1e300, 2**63, 1e-50],
    torch.uint8: [255, 256, 300, -1, 2**31, 2**63, 1e10, True],
    torch.int8: [127, 128, -129, 256, 2**40, float("nan")],
    torch.int32: [2**31 - 1, 2**31, -(2**31) - 1, 2**63, float("inf")],
    torch.int64: [2**63 - 1, -(2**63), 2**63, 1e19],
    torch.bool: [2, -1, 2**63, 0.5],
}
CASES = [(call, dtype, number) for dtype, numbers in NUMBERS.items() for number in numbers for call in CALLS]


def outcome(call: Call, dtype: torch.dtype, number: float, device: str) -> tuple[str, str] | type[Exception]:
    try:
        result = call(torch.ones(2, dtype=dtype).to(device), number)
        return repr(result.tolist()), str(result.dtype)
    except Exception as error:
        return type(error)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "dtype", "number"), CASES, ids=str)
def test_numbers_beyond_a_type(name: str, dtype: torch.dtype, number: float):
    expected = outcome(CALLS[name], dtype, number, "cpu")
    assert outcome(CALLS[name], dtype, number, "spyre") == expected
