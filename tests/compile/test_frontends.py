"""What stands before the compiler: autocast, exported programs, sizes that are marked as changing."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._dynamo.utils import counters


def numbers(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0)).to("spyre")


class Counting(nn.Module):
    """Changes a buffer at each call."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 4)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return F.softmax(self.linear(x), -1) * self.calls


@torch.no_grad()
@pytest.mark.parametrize("compiled", [True, False])
def test_exported_programs_with_a_size_that_changes(compiled: bool) -> None:
    model = Counting().to("spyre")
    rows = torch.export.Dim("rows", min=2, max=64)
    exported = torch.export.export(copy.deepcopy(model), (numbers(3, 8),), dynamic_shapes=({0: rows},))
    counters.clear()
    module = exported.run_decompositions().module()
    program = torch.compile(module, fullgraph=True) if compiled else module
    for calls, count in enumerate((3, 5, 17), start=1):
        x = numbers(count, 8)
        torch.testing.assert_close(program(x).cpu(), (F.softmax(model.linear(x), -1) * calls).cpu())
    assert counters["stats"]["unique_graphs"] <= 2 * compiled


def test_exported_programs_are_saved_and_compiled_later(tmp_path) -> None:
    block = nn.Sequential(nn.Linear(8, 8), nn.GELU()).to("spyre")
    x = numbers(3, 8)
    torch.export.save(torch.export.export(block, (x,)), tmp_path / "block.pt2")
    loaded = torch.export.load(tmp_path / "block.pt2").module()
    assert torch.equal(torch.compile(loaded)(x).cpu(), block(x).cpu())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast_around_and_inside(dtype: torch.dtype) -> None:
    linear = nn.Linear(16, 16).to("spyre")

    def program(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = linear(x)
        with torch.autocast("spyre", enabled=False):
            return hidden, linear(hidden.float()).softmax(-1)

    def gradients(run) -> list[torch.Tensor]:
        linear.zero_grad()
        with torch.autocast("spyre", dtype=dtype):
            half, full = run(numbers(4, 16))
        assert (half.dtype, full.dtype) == (dtype, torch.float32)
        (half.float().sum() + full.square().sum()).backward()
        return [half.detach().cpu(), full.detach().cpu(), *(p.grad.cpu() for p in linear.parameters())]

    counters.clear()
    for ours, theirs in zip(gradients(torch.compile(program)), gradients(program), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=2e-2, atol=2e-2)
    assert not counters["graph_break"]


def test_autocast_is_guarded() -> None:
    compiled = torch.compile(torch.mm)
    x = numbers(4, 4)
    assert compiled(x, x).dtype == torch.float32
    with torch.autocast("spyre", dtype=torch.bfloat16):
        assert compiled(x, x).dtype == torch.bfloat16
    assert compiled(x, x).dtype == torch.float32


def test_marked_sizes_need_one_graph() -> None:
    compiled = torch.compile(lambda x: (x * x.shape[0]).softmax(0).sum(1))
    counters.clear()
    for rows in (5, 7, 300):
        x = numbers(rows, 4)
        torch._dynamo.mark_dynamic(x, 0)
        expected = (x * x.shape[0]).softmax(0).sum(1)
        torch.testing.assert_close(compiled(x).cpu(), expected.cpu())
    assert counters["stats"]["unique_graphs"] == 1


def test_gradients_with_sizes_that_change() -> None:
    weight = numbers(8, 8).requires_grad_()
    program = torch.compile(lambda x: (F.gelu(x @ weight) * x.shape[0]).mean(), dynamic=True)
    counters.clear()
    for rows in (3, 5, 9):
        x = numbers(rows, 8).requires_grad_()
        found = torch.autograd.grad(program(x), (x, weight))
        expected = torch.autograd.grad((F.gelu(x @ weight) * rows).mean(), (x, weight))
        for ours, theirs in zip(found, expected, strict=True):
            torch.testing.assert_close(ours.cpu(), theirs.cpu(), rtol=1e-4, atol=1e-6)
    assert counters["stats"]["unique_graphs"] == 1


def test_sizes_that_data_gives() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return (x[x > 0] * 2 + 1).sum()

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True, capture_scalar_outputs=True):
        compiled = torch.compile(program, fullgraph=True)
        for rows in (3, 9):
            x = numbers(rows, 8)
            torch.testing.assert_close(compiled(x).cpu(), program(x).cpu())
