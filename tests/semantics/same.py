"""same(program): a program of a device name, run on both devices; what it returns, or raises, agrees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_map_only

Program = Callable[[str], Any]


def to_host(tree: Any) -> Any:
    return tree_map_only(torch.Tensor, lambda t: t.detach().cpu(), tree)


def outcome(program: Program, device: str) -> Any:
    """What comes out, on the host; of an error its type."""
    torch.manual_seed(0)
    try:
        return to_host(program(device))
    except Exception as error:
        return type(error)


def assert_same(found: Any, expected: Any, **tolerance: float) -> None:
    leaves, structure = tree_flatten(found)
    expected_leaves, expected_structure = tree_flatten(expected)
    assert structure == expected_structure, f"{found} is not {expected}"
    for ours, theirs in zip(leaves, expected_leaves, strict=True):
        if isinstance(theirs, torch.Tensor):
            torch.testing.assert_close(ours, theirs, equal_nan=True, **tolerance)
        else:
            assert ours == theirs, f"{found} is not {expected}"


def same(program: Program, raises: bool = False, **tolerance: float) -> None:
    expected = outcome(program, "cpu")
    assert (isinstance(expected, type) and issubclass(expected, Exception)) == raises, f"CPU: {expected}"
    assert_same(outcome(program, "spyre"), expected, **tolerance)


def numbers(*shape: int, device: str, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    """Drawn on the host: the same on every device."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator).to(device=device, dtype=dtype)


def leaf(*shape: int, device: str, seed: int = 0) -> torch.Tensor:
    return numbers(*shape, device=device, seed=seed).requires_grad_()
