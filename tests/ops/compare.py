"""compare_with_cpu: the same call on both devices, and proof that the device ran it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch_spyre.testing import counting, to_device, ulps_apart

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
ALL_TYPES = (*FLOATS, *INTEGERS, torch.bool)


def leaves(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [leaf for v in value for leaf in leaves(v)]
    return [value]


def assert_same(
    actual: torch.Tensor,
    expected: torch.Tensor,
    *,
    ulp: float = 0,
    atol: float = 0,
    rtol: float = 0,
    strides: bool = True,
) -> None:
    """Type, shape, strides and values; `ulp` 0 means the same values bit for bit (zeros and NaNs by class)."""
    assert actual.device.type == "spyre", f"result lives on {actual.device}"
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    if strides:
        assert actual.stride() == expected.stride()
    actual = actual.detach().cpu()
    expected = expected.detach()
    if not expected.dtype.is_floating_point:
        assert torch.equal(actual, expected), f"{actual} is not {expected}"
        return
    if atol or rtol:
        torch.testing.assert_close(actual, expected, atol=atol, rtol=rtol, equal_nan=True)
        return
    apart = ulps_apart(actual, expected)
    assert apart <= ulp, f"{apart} ulp apart (allowed {ulp}): {actual.flatten()[:8]} is not {expected.flatten()[:8]}"


def fallbacks_of(call: Callable[[], Any]) -> tuple[Any, dict[str, int]]:
    """The call's result, and the operators that ran on the host for it."""
    with counting() as counted:
        result = call()
    return result, counted["fallbacks"]


def compare_with_cpu(fn: Callable[..., Any], *inputs: Any, host: Sequence[str] = (), **tolerance: Any) -> None:
    """Runs fn on CPU and on the device. In-place changes of the inputs are compared too. `host`: operators that may
    run on the host."""
    moved = to_device(inputs)
    expected = fn(*inputs)
    actual, on_host = fallbacks_of(lambda: fn(*moved))
    assert set(on_host) <= set(host), f"ran on the host: {on_host}"
    for a, e in zip(leaves(actual), leaves(expected), strict=True):
        if isinstance(e, torch.Tensor):
            assert_same(a, e, **tolerance)
        else:
            assert a == e
    for a, e in zip(leaves(moved), leaves(inputs), strict=True):
        if isinstance(e, torch.Tensor):
            assert_same(a, e, **tolerance)


def compare_gradients(fn: Callable[..., torch.Tensor], *inputs: torch.Tensor, **tolerance: Any) -> None:
    """Backward through fn, with the same random gradient on both devices."""
    own = [t.detach().clone().requires_grad_(t.is_floating_point()) for t in inputs]
    moved = [t.detach().to("spyre").requires_grad_(t.is_floating_point()) for t in inputs]
    expected = fn(*own)
    actual = fn(*moved)
    torch.manual_seed(0)
    grad = torch.randn(expected.shape).to(expected.dtype)
    expected.backward(grad)
    actual.backward(grad.to("spyre"))
    for a, e in zip(moved, own, strict=True):
        if e.grad is not None:
            assert_same(a.grad, e.grad, strides=False, **tolerance)


def same_error(fn: Callable[..., Any], *inputs: Any, text: bool = True) -> None:
    """Both devices refuse with the same Python type, and the same text unless it names devices."""
    errors = []
    for arguments in (inputs, to_device(inputs)):
        try:
            for leaf in leaves(fn(*arguments)):
                if isinstance(leaf, torch.Tensor):
                    leaf.cpu()  # faults of the device show when a value is read
        except Exception as error:
            errors.append(error)
    assert len(errors) == 2, f"only one device refused: {errors}"
    assert issubclass(type(errors[1]), type(errors[0])), errors
    if text:
        assert str(errors[0]).splitlines()[0] == str(errors[1]).splitlines()[0]


def sample(shape: Sequence[int], dtype: torch.dtype, low: float = -4, high: float = 4, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    if dtype == torch.bool:
        return torch.rand(tuple(shape), generator=generator) < 0.5
    values = torch.rand(tuple(shape), generator=generator, dtype=torch.float64) * (high - low) + low
    if dtype == torch.uint8:
        values = values.abs()
    return values.to(dtype)


def layouts(dtype: torch.dtype, low: float = -4, high: float = 4, seed: int = 0) -> dict[str, torch.Tensor]:
    """One tensor of each layout."""

    def make(*shape):
        return sample(shape, dtype, low, high, seed)

    return {
        "contiguous": make(3, 5, 7),
        "transposed": make(7, 5, 3).permute(2, 1, 0),
        "sliced": make(6, 5, 14)[::2, :, ::2],
        "expanded": make(3, 1, 7).expand(3, 5, 7),
        "offset": make(4, 5, 7)[1:],
        "empty": make(3, 0, 7),
        "one": make(1, 1, 1),
        "scalar": make(),
        "long row": make(1037),
    }
