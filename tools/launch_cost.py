"""Time of one more kernel in a plan: what fusing many small kernels into one launch could save at most.

Waits for plans of few and of many independent in-place additions on 64 x 64 tensors (of different widths, so that none
fuse); the difference, per kernel. Arithmetic switched off leaves submission, look-up of arguments and completion.

    python tools/launch_cost.py
"""

from __future__ import annotations

import time

import torch

FEW, MANY, TURNS = 10, 50, 1500


def microseconds_to_wait(kernels: int) -> float:
    """The fastest tenth's slowest: others' work on the machine is not part of it."""
    tensors = [torch.zeros(64, 64 + i).to("spyre") for i in range(kernels)]
    times = []
    for _ in range(TURNS):
        for tensor in tensors:
            tensor.add_(1.0)
        start = time.perf_counter()
        torch.spyre.synchronize()
        times.append(time.perf_counter() - start)
    return sorted(times)[TURNS // 10] * 1e6


def main() -> None:
    for mode, what in (("null", "arithmetic switched off"), ("vector", "with arithmetic")):
        with torch.spyre.config(exec=mode):
            each = (microseconds_to_wait(MANY) - microseconds_to_wait(FEW)) / (MANY - FEW)
        print(f"{each:.2f} us for one more kernel, {what}")


if __name__ == "__main__":
    main()
