"""torch.spyre and torch.accelerator by device: current devices, streams, events, memory, random states, guards."""

from __future__ import annotations

import threading

import pytest
import torch

FIRST, SECOND, THIRD = (torch.device("spyre", index) for index in range(3))


@pytest.fixture(autouse=True)
def _restores_the_device():
    yield
    assert torch.spyre.current_device() == 0
    torch.spyre.synchronize()


def test_counting_and_naming():
    assert torch.spyre.device_count() == torch.accelerator.device_count() == 3
    assert [torch.spyre.get_device_properties(i).card for i in range(3)] == [0, 1, 2]
    assert torch.spyre.get_device_name(1) == torch.spyre.get_device_name("spyre:2")
    for use in (lambda: torch.ones(1, device="spyre:3"), lambda: torch.spyre.set_device(3)):
        with pytest.raises(RuntimeError, match="out of range; this process sees 3"):
            use()


def test_the_current_device_is_the_threads_own():
    torch.spyre.set_device(1)
    seen = []
    thread = threading.Thread(target=lambda: seen.append(torch.spyre.current_device()))
    thread.start()
    thread.join()
    assert (seen, torch.accelerator.current_device_index()) == ([0], 1)
    assert torch.ones(1, device="spyre").device == SECOND
    torch.accelerator.set_device_index(2)
    assert torch.spyre.current_device() == 2
    torch.spyre.set_device(0)


def test_device_guards_nest():
    with torch.spyre.device(1):
        with torch.spyre.device("spyre:2"), torch.spyre.device_of(torch.ones(1, device=SECOND)):
            assert torch.empty(2, device="spyre").device == SECOND
        assert torch.spyre.current_device() == 1
    with torch.device("spyre:2"):
        assert torch.ones(1).device == THIRD
    x = torch.arange(3.0, device=SECOND)
    results = [x + 1, x.sum(), torch.zeros_like(x), x[1:], x @ x, torch.cat([x, x]), x.nonzero(), x.sort().values]
    assert {result.device for result in results} == {SECOND}


def test_streams_are_of_a_device():
    stream = torch.spyre.Stream(device=1)
    assert stream.device == SECOND
    with torch.spyre.stream(stream):
        assert torch.spyre.current_device() == 1
        assert torch.spyre.current_stream() == stream
        assert torch.spyre.current_stream(0) == torch.spyre.default_stream(0)
        y = torch.ones(4, device="spyre") * 3
    assert torch.spyre.current_device() == 0
    assert torch.spyre.current_stream(1) == torch.spyre.default_stream(1)
    with torch.Stream(device="spyre:2"):
        assert torch.accelerator.current_device_index() == 2
    stream.synchronize()
    assert y.tolist() == [3] * 4


def test_events_join_streams_of_different_cards():
    x = torch.ones(64, device=FIRST)
    event = torch.spyre.Event(enable_timing=True)
    for _ in range(20):
        x = x * 1.5
    event.record(torch.spyre.current_stream(0))
    torch.spyre.current_stream(1).wait_event(event)
    y = torch.ones(64, device=SECOND) + 1
    end = torch.spyre.current_stream(1).record_event(torch.spyre.Event(enable_timing=True))
    end.synchronize()
    assert event.query()
    assert event.elapsed_time(end) > 0
    assert y.tolist() == [2] * 64


def test_memory_is_counted_by_card():
    def allocated():
        return [torch.spyre.memory_allocated(i) for i in range(3)]

    before = allocated()
    x = torch.empty(1 << 20, dtype=torch.uint8, device=SECOND)
    assert [now - then for now, then in zip(allocated(), before, strict=True)] == [0, 1 << 20, 0]
    x.fill_(1).sum().item()
    assert torch.spyre.mem_get_info(1)[1] == 256 << 20
    assert torch.spyre.memory_stats(1)["allocated_bytes.all.current"] == allocated()[1]
    assert {segment["device"] for segment in torch.spyre.memory_snapshot(2)} == {2}
    assert torch.spyre.memory_summary(1).startswith("spyre:1")
    del x
    assert allocated() == before
    torch.spyre.empty_cache()


def test_a_full_card_leaves_the_others_alone():
    kept = torch.ones(8, device=FIRST)
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(1 << 30, dtype=torch.uint8, device=SECOND)
    source = torch.ones(150 << 20, dtype=torch.uint8, device=FIRST)
    full = torch.ones(200 << 20, dtype=torch.uint8, device=SECOND)
    full.sum().item()
    with pytest.raises(torch.OutOfMemoryError):
        source.to(SECOND)
    assert source.sum().item() == 150 << 20
    del full
    assert source.to(SECOND).sum().item() == 150 << 20
    assert (kept + 1).tolist() == [2] * 8


def test_results_on_another_card_are_refused_first():
    nothing = torch.empty(0, device=FIRST)
    with pytest.raises(RuntimeError, match=r"Expected all tensors to be on the same device.*spyre:0 and spyre:1"):
        torch.multinomial(nothing, 2, out=torch.empty(0, dtype=torch.int64, device=SECOND))
    matrix = torch.eye(3)
    for right in (matrix, matrix[0]):
        with pytest.raises(RuntimeError, match=r"Expected all tensors to be on the same device.*spyre:1 and spyre:2"):
            torch.linalg.solve(matrix.to(SECOND), right.to(THIRD))


def test_random_states_are_by_card():
    torch.manual_seed(3)
    first = [torch.rand(5, device=f"spyre:{i}").tolist() for i in range(3)]
    assert first[0] == first[1] == first[2]
    torch.spyre.manual_seed_all(3)
    states = torch.spyre.get_rng_state_all()
    torch.rand(5, device=SECOND)
    assert torch.equal(torch.spyre.get_rng_state(0), states[0])
    assert not torch.equal(torch.spyre.get_rng_state(1), states[1])
    torch.spyre.set_rng_state_all(states)
    assert torch.rand(5, device=SECOND).tolist() == first[1]
    with torch.spyre.device(2):
        torch.spyre.manual_seed(7)
        assert torch.spyre.initial_seed() == 7
    assert torch.spyre.initial_seed(1) == 3
    generator = torch.Generator(device="spyre:1").manual_seed(3)
    assert generator.device == SECOND
    assert torch.rand(5, device=SECOND, generator=generator).tolist() == first[1]
    with torch.random.fork_rng(devices=[0, 1, 2], device_type="spyre"):
        torch.rand(9, device=THIRD)
    torch.spyre.set_rng_state_all(states)
    assert torch.rand(5, device=THIRD).tolist() == first[2]


def test_counters_faults_and_states_are_by_card():
    torch.spyre.reset_stats()
    (torch.ones(8, device=SECOND) * 2).cpu()
    assert torch.spyre.stats(0)["dispatches"] == 0
    assert torch.spyre.stats("spyre:1")["dispatches"] >= 2
    table, bad = torch.ones(5, 3, device=SECOND), torch.tensor([7], device=SECOND)
    lost = table.index_select(0, bad)
    torch.spyre.synchronize(0)
    with pytest.raises(IndexError):
        torch.spyre.synchronize(1)
    torch.spyre.synchronize(1)
    del lost


def test_a_profile_has_rows_of_every_card():
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as run:
        (torch.ones(32, device=FIRST) * 2).to(SECOND).relu().cpu()
    rows = [event for event in run.events() if event.device_type == torch.autograd.DeviceType.PrivateUse1]
    copies = {event.device_index for event in rows if event.name == "Memcpy (DtoD)"}
    kernels = {event.device_index for event in rows if "kernel" in event.name}
    assert copies == kernels == {0, 1}
