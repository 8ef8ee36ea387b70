"""Runs a program compiled, eagerly, and on CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Program = Callable[..., Any]


def tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for part in value for tensor in tensors(part)]


def on(device: str, args: tuple[Any, ...]) -> list[Any]:
    """Copies of the tensors, with their strides."""
    return [arg.detach().to(device, copy=True) if isinstance(arg, torch.Tensor) else arg for arg in args]


def compare_with_cpu(program: Program, *args: Any, compiled: bool = True, tolerance: float = 1e-5, **how: Any) -> None:
    """Results and changed arguments of the program on spyre are those of CPU."""
    torch.manual_seed(0)
    given, expected_given = on("spyre", args), on("cpu", args)
    runner = torch.compile(program, **how) if compiled else program
    found, expected = tensors(runner(*given)), tensors(program(*expected_given))
    assert len(found) == len(expected)
    for ours, theirs in zip((*found, *tensors_of(given)), (*expected, *tensors_of(expected_given)), strict=True):
        assert ours.shape == theirs.shape
        assert ours.stride() == theirs.stride()
        torch.testing.assert_close(ours.cpu(), theirs, rtol=tolerance, atol=tolerance, equal_nan=True)


def tensors_of(args: list[Any]) -> list[torch.Tensor]:
    return [arg for arg in args if isinstance(arg, torch.Tensor)]


def assert_same_bits(program: Program, *args: Any, **how: Any) -> None:
    """Compiled and eager results on spyre are equal."""
    found = tensors(torch.compile(program, **how)(*on("spyre", args)))
    expected = tensors(program(*on("spyre", args)))
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.stride() == theirs.stride()
        torch.testing.assert_close(ours.cpu(), theirs.cpu(), rtol=0, atol=0, equal_nan=True)
