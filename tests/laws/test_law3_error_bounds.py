"""Law 3: exact ops agree with CPU bit for bit; every other op keeps the bound in ulp that its row states."""

from __future__ import annotations

import math

import pytest
import torch
import torch_spyre
from torch.testing import make_tensor

ROWS = [row for row in torch_spyre._C.op_table() if row["aten"]]
EXACT_ULP = 0.5
SAMPLES = 4096


def overloads(row) -> list:
    found = []
    for name in row["aten"].split(";"):
        packet, _, overload = name.partition(".")
        found.append(getattr(getattr(torch.ops.aten, packet), overload or "default"))
    return found


def takes_only_tensors(overload) -> bool:
    return all(
        "Tensor" in str(argument.type) for argument in overload._schema.arguments if not argument.has_default_value()
    )


CALLS = [(row, overload) for row in ROWS for overload in overloads(row) if takes_only_tensors(overload)]


def arguments(overload, dtype: torch.dtype) -> list[torch.Tensor]:
    """Seeded numbers of many sizes, zeros and signs."""
    count = sum(not argument.has_default_value() for argument in overload._schema.arguments)
    torch.manual_seed(count)
    samples = []
    for _ in range(count):
        x = make_tensor(SAMPLES, dtype=dtype, device="cpu", low=-6, high=6)
        x[::7] *= 1e-3
        x[::11] = 0
        samples.append(x)
    return samples


def ulp_error(found: torch.Tensor, exact: torch.Tensor) -> float:
    """Largest distance in units of the last place of float32; NaN and infinity must be where they belong."""
    wanted = exact.to(torch.float32)
    special = ~torch.isfinite(wanted)
    assert torch.equal(torch.isnan(found), torch.isnan(wanted))
    infinite = special & ~torch.isnan(wanted)
    assert torch.equal(found[infinite], wanted[infinite])
    spacing = torch.nextafter(wanted.abs(), torch.tensor(math.inf)) - wanted.abs()
    errors = (found.double() - exact).abs() / spacing.double()
    return errors[~special].max().item() if (~special).any() else 0.0


@pytest.mark.parametrize(("row", "overload"), CALLS, ids=lambda x: str(x) if callable(x) else x["name"])
def test_error_bound_against_float64(row, overload, stats):
    inputs = arguments(overload, torch.float32)
    try:
        exact = overload(*[x.double() for x in inputs])
    except (RuntimeError, NotImplementedError):
        pytest.skip("not defined for floating point: see the integer test")
    found = overload(*[x.to("spyre") for x in inputs])
    assert stats()["fallbacks"] == {}
    if not exact.is_floating_point():
        assert torch.equal(found.cpu(), overload(*inputs))
        return
    assert ulp_error(found.cpu(), exact) <= max(row["max_ulp"], EXACT_ULP)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize(
    ("row", "overload"),
    [call for call in CALLS if call[0]["max_ulp"] <= EXACT_ULP],
    ids=lambda x: str(x) if callable(x) else x["name"],
)
def test_exact_ops_are_bitwise_equal_to_cpu(row, overload, dtype):
    inputs = arguments(overload, dtype)
    try:
        expected = overload(*inputs)
    except (RuntimeError, NotImplementedError):
        pytest.skip(f"CPU has no {row['name']} of {dtype}")
    found = overload(*[x.to("spyre") for x in inputs]).cpu()
    assert found.dtype == expected.dtype
    assert torch.equal(found.isnan(), expected.isnan())
    assert torch.equal(found[~found.isnan()], expected[~expected.isnan()])


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int32, torch.int64, torch.bool], ids=str)
@pytest.mark.parametrize(("row", "overload"), CALLS, ids=lambda x: str(x) if callable(x) else x["name"])
def test_integers_are_equal_to_cpu(row, overload, dtype):
    inputs = [x.to(dtype) for x in arguments(overload, torch.int16 if dtype is not torch.uint8 else torch.uint8)]
    try:
        expected = overload(*inputs)
    except (RuntimeError, NotImplementedError):
        pytest.skip(f"CPU has no {row['name']} of these numbers")
    if expected.is_floating_point():
        pytest.skip("computed in floating point: see the bound")
    found = overload(*[x.to("spyre") for x in inputs]).cpu()
    assert found.dtype == expected.dtype
    assert torch.equal(found, expected)
