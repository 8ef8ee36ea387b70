"""Backward passes, optimizers, random numbers and graph breaks of compiled code."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

BLOCKS: dict[str, nn.Module] = {
    "mlp": nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 16)),
    "encoder layer": nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True),
    "convolutions": nn.Sequential(
        nn.Unflatten(1, (1, 8)),
        nn.Conv2d(1, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
    ),
    "rms norm": nn.Sequential(nn.RMSNorm(16), nn.Linear(16, 16), nn.Tanh(), nn.Softmax(-1)),
}


def gradients(block: nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
    result = block(x)
    result.square().mean().backward()
    return [result.detach().cpu(), *(p.grad.cpu() for p in block.parameters())]


@pytest.mark.parametrize("name", BLOCKS)
def test_results_and_gradients_of_blocks(name: str) -> None:
    x = torch.randn(2, 8, 16, generator=torch.Generator().manual_seed(1))
    block = copy.deepcopy(BLOCKS[name]).to("spyre")
    found = gradients(torch.compile(copy.deepcopy(block)), x.to("spyre"))
    for ours, theirs in zip(found, gradients(block, x.to("spyre")), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_a_training_step_with_its_optimizer() -> None:
    torch.manual_seed(0)
    eager = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).to("spyre")
    compiled = copy.deepcopy(eager)
    steps = []
    for model in (eager, compiled):
        optimizer = torch.optim.AdamW(model.parameters(), 1e-2)

        def step(x: torch.Tensor, y: torch.Tensor, model=model, optimizer=optimizer) -> None:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()

        steps.append(step)
    steps[1] = torch.compile(steps[1])
    for seed in range(3):
        generator = torch.Generator().manual_seed(seed)
        x = torch.randn(8, 16, generator=generator).to("spyre")
        y = torch.randint(0, 4, (8,), generator=generator).to("spyre")
        for step in steps:
            step(x, y)
    for ours, theirs in zip(compiled.parameters(), eager.parameters(), strict=True):
        torch.testing.assert_close(ours.cpu(), theirs.cpu(), rtol=1e-4, atol=1e-5)


def test_random_numbers_come_from_the_devices_generator() -> None:
    compiled = torch.compile(lambda x: F.dropout(x, 0.5) + torch.rand_like(x))
    x = torch.ones(1000, device="spyre")
    torch.manual_seed(1)
    first = compiled(x).cpu()
    second = compiled(x).cpu()
    torch.manual_seed(1)
    assert torch.equal(compiled(x).cpu(), first)
    assert not torch.equal(first, second)
    assert abs(first.mean() - 1.5) < 0.1


def test_random_numbers_of_eager_code_on_request() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return F.dropout(x, 0.5) + torch.rand_like(x) + torch.randn_like(x)

    x = torch.ones(100, device="spyre")
    torch.manual_seed(1)
    with torch._inductor.config.patch(fallback_random=True):
        found = torch.compile(program)(x).cpu()
    torch.manual_seed(1)
    assert torch.equal(found, program(x).cpu())


def test_a_graph_break() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        if y.sum() > 0:
            y = y + 1
        return y.cos()

    x = torch.ones(4, device="spyre")
    assert torch.equal(torch.compile(program)(x).cpu(), program(x).cpu())
    explained = torch._dynamo.explain(program)(x)
    assert explained.graph_break_count == 1


def test_autocast() -> None:
    linear = nn.Linear(16, 16).to("spyre")

    def program(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("spyre", dtype=torch.bfloat16):
            return linear(x).relu()

    x = torch.randn(4, 16, device="spyre")
    found = torch.compile(program)(x)
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.cpu(), program(x).cpu(), rtol=1e-2, atol=1e-2)


def test_exported_programs_compile() -> None:
    block = nn.Sequential(nn.Linear(8, 8), nn.ReLU()).to("spyre")
    x = torch.randn(3, 8, device="spyre")
    exported = torch.export.export(block, (x,)).module()
    assert torch.equal(torch.compile(exported)(x).cpu(), block(x).cpu())
