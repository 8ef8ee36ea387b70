"""Upstream's own operators, torch.ops.spyre.*: what each computes, its gradient, and that graphs hold it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional as F

spyre = torch.ops.spyre
UPSTREAM = [
    "softplus",
    "layer_norm",
    "exx2",
    "layernormscale",
    "layernormnorm",
    "rms_norm",
    "topkvalue",
    "topkindex",
    "gelu",
    "silu",
    "clamp",
    "empty",
    "logical_not",
    "copy_from_d2d",
    "copy_forced",
    "opaque_copy_",
    "overwrite",
    "overwrite_f",
    "restickify",
    "max_dim_int64_fallback",
    "min_dim_int64_fallback",
    "max_default_int64_fallback",
    "unfold",
    "reshape_via_cpu",
    "batched_matmul",
    "conv2d",
    "conv2d_with_bias",
    "constant",
    "to_dtype_cpu",
    "qfp8ch",
    "qfp8wt",
    "quantize_fp8_with_scale",
    "dequantize_fp8_with_scale",
    "quantize_weight_fp8_with_scale",
    "scaled_mm",
    "causal_mask",
    "stagger_to_standard_ea",
    "prod_dim_int",
]


def sample(*size: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(seed)).to(dtype)


X = sample(4, 6)
FP8 = sample(4, 64).to(torch.float8_e4m3fn)
IMAGE, WEIGHT = sample(2, 3, 8, 8), sample(4, 3, 3, 3, seed=1)
INTEGERS = torch.arange(12).view(3, 4).flip(1)


def patched(part: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
    whole = whole.clone()
    whole[1:3, 3:5] = part
    return whole


def quantized(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return (x * scale.reciprocal()).clamp(-448, 448).to(torch.float8_e4m3fn)


def standard(x: torch.Tensor) -> torch.Tensor:
    """Element by element: position 8k + w holds element 4k + w of the first half, or of the second from w = 4 on."""
    result = torch.empty_like(x)
    for place in range(x.shape[-1]):
        stick, (k, w) = place // 64 * 64, divmod(place % 64, 8)
        result[..., stick + k * 4 + (w if w < 4 else w - 4 + 32)] = x[..., place]
    return result


# name -> arguments, and the same in PyTorch's words
CASES: dict[str, tuple[tuple[Any, ...], Callable[..., Any]]] = {
    "softplus": ((X * 20, 2.0, 10.0), F.softplus),
    "gelu": ((X, "tanh"), lambda x, a: F.gelu(x, approximate=a)),
    "silu": ((X,), F.silu),
    "clamp": ((X, -0.5, None), lambda x, low, _: x.clamp(min=low)),
    "logical_not": ((X > 0,), torch.logical_not),
    "rms_norm": ((X, [6], sample(6, seed=2), 1e-3), F.rms_norm),
    "topkvalue": ((X, 3, -1), lambda x, k, dim: x.topk(k, dim).values),
    "topkindex": ((X, 2, 0), lambda x, k, dim: x.topk(k, dim).indices.to(x.dtype)),
    "max_dim_int64_fallback": ((INTEGERS, 1, True), lambda x, dim, keep: tuple(x.max(dim, keep))),
    "min_dim_int64_fallback": ((INTEGERS, 0), lambda x, dim: tuple(x.min(dim))),
    "max_default_int64_fallback": ((INTEGERS,), torch.max),
    "prod_dim_int": ((X, 1, True), lambda x, dim, keep: x.prod(dim, keep)),
    "opaque_copy_": ((X, X + 1), lambda value, _: value),
    "restickify": ((X.t(),), lambda x: x),
    "reshape_via_cpu": ((X.t(), [3, 8]), torch.reshape),
    "to_dtype_cpu": ((X, torch.int32), lambda x, dtype: x.to(dtype)),
    "batched_matmul": ((sample(5, 1, 4, 6), sample(3, 6, 2)), torch.matmul),
    "conv2d": ((IMAGE, WEIGHT, [1, 2], [1, 0], [1, 1], 1), lambda x, w, *rest: F.conv2d(x, w, None, *rest)),
    "conv2d_with_bias": ((IMAGE, WEIGHT, sample(4), [1, 1], [0, 0], [2, 1], 1), F.conv2d),
    "unfold": ((IMAGE, [3, 2], None, [1, 0], [2, 1]), lambda x, k, _, p, s: F.unfold(x, k, padding=p, stride=s)),
    "overwrite_f": ((sample(2, 2), X, [0, 1], [1, 3]), lambda x, y, *_: patched(x, y)),
    "qfp8ch": ((X,), lambda x: x.to(torch.float8_e4m3fn)),
    "qfp8wt": ((X,), lambda x: x.to(torch.float8_e4m3fn)),
    "quantize_fp8_with_scale": ((X * 1000, sample(4, 1).abs()), quantized),
    "quantize_weight_fp8_with_scale": ((X, torch.tensor(0.25)), quantized),
    "dequantize_fp8_with_scale": ((FP8, sample(4, 1).half()), lambda x, s: x.half() * s),
    "scaled_mm": ((FP8, FP8.t(), torch.float32), lambda a, b, _: a.float() @ b.float()),
    "stagger_to_standard_ea": ((sample(2, 128).half(),), standard),
}


def on_card(value: Any) -> Any:
    return value.to("spyre") if isinstance(value, torch.Tensor) else value


def assert_same(got: Any, expected: Any) -> None:
    for ours, theirs in zip(*((v if isinstance(v, tuple) else (v,)) for v in (got, expected)), strict=True):
        assert ours.device.type == "spyre"
        assert ours.dtype == theirs.dtype
        wide = [t.cpu().float() if t.dtype == torch.float8_e4m3fn else t.cpu() for t in (ours, theirs)]
        torch.testing.assert_close(*wide, equal_nan=True)


def test_all_of_upstreams_operators_are_there() -> None:
    assert [name for name in UPSTREAM if not hasattr(spyre, name)] == []


@pytest.mark.parametrize("name", CASES)
def test_operators_compute_what_they_say(name) -> None:
    arguments, expected = CASES[name]
    assert_same(getattr(spyre, name)(*map(on_card, arguments)), expected(*arguments))


DIFFERENTIABLE = ["softplus", "gelu", "silu", "clamp", "rms_norm", "topkvalue", "prod_dim_int", "restickify"]
DIFFERENTIABLE += ["reshape_via_cpu", "batched_matmul", "conv2d", "conv2d_with_bias", "unfold", "overwrite_f"]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients(name) -> None:
    arguments, expected = CASES[name]
    gradients = []
    for function, place in ((getattr(spyre, name), on_card), (expected, lambda value: value)):
        given = [place(v).detach().requires_grad_() if isinstance(v, torch.Tensor) else v for v in arguments]
        result = function(*given)
        (result * result.detach().cos()).sum().backward()
        gradients.append([v.grad.cpu() for v in given if isinstance(v, torch.Tensor)])
    # A weight's is a sum over all positions, in an order that differs from one CPU's libraries to another's.
    torch.testing.assert_close(*gradients, rtol=1e-5, atol=5e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_a_layer_norm_is_three_operators(dtype) -> None:
    x, weight, bias = sample(5, 96, dtype=dtype), sample(96, dtype=dtype, seed=1), sample(96, dtype=dtype, seed=2)
    ours = [on_card(t).requires_grad_() for t in (x, weight, bias)]
    moments = spyre.exx2(ours[0], 1 / 96, False)
    assert moments.shape == (5, 2)
    wide = x.float()
    torch.testing.assert_close(moments.cpu(), torch.stack([wide.mean(-1), wide.square().mean(-1)], -1))
    scale = spyre.layernormscale(moments, 1e-5)
    result = spyre.layernormnorm(ours[0], moments, scale, *ours[1:])
    whole = spyre.layer_norm(ours[0], [96], *ours[1:])
    assert torch.equal(result.cpu(), whole.cpu())
    theirs = [t.clone().requires_grad_() for t in (x, weight, bias)]
    expected = F.layer_norm(theirs[0], [96], *theirs[1:])
    torch.testing.assert_close(whole.cpu(), expected)
    whole.sin().sum().backward()
    expected.sin().sum().backward()
    tolerance = {torch.float16: 4e-3, torch.bfloat16: 4e-2, torch.float32: 1e-5}[dtype]
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine.grad.cpu(), other.grad, rtol=tolerance, atol=tolerance)


def test_a_mean_of_zero_is_taken_as_given() -> None:
    moments = spyre.exx2(on_card(X + 3), 1 / 6, True).cpu()
    assert moments[:, 0].tolist() == [0] * 4
    torch.testing.assert_close(moments[:, 1], (X + 3).square().mean(-1))


def test_overwrite_writes_where_it_says_and_nowhere_else() -> None:
    whole = on_card(torch.zeros(3, 8, 5))
    view = whole[:, 1:]
    spyre.overwrite(on_card(sample(2, 3, 5)), view, [0, 1], [1, 2])
    expected = torch.zeros(3, 8, 5)
    expected[1:, 3:6] = sample(2, 3, 5)
    assert torch.equal(whole.cpu(), expected)
    spyre.copy_from_d2d(view[1], whole[0, :7], 45, 0)
    spyre.copy_forced(on_card(torch.ones(8, 5)), whole[2])
    expected[0, :7] = expected[1, 1:]
    expected[2] = 1
    assert torch.equal(whole.cpu(), expected)


def test_wrong_arguments_are_refused() -> None:
    x = on_card(X)
    for call, told in (
        (lambda: spyre.layer_norm(x, [4, 6]), "normalizes over the last dimension"),
        (lambda: spyre.layer_norm(x, [5]), "expected a last dimension of 5"),
        (lambda: spyre.rms_norm(x, [4, 6]), "normalizes over the last dimension"),
        (lambda: spyre.topkvalue(on_card(sample(200)), 129, 0), "at most 128"),
        (lambda: spyre.overwrite(x, x.clone(), [0], [0, 0]), "an offset for each"),
        (lambda: spyre.overwrite(x[:2, :3], x.clone(), [0], [0]), "does not fill"),
        (lambda: spyre.copy_from_d2d(x[1], x[0], 3, 0), "begins at element 6"),
        (lambda: spyre.stagger_to_standard_ea(x), "whole sticks"),
    ):
        with pytest.raises(ValueError, match=told):
            call()
    with pytest.raises((RuntimeError, IndexError), match=r"start .* length"):
        spyre.overwrite(x, x.clone(), [0], [1])


def test_masks_and_constants() -> None:
    mask = spyre.causal_mask(3, 4, torch.float16, torch.device("spyre"))
    assert mask.cpu().tolist() == [[[[0.0 if k <= q else -math.inf for k in range(4)] for q in range(3)]]]
    assert spyre.constant(2.5, torch.float16, torch.device("spyre")) == 2.5
    empty = spyre.empty([2, 3], torch.device("spyre"), torch.bfloat16)
    assert (empty.shape, empty.dtype, empty.device.type) == ((2, 3), torch.bfloat16, "spyre")


def test_they_fuse_like_what_they_are_made_of(stats) -> None:
    x = on_card(X)
    torch.spyre.synchronize()
    torch.spyre.reset_stats()
    spyre.silu(spyre.gelu(x)).cpu()
    assert stats()["kernel_launches"] == 1
    assert not stats()["fallbacks"]
