"""Softmax, normalizations and losses, with gradients, against CPU; and that they run as few kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from .compare import FLOATS, compare_gradients, compare_with_cpu, same_error, sample

CLOSE = {
    torch.float64: {"rtol": 1e-12, "atol": 1e-12}, torch.float32: {"rtol": 3e-6, "atol": 3e-6},
    torch.float16: {"rtol": 3e-3, "atol": 3e-3}, torch.bfloat16: {"rtol": 2e-2, "atol": 2e-2},
}  # fmt: skip
GRADIENT = {"rtol": 2e-5, "atol": 2e-5}


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("fn", [F.softmax, F.log_softmax], ids=["softmax", "log_softmax"])
def test_softmax(fn: Callable, dtype: torch.dtype, dim: int) -> None:
    x = sample((4, 9, 33), dtype)
    compare_with_cpu(lambda t: fn(t, dim), x, **CLOSE[dtype])
    compare_with_cpu(lambda t: fn(t.transpose(0, 2), dim), x, **CLOSE[dtype])
    if dtype == torch.float32:
        compare_gradients(lambda t: fn(t, dim), x, **GRADIENT)


def test_softmax_corners() -> None:
    inf = float("inf")
    x = torch.tensor([[1e4, 0.0, -1e4], [-inf, 0.0, 1.0], [-inf, -inf, -inf], [inf, 0.0, 1.0]])
    compare_with_cpu(lambda t: [F.softmax(t, 1), F.log_softmax(t, 1)], x, rtol=1e-6, atol=1e-6)
    compare_with_cpu(lambda t: F.softmax(t, 0), torch.tensor(3.0))
    compare_with_cpu(lambda t: F.softmax(t, 1), torch.empty(3, 0))
    same_error(lambda t: F.softmax(t, 3), x)
    same_error(lambda t: torch._softmax(t.long(), 0, False), torch.ones(3))


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_layer_norm(dtype: torch.dtype, affine: bool) -> None:
    x, w, b = sample((4, 6, 48), dtype), sample((48,), dtype, seed=1), sample((48,), dtype, seed=2)
    fn = lambda t, w, b: F.layer_norm(t, (48,), w if affine else None, b if affine else None)  # noqa: E731
    compare_with_cpu(fn, x, w, b, **CLOSE[dtype])
    if dtype == torch.float32 and affine:
        compare_gradients(fn, x, w, b, **GRADIENT)
        compare_gradients(
            lambda t, w, b: F.layer_norm(t, (6, 48), w.expand(6, 48), b.expand(6, 48)), x, w, b, **GRADIENT
        )
    compare_with_cpu(lambda t: F.layer_norm(t.transpose(0, 2), (4,)), x, **CLOSE[dtype])
    compare_with_cpu(lambda t: torch.native_layer_norm(t, (6, 48), None, None, 1e-5), x, **CLOSE[dtype])


def test_no_samples() -> None:
    """What a batch that is empty gives, and its gradients: zeros for the parameters."""
    w, b = sample((8,), torch.float32, seed=1), sample((8,), torch.float32, seed=2)
    none = torch.empty(0, 8)
    for fn in (lambda t, w, b: F.layer_norm(t, (8,), w, b), lambda t, w, b: F.group_norm(t, 2, w, b)):
        compare_with_cpu(fn, none, w, b)
        compare_gradients(fn, none, w, b)
    compare_with_cpu(lambda t: torch.native_layer_norm(t, (8,), None, None, 1e-5), torch.empty(3, 0, 8))


def test_layer_norm_refusals() -> None:
    x = sample((4, 8), torch.float32)
    same_error(lambda t: F.layer_norm(t, (7,)), x)
    same_error(lambda t: F.layer_norm(t, (8,), torch.ones(7, device=t.device)), x)


def test_group_norm() -> None:
    x, w, b = (
        sample((3, 8, 5, 6), torch.float32),
        sample((8,), torch.float32, seed=1),
        sample((8,), torch.float32, seed=2),
    )
    fn = lambda t, w, b: F.group_norm(t, 4, w, b)  # noqa: E731
    compare_with_cpu(fn, x, w, b, **CLOSE[torch.float32])
    compare_gradients(fn, x, w, b, **GRADIENT)


def test_batch_norm_with_update() -> None:
    """The operator that exported programs have."""

    def fn(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, mean: torch.Tensor, var: torch.Tensor) -> Any:
        out, *saved, _ = torch.ops.aten._batch_norm_with_update(x, w, b, mean, var, 0.1, 1e-5)
        return out, *saved

    x, rows = sample((4, 6, 9), torch.float32), [sample((6,), torch.float32, 0.5, 2, seed=i) for i in range(4)]
    compare_with_cpu(fn, x, *rows, **CLOSE[torch.float32])
    compare_gradients(lambda x, w, b: fn(x, w, b, torch.zeros_like(w), torch.ones_like(w))[0], x, *rows[:2], **GRADIENT)


@pytest.mark.parametrize("shape", [(6, 5), (6, 5, 7), (6, 5, 4, 3)], ids=str)
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm(training: bool, shape: tuple[int, ...]) -> None:
    x, w, b = sample(shape, torch.float32), sample((5,), torch.float32, seed=1), sample((5,), torch.float32, seed=2)
    mean, var = sample((5,), torch.float32, seed=3), sample((5,), torch.float32, 0.5, 2, seed=4)
    fn = lambda t, w, b, m, v: F.batch_norm(t, m, v, w, b, training)  # noqa: E731
    compare_with_cpu(fn, x, w, b, mean, var, **CLOSE[torch.float32])  # the running statistics, too
    plain = lambda t, w, b: F.batch_norm(  # noqa: E731
        t, mean.clone().to(t.device), var.clone().to(t.device), w, b, training
    )
    compare_gradients(plain, x, w, b, **GRADIENT)
    compare_with_cpu(plain, x.transpose(0, -1).contiguous().transpose(0, -1), w, b, **CLOSE[torch.float32])


@pytest.mark.parametrize("parameters", [None, torch.float32], ids=["one type", "float32 parameters"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_in_half(training: bool, dtype: torch.dtype, parameters: torch.dtype | None) -> None:
    x = sample((6, 5, 4, 3), dtype)
    w, b, mean = (sample((5,), parameters or dtype, seed=seed) for seed in (1, 2, 3))
    var = sample((5,), parameters or dtype, 0.5, 2, seed=4)
    torch.spyre.reset_stats()
    fn = lambda t, w, b, m, v: F.batch_norm(t, m, v, w, b, training)  # noqa: E731
    compare_with_cpu(fn, x, w, b, mean, var, **CLOSE[dtype])
    plain = lambda t, w, b: F.batch_norm(  # noqa: E731
        t, mean.clone().to(t.device), var.clone().to(t.device), w, b, training
    )
    compare_gradients(plain, x, w, b, **CLOSE[dtype])
    assert not torch.spyre.stats()["fallbacks"]


def test_rms_norm() -> None:
    x, w = sample((4, 6, 48), torch.float32), sample((48,), torch.float32, seed=1)
    compare_with_cpu(lambda t, w: F.rms_norm(t, (48,), w), x, w, **CLOSE[torch.float32])


LOSSES: dict[str, Callable] = {
    "mse": F.mse_loss, "l1": F.l1_loss, "smooth_l1": F.smooth_l1_loss, "huber": F.huber_loss,
    "bce_logits": lambda x, y, reduction: F.binary_cross_entropy_with_logits(x, y.sigmoid(), reduction=reduction),
    "bce": lambda x, y, reduction: F.binary_cross_entropy(x.sigmoid(), y.sigmoid().detach(), reduction=reduction),
    "kl": lambda x, y, reduction: F.kl_div(
        x.log_softmax(1), y.softmax(1), reduction="batchmean" if reduction == "mean" else reduction
    ),
}  # fmt: skip


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("name", LOSSES)
def test_losses(name: str, reduction: str) -> None:
    x, y = sample((7, 12), torch.float32), sample((7, 12), torch.float32, seed=1)
    fn = lambda a, b: LOSSES[name](a, b, reduction=reduction)  # noqa: E731
    compare_with_cpu(fn, x, y, rtol=5e-6, atol=5e-6)
    compare_gradients(lambda a: fn(a, y.to(a.device)), x, **GRADIENT)


def test_cross_entropy() -> None:
    x, y = sample((16, 10), torch.float32), torch.arange(16) % 10
    for reduction in ("none", "sum", "mean"):
        fn = lambda a, r=reduction: F.cross_entropy(a, y.to(a.device), reduction=r)  # noqa: E731
        compare_with_cpu(fn, x, **CLOSE[torch.float32])
        compare_gradients(fn, x, **GRADIENT)
    compare_with_cpu(lambda a: F.cross_entropy(a, y.to(a.device), label_smoothing=0.1), x, **CLOSE[torch.float32])


def test_prelu() -> None:
    x, w = sample((4, 6, 5), torch.float32), sample((6,), torch.float32, 0.1, 0.5)
    compare_with_cpu(F.prelu, x, w)
    compare_gradients(F.prelu, x, w, **GRADIENT)
