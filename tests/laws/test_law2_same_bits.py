"""Law 2: one program, the same bits: fused or not, machine code or interpreter, any cores, threads, instruction set."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
import torch

from .programs import PROGRAMS, differences, digest, digests

CPU_FLAGS = Path("/proc/cpuinfo").read_text()
WAYS = {
    "op by op": {"SPYRE_MODE": "eager"},
    "interpreter": {"SPYRE_EXEC": "scalar"},
    "interpreter, op by op": {"SPYRE_EXEC": "scalar", "SPYRE_MODE": "eager"},
    "avx2": {"SPYRE_ISA": "avx2"},
    "avx512": {"SPYRE_ISA": "avx512"},
    "1 core": {"SENCORES": "1"},
    "7 cores": {"SENCORES": "7"},
    "32 cores on 5 threads": {"SENCORES": "32", "SPYRE_THREADS": "5"},
    "1 thread": {"SPYRE_THREADS": "1"},
    "traces of 3 nodes": {"SPYRE_MAX_NODES": "3"},
    "tiny caches": {"SPYRE_PLAN_CACHE": "1KiB", "SPYRE_KERNEL_CACHE": "1KiB"},
}


@cache
def reference() -> dict[str, str]:
    return digests(list(PROGRAMS))


@pytest.mark.parametrize("way", WAYS)
def test_bits_do_not_depend_on_the_way(way, run_python):
    if way == "avx512" and "avx512f" not in CPU_FLAGS:
        pytest.skip("this CPU has no AVX-512")
    child = run_python("import runpy; runpy.run_module('tests.laws.programs', run_name='__main__')", **WAYS[way])
    assert child.returncode == 0, child.stderr
    assert differences(json.loads(child.stdout), reference()) == {}


@pytest.mark.parametrize("name", PROGRAMS)
def test_bits_do_not_depend_on_warm_caches(name):
    assert differences(digests([name]), reference()) == {}


@pytest.mark.parametrize("mode", ["lazy", "eager"])
@pytest.mark.parametrize("exec_", ["vector", "scalar"])
def test_bits_do_not_depend_on_the_context(mode, exec_):
    with torch.spyre.config(mode=mode, exec=exec_):
        found = digests(["arithmetic", "views_and_writes", "row_programs"])
    assert differences(found, reference()) == {}


def test_bits_do_not_depend_on_where_the_trace_is_cut():
    """A read in the middle of a program ends the trace there, and nothing else changes."""

    def chain(cut: bool) -> torch.Tensor:
        x = torch.linspace(-3, 3, 1001, device="spyre")
        y = torch.tanh(x * 1.7) + 0.3
        if cut:
            y.sum().item()
        return torch.softmax(y * x.exp(), 0)

    assert digest([chain(cut=True)]) == digest([chain(cut=False)])


def test_the_digest_tells_bits_apart():
    """So that the tests above can fail."""
    x = torch.ones(3)
    assert digest([x]) != digest([torch.nextafter(x, x + 1)])
    assert digest([torch.zeros(1)]) != digest([-torch.zeros(1)])
