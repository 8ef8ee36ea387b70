"""Random programs do on spyre what they do on CPU, bit for bit: every op in them is exact.

SPYRE_FUZZ_EXAMPLES=5000 runs longer.
"""

from __future__ import annotations

import os

import pytest
import torch
from hypothesis import HealthCheck, given, settings

from .generate import Instruction, Machine, programs

EXAMPLES = int(os.environ.get("SPYRE_FUZZ_EXAMPLES", "300"))
RELAXED = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


def same(left: torch.Tensor | str, right: torch.Tensor | str) -> bool:
    """Equal type, shape and bits; any NaN equals any NaN."""
    if isinstance(left, str) or isinstance(right, str):
        return left == right
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    if not left.is_floating_point():
        return torch.equal(left, right)
    nan = left.isnan()
    signs = torch.equal(left.signbit()[~nan], right.signbit()[~nan])
    return torch.equal(nan, right.isnan()) and torch.equal(left[~nan], right[~nan]) and signs


def assert_same(found: list, expected: list) -> None:
    assert len(found) == len(expected), (found, expected)
    for left, right in zip(found, expected, strict=True):
        assert same(left, right), f"{left}\nis not\n{right}"


@RELAXED
@given(program=programs())
def test_a_program_does_what_it_does_on_cpu(program: list[Instruction]):
    assert_same(Machine("spyre").run(program), Machine("cpu").run(program))


@settings(RELAXED, max_examples=max(EXAMPLES // 4, 20))
@given(program=programs())
@pytest.mark.parametrize("way", [{"mode": "eager"}, {"exec": "scalar"}], ids=str)
def test_a_program_does_the_same_in_every_way_of_running(way: dict[str, str], program: list[Instruction]):
    with torch.spyre.config(**way):
        other = Machine("spyre").run(program)
    assert_same(Machine("spyre").run(program), other)


def test_the_comparison_can_fail():
    assert not same(torch.zeros(1), -torch.zeros(1))
    assert not same(torch.ones(2), torch.ones(2, dtype=torch.float64))
    assert same(torch.tensor([float("nan")]), torch.tensor([-float("nan")]))
