"""Thousands of steps of training and of inference: what they hold must not grow.

python -m tests.models.soak --steps 20000
"""

from __future__ import annotations

import argparse
import gc
import resource
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

SAMPLES = 20
Sample = dict[str, int]


def held() -> Sample:
    """Bytes of the process and of the card, and entries of the caches."""
    gc.collect()
    torch.spyre.synchronize()
    counters = torch.spyre.stats()
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    caches = {name: counters[name]["entries"] for name in ("plan_cache", "kernel_cache", "library_cache")}
    return {"resident": resident, "device": torch.spyre.memory_allocated(), **caches}


def training() -> Callable[[int], None]:
    """A step of AdamW under a learning rate schedule; the loss is read now and then."""
    model = nn.Sequential(nn.Linear(16, 32), nn.LayerNorm(32), nn.GELU(), nn.Dropout(0.1), nn.Linear(32, 4)).to("spyre")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 1000)

    def step(number: int) -> None:
        x, y = torch.randn(8, 16), torch.randint(0, 4, (8,))
        loss = F.cross_entropy(model(x.to("spyre")), y.to("spyre"))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if number % 16 == 0:
            loss.item()

    return step


def inference() -> Callable[[int], None]:
    """A transformer layer on batches of several sizes; every result is read."""
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).to("spyre").eval()

    def step(number: int) -> None:
        with torch.inference_mode():
            layer(torch.randn(1 + number % 4, 6, 16).to("spyre")).sum().item()

    return step


LOOPS = {"training": training, "inference": inference}


def samples_of(loop: str, steps: int) -> Iterator[Sample]:
    """What is held, at SAMPLES places of the second half of the loop."""
    step = LOOPS[loop]()
    warm = steps // 2
    for number in range(steps):
        step(number)
        if number >= warm and (number - warm) % max((steps - warm) // SAMPLES, 1) == 0:
            yield held()


def growth_of(loop: str, steps: int) -> Sample:
    """How much more was held at the end than when the loop was warm; the median of three samples on each side."""
    samples = list(samples_of(loop, steps))
    middle = lambda part, name: sorted(s[name] for s in part)[1]  # noqa: E731
    return {name: middle(samples[-3:], name) - middle(samples[:3], name) for name in samples[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--loop", choices=LOOPS, action="append")
    arguments = parser.parse_args()
    for loop in arguments.loop or LOOPS:
        print(f"{loop}, {arguments.steps} steps")
        for sample in samples_of(loop, arguments.steps):
            print("  " + "  ".join(f"{name} {value:,}" for name, value in sample.items()), flush=True)


if __name__ == "__main__":
    main()
