"""Streams, events and their order."""

from __future__ import annotations

import threading

import pytest
import torch


def test_default_stream_is_current_and_zero():
    assert torch.spyre.current_stream() == torch.spyre.default_stream()
    assert torch.spyre.default_stream().id == 0
    assert torch.spyre.default_stream().device == torch.device("spyre", 0)


def test_a_stream_is_current_inside_its_context():
    stream = torch.spyre.Stream()
    assert stream.id != 0
    with torch.spyre.stream(stream):
        assert torch.spyre.current_stream() == stream
    with stream:
        assert torch.accelerator.current_stream() == stream
    with torch.spyre.stream(None):
        assert torch.spyre.current_stream().id == 0
    assert torch.spyre.current_stream().id == 0
    torch.spyre.set_stream(stream)
    assert torch.spyre.current_stream() == stream
    torch.spyre.set_stream(torch.spyre.default_stream())


def test_the_current_stream_belongs_to_the_thread():
    stream = torch.spyre.Stream()
    seen = []
    with torch.spyre.stream(stream):
        thread = threading.Thread(target=lambda: seen.append(torch.spyre.current_stream().id))
        thread.start()
        thread.join()
    assert seen == [0]


def test_generic_streams_work_too():
    stream = torch.Stream("spyre")
    with stream:
        x = torch.ones(100, device="spyre") * 2
    stream.synchronize()
    assert stream.query()
    assert x.sum().item() == 200


def test_priorities():
    assert torch.spyre.Stream(priority=-1).priority == -1
    assert torch.spyre.Stream().priority == 0


def test_streams_are_handed_out_in_turn():
    """PyTorch never gives a stream back: a loop that asks for one each time must not make more and more."""
    assert len({torch.spyre.Stream().id for _ in range(200)}) == 32
    assert {torch.spyre.get_stream_from_pool(priority=-1).id for _ in range(64)} == set(range(33, 65))
    assert len({torch.Stream("spyre").stream_id for _ in range(200)}) == 32


def test_the_streams_of_the_host():
    found = {torch.spyre.host_compute_stream().id for _ in range(8)}
    assert found == {65, 66, 67, 68}
    stream = torch.spyre.host_compute_stream_by_id(66)
    with stream:
        x = torch.ones(10, device="spyre") + 1
    assert torch.spyre.set_current_stream(stream) == torch.spyre.default_stream()
    assert torch.spyre.set_current_stream(torch.spyre.default_stream()) == stream
    assert x.sum().item() == 20
    with pytest.raises(ValueError, match="65"):
        torch.spyre.host_compute_stream_by_id(3)


def test_a_stream_tells_of_its_fault_until_it_is_raised():
    errors, states = torch.spyre.SpyreStreamError, torch.spyre.SpyreDeviceState
    stream = torch.spyre.Stream()
    assert torch.spyre.stream_get_error(stream) is errors.Success
    assert torch.spyre.get_device_state() is states.Ok
    event = torch.spyre.Event()
    with stream:
        kept = torch.ones(3, device="spyre")[torch.tensor([7], device="spyre")]
        event.record()
    while not event.query():
        pass
    assert torch.spyre.stream_get_error(stream) is errors.Shutdown
    assert "raises" in torch.spyre.stream_get_error_string(errors.Shutdown)
    assert torch.spyre.get_device_state() is states.StreamError
    with pytest.raises(IndexError):
        stream.synchronize()
    assert torch.spyre.stream_get_error(stream) is errors.Success
    del kept


def test_work_on_two_streams_is_ordered_by_data():
    stream = torch.spyre.Stream()
    x = torch.arange(1000.0, device="spyre")
    with torch.spyre.stream(stream):
        y = x * 2
    z = y + 1
    assert z[999].item() == 1999


def test_wait_stream_and_events_order_work():
    producer, consumer = torch.spyre.Stream(), torch.spyre.Stream()
    x = torch.zeros(1000, device="spyre")
    with torch.spyre.stream(producer):
        x.add_(1)
        done = torch.spyre.Event()
        done.record()
    consumer.wait_event(done)
    with torch.spyre.stream(consumer):
        x.mul_(3)
    torch.spyre.current_stream().wait_stream(consumer)
    assert x.add(1).sum().item() == 4000


def test_event_life():
    event = torch.spyre.Event(enable_timing=True)
    assert event.query()
    event.synchronize()
    torch.ones(10, device="spyre").add_(1)
    event.record()
    event.synchronize()
    assert event.query()
    event.record(torch.spyre.Stream())
    assert torch.Event("spyre").query()
    assert torch.spyre.Stream().record_event().query() in (True, False)


def test_elapsed_time_is_modelled():
    def between(size: int) -> float:
        start, end = torch.spyre.Event(enable_timing=True), torch.spyre.Event(enable_timing=True)
        x = torch.ones(size, device="spyre")
        torch.spyre.synchronize()
        start.record()
        x.add_(1)
        end.record()
        end.synchronize()
        return start.elapsed_time(end)

    assert 0 < between(1 << 10) < between(1 << 24)
    assert between(1 << 20) == between(1 << 20)


def test_elapsed_time_needs_both_events_and_timing():
    never, timed, untimed = torch.spyre.Event(True), torch.spyre.Event(enable_timing=True), torch.spyre.Event()
    timed.record()
    untimed.record()
    torch.spyre.synchronize()
    for first, second in ((never, timed), (timed, never), (timed, untimed)):
        with pytest.raises(ValueError, match="elapsed_time"):
            first.elapsed_time(second)


def test_query_and_synchronize_of_streams():
    stream = torch.spyre.Stream()
    with torch.spyre.stream(stream):
        x = torch.ones(1 << 16, device="spyre")
        for _ in range(5):
            x = x * 1.5
        assert not stream.query()
    stream.synchronize()
    assert stream.query()


def test_record_stream_and_a_freed_tensor():
    stream = torch.spyre.Stream()
    x = torch.full((1 << 16,), 2.0, device="spyre")
    with torch.spyre.stream(stream):
        y = x * 2
    x.record_stream(stream)
    del x
    torch.empty(1 << 16, device="spyre").fill_(9)
    assert y.eq(4).all().item()


def test_memory_is_not_reused_while_another_stream_works_on_it():
    """Without record_stream: tensors die right after their use on other streams, and their memory is wanted at once."""
    streams = [torch.spyre.Stream() for _ in range(4)]
    sums = []
    for i in range(200):
        with torch.spyre.stream(streams[i % 4]):
            x = torch.full((1 << 14,), float(i), device="spyre")
        with torch.spyre.stream(streams[(i + 1) % 4]):
            y = x * 2 + 1
            sums.append(y.sum())
        del x, y
        torch.full((1 << 14,), -7.0, device="spyre")
    assert [s.item() for s in sums] == [(2.0 * i + 1) * (1 << 14) for i in range(200)]


def test_threads_record_into_one_stream():
    results = [None] * 8

    def work(i: int) -> None:
        x = torch.full((512,), float(i), device="spyre")
        for _ in range(20):
            x = x * 1.0 + 1
        results[i] = x.sum().item()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [512.0 * (i + 20) for i in range(8)]


def test_backward_may_run_on_autograds_own_thread():
    x = torch.randn(64, 64, requires_grad=True)
    y = x.detach().to("spyre").requires_grad_()
    (x.sigmoid() * x).sum().backward()
    threads = []
    y.register_hook(lambda _: threads.append(threading.get_ident()))
    loss = (y.sigmoid() * y).sum()
    with torch.autograd.set_multithreading_enabled(True):
        loss.backward()
    assert threads
    assert threads[0] != threading.get_ident()
    torch.testing.assert_close(y.grad.cpu(), x.grad)
