"""Writes through views of views are one write into one copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from .compare import assert_same_bits, compare_with_cpu
from .test_ops import numbers

Program = Callable[[torch.Tensor, torch.Tensor], Any]


def sweeps(grid: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    for _ in range(3):
        inside = 0.25 * (grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:])
        grid = grid.clone()
        grid[1:-1, 1:-1] = inside
    return grid


def rows_and_columns(x: torch.Tensor, y: torch.Tensor) -> Any:
    z = x * 2
    z[2, 1:4] = y[0, :3]
    z[1:5:2, -3:] = 5
    return z, z + x


def both_sides_are_read(x: torch.Tensor, y: torch.Tensor) -> Any:
    z = x + 1
    part = z[1:4]
    before = part * 3
    part[:, 2:5] += y[1:4, :3]
    return z, before, part.sum(0)


def into_an_argument(x: torch.Tensor, y: torch.Tensor) -> Any:
    x[1:3, 2:5] = y[1:3, 2:5]
    x[:, 1:][2:] *= 2
    return x * 2


def into_a_product(x: torch.Tensor, y: torch.Tensor) -> Any:
    z = x @ y.t()
    z[1:3, 2:5] = 0
    return z


def three_deep(x: torch.Tensor, y: torch.Tensor) -> Any:
    z = (x * y).view(2, 3, 8).clone()
    z[1, 1:, 2:4] = x[:2, :2]
    z[:1, :2, ::3] = 7
    return z


PROGRAMS: list[Program] = [
    sweeps,
    rows_and_columns,
    both_sides_are_read,
    into_an_argument,
    into_a_product,
    three_deep,
]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_values_of_cpu_and_bits_of_eager(program: Program, dynamic: bool) -> None:
    compare_with_cpu(program, numbers(6, 8), numbers(6, 8) + 1, dynamic=dynamic)
    assert_same_bits(program, numbers(6, 8), numbers(6, 8) + 1, dynamic=dynamic)


def test_as_many_operations_and_launches_as_eager(stats) -> None:
    def costs(function: Program) -> tuple[int, int]:
        x = numbers(40, 32).to("spyre")
        function(x, x)
        torch.spyre.synchronize()
        torch.spyre.reset_stats()
        result = function(x, x)
        torch.spyre.synchronize()
        del result
        return stats()["ops_planned"], stats()["kernel_launches"]

    compiled = torch.compile(sweeps)
    costs(compiled)
    assert costs(compiled) == costs(sweeps)
