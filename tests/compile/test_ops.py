"""Operators in compiled programs: bits of eager code, values of CPU."""

from __future__ import annotations

import functools
import re
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch._inductor.utils import run_and_get_code

from .compare import assert_same_bits, compare_with_cpu

#: Recorded as the same operations by eager code.
SAME: dict[str, Any] = {
    "chain": lambda x: ((x * 2 + 1).relu() - x / 3).exp().tanh(),
    "mathematics": lambda x: (
        x.abs().log1p(),
        x.sin(),
        torch.erf(x),
        x.sigmoid(),
        torch.atan2(x, x + 1),
        x.abs().sqrt(),
    ),
    "comparisons": lambda x: (x > 0, x <= 0.5, (x > 0) & (x < 1), ~(x > 0), x.isnan(), x.sign()),
    "where": lambda x: (torch.where(x > 0, x, -1.0), x.clamp(-0.5, 0.5), torch.maximum(x, -x)),
    "types": lambda x: ((x * 3).int() + 1, x.half() * 2, x.double().cos(), (x * 3).long() // 2, (x > 0).float()),
    "integers": lambda x: [
        op((x * 10).int()) for op in (lambda i: i * i, lambda i: i % 3, lambda i: i << 1, lambda i: i & 6)
    ],
    "sums": lambda x: (x.sum(), x.sum(0), x.sum(1), x.sum((0, 2)), x.sum(-1, keepdim=True), x.transpose(0, 1).sum(1)),
    "short sums": lambda x: (x[:3].sum(0), x[:, :2].sum(1), x[..., :5].prod(2)),
    "means": lambda x: (x.mean(), x.mean(0), x.mean((1, 2)), x[:2].mean(0)),
    "extremes": lambda x: (x.amax(1), x.amin(), x.argmax(2), x.argmin(0), x.argmax(), (x > 1).any(1), (x > 0).all()),
    "dtype of a sum": lambda x: (x.sum(1, dtype=torch.float64), (x > 0).sum(2), x.half().sum(0), (x * 9).int().sum(1)),
    "broadcast": lambda x: x * x[0] + x[:, :1] - x[..., 3:4],
    "views": lambda x: (
        x.transpose(0, 2) + 1,
        x[1:, ::2].exp(),
        x.unsqueeze(1) * 2,
        x.expand(2, *x.shape) + 1,
        x.diagonal() * 2,
    ),
    "reshapes": lambda x: (
        x.transpose(0, 1).reshape(-1) + 1,
        x.permute(2, 0, 1).reshape(8, -1) * 2,
        x.reshape(-1, 4).t().reshape(2, -1) * 2,
    ),
    "aliases": lambda x: (x.transpose(0, 1), x[1], x * 1, x.view(-1)),
    "positions": lambda x: (
        torch.arange(8, device=x.device) * 2,
        x.triu(),
        x.tril(1),
        torch.eye(3, device=x.device),
        torch.linspace(0, 1, 5, device=x.device),
    ),
    "fills": lambda x: (
        torch.ones_like(x),
        x.new_full((3,), 2.5),
        torch.zeros(2, 3, device=x.device),
        x.masked_fill(x > 0, -1e9),
    ),
    "joins": lambda x: (torch.cat([x, x * 2], 1) + 1, torch.stack([x, x]) * 2, F.pad(x, (1, 2)), *x.chunk(2, 2)),
    "shifts": lambda x: (x.roll(1, 0), x.flip(0), x.repeat(2, 1, 1), x[:, 1:] - x[:, :-1]),
    "gathers": lambda x: (
        x[x[:, 0, 0].argsort()],
        x.gather(1, x.argsort(1)),
        x.index_select(2, torch.tensor([1, 0], device=x.device)),
    ),
    "sorts": lambda x: (*x.sort(1), *x.topk(2), x.cumsum(0)),
    "products": lambda x: (x @ x.transpose(1, 2), torch.mm(x[0], x[1].t()).relu(), F.linear(x, x[0])),
    "complex": lambda x: torch.view_as_real(torch.fft.rfft(x)) * 2,
}
#: Which Inductor decomposes in its own way.
CLOSE: dict[str, Any] = {
    "activations": lambda x: (F.gelu(x), F.silu(x), F.gelu(x, approximate="tanh"), F.softplus(x), F.elu(x), F.mish(x)),
    "softmax": lambda x: (F.softmax(x, -1), F.log_softmax(x, 0), torch.logsumexp(x, 1)),
    "norms": lambda x: (
        F.layer_norm(x, (8,)),
        F.rms_norm(x, (8,)),
        F.group_norm(x, 2),
        F.instance_norm(x),
        F.normalize(x),
    ),
    "variances": lambda x: (x.var(1), x.std(), *torch.var_mean(x, 0)),
    "losses": lambda x: (F.mse_loss(x, x * 2), F.smooth_l1_loss(x, x * 3), F.cross_entropy(x[0], x[1].argmax(1))),
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
    "images": lambda x: (
        F.max_pool2d(x[None], 2),
        F.avg_pool2d(x[None], 2),
        F.adaptive_avg_pool2d(x[None], 1),
        F.interpolate(x[None], scale_factor=2),
    ),
}


@functools.cache
def numbers(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(3)).to(dtype)


@pytest.mark.filterwarnings("ignore:Torchinductor does not support code generation for complex")
@pytest.mark.parametrize("name", SAME)
def test_same_bits_as_eager(name: str) -> None:
    assert_same_bits(SAME[name], numbers(4, 6, 8))


@pytest.mark.parametrize("name", ["chain", "sums", "means", "reshapes", "where"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float64], ids=str)
def test_same_bits_in_other_types(name: str, dtype: torch.dtype) -> None:
    assert_same_bits(SAME[name], numbers(4, 6, 8, dtype=dtype))


@pytest.mark.parametrize("name", ["chain", "sums", "broadcast", "reshapes", "products"])
def test_same_bits_for_other_layouts(name: str) -> None:
    assert_same_bits(SAME[name], numbers(8, 6, 12).permute(2, 1, 0)[::3])


@pytest.mark.parametrize("name", ["chain", "sums", "means", "broadcast", "reshapes", "positions", "joins"])
def test_same_bits_with_symbolic_sizes(name: str) -> None:
    assert_same_bits(SAME[name], numbers(4, 6, 8), dynamic=True)


@pytest.mark.parametrize("name", CLOSE)
def test_values_of_cpu(name: str) -> None:
    compare_with_cpu(CLOSE[name], numbers(4, 4, 8))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_attention_in_half_types(dtype: torch.dtype) -> None:
    compare_with_cpu(CLOSE["attention"], numbers(4, 4, 8, dtype=dtype), tolerance=2e-2)


@pytest.mark.parametrize("compiled", [True, False])
def test_long_reductions_stay_whole(compiled: bool) -> None:
    compare_with_cpu(
        lambda x: (x.sum(), x.mean(), x.amax(), x.sum(0)), numbers(64, 48, 32), compiled=compiled, tolerance=1e-4
    )
    if compiled:
        assert_same_bits(lambda x: (x.sum(), x.mean(), x.amax(), x.sum(0)), numbers(64, 48, 32))


def test_sums_of_one_negative_zero() -> None:
    assert_same_bits(
        lambda x: (1 / x.sum(0), 1 / x.sum((0, 1)), 1 / x[0, 0, 0].sum(), 1 / x.mean(0)), -torch.zeros(1, 1, 3)
    )


def test_arguments_change_in_place() -> None:
    def program(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(1).mul_(y)
        y[1:3] = 5
        y[:, 2] += x[:, 0]
        return x * 2

    compare_with_cpu(program, numbers(4, 8), numbers(4, 8) + 1)


def test_a_read_before_a_write_sees_what_was_there() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        before = x + 1
        x.mul_(3)
        return before * x

    compare_with_cpu(program, numbers(4, 8))


def test_results_may_be_views_of_arguments() -> None:
    x = numbers(4, 8).to("spyre")
    whole, part = torch.compile(lambda x: (x.t(), x[1]))(x)
    part.fill_(7)
    assert torch.equal(whole.cpu()[:, 1], torch.full((8,), 7.0))
    assert whole.data_ptr() == x.data_ptr()


def test_nothing_to_compute() -> None:
    compare_with_cpu(lambda x: (x * 2, x.sum(0), x.sum(), x.reshape(-1)), torch.empty(0, 4))
    compare_with_cpu(lambda x: (x * 2, x.sum(), x.reshape(1)), torch.tensor(3.0))


def test_numbers_on_the_host_take_part() -> None:
    compare_with_cpu(lambda x: x * torch.tensor(2.0) + torch.tensor(3), numbers(4, 8))


def test_values_go_to_the_host_and_back() -> None:
    compare_with_cpu(lambda x: ((x * 2).cpu() + 1).to(x.device) * 3, numbers(4, 8))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_other_backends(backend: str) -> None:
    assert_same_bits(lambda x: (x * 2).softmax(-1).sum(0), numbers(4, 6, 8), backend=backend)


@pytest.mark.parametrize(
    "how", [{"fullgraph": True}, {"mode": "reduce-overhead"}, {"mode": "max-autotune"}, {"dynamic": True}], ids=str
)
def test_options(how: dict[str, Any]) -> None:
    assert_same_bits(lambda x: (x * 2 + 1).relu().sum(1), numbers(4, 6, 8), **how)


@pytest.mark.parametrize(("mode", "checks"), [("default", 2), ("reduce-overhead", 1)])
def test_reduced_overhead_asks_nothing_that_guards_have_asked(mode: str, checks: int) -> None:
    x = numbers(6, 6).to("spyre")
    result, (code,) = run_and_get_code(torch.compile(lambda x: torch.mm(x, x) * 2, mode=mode), x)
    assert torch.equal(result.cpu(), (torch.mm(x, x) * 2).cpu())
    assert len(re.findall(r"^\s+assert_size_stride\(", code, re.MULTILINE)) == checks


def test_reduced_overhead_keeps_results_of_earlier_calls() -> None:
    """Nothing of a call is reused by the next one, as graphs of other devices do."""
    compiled = torch.compile(lambda x: x * 2 + 1, mode="reduce-overhead")
    inputs = [numbers(4) + place for place in range(4)]
    results = [compiled(x.to("spyre")) for x in inputs]
    for x, result in zip(inputs, results, strict=True):
        assert torch.equal(result.cpu(), x * 2 + 1)
