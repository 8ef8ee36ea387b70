"""Random programs do on spyre what they do on CPU, bit for bit: every op in them is exact.

SPYRE_FUZZ_EXAMPLES=5000 runs longer.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .generate import Instruction, Machine
from .more_actions import EXACT, INEXACT, eager_programs

EXAMPLES = int(os.environ.get("SPYRE_FUZZ_EXAMPLES", "300"))
RELAXED = settings(
    max_examples=EXAMPLES,
    derandomize="SPYRE_FUZZ_EXAMPLES" not in os.environ,  # new programs for who asks for a number, else always the same
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


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


def run(device: str, program: list[Instruction], streams: int = 0) -> list[torch.Tensor | str]:
    own = [torch.spyre.Stream() for _ in range(streams)]
    return Machine(device, more={**EXACT, **INEXACT}, streams=own).run(program)


@RELAXED
@given(program=eager_programs(EXACT))
def test_a_program_does_what_it_does_on_cpu(program: list[Instruction]):
    assert_same(run("spyre", program), run("cpu", program))


@settings(RELAXED, max_examples=max(EXAMPLES // 4, 20))
@given(program=eager_programs(EXACT), streams=st.integers(2, 4))
def test_streams_change_nothing(program: list[Instruction], streams: int):
    """Operations that touch the same memory keep their order, whichever streams they are on."""
    assert_same(run("spyre", program, streams), run("cpu", program))


@settings(RELAXED, max_examples=max(EXAMPLES // 8, 10))
@given(each=st.lists(eager_programs(EXACT), min_size=2, max_size=4), streams=st.integers(0, 2))
def test_threads_change_nothing(each: list[list[Instruction]], streams: int):
    with ThreadPoolExecutor(len(each)) as threads:
        found = list(threads.map(lambda program: run("spyre", program, streams), each))
    for results, program in zip(found, each, strict=True):
        assert_same(results, run("cpu", program))


@settings(RELAXED, max_examples=max(EXAMPLES // 4, 20))
@given(program=eager_programs(EXACT, INEXACT))
@pytest.mark.parametrize("way", [{"mode": "eager"}, {"exec": "scalar"}], ids=str)
def test_a_program_does_the_same_in_every_way_of_running(way: dict[str, str], program: list[Instruction]):
    with torch.spyre.config(**way):
        other = run("spyre", program)
    assert_same(run("spyre", program), other)


def test_the_comparison_can_fail():
    assert not same(torch.zeros(1), -torch.zeros(1))
    assert not same(torch.ones(2), torch.ones(2, dtype=torch.float64))
    assert same(torch.tensor([float("nan")]), torch.tensor([-float("nan")]))
