"""Law 5: traces, queues, caches and retained memory have limits."""

from __future__ import annotations

import gc
import json

import torch

ENDLESS = """
import json, resource, torch
x = torch.ones(1000, device="spyre")
def rounds(count):
    global x
    for _ in range(count):
        x = x * 0.999 + 0.001
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
rounds(20_000)
early, early_device = resident(), torch.spyre.memory_allocated()
rounds(100_000)
print(json.dumps({"growth": resident() - early, "device": torch.spyre.memory_allocated() - early_device,
                  "flushes": torch.spyre.stats()["flushes"]}))
"""


def test_a_loop_that_is_never_read_runs_in_constant_memory(run_python):
    child = run_python(ENDLESS)
    assert child.returncode == 0, child.stderr
    result = json.loads(child.stdout)
    assert result["growth"] < 4 << 20
    assert result["device"] < 1 << 20
    assert result["flushes"]["step"] + result["flushes"]["node_limit"] > 10


def test_pending_memory_is_bounded(stats):
    """Each result is alive, so only the limit on bytes can end the trace."""
    kept = [torch.ones(8 << 20, device="spyre") * i for i in range(48)]
    assert stats()["flushes"]["byte_limit"] + stats()["flushes"].get("memory_pressure", 0) > 0
    del kept


MANY_SHAPES = """
import json, torch
for n in range(1, 400):
    (torch.ones(n, device="spyre") * 2 + torch.ones(n, 1, device="spyre")).sum().item()
for n in range(1, 60):
    x = torch.ones(8, device="spyre")
    for step in range(n):
        x = x + 1 if step % 2 else x * 2
    x.sum().item()
print(json.dumps(torch.spyre.stats()))
"""


def test_caches_are_bounded_and_count_what_they_drop(run_python):
    child = run_python(MANY_SHAPES, SPYRE_PLAN_CACHE="64KiB", SPYRE_KERNEL_CACHE="64KiB")
    assert child.returncode == 0, child.stderr
    stats = json.loads(child.stdout)
    for name in ("plan_cache", "kernel_cache"):
        assert stats[name]["bytes"] <= 64 << 10
        assert stats[name]["evictions"] > 0, name


def test_memory_comes_back():
    gc.collect()
    torch.spyre.synchronize()
    before = torch.spyre.memory_allocated()
    for _ in range(20):
        x = torch.ones(1 << 20, device="spyre")
        (x * 2).sum().item()
    del x
    torch.spyre.synchronize()
    assert torch.spyre.memory_allocated() <= before


def test_intermediates_that_died_in_the_trace_never_get_memory():
    torch.spyre.synchronize()
    torch.spyre.reset_peak_memory_stats()
    before = torch.spyre.memory_allocated()
    x = torch.ones(1 << 20, device="spyre")
    for _ in range(50):
        x = x * 1.5 - 0.5
    x.sum().item()
    assert torch.spyre.max_memory_allocated() - before <= 3 * (4 << 20)
