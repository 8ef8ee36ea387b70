"""Products of layers alone, on this device and then by PyTorch on CPU: how near both come to the machine's limit.

One after the other, since OpenMP's threads go on waiting busily for some time after their work.

    python tools/product_rates.py             # bfloat16
    python tools/product_rates.py float32
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from pathlib import Path

import torch
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.machine import measure_limits

# Rows of activations, inputs and outputs of a layer: of the benchmarks' MLP, encoder layer and MiniLM.
LAYERS = (
    (256, 1024, 4096),
    (256, 4096, 1024),
    (1024, 512, 1536),
    (1024, 512, 2048),
    (1024, 2048, 512),
    (2048, 384, 1536),
    (2048, 1536, 384),
)
TURNS = 15


def seconds(device: str, rows: int, inputs: int, outputs: int, dtype: torch.dtype) -> float:
    """The median."""
    activations = torch.randn(rows, inputs, dtype=dtype).to(device)
    weights = torch.randn(outputs, inputs, dtype=dtype).to(device)
    times = []
    for _ in range(TURNS):
        start = time.perf_counter()
        held = F.linear(activations, weights)
        if device == "spyre":
            torch.spyre.synchronize()
        times.append(time.perf_counter() - start)
        del held
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("type", nargs="?", choices=("bfloat16", "float32"), default="bfloat16")
    name = parser.parse_args().type
    torch.set_num_threads(2)
    limits = measure_limits(threads=2)
    if limits is None:
        sys.exit("the machine's limits are measured by a C++ program; there is no compiler")
    limit, dtype = limits.flops(name), getattr(torch, name)
    print(f"{name}: limit {limit / 1e9:.0f} GFLOP/s")
    ours, cpus = ([seconds(device, *layer, dtype) for layer in LAYERS] for device in ("spyre", "cpu"))
    for layer, our, cpu in zip(LAYERS, ours, cpus, strict=True):
        floor = 2 * math.prod(layer) / limit
        print("  {:4} x {:4} -> {:4}: ".format(*layer), end="")
        print(f"spyre {floor / our:.2f} of it, cpu {floor / cpu:.2f}; ratio {our / cpu:.2f}")


if __name__ == "__main__":
    main()
