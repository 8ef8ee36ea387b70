"""Rows of the benchmarks, counted instead of timed, against the same bounds that the table has."""

from __future__ import annotations

import resource

import pytest
import torch

from benchmarks.gates import COUNTED, gates_of
from benchmarks.places import SpyrePlace
from benchmarks.row import Row
from benchmarks.rows import ROWS, find

# Seconds a step, or a model to load: the table has them.
SLOW = ("1 x 8 x 2048", "MiniLM", "MLP forward", "1024-2048", "8 x 128 tokens", "random sizes", "batch")
COUNTERS = {gate.measure for gate in COUNTED} | {"kernel_launches"}
STEADY = [row for row in ROWS if row.clock is None and not any(word in row.name for word in SLOW)]
WARM_UP, STEPS = 4, 3


def page_faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def counted(row: Row) -> dict[str, float]:
    """Counters of warm steps, page faults per step among them."""
    place = SpyrePlace(tiny=True)
    step = row.build(place)
    for _ in range(WARM_UP):
        held = step()
        place.wait(held)
        del held
    before = page_faults()
    counters = place.counters(step)
    return {**counters, "faults": (page_faults() - before) / STEPS}


@pytest.mark.parametrize("row", STEADY, ids=lambda row: row.name)
def test_a_warm_step_keeps_to_the_bounds_of_its_row(row):
    counters = counted(row)
    bounds = [gate for gate in gates_of(row) if gate.measure in COUNTERS]
    missed = [(gate, counters[gate.measure]) for gate in bounds if not gate.admits(counters[gate.measure])]
    assert missed == []


def test_a_new_size_compiles_nothing():
    """256 sizes of one program: kernels know no extents."""
    row = find("256 random sizes of one program")
    torch.spyre.empty_cache()
    torch.spyre.reset_stats()
    place = SpyrePlace()
    held = row.build(place)()
    place.wait(held)
    compiled = torch.spyre.stats()["kernels_compiled"]
    assert [gate for gate in gates_of(row) if gate.measure == "kernels_since_start" and not gate.admits(compiled)] == []


def test_a_step_is_one_flush():
    """A step that nobody reads from is flushed once, by the wait at its end."""
    for name in ("body of 64 ops on 8 elements", "training step, 32-64-10, batch 16, Adam"):
        assert counted(find(name))["flushes"] == 1, name
