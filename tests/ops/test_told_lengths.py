"""Lengths that data decide, where the caller tells them: nothing waits, and a wrong one is a fault of the card."""

from __future__ import annotations

import torch

from .compare import compare_gradients, compare_with_cpu, same_error, sample

X = sample((5, 7), torch.float32)


def repeated(x: torch.Tensor, size: int) -> torch.Tensor:
    return x.repeat_interleave(torch.arange(5, device=x.device), 0, output_size=size)


def test_repeats_of_a_known_size() -> None:
    compare_with_cpu(lambda x: repeated(x, 10), X)
    compare_gradients(lambda x: repeated(x, 10), X)
    same_error(lambda x: repeated(x, 9), X, text=False)  # with the line that recorded it
    same_error(lambda x: repeated(x, 0), X)
    nothing = lambda x: torch.repeat_interleave(torch.arange(0, device=x.device), output_size=3)  # noqa: E731
    compare_with_cpu(nothing, X)


def test_nothing_waits_for_a_known_size() -> None:
    x = X.to("spyre")
    torch.spyre.synchronize()
    torch.spyre.reset_stats()
    repeated(x, 10)
    assert not any(torch.spyre.stats()["flushes"].values())
