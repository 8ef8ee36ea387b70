"""Compiled optimizers are what eager ones are: one launch, a kernel for each parameter, no compiler for counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._inductor.utils import run_and_get_code

COUNT = 20

Make = Callable[..., torch.optim.Optimizer]


def parameters(device: str) -> list[torch.nn.Parameter]:
    torch.manual_seed(0)
    made = [torch.nn.Parameter(torch.randn(8, 8).to(device)) for _ in range(COUNT)]
    for parameter in made:
        parameter.grad = torch.randn(8, 8).to(device)
    return made


def sgd(weights: Any, **options: Any) -> torch.optim.Optimizer:
    return torch.optim.SGD(weights, momentum=0.9, **options)


@pytest.mark.parametrize("make", [torch.optim.Adam, torch.optim.AdamW, sgd])
@pytest.mark.parametrize("foreach", [False, True])
def test_a_step_is_one_launch_with_a_kernel_for_each_parameter(make: Make, foreach: bool, stats) -> None:
    ours, theirs = parameters("spyre"), parameters("cpu")
    update = torch.compile(make(ours, lr=0.01, foreach=foreach).step)
    expected = make(theirs, lr=0.01, foreach=foreach).step
    for _ in range(5):
        update()
        torch.spyre.synchronize()
        expected()
    torch.spyre.reset_stats()
    update()
    torch.spyre.synchronize()
    expected()
    assert stats()["flushes"]["step"] == 0
    assert sum(stats()["flushes"].values()) == 1
    assert stats()["kernel_launches"] == COUNT
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one.detach().cpu(), other.detach())


def test_steps_that_nobody_reads_are_one_plan(stats) -> None:
    update = torch.compile(torch.optim.Adam(parameters("spyre"), lr=0.01, foreach=False).step)
    for _ in range(3):
        update()
        torch.spyre.synchronize()
    torch.spyre.reset_stats()
    for _ in range(60):
        update()
    torch.spyre.synchronize()
    assert stats()["plan_cache"]["misses"] <= 2
    assert stats()["kernel_launches"] <= 62 * COUNT


@pytest.mark.filterwarnings("ignore:dynamo_pgo force disabled")
def test_counts_of_steps_need_no_compiler() -> None:
    optimizer = torch.optim.Adam(parameters("spyre"), lr=0.01, foreach=False)
    with torch._inductor.config.patch(force_disable_caches=True):
        _, modules = run_and_get_code(torch.compile(optimizer.step))
    assert modules
    assert not any("cpp_pybinding" in module for module in modules)
    assert all(state["step"] == 1 for state in optimizer.state.values())
