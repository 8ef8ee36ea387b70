"""Sizes are numbers of a call: from the second on nothing compiles, neither graphs nor kernels."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch._dynamo.utils import counters


def program(x: torch.Tensor, weight: torch.Tensor) -> Any:
    hidden = F.layer_norm((x * 2 + 1).relu() @ weight, (8,))
    return hidden.transpose(0, 1).reshape(-1, 4).sum(1), F.softmax(hidden, -1), hidden.mean()


def test_two_graphs_serve_all_sizes() -> None:
    weight = torch.randn(8, 8, device="spyre")
    compiled = torch.compile(program)
    counters.clear()
    for size in (3, 5, 6, 17, 64, 9):
        x = torch.randn(size, 8, device="spyre")
        for ours, theirs in zip(compiled(x, weight), program(x, weight), strict=True):
            torch.testing.assert_close(ours.cpu(), theirs.cpu(), rtol=1e-5, atol=1e-6)
    assert counters["stats"]["unique_graphs"] == 2


def test_a_new_size_compiles_no_kernel() -> None:
    compiled = torch.compile(lambda x: ((x * 2 + 1).relu().sum(-1, keepdim=True) * x).exp(), dynamic=True)
    for size in (8, 16):
        compiled(torch.randn(size, 2 * size, device="spyre")).cpu()
    torch.spyre.reset_stats()
    for size in (24, 40, 56):
        compiled(torch.randn(size, 2 * size, device="spyre")).cpu()
    assert torch.spyre.stats()["kernel_cache"]["misses"] == 0


@pytest.mark.parametrize(
    "function",
    [
        lambda x: ((x * 2 + 1).relu() - x).exp(),
        lambda x: F.softmax(x * 2, -1) + 1,
        lambda x: F.layer_norm(x, x.shape[-1:]) * x,
        lambda x: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5),
    ],
    ids=["pointwise", "softmax", "layer_norm", "rms_norm"],
)
def test_pointwise_and_row_kernels_of_the_first_size_serve_the_second(function: Any) -> None:
    compiled = torch.compile(function, dynamic=True)
    compiled(torch.randn(8, 16, device="spyre")).cpu()
    counters.clear()
    torch.spyre.reset_stats()
    for size in ((24, 40), (7, 33), (3, 1000)):
        compiled(torch.randn(size, device="spyre")).cpu()
    assert torch.spyre.stats()["kernels_compiled"] == 0
    assert not counters["stats"]["unique_graphs"]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: ((x * 2 + 1).relu() - x).exp(),
        lambda x: F.softmax(x * 2, -1) + 1,
        lambda x: (x.transpose(0, 1) * 2).sum(1),
        lambda x: x.permute(2, 0, 1).contiguous() * 2,
        lambda x: x[:, 1:] * x[:, :-1],
    ],
    ids=["pointwise", "softmax", "a sum", "a copy", "slices"],
)
def test_dimensions_that_lie_apart(function: Any) -> None:
    on_host = torch.randn(24, 64, 10)
    whole = on_host.to("spyre")
    compiled = torch.compile(function, dynamic=True)
    compiled(whole[:5, :6, :7]).cpu()
    counters.clear()
    torch.spyre.reset_stats()
    for rows, columns in ((8, 9), (13, 4), (7, 33), (23, 63)):
        found, expected = compiled(whole[:rows, :columns, :7]), function(on_host[:rows, :columns, :7])
        torch.testing.assert_close(found.cpu(), expected, rtol=1e-5, atol=1e-5)
    assert torch.spyre.stats()["kernels_compiled"] == 0
    assert not counters["stats"]["unique_graphs"]


def test_dimensions_that_come_to_lie_together_have_one_kernel_more() -> None:
    whole = torch.randn(24, 64, 10).to("spyre")
    compiled = torch.compile(lambda x: ((x * 2 + 1).relu() - x).exp(), dynamic=True)
    compiled(whole[:5, :6, :7]).cpu()
    torch.spyre.reset_stats()
    for rows, columns in ((24, 64), (24, 9), (3, 64), (24, 64)):
        compiled(whole[:rows, :columns, :7]).cpu()
    assert torch.spyre.stats()["kernels_compiled"] <= 1


def test_a_graph_is_compiled_once() -> None:
    compiled = torch.compile(lambda x: x * 2 + 1)
    counters.clear()
    for _ in range(5):
        compiled(torch.randn(4, device="spyre"))
    assert counters["stats"]["unique_graphs"] == 1


def test_a_changed_number_compiles_no_kernel() -> None:
    compiled = torch.compile(lambda x, rate: x * rate + 1)
    x = torch.randn(64, device="spyre")
    for rate in (0.5, 0.25):
        compiled(x, rate).cpu()
    torch.spyre.reset_stats()
    found = compiled(x, 0.125).cpu()
    assert torch.spyre.stats()["kernel_cache"]["misses"] == 0
    assert torch.equal(found, (x * 0.125 + 1).cpu())


def test_numbers_that_sizes_give_are_numbers_of_a_call() -> None:
    compiled = torch.compile(lambda x: x * ((x.shape[0] - 1) / x.shape[0]) + x.shape[1], dynamic=True)
    for shape in ((8, 4), (6, 5), (3, 7)):
        x = torch.randn(shape, device="spyre")
        assert torch.equal(compiled(x).cpu(), (x * ((shape[0] - 1) / shape[0]) + shape[1]).cpu())


def test_attention_with_symbolic_sizes() -> None:
    compiled = torch.compile(F.scaled_dot_product_attention, dynamic=True)
    for rows, keys in ((8, 4), (6, 9)):
        query, key = torch.randn(2, 3, rows, 16, device="spyre"), torch.randn(2, 3, keys, 16, device="spyre")
        found, expected = compiled(query, key, key), F.scaled_dot_product_attention(query, key, key)
        torch.testing.assert_close(found.cpu(), expected.cpu(), rtol=1e-5, atol=1e-6)
