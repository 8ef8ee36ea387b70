"""Batches come over the link while the card computes: one stream, then two streams joined by events.

python examples/streams.py
"""

from __future__ import annotations

import torch

BATCHES, ROWS, WIDTH = 8, 1024, 1024


def one_stream(batches: list[torch.Tensor], weight: torch.Tensor) -> list[torch.Tensor]:
    """Each batch is sent, then used; the card computes nothing meanwhile."""
    return [(batch.to("spyre", non_blocking=True) @ weight).relu().sum(-1) for batch in batches]


def two_streams(batches: list[torch.Tensor], weight: torch.Tensor) -> list[torch.Tensor]:
    """The next batch is on its way while the one before is used; an event says when it is there."""
    copies, results = torch.spyre.Stream(), []
    for batch in batches:
        arrived = torch.spyre.Event()
        with torch.spyre.stream(copies):
            sent = batch.to("spyre", non_blocking=True)
            arrived.record()
        arrived.wait()  # the current stream waits, the host goes on
        results.append((sent @ weight).relu().sum(-1))
        sent.record_stream(torch.spyre.current_stream())
    return results


def measured(run, batches: list[torch.Tensor], weight: torch.Tensor) -> tuple[float, list[float]]:
    """Modelled microseconds of a run, and its results."""
    torch.spyre.synchronize()
    start, end = torch.spyre.Event(enable_timing=True), torch.spyre.Event(enable_timing=True)
    start.record()
    results = run(batches, weight)
    end.record()
    end.synchronize()
    return 1000 * start.elapsed_time(end), [result.sum().item() for result in results]


def main() -> None:
    torch.manual_seed(0)
    weight = torch.randn(WIDTH, WIDTH, dtype=torch.float16, device="spyre")
    batches = [torch.randn(ROWS, WIDTH, dtype=torch.float16).pin_memory() for _ in range(BATCHES)]
    times, answers = {}, {}
    for name, run in {"one stream": one_stream, "two streams": two_streams}.items():
        times[name], answers[name] = measured(run, batches, weight)
        print(f"{name:12}{times[name]:10.1f} us of modelled time for {BATCHES} batches")
    print(f"the same results: {answers['one stream'] == answers['two streams']}")


if __name__ == "__main__":
    main()
