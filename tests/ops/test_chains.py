"""Chains of products and the kernels around them: the same bits as step by step, and no room for what stays inside."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch.nn import functional as F

from .compare import compare_gradients, compare_with_cpu, fallbacks_of, sample

Case = Callable[[str], torch.Tensor]
WAYS: dict[str, dict[str, str]] = {
    "chained": {},
    "unchained": {"passes": "-fuse_panels"},
    "op by op": {"mode": "eager"},
    "interpreted": {"exec": "scalar"},
}


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None = None, dropout: float = 0
) -> torch.Tensor:
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf")) if mask.dtype == torch.bool else scores + mask
    return F.dropout(torch.softmax(scores, -1), dropout, training=dropout > 0) @ v


def heads(device: str, *shape: int, dtype: torch.dtype = torch.float32, count: int = 3) -> list[torch.Tensor]:
    return [sample(shape, dtype, -1, 1, seed=i).to(device) for i in range(count)]


def causal(device: str, length: int) -> torch.Tensor:
    return torch.ones(length, length, dtype=torch.bool, device=device).triu(1)


def plain(device: str) -> torch.Tensor:
    return attention(*heads(device, 2, 4, 130, 32))


def masked(device: str) -> torch.Tensor:
    return attention(*heads(device, 3, 4, 128, 32), mask=causal(device, 128))


def mask_per_batch(device: str) -> torch.Tensor:
    return attention(*heads(device, 3, 4, 100, 24), mask=sample((3, 1, 1, 100), torch.float32).to(device))


def with_dropout(device: str) -> torch.Tensor:
    torch.manual_seed(3)
    return attention(*heads(device, 2, 4, 120, 32), dropout=0.25)


def half(device: str) -> torch.Tensor:
    return attention(*heads(device, 2, 8, 128, 64, dtype=torch.float16))


def bfloat16(device: str) -> torch.Tensor:
    return attention(*heads(device, 2, 8, 128, 64, dtype=torch.bfloat16), mask=causal(device, 128))


def odd_sizes(device: str) -> torch.Tensor:
    q, k, v = (sample(s, torch.float32, -1, 1, seed=1).to(device) for s in [(5, 77, 19), (5, 91, 19), (5, 91, 37)])
    return attention(q, k, v)


def fused_attention(device: str) -> torch.Tensor:
    return F.scaled_dot_product_attention(*heads(device, 2, 4, 128, 32), is_causal=True)


def grouped_heads(device: str) -> torch.Tensor:
    q = sample((2, 8, 128, 32), torch.float32).to(device)
    k, v = heads(device, 2, 2, 128, 32, count=2)
    return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)


def shared_keys(device: str) -> torch.Tensor:
    q = sample((6, 128, 32), torch.float32).to(device)
    k, v = heads(device, 1, 128, 32, count=2)
    return attention(q, k.expand(6, 128, 32), v.expand(6, 128, 32))


def perceptron(device: str) -> torch.Tensor:
    x = sample((900, 64), torch.float32, -1, 1).to(device)
    w1, w2 = (sample(s, torch.float32, -1, 1, seed=2).to(device) for s in [(256, 64), (64, 256)])
    return x + F.linear(F.gelu(F.linear(x, w1, w1[:, 0])), w2)


def saved_for_backward(device: str) -> torch.Tensor:
    q, k, v = (t.requires_grad_() for t in heads(device, 2, 4, 128, 32))
    attention(q, k, v, mask=causal(device, 128)).square().sum().backward()
    return torch.cat([t.grad for t in (q, k, v)])


def norm_behind_a_product(device: str) -> torch.Tensor:
    x, w = sample((900, 64), torch.float32).to(device), sample((128, 64), torch.float32, seed=1).to(device)
    return F.layer_norm(F.relu(x @ w.t()), (128,)) @ w


def written_over(device: str) -> torch.Tensor:
    q, k, v = heads(device, 8, 128, 32)
    scores = q @ k.transpose(1, 2)
    scores.mul_(0.2).relu_()
    v.mul_(2)
    return scores @ v


CASES: list[Case] = [
    plain, masked, mask_per_batch, with_dropout, half, bfloat16, odd_sizes, fused_attention, grouped_heads, shared_keys,
    perceptron, saved_for_backward, norm_behind_a_product, written_over,
]  # fmt: skip


def run(case: Case, **settings: str) -> torch.Tensor:
    with torch.spyre.config(verify=True, **settings):
        return case("spyre").detach().cpu()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_bits_do_not_depend_on_chains(case: Case) -> None:
    results = {name: run(case, **settings) for name, settings in WAYS.items()}
    for name, result in results.items():
        assert torch.equal(result, results["chained"]), name


# The devices draw different random numbers.
@pytest.mark.parametrize("case", [c for c in CASES if c is not with_dropout], ids=lambda case: case.__name__)
def test_values(case: Case) -> None:
    expected, actual = case("cpu").detach(), run(case)
    loose = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 5e-2}[expected.dtype]
    torch.testing.assert_close(actual, expected, rtol=loose, atol=loose)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_a_chain_is_one_launch(case: Case) -> None:
    launches = []
    for settings in ({}, {"passes": "-fuse_panels"}):
        torch.spyre.synchronize()
        torch.spyre.reset_stats()
        run(case, **settings)
        stats = torch.spyre.stats()
        launches.append(stats["kernel_launches"] + stats["library_launches"])
    assert launches[0] < launches[1]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_scores_and_packed_matrices_take_no_memory(dtype: torch.dtype) -> None:
    q, k, v = (t.to(dtype) for t in heads("spyre", 4, 8, 512, 64))
    for fn in (attention, F.scaled_dot_product_attention):
        with torch.inference_mode():
            torch.spyre.synchronize()
            torch.spyre.reset_peak_memory_stats()
            before = torch.spyre.memory_stats()["active_bytes.all.current"]
            out = fn(q, k, v)
            torch.spyre.synchronize()
            peak = torch.spyre.memory_stats()["active_bytes.all.peak"] - before
        assert peak < 1.1 * out.nbytes, f"{fn.__name__} took {peak} bytes beside its inputs"
        del out


def test_gradients() -> None:
    q, k, v = heads("cpu", 2, 4, 128, 16)
    compare_gradients(attention, q, k, v, rtol=1e-4, atol=1e-4)


def test_empty() -> None:
    compare_with_cpu(attention, *(torch.empty(s) for s in [(2, 0, 8), (2, 5, 8), (2, 5, 8)]), strides=False)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_sums_with_products_round_once(dtype: torch.dtype) -> None:
    """Within half a unit of the exact sum, give or take float32's own error."""
    bias, a, b = sample((40,), dtype), sample((50, 64), dtype, -1, 1), sample((64, 40), dtype, -1, 1, seed=1)
    exact = bias.double() + a.double() @ b.double()
    actual = torch.addmm(*(t.to("spyre") for t in (bias, a, b))).cpu()
    assert (actual.double() - exact).abs().le(exact.abs() * torch.finfo(dtype).eps * 0.51 + 1e-5).all()
    batch = torch.addbmm(*(t.to("spyre") for t in (bias, a.view(50, 2, 32).transpose(0, 1), b.view(2, 32, 40)))).cpu()
    assert torch.equal(batch, actual)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_encoder_layers_stay_on_the_device(norm_first: bool, activation: str) -> None:
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(
        64, 4, 128, batch_first=True, norm_first=norm_first, activation=activation
    ).eval()
    x = sample((3, 20, 64), torch.float32, -1, 1)
    with torch.inference_mode():
        expected = layer(x)
        actual, on_host = fallbacks_of(lambda: layer.to("spyre")(x.to("spyre")))
    assert on_host == {}
    torch.testing.assert_close(actual.cpu(), expected, rtol=1e-4, atol=1e-4)


def test_masked_encoder_layer() -> None:
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True).eval()
    x, mask = sample((3, 20, 64), torch.float32, -1, 1), causal("cpu", 20)
    with torch.inference_mode():
        expected = layer(x, src_mask=mask)
        actual = layer.to("spyre")(x.to("spyre"), src_mask=mask.to("spyre"))
    torch.testing.assert_close(actual.cpu(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_a_product_of_rows_that_meet_a_matrix_each(dtype):
    """The rows of the first product are of different matrices of the second."""
    x, m, each = sample((4, 16), dtype, seed=1), sample((16, 8), dtype, seed=2), sample((4, 8, 5), dtype, seed=3)
    compare_with_cpu(lambda x, m, each: torch.bmm((x @ m)[:, None, :], each) + 1, x, m, each, rtol=2e-2, atol=0.5)
