"""Temporaries of compiled kernels get no memory, also where a call's trace is launched in parts."""

from __future__ import annotations

import torch

COUNT, SIDE = 50, 64


def update(weights: list[torch.Tensor], moments: list[torch.Tensor], gradients: list[torch.Tensor]) -> None:
    """The same few operations for each weight."""
    for weight, moment, gradient in zip(weights, moments, gradients, strict=True):
        moment.mul_(0.9).addcmul_(gradient, gradient, value=0.1)
        weight.addcdiv_(gradient, moment.sqrt().add_(1e-8), value=-0.01)


def test_a_program_that_a_limit_divides_gives_temporaries_no_memory() -> None:
    with torch.spyre.config(max_nodes=64):
        launch_in_parts()


def launch_in_parts() -> None:
    state = [[torch.rand(SIDE, SIDE, device="spyre") for _ in range(COUNT)] for _ in range(3)]
    expected = [[tensor.clone() for tensor in tensors] for tensors in state]
    compiled = torch.compile(update)
    calls = 4
    for _ in range(calls):
        compiled(*state)
    torch.spyre.synchronize()
    parts = torch.spyre.stats()["flushes"]["node_limit"]
    torch.spyre.reset_peak_memory_stats()
    compiled(*state)
    torch.spyre.synchronize()
    assert torch.spyre.stats()["flushes"]["node_limit"] > parts
    held = torch.spyre.max_memory_allocated() - torch.spyre.memory_allocated()
    assert held <= 8 * state[0][0].nbytes  # of the weight at hand, not of all
    for _ in range(calls + 1):
        update(*expected)
    for ours, theirs in zip(state[0], expected[0], strict=True):
        torch.testing.assert_close(ours.cpu(), theirs.cpu(), rtol=1e-5, atol=1e-6)
