"""What a call of compiled code costs its caller, what of it are guards, and what a graph costs that is replayed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

CALLS, ROUNDS = 20, 60


def microseconds(call: Callable[[], Any]) -> float:
    """Of the calling thread, which waits for nothing; the shortest of many rounds."""
    times = []
    for _ in range(ROUNDS):
        torch.spyre.synchronize()
        begin = time.perf_counter()
        for _ in range(CALLS):
            result = call()
        times.append((time.perf_counter() - begin) / CALLS)
        del result
    return 1e6 * min(times)


def ways(function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> dict[str, Callable[[], Any]]:
    """The ways of calling it."""
    compiled = torch.compile(function)
    reduced = torch.compile(function, mode="reduce-overhead")
    given, graph = torch.empty_like(x), torch.spyre.SpyreGraph()
    with torch.spyre.graph(graph):
        result = function(given)

    def replayed() -> torch.Tensor:
        given.copy_(x)
        graph.replay()
        return result.clone()

    return {
        "eager": lambda: function(x),
        "compiled": lambda: compiled(x),
        "reduce-overhead": lambda: reduced(x),
        "replayed, with copies": replayed,
    }


def chain(x: torch.Tensor) -> torch.Tensor:
    """Ten operations."""
    return (((x * 2 + 1).relu() - x / 3).exp().tanh() * 2 + 1).abs()


def show(name: str, times: list[float]) -> None:
    """A row."""
    print(f"{name:22} {times[0]:13.1f} {times[1]:10.1f}")


def beside_cpu() -> list[float]:
    """The chain on 8 elements, compiled for CPU and for the device, in one process: the shortest of rounds by turns."""
    torch._dynamo.reset()  # of the other sizes, which guards would ask for first
    inputs = [torch.randn(8, device=device) for device in ("cpu", "spyre")]
    compiled = [torch.compile(chain), torch.compile(chain)]
    for call, x in zip(compiled, inputs, strict=True):
        call(x)
    rounds = [[microseconds(lambda c=c, x=x: c(x)) for c, x in zip(compiled, inputs, strict=True)] for _ in range(5)]
    return [min(times) for times in zip(*rounds, strict=True)]


@torch.no_grad()
def main() -> None:
    """Prints a table."""
    torch.manual_seed(0)
    block = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64), nn.LayerNorm(64)).to("spyre")
    columns = [ways(function, torch.randn(2, 16, 64, device="spyre")) for function in (chain, block)]
    print("us a call              10 operations   4 layers")
    for name in columns[0]:
        show(name, [microseconds(calls[name]) for calls in columns])
    with torch.compiler.set_stance(skip_guard_eval_unsafe=True):
        show("compiled, no guards", [microseconds(calls["compiled"]) for calls in columns])
    cpu, ours = beside_cpu()
    print(f"\n10 operations on 8 elements, compiled: CPU {cpu:.1f}, spyre {ours:.1f}, {ours / cpu:.2f}")


if __name__ == "__main__":
    main()
