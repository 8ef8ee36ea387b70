"""What the first call of compiled code costs, against Inductor on CPU for the same function, in one warm process."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch._inductor import config
from torch._inductor.graph import GraphLowering
from torch_spyre.inductor import prepared
from torch_spyre.inductor.scheduling import SpyreScheduling

ROUNDS = 3


OWN, AFTER = "own", "after lowering"


class Watch:
    """Seconds in the device's own part of compiling (loops to kernels, and their preparation; machine code apart), and
    in all that follows Inductor's lowering: its scheduler, the kernels, the module, which contain the own part.

    Confined to the thread that compiles.
    """

    def __init__(self) -> None:
        self.seconds = {OWN: 0.0, AFTER: 0.0}
        SpyreScheduling.flush = self.watched(OWN, SpyreScheduling.flush)  # type: ignore[method-assign]
        prepared.prepare_kernel = self.watched(OWN, prepared.prepare_kernel)
        GraphLowering.compile_to_module = self.watched(AFTER, GraphLowering.compile_to_module)  # type: ignore[method-assign]

    def watched(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with its time added up."""

        def timed(*args: Any) -> Any:
            begin = time.perf_counter()
            try:
                return function(*args)
            finally:
                self.seconds[part] += time.perf_counter() - begin

        return timed


def first_call(watch: Watch, function: Callable[..., Any], x: torch.Tensor) -> tuple[float, float, float]:
    """Seconds until the result is there, of them the device's own, and those after Inductor's lowering, machine code
    included: of the shortest of some calls."""
    times = []
    for _ in range(ROUNDS):
        torch._dynamo.reset()
        torch.spyre.reset_stats()
        watch.seconds.update({OWN: 0.0, AFTER: 0.0})
        begin = time.perf_counter()
        torch.compile(function)(x).cpu()
        seconds = time.perf_counter() - begin
        code = 1e-9 * torch.spyre.stats()["compile_ns"]
        times.append((seconds, watch.seconds[OWN] + code, watch.seconds[AFTER] + code))
    return min(times)


def chain(x: torch.Tensor) -> torch.Tensor:
    """Ten operations."""
    return (((x * 2 + 1).relu() - x / 3).exp().tanh() * 2 + 1).abs()


def normalized(x: torch.Tensor) -> torch.Tensor:
    """Reductions over rows, and what surrounds them."""
    centred = x - x.mean(-1, keepdim=True)
    return centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + 1e-5)


def programs() -> dict[str, Callable[..., Any]]:
    """What is compiled."""
    block = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64), nn.LayerNorm(64))
    return {"10 operations": chain, "row statistics": normalized, "4 layers": block}


@torch.no_grad()
def main() -> None:
    """Prints a table: seconds, their ratio, and as shares of CPU's first call what follows Inductor's lowering, and of
    that the device's own part."""
    config.force_disable_caches = True
    watch, x = Watch(), torch.randn(2, 16, 64)
    for device in ("cpu", "spyre"):
        first_call(watch, lambda x: x + 1, x.to(device))  # the process is warm
    print("first call            CPU      spyre   spyre / CPU   after lowering / CPU   own part / CPU")
    for name, function in programs().items():
        move = function.to if isinstance(function, nn.Module) else lambda _, same=function: same
        cpu, *_ = first_call(watch, move("cpu"), x)
        ours, own, after = first_call(watch, move("spyre"), x.to("spyre"))
        print(f"{name:16} {cpu:6.2f} s  {ours:7.3f} s {ours / cpu:13.3f} {after / cpu:22.4f} {own / cpu:16.4f}")


if __name__ == "__main__":
    main()
