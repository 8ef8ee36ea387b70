"""Sums, extremes, positions, norms and variances against CPU."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from .compare import ALL_TYPES, FLOATS, compare_gradients, compare_with_cpu, layouts, same_error, sample

CLOSE = {
    torch.float64: {"rtol": 1e-13, "atol": 1e-13}, torch.float32: {"rtol": 2e-6, "atol": 2e-6},
    torch.float16: {"rtol": 2e-3, "atol": 2e-3}, torch.bfloat16: {"rtol": 2e-2, "atol": 2e-2},
}  # fmt: skip

TOTALS: dict[str, Callable] = {
    "sum": lambda x, **k: x.sum(**k), "mean": lambda x, **k: x.mean(**k), "nansum": lambda x, **k: x.nansum(**k),
    "var": lambda x, **k: x.var(**k), "std": lambda x, **k: x.std(**k), "norm": torch.linalg.vector_norm,
    "logsumexp": lambda x, dim=(0, 1, 2), **k: x.logsumexp(dim=dim, **k),
}  # fmt: skip
EXACT: dict[str, Callable] = {
    "amax": lambda x, **k: x.amax(**k), "amin": lambda x, **k: x.amin(**k), "any": lambda x, **k: x.any(**k),
    "all": lambda x, **k: x.all(**k), "count_nonzero": lambda x, dim=None, **_: x.count_nonzero(dim=dim),
}  # fmt: skip
DIMS = [None, 0, 1, 2, -1, (0, 2), (0, 1), (1, 2), (0, 1, 2)]


def keywords(dim: object, keepdim: bool = False) -> dict:
    return {} if dim is None else {"dim": dim, "keepdim": keepdim}


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", DIMS, ids=str)
@pytest.mark.parametrize("name", TOTALS)
def test_totals(name: str, dim: object, keepdim: bool) -> None:
    x = sample((5, 33, 18), torch.float32, -1, 2)
    compare_with_cpu(lambda t: TOTALS[name](t, **keywords(dim, keepdim)), x, **CLOSE[torch.float32])


@pytest.mark.parametrize("dim", DIMS, ids=str)
@pytest.mark.parametrize("name", EXACT)
def test_exact(name: str, dim: object) -> None:
    for dtype in (torch.float32, torch.int32, torch.bool):
        compare_with_cpu(lambda t: EXACT[name](t, **keywords(dim)), sample((5, 33, 18), dtype))


@pytest.mark.parametrize("dtype", ALL_TYPES, ids=str)
def test_types(dtype: torch.dtype) -> None:
    x = sample((7, 40), dtype)
    exact = {} if not dtype.is_floating_point else CLOSE[dtype]
    for fn in (lambda t: t.sum(), lambda t: t.sum(0), lambda t: t.sum(1, dtype=torch.float64), lambda t: t.prod(1)):
        compare_with_cpu(fn, x, **exact)
    compare_with_cpu(lambda t: [t.amax(1), t.amin(0), t.any(0), t.all(1), t.max(), t.min()], x)
    compare_with_cpu(lambda t: t.sum(1, dtype=torch.int32), x)
    if dtype != torch.bool:
        compare_with_cpu(lambda t: [t.argmax(), t.argmin(0), t.argmax(1, keepdim=True)], x)
    compare_with_cpu(lambda t: [*t.max(1), *t.min(0, keepdim=True)], x)


@pytest.mark.parametrize("layout", layouts(torch.float32))
def test_layouts(layout: str) -> None:
    x = layouts(torch.float32)[layout]
    compare_with_cpu(lambda t: [t.sum(), t.sum(-1), t.sum(0)], x, rtol=2e-6, atol=5e-5)
    compare_with_cpu(lambda t: t.mean(-1), x, **CLOSE[torch.float32])
    if x.numel() > 0:
        compare_with_cpu(lambda t: [t.amax(-1), t.amin(0), *t.max(-1), t.argmax(), t.argmin(0)], x)
        compare_with_cpu(lambda t: t.norm(dim=-1), x, **CLOSE[torch.float32])


def test_nan_and_ties() -> None:
    nan, inf = float("nan"), float("inf")
    x = torch.tensor([[1.0, nan, 3.0, nan], [2.0, 2.0, 1.0, 2.0], [-inf, -inf, -inf, -inf], [0.0, -0.0, 0.0, -0.0]])
    compare_with_cpu(lambda t: [t.amax(1), t.amin(1), *t.max(1), *t.min(1), t.argmax(1), t.argmin(1), t.sum(1)], x)
    compare_with_cpu(lambda t: [t.nansum(1), t.any(1), t.all(1), t.isnan().sum()], x)


def test_long_rows_and_columns() -> None:
    x = sample((3, 70000), torch.float32)
    compare_with_cpu(lambda t: [t.sum(1), t.sum(0), t.sum()], x, rtol=1e-5, atol=1e-2)
    compare_with_cpu(lambda t: [t.amax(1), t.argmax(1), t.argmax(), t.amin()], x)
    compare_with_cpu(lambda t: [t.sum(0), t.sum()], x.t().contiguous(), rtol=1e-5, atol=1e-2)


@pytest.mark.parametrize("order", [0, 1, 2, 3, 0.5, float("inf"), -float("inf"), -1])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_norms(dtype: torch.dtype, order: float) -> None:
    x = sample((6, 21), dtype, 0.5, 2)
    compare_with_cpu(lambda t: torch.linalg.vector_norm(t, order, dim=1), x, **CLOSE[dtype])
    compare_with_cpu(lambda t: torch.linalg.vector_norm(t, order), x, **CLOSE[dtype])


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_spreads(dtype: torch.dtype) -> None:
    x = sample((6, 21), dtype) + 3
    for correction in (0, 1, 2):
        compare_with_cpu(lambda t, c=correction: torch.var(t, 1, correction=c), x, **CLOSE[dtype])
        compare_with_cpu(lambda t, c=correction: [*torch.std_mean(t, 0, correction=c, keepdim=True)], x, **CLOSE[dtype])
    compare_with_cpu(lambda t: [*torch.var_mean(t)], x, **CLOSE[dtype])


def test_far_from_zero() -> None:
    """A variance keeps its digits where the mean is large."""
    x = sample((4, 1000), torch.float32) + 1000
    compare_with_cpu(lambda t: t.double().var(1).float(), x, rtol=1e-6)
    assert torch.allclose(x.to("spyre").var(1).cpu(), x.double().var(1).float(), rtol=1e-4)


def test_empty() -> None:
    x = torch.empty(3, 0, 4)
    compare_with_cpu(lambda t: [t.sum(1), t.prod(1), t.any(1), t.all(1), t.sum(), t.mean(1), t.amax(2), t.sum(2)], x)
    same_error(lambda t: t.amax(1), x)
    same_error(lambda t: t.max(), x)
    same_error(lambda t: t.argmax(), x)
    same_error(lambda t: t.max(1), x)


def test_out() -> None:
    x = sample((5, 7), torch.float32)
    compare_with_cpu(lambda t, o: torch.sum(t, 1, out=o), x, torch.zeros(5), **CLOSE[torch.float32])
    compare_with_cpu(lambda t, o: torch.sum(t, 1, out=o), x, torch.zeros(5, dtype=torch.float64), rtol=1e-12)
    compare_with_cpu(lambda t, o: torch.amax(t, 0, out=o), x, torch.empty(0))
    compare_with_cpu(lambda t, a, b: torch.max(t, 1, out=(a, b)), x, torch.zeros(5), torch.zeros(5, dtype=torch.int64))
    same_error(lambda t, o: torch.amax(t, 0, out=o), x, torch.zeros(7, dtype=torch.int64), text=False)


def test_refusals() -> None:
    x = sample((3, 4), torch.float32)
    same_error(lambda t: t.sum(2), x)
    same_error(lambda t: t.sum((0, 0)), x)
    same_error(lambda t: t.to(torch.int64).mean(), x)
    same_error(lambda t: t.argmax(5), x)
    same_error(lambda t: t.to(torch.int64).var(), x)


def test_gradients() -> None:
    x = sample((4, 9), torch.float32) + 5
    for fn in (
        lambda t: t.sum(1), lambda t: t.mean(0), lambda t: t.var(1), lambda t: t.std(0), lambda t: t.norm(dim=1),
        lambda t: t.amax(1), lambda t: t.max(1).values, lambda t: t.logsumexp(1), lambda t: t.prod(1),
    ):  # fmt: skip
        compare_gradients(fn, x, rtol=2e-5, atol=2e-5)
