"""Device memory as users see it: promised, counted, given back."""

from __future__ import annotations

import gc
import itertools

import pytest
import torch

MIB = 1 << 20


def test_allocated_follows_tensors():
    gc.collect()
    before = torch.spyre.memory_allocated()
    x = torch.empty(4 * MIB, dtype=torch.uint8, device="spyre")
    assert torch.spyre.memory_allocated() - before == 4 * MIB
    assert torch.accelerator.memory_allocated() == torch.spyre.memory_allocated()
    view = x[10:]
    del x
    assert torch.spyre.memory_allocated() - before == 4 * MIB
    del view
    assert torch.spyre.memory_allocated() == before


def test_peaks_and_their_reset():
    torch.spyre.reset_peak_memory_stats()
    start = torch.spyre.max_memory_allocated()
    x = torch.ones(8 * MIB, dtype=torch.uint8, device="spyre")
    del x
    assert torch.spyre.max_memory_allocated() - start >= 8 * MIB
    torch.spyre.reset_peak_memory_stats()
    assert torch.spyre.max_memory_allocated() == torch.spyre.memory_allocated()


def test_stats_keys():
    torch.ones(3, device="spyre").cpu()
    stats = torch.spyre.memory_stats()
    for key in ("allocated_bytes.all.current", "reserved_bytes.all.current", "active_bytes.all.peak", "num_ooms"):
        assert stats[key] >= 0
    torch.spyre.reset_accumulated_memory_stats()
    assert torch.spyre.memory_stats()["allocated_bytes.all.freed"] == 0


def test_snapshot_covers_the_card():
    held = torch.ones(3 * MIB, dtype=torch.uint8, device="spyre").add_(1)
    torch.spyre.synchronize()
    segments = torch.spyre.memory_snapshot()
    tensors = [s for s in segments if s["segment_type"] == "tensor"]
    assert segments[len(tensors) :] == segments[-1:]
    assert segments[-1]["segment_type"] == "program"
    assert sum(s["total_size"] for s in tensors) == torch.spyre.mem_get_info()[1]
    assert sum(s["allocated_size"] for s in tensors) >= held.nbytes
    for segment in segments:
        ends = [block["address"] + block["size"] for block in segment["blocks"]]
        assert [block["address"] for block in segment["blocks"]] == [0, *ends[:-1]]
        assert ends[-1] == segment["total_size"]
        used = [block["size"] for block in segment["blocks"] if block["state"] == "active_allocated"]
        assert sum(used) == segment["allocated_size"] <= segment["committed_size"]


def test_snapshot_tells_tensors_apart():
    a, b = (torch.empty(3 * MIB, dtype=torch.uint8, device="spyre").fill_(1) for _ in range(2))
    torch.spyre.synchronize()
    sizes = [b["size"] for s in torch.spyre.memory_snapshot() for b in s["blocks"] if b["state"] == "active_allocated"]
    assert sizes.count(3 * MIB) >= 2, (a.shape, b.shape)


def test_summary_names_every_region():
    lines = torch.spyre.memory_summary().splitlines()
    assert len(lines) == len(torch.spyre.memory_summary(abbreviated=True).splitlines()) + 1 + len(
        torch.spyre.memory_snapshot()
    )
    assert "MiB" in lines[0]


def test_free_and_total():
    free, total = torch.spyre.mem_get_info()
    assert 0 < free <= total
    assert torch.accelerator.get_memory_info() == torch.spyre.mem_get_info()


def test_empty_cache_gives_memory_back():
    x = torch.ones(32 * MIB, device="spyre")
    x.add_(1)
    torch.spyre.synchronize()
    del x
    gc.collect()
    torch.spyre.empty_cache()
    assert torch.spyre.memory_reserved() < 128 * MIB


@pytest.mark.parametrize("numbers", [1 << 45, 1 << 55])
def test_absurd_sizes_are_out_of_memory(numbers):
    with pytest.raises((torch.OutOfMemoryError, RuntimeError), match=r"(?i)memory|size|overflow"):
        torch.empty(numbers, device="spyre")
    assert torch.ones(2, device="spyre").tolist() == [1, 1]


def test_addresses_are_unique_and_closed_to_the_host(run_python):
    tensors = [torch.empty(100, device="spyre") for _ in range(50)]
    spans = sorted((t.data_ptr(), t.data_ptr() + 400) for t in tensors)
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))
    child = run_python(
        "import ctypes, torch; x = torch.ones(4, device='spyre'); x.cpu(); ctypes.string_at(x.data_ptr(), 4)"
    )
    assert child.returncode == -11


def test_empty_tensors_need_no_memory():
    before = torch.spyre.memory_allocated()
    x = torch.empty(0, 3, device="spyre")
    assert torch.spyre.memory_allocated() == before
    assert x.data_ptr() == 0
    assert (x + 1).cpu().shape == (0, 3)


def test_deterministic_mode_fills():
    torch.use_deterministic_algorithms(True)
    try:
        assert torch.empty(4, device="spyre").isnan().all().item()
        assert torch.empty_strided((2, 2), (1, 2), device="spyre").isnan().all().item()
    finally:
        torch.use_deterministic_algorithms(False)


FULL = """
import gc, torch

def held():
    return torch.ones(8 << 20, dtype=torch.uint8, device="spyre").add_(1)

class Cycle:
    def __init__(self):
        self.me, self.tensor = self, held()

def fill(kept):
    while len(kept) < 100:
        kept.append(held())
        torch.spyre.synchronize()

"""
EXHAUSTED = (
    FULL
    + """
kept = []
try:
    fill(kept)
except torch.OutOfMemoryError as error:
    print(error)
never = kept.pop()
kept.pop()  # room for the sums
print(len(kept), all(int(x.sum()) == 16 << 20 for x in kept))
try:
    never.sum().item()
except torch.OutOfMemoryError as error:
    print(error)
stats = torch.spyre.memory_stats()
print(stats["num_ooms"] >= 1, stats["num_alloc_retries"] >= 1)
kept.clear()
print(int(held().sum()) == 16 << 20)
torch.spyre.reset_accumulated_memory_stats()
print(torch.spyre.memory_stats()["num_ooms"])
"""
)


def test_a_full_card_says_what_it_holds_and_recovers(run_python):
    child = run_python(EXHAUSTED, SPYRE_DEVICE_MEMORY="64MiB")
    message, held, unread, counted, recovered, reset = child.stdout.splitlines()
    for part in ("cannot allocate 8.00 MiB", "free 0 B of 64.00 MiB", "largest free block 0 B", "1 region (0 B free"):
        assert part in message
    assert held == "7 True", "what was computed stays"
    assert "never computed" in unread
    assert (counted, recovered, reset) == ("True True", "True", "0"), child.stderr


CYCLES = (
    FULL
    + """
gc.disable()

for _ in range(30):
    Cycle()
    torch.spyre.synchronize()
print(torch.spyre.memory_stats()["num_ooms"], torch.spyre.memory_stats()["num_alloc_retries"] > 0)
"""
)


@pytest.mark.parametrize("mode", ["lazy", "eager"])
def test_a_full_card_collects_cycles(run_python, mode):
    child = run_python(CYCLES, SPYRE_DEVICE_MEMORY="64MiB", SPYRE_MODE=mode)
    assert child.stdout.split() == ["0", "True"], child.stderr


THREADS = (
    FULL
    + """
import threading
gc.disable()

def work():
    for _ in range(30):
        try:
            assert int(Cycle().tensor[5]) == 2
        except torch.OutOfMemoryError:
            pass

threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(100)
print(sum(thread.is_alive() for thread in threads))
gc.collect()
print(int(held().sum()) == 16 << 20)
"""
)


def test_threads_on_a_full_card_do_not_lock_one_another(run_python):
    child = run_python(THREADS, timeout=120, SPYRE_DEVICE_MEMORY="64MiB")
    assert child.stdout.split() == ["0", "True"], child.stderr
